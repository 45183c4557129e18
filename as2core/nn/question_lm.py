"""log P(question | passage), token by token, from three kinds of language model (Generation paper, section 2.2).

All three have the same interface: `encode(passages, questions)` makes a batch, with questions cut at `limit` tokens,
and `forward(**batch)` gives the log-probabilities of the question's tokens `(batch, m)` and which of the m are real.
Only the question's tokens count, including its end (the paper's `<eoq>`; left out where the tokenizer has no end of
text).

- PrefixLM: an encoder read as a prefix language model: `[CLS] passage [SEP] question [SEP]`, the question the second
  segment where the backbone has any; the passage attends both ways
  but never to the question, the question left to right; the input embeddings are the output layer, after one dense
  transform. The passage side does not depend on the question, so its states can be kept. The logit of the last [SEP],
  the end of the question, has a second term: `end_scale` times the cosine of the mean states of the question so far and
  of the passage, which is what the backbone knows before any training (docs/decisions/0006).
- CausalLM: `passage <sep> question <eos>` in a GPT-like model; `as_paper`: `<bos> passage <boq> question <eoq>` with
  tokens of their own, whose vectors are drawn about the mean of the others.
- Seq2SeqLM: passage to the encoder, question to the decoder, as in BART; `as_paper`: the decoder reads the tokenizer's
  `<s>` before the question, as BART was pretrained, and it counts no more than `<boq>` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from as2core.errors import UnsupportedBackbone
from as2core.nn.backbone import QUESTION_TOKENS, Backbone, pad_rows, token_ids

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Batch = dict[str, Tensor]
BOQ, EOQ = "<boq>", "<eoq>"  # begin and end of a question

# The architectures of each kind that the tests run.
CAUSAL = (
    "gpt2 gpt_neo gpt_neox gptj gpt_bigcode codegen opt bloom biogpt xglm llama mistral qwen2 qwen3 starcoder2 olmo "
    "olmo2 stablelm cohere smollm3 granite phi phi3 gemma gemma2 gemma3_text falcon"
).split()
SEQ2SEQ = (
    "bart mbart pegasus marian blenderbot blenderbot-small m2m_100 mvp plbart pegasus_x t5 mt5 umt5 longt5 led"
).split()


def _end_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The end of a question, for a model with an end of text."""
    return [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]


def _token_log_p(logits: Tensor, targets: Tensor, valid: Tensor) -> Tensor:
    """(k, vocabulary), (k,) and which k of (batch, m) -> log p (batch, m), 0 elsewhere, in float32 whatever the model
    runs in."""
    log_p = torch.zeros(valid.shape, device=valid.device)
    log_p[valid] = -cross_entropy(logits.float(), targets, reduction="none")
    return log_p


def _question_mask(prefix: Tensor, length: Tensor) -> Tensor:
    """Which of (batch, longest question) are tokens of a question."""
    sizes = length - prefix
    longest = int(sizes.max()) if len(sizes) else 0
    return torch.arange(longest, device=sizes.device)[None, :] < sizes[:, None]


def _join(passages: Sequence[list[int]], questions: Sequence[list[int]], fill: int) -> Batch:
    """Passages and the questions that go on from them, as a batch."""
    ids = [p + q for p, q in zip(passages, questions, strict=True)]
    prefix, length = torch.tensor([len(p) for p in passages]), torch.tensor([len(i) for i in ids])
    return {"ids": pad_rows(ids, fill), "prefix": prefix, "length": length}


class PrefixLM(nn.Module):
    """The output layer is the (frozen or trained) input embedding table; `bias` has one number a word piece."""

    def __init__(self, backbone: Backbone, *, max_length: int = 128) -> None:
        super().__init__()
        self.backbone, self.max_length = backbone, max_length
        self.tokenizer = backbone.tokenizer
        width = backbone.embeddings.word_embeddings.embedding_dim  # ELECTRA's is narrower than its hidden states
        self.transform = nn.Sequential(nn.Linear(backbone.hidden, width), nn.GELU())
        self.norm = nn.LayerNorm(width)
        self.bias = nn.Parameter(torch.zeros(backbone.config.vocab_size))
        self.end_scale, self.end_bias = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.tensor(0.0))
        self.end: int = self.tokenizer.sep_token_id

    def encode(self, passages: Sequence[str], questions: Sequence[str], *, limit: int = QUESTION_TOKENS) -> Batch:
        q = token_ids(self.tokenizer, questions, limit, special=False)
        p = token_ids(self.tokenizer, passages, self.max_length)
        return _join(p, [[*i, self.end] for i in q], self.tokenizer.pad_token_id or 0)

    def forward(self, ids: Tensor, prefix: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        log_p, valid, _, _ = self.read(ids, prefix, length)
        return log_p, valid

    def read(self, ids: Tensor, prefix: Tensor, length: Tensor) -> tuple[Tensor, ...]:
        """`forward`'s two, then the mean states of the questions and of the passages, (batch, hidden) each."""
        at = torch.arange(ids.shape[1], device=ids.device)
        in_passage = at[None, :] < prefix[:, None]  # (batch, length)
        real = at[None, :] < length[:, None]
        # a passage position sees the passage; a question position sees the passage and the question up to itself
        causal = (at[None, :, None] >= at[None, None, :]) & ~in_passage[:, :, None]
        mask = (in_passage[:, None, :] | causal) & real[:, None, :]  # (batch, query, key)
        hidden = self.backbone.run(self.backbone.embed(ids, ~in_passage), mask, 0, self.backbone.layers)
        question = real & ~in_passage  # the question's tokens, each predicted from the position before it
        before = torch.roll(question, -1, dims=1)
        words = (question & before)[..., None]  # all of the question but its end
        so_far = (hidden * words).float().cumsum(1)  # a sum has its mean's direction
        about = (hidden * (in_passage & real)[..., None]).float().sum(1)
        similarity = cosine_similarity(so_far, about[:, None], dim=-1)
        logits = self.logits(hidden[before], similarity[before])
        valid = _question_mask(prefix, length)
        log_p = _token_log_p(logits, ids[question], valid)
        return log_p, valid, so_far[:, -1] / words.sum(1).clamp(min=1), about / prefix[:, None]

    def logits(self, hidden: Tensor, similarity: Tensor) -> Tensor:
        """Logits (k, vocabulary) after tokens with states (k, hidden); `similarity` (k,) is the cosine of the question
        up to each token and the passage."""
        state = self.norm(self.transform(hidden))
        logits = state @ self.backbone.embeddings.word_embeddings.weight.to(state.dtype).T + self.bias
        at_end = torch.zeros_like(self.bias).index_fill(0, torch.tensor([self.end], device=hidden.device), 1.0)
        return logits + self.end_term(similarity)[:, None] * at_end

    def end_term(self, similarity: Tensor) -> Tensor:
        """What the similarity of question and passage, (k,), adds to the logit of the end, (k,)."""
        return self.end_scale * similarity + self.end_bias


class _HubLM(nn.Module):
    """A language model of the hub with its tokenizer."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_length: int = 128,
        as_paper: bool = False,
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.max_length, self.as_paper = model, tokenizer, max_length, as_paper

    @property
    def ends(self) -> list[int]:
        """What ends a question."""
        return _end_tokens(self.tokenizer)


class CausalLM(_HubLM):
    """A causal model of the hub; the separator is a newline where the tokenizer has none, if not `as_paper`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_length: int = 128,
        as_paper: bool = False,
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length, as_paper=as_paper)
        if as_paper:
            begin = {} if tokenizer.bos_token_id is not None else {"bos_token": "<bos>"}
            tokenizer.add_special_tokens({**begin, "sep_token": BOQ, "eos_token": EOQ})
            model.resize_token_embeddings(max(len(tokenizer), model.config.vocab_size))

    def encode(self, passages: Sequence[str], questions: Sequence[str], *, limit: int = QUESTION_TOKENS) -> Batch:
        tok = self.tokenizer
        separator = [tok.sep_token_id] if tok.sep_token_id is not None else tok.encode("\n", add_special_tokens=False)
        first = [tok.bos_token_id] if tok.bos_token_id is not None else []
        p = [first + i + separator for i in token_ids(tok, passages, self.max_length, special=False)]
        q = [i + self.ends for i in token_ids(tok, questions, limit, special=False)]
        return _join(p, q, tok.pad_token_id or 0)

    def forward(self, ids: Tensor, prefix: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        at = torch.arange(ids.shape[1], device=ids.device)[None, :]
        real = at < length[:, None]
        logits = self.model(input_ids=ids, attention_mask=real.long()).logits
        question = real & (at >= prefix[:, None])
        valid = _question_mask(prefix, length)
        return _token_log_p(logits[torch.roll(question, -1, dims=1)], ids[question], valid), valid


class Seq2SeqLM(_HubLM):
    """An encoder-decoder of the hub: the passage is encoded, the question decoded. `starts` are the tokens that the
    decoder reads before it. Raises UnsupportedBackbone for one `as_paper` whose tokenizer has no `<s>`."""

    @property
    def starts(self) -> list[int]:
        first = self.model.config.decoder_start_token_id
        if not self.as_paper:
            return [first]
        if self.tokenizer.bos_token_id is None:
            raise UnsupportedBackbone("as=paper needs a tokenizer with a begin-of-text token, as BART's: leave as out")
        return [first, self.tokenizer.bos_token_id]

    def encode(self, passages: Sequence[str], questions: Sequence[str], *, limit: int = QUESTION_TOKENS) -> Batch:
        p = token_ids(self.tokenizer, passages, self.max_length)
        q = token_ids(self.tokenizer, questions, limit, special=False)
        return {
            "ids": pad_rows(p, self.tokenizer.pad_token_id or 0),
            "mask": pad_rows([[1] * len(i) for i in p], 0),
            "targets": pad_rows([i + self.ends for i in q], -100),
        }

    def forward(self, ids: Tensor, mask: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        starts = torch.tensor(self.starts, device=targets.device).expand(len(targets), -1)
        shifted = torch.cat([starts, targets[:, :-1]], dim=1)
        logits = self.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=shifted.clamp(min=0), use_cache=False
        ).logits[:, starts.shape[1] - 1 :]
        valid = targets >= 0
        return _token_log_p(logits[valid], targets[valid], valid), valid


QuestionLM: TypeAlias = PrefixLM | CausalLM | Seq2SeqLM
