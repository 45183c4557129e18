"""An exit before the first layer, tried: are the encoder's input embeddings enough to tell who may be dropped?

    python benchmarks/input_embeddings.py            prints the tables and writes them to docs/techniques/engine.md
    python benchmarks/input_embeddings.py --quick    a little of each; writes nothing

SEE (similarity-based early exit, SIGIR 2025) drops documents by the similarity of token embeddings before a
cross-encoder reads on. Here the tokens are those that go into the cascade's first layer, without position: of each
question token the most similar token of the sentence ("max"), or the mean vectors of both ("mean"), each weighted by
the token's IDF among the candidates. Rivals are the first stages that the catalog has, and the exit after two layers.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from _texts import JUDGES
from _texts import sentences as read_sentences
from _traces import measure_ap, restrict, run_complete
from _ways import Ways

from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.metrics import measure_mean
from as2core.nn.backbone import Backbone, token_ids
from as2core.rankers.base import Ranker
from as2core.rankers.first_stage import FirstStage
from as2core.system.cores import count_cores
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
SETS = {"starter-dev": "starter-dev", **{name: spec for name, spec in JUDGES.items() if name != "starter-test"}}
SHARES = (0.7, 0.5)  # of a question's candidates that a stage keeps
KEEPS = {100: (30, 50), 1300: (100, 400)}  # of so many candidates, with distractors
RATIO = 0.3


class InputEmbeddingRanker:
    """Scores are cosines in [-1, 1]. `pool`: "max" or "mean"."""

    def __init__(self, backbone: Backbone, pool: str) -> None:
        self.tokenizer, self.pool, self.name = backbone.tokenizer, pool, f"input embeddings, {pool}"
        table = backbone.embeddings.word_embeddings.weight.detach().numpy()  # (vocabulary, width)
        self.table = table / np.linalg.norm(table, axis=1, keepdims=True).clip(1e-9)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        tokens, *texts = token_ids(self.tokenizer, [question, *(c.titled_text for c in candidates)], 256, special=False)
        if not tokens or not texts:
            return np.zeros(len(texts), np.float32)
        begins = np.cumsum([0, *map(len, texts)])[:-1]
        vocabulary, places = np.unique(np.concatenate([*texts, [0]]).astype(int), return_inverse=True)
        places = places[:-1]  # (all tokens of the candidates,); the 0 is there for the case of no token at all
        owners = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
        held = np.unique(np.stack([places, owners]), axis=1)[0] if len(places) else places
        counts = np.bincount(held, minlength=len(vocabulary))
        idf = np.log1p((len(texts) - counts + 0.5) / (counts + 0.5))
        weights = np.array([idf[i] if i < len(vocabulary) and vocabulary[i] == t else math.log(2 * len(texts) + 2)
                            for t, i in zip(tokens, np.searchsorted(vocabulary, tokens), strict=True)])  # fmt: skip
        rows = self.table[vocabulary]  # (different tokens, width)
        if self.pool == "mean":
            whole = weights @ self.table[tokens]
            sums = np.zeros((len(texts), rows.shape[1]))
            np.add.at(sums, owners, rows[places] * idf[places, None])
            norms = np.linalg.norm(sums, axis=1) * np.linalg.norm(whole)
            return (sums @ whole / norms.clip(1e-9)).astype(np.float32)
        likeness = (self.table[tokens] @ rows.T)[:, places]  # (question tokens, all tokens)
        best = np.zeros((len(tokens), len(texts)))
        full = np.array([len(t) > 0 for t in texts])
        best[:, full] = np.maximum.reduceat(likeness, begins[full], axis=1)
        return (weights @ best / weights.sum()).astype(np.float32)


class Trial:
    """The stages that are compared, over the sets at hand."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.ways, self.limit, self.rounds = Ways(folder), 3 if quick else None, 1 if quick else 9
        self.pooled = {10: (3, 5)} if quick else KEEPS
        self.repeats = {n: 2 if quick else (40 if n <= 100 else 20) for n in self.pooled}
        backbone = self.ways.torch.backbone
        self.stages: dict[str, Ranker] = {
            name: InputEmbeddingRanker(backbone, name.split()[-1])
            for name in ("input embeddings, max", "input embeddings, mean")
        }
        self.stages |= {name: self.ways.first(name, 1).ranker for name in ("bm25", "bi-encoder")}

    def read(self, spec: str) -> list[Question]:
        return apply_setting(load_questions(spec).questions, "clean")[: self.limit]

    def compare_on_sets(self) -> list[str]:
        sets = {name: self.read(spec) for name, spec in SETS.items() if spec == name or Path(spec).exists()}
        traces = {name: run_complete(self.ways.onnx, questions) for name, questions in sets.items()}
        schedule = self.ways.schedule(RATIO)
        lines = [
            f"AP in points: of a stage alone, and of the cascade (ratio {RATIO:g}) if the stage keeps a share of each "
            "question's candidates first.",
            "",
            "| stage | " + " | ".join(f"{s}: alone | keeps 70 % | keeps 50 %" for s in sets) + " |",
            "|---|" + "---|" * (3 * len(sets)),
        ]
        rows: dict[str, list[str]] = {"none": [], "exit after two layers": [], **{name: [] for name in self.stages}}
        for name, questions in sets.items():
            whole = traces[name]
            rows["none"] += ["", f"{measure_ap(questions, [t.replay(schedule) for t in whole]):.1f}", ""]
            first = {q.qid: t.exits[0].scores for q, t in zip(questions, whole, strict=True)}
            rows["exit after two layers"] += [f"{100 * measure_mean(questions, first, ('AP',))['AP']:.1f}", "", ""]
            for stage, ranker in self.stages.items():
                alone = {q.qid: ranker.score(q.text, q.candidates) for q in questions}
                rows[stage].append(f"{100 * measure_mean(questions, alone, ('AP',))['AP']:.1f}")
                for share in SHARES:
                    cuts = [
                        FirstStage(ranker, max(1, math.ceil(share * len(q.candidates)))).cut(q.text, q.candidates)
                        for q in questions
                    ]
                    left = [
                        (t if c is None else restrict(t, c, q.candidates)).replay(schedule)
                        for t, c, q in zip(whole, cuts, questions, strict=True)
                    ]
                    rows[stage].append(f"{measure_ap(questions, left):.1f}")
        return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()), ""]

    def compare_with_distractors(self) -> list[str]:
        """starter-dev, with sentences of other questions up to so many."""
        questions, others = self.read("starter-dev"), [Candidate(t, t) for t in read_sentences(max(self.pooled))]
        columns, rows = [], {name: [] for name in self.stages}
        for n, keeps in self.pooled.items():
            some = [
                replace(q, candidates=(*q.candidates, *others[: max(0, n - len(q.candidates))]))
                for q in questions[: self.repeats[n]]
            ]
            whole = run_complete(self.ways.onnx, some)
            ap = measure_ap(some, whole)
            for keep in keeps:
                columns.append(f"{keep} of {n:,}")
                for stage, ranker in self.stages.items():
                    cuts = [FirstStage(ranker, keep).cut(q.text, q.candidates) for q in some]
                    left = [
                        t if c is None else restrict(t, c, q.candidates)
                        for t, c, q in zip(whole, cuts, some, strict=True)
                    ]
                    rows[stage].append(f"{measure_ap(some, left) - ap:+.1f}")
        lines = [
            "Change of AP on starter-dev with sentences of other sets as distractors, where the stage keeps some and "
            "the whole model reads those:",
            "",
            f"| stage | {' | '.join(columns)} |",
            "|---|" + "---|" * len(columns),
        ]
        return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()), ""]

    def time_stages(self) -> list[str]:
        questions = [q.text for q in load_questions("starter-dev").questions]
        counts = tuple(self.pooled)
        rows: dict[str, list[str]] = {name: [] for name in [*self.stages, "the first two layers", "the whole model"]}
        for n in counts:
            candidates = [Candidate(t, t) for t in read_sentences(n)]
            times: dict[str, list[float]] = {name: [] for name in rows}
            for ranker in self.stages.values():
                ranker.score(questions[-1], candidates)  # warm; vectors are stored from now on
            for r in range(self.rounds):
                for name, ranker in self.stages.items():
                    began = time.perf_counter()
                    ranker.score(questions[r], candidates)
                    times[name].append(time.perf_counter() - began)
                trace = self.ways.onnx.trace(questions[r], candidates, self.ways.schedule(0.0))
                times["the first two layers"].append(trace.exits[0].seconds)
                times["the whole model"].append(sum(e.seconds for e in trace.exits))
            for name, seconds in times.items():
                rows[name].append(f"{statistics.median(seconds) * 1000:,.0f}")
        lines = [
            f"Milliseconds, medians of {self.rounds} interleaved rounds:",
            "",
            f"| stage | {' | '.join(f'{n:,} candidates' for n in counts)} |",
            "|---|" + "---|" * len(counts),
        ]
        return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()), ""]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    quick = options.parse_args().quick
    torch.set_num_threads(count_cores())
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("AS2_HOME", str(Path(folder) / "home"))
        trial = Trial(Path(folder), quick=quick)
        lines = [
            f"`python benchmarks/input_embeddings.py`, on {count_cores()} cores of a machine that others use, too.",
            "",
            *trial.compare_on_sets(),
            *trial.compare_with_distractors(),
            *trial.time_stages(),
        ]
    print("\n".join(lines))
    if not quick:
        write_section(ROOT / "docs" / "techniques" / "engine.md", "input embeddings", "\n".join(lines))


if __name__ == "__main__":
    main()
