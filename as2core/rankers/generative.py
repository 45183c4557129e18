"""Ranking by generation (Nogueira dos Santos et al., 2020): how likely is the question, given the sentence?

score(a) = log P(q | a), here the mean over the question's tokens (its end among them), which orders one question's
candidates as the sum does and compares across questions. The default model is the prefix language model over the
shared backbone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from as2core.cascade.background import MAX_WAIT_SECONDS, PreparedEngine
from as2core.errors import BadSetting, UnsupportedBackbone
from as2core.metrics import order
from as2core.rankers.base import ExplainsQuestion, Explanation, HasWeights, LoadRanker, VersionConfig
from as2core.rankers.passage_cache import PassageCache, fingerprint
from as2core.rankers.specs import Entry
from as2core.text import find_words
from as2core.types import Candidate, OnProgress

if TYPE_CHECKING:
    from torch import nn

    from as2core.cascade.language_engine import LanguageEngine
    from as2core.nn.kept_passages import PassageState
    from as2core.nn.question_lm import Batch, QuestionLM

STYLES = ("shipped", "paper")
DIRECTIONS = ("question", "answer")
EMPTY_ANSWER_SCORE = -1e4  # for models without an end of text
BATCH_TOKENS = 8192
MAX_ERROR_LOG_P = 0.03  # of int8: two sentences this near may be in the wrong order
MAX_RESCORED = 6  # of those nearest to the best, in float32


class GenerativeRanker(HasWeights, ExplainsQuestion):
    """`module` is any of nn.question_lm's models. Scores are mean log-probabilities (nats) per token, <= 0.

    `direction` is what is generated: the "question" given the sentence, or the "answer" given the question, where the
    mean is the paper's division by the length (section 3.4). With a `cache`, sentences read before are not read again
    (direction "question"). `fast` works in bfloat16 where the machine has it.

    It runs on torch until an engine that `prepare_engine` asked for is ready. A copy is on torch again: copies are made
    to be trained, and the engine's graphs would not see their weights move.
    """

    kind = "generative"
    module: QuestionLM

    def __init__(
        self,
        module: QuestionLM,
        *,
        direction: str = "question",
        cache: PassageCache | None = None,
        fast: bool = False,
        is_trained: bool = False,
        name: str = "generative",
    ) -> None:
        if direction not in DIRECTIONS:
            raise BadSetting(f"no direction {direction!r}; known: {', '.join(DIRECTIONS)}")
        self.module, self.direction, self.name = module.eval(), direction, name
        self.cache, self.fast, self.is_trained = cache, fast, is_trained
        self._fingerprint: tuple[object, str] | None = None  # of the weights in a state
        self.prepared: PreparedEngine[LanguageEngine] = PreparedEngine()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "prepared": PreparedEngine()}

    def prepare_engine(self, folder: Path | None = None) -> None:
        """Score in int8 on ONNX Runtime, a prefix model in the direction "question" only: as soon as its graphs, stored
        in `folder`, are there."""
        from as2core.nn.question_lm import PrefixLM

        module = self.module
        if self.direction != "question" or not isinstance(module, PrefixLM):
            return

        def prepare(on_progress: OnProgress) -> LanguageEngine:
            from as2core.cascade.language_engine import LanguageEngine
            from as2core.nn.kept_passages import question_ids

            engine = LanguageEngine(module, folder, on_progress=on_progress)
            first_run = ["the first run of a session takes longer"]
            engine.score(question_ids(module, first_run[0]), engine.read_passages(first_run))
            return engine

        self.prepared.start(prepare)

    @property
    def encoder(self) -> nn.Module:
        from as2core.nn.question_lm import PrefixLM

        return self.module.backbone if isinstance(self.module, PrefixLM) else self.module.model

    @property
    def reads_titles(self) -> bool:
        """Whether a sentence is read after its title: not where the sentence is generated, nor in the paper."""
        return self.direction == "question" and not getattr(self.module, "as_paper", False)

    @property
    def max_length(self) -> int:
        return self.module.max_length

    def encode(self, questions: Sequence[str], texts: Sequence[str]) -> Batch:
        """A batch of pairs for the module, in this ranker's direction."""
        if self.direction == "answer":
            return self.module.encode(questions, texts, limit=self.max_length)
        return self.module.encode(texts, questions)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        texts = [c.titled_text if self.reads_titles else c.text for c in candidates]
        if texts and (engine := self.prepared.wait(MAX_WAIT_SECONDS)) is not None:
            return self._score_on(engine, question, texts)
        if self.cache is not None and self.direction == "question" and texts:
            return self._score_cached(question, texts, self.cache)
        rows = self._token_log_p([question] * len(texts), texts)
        return np.array([r.mean() if len(r) else EMPTY_ANSWER_SCORE for r in rows], dtype=np.float32)

    def _score_on(self, engine: LanguageEngine, question: str, texts: list[str]) -> np.ndarray:
        """In int8; with a cache from passages that it read before."""
        from as2core.nn.kept_passages import question_ids

        scores = engine.score(question_ids(self.module, question), self._read_on(engine, texts))
        near = order(scores)[: min(MAX_RESCORED, int((scores >= scores.max() - MAX_ERROR_LOG_P).sum()))].tolist()
        if len(near) > 1:  # as the cascade does, see `as2core.cascade.engine`
            exact = self._token_log_p([question] * len(near), [texts[i] for i in near], exact=True)
            scores[near] = [row.mean() for row in exact]
        return scores

    def _read_on(self, engine: LanguageEngine, texts: list[str]) -> list[PassageState]:
        states = self.cache.get(engine.name, texts) if self.cache else {}
        new = [t for t in dict.fromkeys(texts) if t not in states]
        states.update(zip(new, engine.read_passages(new), strict=True))
        if self.cache and new:
            self.cache.put(engine.name, {t: states[t] for t in new})
        return [states[t] for t in texts]

    def _score_cached(self, question: str, texts: list[str], cache: PassageCache) -> np.ndarray:
        """The same from passages read before; the others are read now and cached."""
        import torch

        from as2core.nn.kept_passages import question_ids, read_passages, resume_reading
        from as2core.nn.micro_batches import split_by_length

        module, model = self.module, self._hash_weights()
        device = next(module.parameters()).device
        with torch.inference_mode(), self._precision():
            states = {t: state.to(device) for t, state in cache.get(model, texts).items()}
            new = [t for t in dict.fromkeys(texts) if t not in states]
            for rows in split_by_length([len(t) for t in new], max_tokens=BATCH_TOKENS):
                states.update(zip([new[r] for r in rows], read_passages(module, [new[r] for r in rows]), strict=True))
            if new:
                cache.put(model, {t: states[t] for t in new})
            ids = torch.tensor(question_ids(module, question), device=device)
            scores = np.zeros(len(texts), dtype=np.float32)
            for rows in split_by_length([states[t].length for t in texts], max_tokens=BATCH_TOKENS):
                reading = resume_reading(module, [states[texts[r]] for r in rows])
                hidden = [reading.start()]
                if len(ids) > 1:
                    hidden.append(reading.extend(ids[None, :-1].expand(len(rows), -1)))
                every = torch.cat(hidden, 1).flatten(0, 1)  # (rows * tokens, width)
                log_p = reading.log_p(every, ids.repeat(len(rows))).view(len(rows), -1)
                scores[rows] = log_p.mean(1).float().cpu().numpy()
        return scores

    def _hash_weights(self) -> str:
        """The fingerprint of the weights, computed again when one of them was changed."""
        stamp = [(t.data_ptr(), t._version) for t in chain(self.module.parameters(), self.module.buffers())]
        if self._fingerprint is None or self._fingerprint[0] != stamp:
            self._fingerprint = stamp, fingerprint(self.module)
        return self._fingerprint[1]

    def _precision(self) -> AbstractContextManager[object]:
        import torch

        from as2core.nn.precision import has_bfloat16

        kind = next(self.module.parameters()).device.type
        return torch.autocast(kind, dtype=torch.bfloat16, enabled=self.fast and has_bfloat16(kind))

    def explain(self, question: str, texts: Sequence[str]) -> Explanation:
        """A word's log P is the sum over its tokens. Words beyond QUESTION_TOKENS are left out."""
        from as2core.nn.backbone import QUESTION_TOKENS

        tok = self.module.tokenizer
        places = tok(question, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        places = places[:QUESTION_TOKENS]
        log_p = self._question_log_p(question, list(texts))  # (n, tokens), with the end behind those of the question
        words, columns = [], []
        for begin, end in find_words(question):
            tokens = [i for i, (first, last) in enumerate(places) if first < end and last > begin]
            if tokens:
                words.append((begin, end))
                columns.append(log_p[:, tokens].sum(1))
        return Explanation(tuple(words), np.stack(columns, 1) if words else np.zeros((len(texts), 0), np.float32))

    def _question_log_p(self, question: str, texts: list[str]) -> np.ndarray:
        """Log P of every token of the question given each text, (n, tokens): in int8 where `score` is."""
        from as2core.nn.backbone import QUESTION_TOKENS
        from as2core.nn.kept_passages import question_ids

        if texts and (engine := self.prepared.wait(MAX_WAIT_SECONDS)) is not None:
            return engine.log_p(question_ids(self.module, question), self._read_on(engine, texts))
        rows = self._token_log_p([question] * len(texts), texts, explain=True)
        return np.stack(rows) if rows else np.zeros((0, QUESTION_TOKENS), np.float32)

    def _token_log_p(
        self, questions: Sequence[str], texts: Sequence[str], *, explain: bool = False, exact: bool = False
    ) -> list[np.ndarray]:
        """The log-probability of every token that is generated, one array a pair; `exact`: in float32 also if fast."""
        import torch

        from as2core.nn.micro_batches import split_by_length

        encode = self.module.encode if explain else lambda t, q: self.encode(q, t)
        lengths = [len(t) + len(q) for t, q in zip(texts, questions, strict=True)]  # characters stand in for tokens
        device = next(self.module.parameters()).device
        out: dict[int, np.ndarray] = {}
        for rows in split_by_length(lengths, max_tokens=BATCH_TOKENS):
            batch = encode([texts[r] for r in rows], [questions[r] for r in rows])
            with torch.inference_mode(), nullcontext() if exact else self._precision():
                log_p, valid = self.module(**{k: v.to(device) for k, v in batch.items()})
            for r, values, real in zip(rows, log_p.float().cpu().numpy(), valid.cpu().numpy(), strict=True):
                out[r] = values[real]
        return [out[i] for i in range(len(texts))]

    def config(self) -> VersionConfig:
        from as2core.nn.question_lm import PrefixLM

        lm = self.module
        name = lm.backbone.name if isinstance(lm, PrefixLM) else lm.model.config._name_or_path
        settings = {"max_length": lm.max_length, "direction": self.direction}
        if isinstance(lm, PrefixLM):
            settings["segments"] = lm.backbone.segments
        elif lm.as_paper:
            settings["as"] = "paper"
        return {"backbone": name, "settings": settings}

    @classmethod
    def restore(cls, config: VersionConfig, path: Path, load: LoadRanker) -> GenerativeRanker:
        settings = config["settings"]
        segments = settings.get("segments", False)  # older versions name none
        as_paper = settings.get("as", "shipped") == "paper"
        lm = load_question_lm(
            config["backbone"], max_length=settings["max_length"], segments=segments, as_paper=as_paper
        )
        return cls(lm, direction=settings.get("direction", "question"))


def load_question_lm(
    name: str | None = None, *, max_length: int = 128, segments: bool | None = None, as_paper: bool = False
) -> QuestionLM:
    """An untrained question model by name: an encoder becomes a PrefixLM, causal and seq2seq models are themselves.
    `segments` is for encoders, as `Backbone` takes it, `as_paper` for the two others.

    Raises UnsupportedBackbone for anything else, BadSetting for segments that there are not.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    from as2core.nn.backbone import DEFAULT_BACKBONE, SUPPORTED, hide_progress_bars, load_backbone
    from as2core.nn.hub import NO_CODE, PLAIN_TEXT, find_source
    from as2core.nn.question_lm import CAUSAL, SEQ2SEQ, CausalLM, PrefixLM, Seq2SeqLM

    if (name is None or name == DEFAULT_BACKBONE) and not as_paper:
        return PrefixLM(load_backbone(segments=segments), max_length=max_length)
    if name is None or name == DEFAULT_BACKBONE:
        raise BadSetting(
            "as=paper is for the paper's models: give backbone=openai-community/gpt2 or facebook/bart-base"
        )
    hide_progress_bars()
    source, options = find_source(name)
    try:
        config = AutoConfig.from_pretrained(source, **options, **NO_CODE)
    except (OSError, ValueError) as e:
        raise UnsupportedBackbone(
            f"no model {name!r}: give a directory or a hub name ({str(e).splitlines()[0]})"
        ) from e
    kind = config.model_type
    if kind in SUPPORTED and as_paper:
        raise BadSetting(f"{name} is an encoder, and the paper's models are causal or encoder-decoders: leave as out")
    if kind in SUPPORTED:
        return PrefixLM(load_backbone(name, segments=segments), max_length=max_length)
    if segments:
        raise BadSetting(f"{name} is a {kind} model, which has no segment embeddings: leave segments out")
    for kinds, loader, lm in ((SEQ2SEQ, AutoModelForSeq2SeqLM, Seq2SeqLM), (CAUSAL, AutoModelForCausalLM, CausalLM)):
        if kind in kinds:
            model = loader.from_pretrained(source, dtype=torch.float32, **options, **NO_CODE)
            tokenizer = AutoTokenizer.from_pretrained(source, **options, **PLAIN_TEXT, **NO_CODE)
            return lm(model, tokenizer, max_length=max_length, as_paper=as_paper)
    raise UnsupportedBackbone(
        f"{name} is a {kind} model, which cannot give log P(question | passage) here; use an encoder "
        f"({', '.join(SUPPORTED)}), a causal model ({', '.join(CAUSAL)}) or an encoder-decoder ({', '.join(SEQ2SEQ)})"
    )


def build(
    shipped: GenerativeRanker | None,
    *,
    backbone: str | None = None,
    segments: bool | None = None,
    direction: str = "question",
    **others: str,
) -> GenerativeRanker:
    style = others.get("as", "shipped")
    if style not in STYLES:
        raise BadSetting(f"no generative as={style}; known: {', '.join(STYLES)}")
    if shipped is None:
        lm = load_question_lm(backbone, segments=segments, as_paper=style == "paper")
        return GenerativeRanker(lm, direction=direction)
    return GenerativeRanker(shipped.module, direction=direction, is_trained=True, name=shipped.name)


RANKER = Entry(
    "generative",
    "log P(question | sentence)",
    "Nogueira dos Santos et al. 2020",
    build,
    shipped="generative",
    saved=(GenerativeRanker,),
    settings={"as": "shipped"},
)
