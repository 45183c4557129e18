"""How quick the cascade is, against other ways of running the same weights, and what its quickness costs.

    python benchmarks/speed.py                 prints all and writes its parts of docs/performance.md (half an hour)
    python benchmarks/speed.py --only times    this part alone
    python benchmarks/speed.py --quick         every part with a little of each; writes nothing

Rounds are interleaved (every way once, then again) with another question each round; medians are told, and ratios of
medians. sentence-transformers is a peer where it is installed (the extra `bench`). Its ONNX backend needs a package
that asks for an older transformers, so its way of running, and FlashRank's, are done here by hand: torch's export of
the same weights, quantised or optimised by ONNX Runtime, run with its own thread pool. OpenVINO is a peer where
`openvino` and `nncf` are installed; no extra has them. WikiQA, TREC-QA and the other sets that very many sentences are
taken from are read from AS2_BENCH_DATA, or from ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from _peers import has
from _texts import DATA, JUDGES
from _texts import sentences as more_sentences
from _traces import measure_ap, restrict, run_all, run_complete
from _ways import BASE, BM25, CROSS, FLASH, INT8, LOOP, NOTHING, RATIOS, WHOLE_TORCH, Way, Ways

from as2core.cascade.engine_onnx import BATCH_TOKENS, session
from as2core.data.catalog import apply_setting, load_questions
from as2core.experiments.base import write_section
from as2core.experiments.picture import BLUE, GREEN, GREY, ORANGE, Series, scatter
from as2core.metrics import measure_mean, order
from as2core.system.cores import count_cores
from as2core.system.files import write_text
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
SQUAD = "squad/train-v1.1.json.gz"
SETS = {"starter-dev": "starter-dev", **JUDGES}
PARTS = ("times", "openvino", "profile", "ap", "together", "memory", "growth")
BASIC = "`cascade:drop_ratio=0.3`"
# what the picture shows: a way's colour, and the most candidates it is given
GROWING = {LOOP: (GREY, 1000), FLASH: (ORANGE, 3000), BASIC: (BLUE, 10_000), BM25: (GREEN, 10_000)}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything: rounds of few and of many candidates, questions a set, questions with many candidates,
    numbers of candidates, questions and candidates run together, ways whose memory is measured and over how many
    candidates (those beside the cascade no more than 1,000)."""

    rounds: tuple[int, int] = (9, 5)
    questions: int | None = None
    pooled: tuple[int, int] = (79, 40)
    growth: tuple[int, ...] = (10, 30, 100, 300, 1000, 3000, 10_000)
    few: int = 100
    many: int = 1300
    together: tuple[tuple[int, int], ...] = ((64, 10), (16, 100))
    peaks: tuple[str, ...] = (CROSS, LOOP, FLASH, INT8, BASE, NOTHING, BASIC, BM25)
    peak_counts: tuple[int, ...] = (100, 1000, 10_000)


QUICK = Sizes(
    rounds=(1, 1),
    questions=2,
    pooled=(1, 1),
    growth=(5, 10),
    few=10,
    many=210,
    together=((2, 5),),
    peaks=(BASE,),
    peak_counts=(10,),
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--peak", nargs=3, metavar=("WAY", "CANDIDATES", "FOLDER"), help="one way's peak memory, MB")
    given = options.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # here it is the CPU that counts; benchmarks/gpu.py has the other
    torch.set_num_threads(count_cores())
    sizes = QUICK if given.quick else Sizes()
    if given.peak:
        way, n, folder = given.peak
        bench = Bench(Path(folder), sizes)
        bench.ways[way](bench.asked[0], bench.sentences(int(n)))
        print(_high_water())
        return
    wanted = given.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        options.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), sizes)
        for part in wanted:
            if part == "openvino" and (missing := list_missing()):
                print(f"OpenVINO is left out: {', '.join(missing)} not at hand (pip install openvino nncf)\n")
                continue
            lines = [
                f"Printed and written by `python benchmarks/speed.py --only {part}`, on {count_cores()} cores. The "
                "machine is shared with others, so compare only the ratios within one run.",
                "",
                *getattr(bench, part)(),
            ]
            print("\n".join(lines), flush=True)
            if not given.quick:
                write_section(ROOT / "docs" / "performance.md", f"engine-{part}", "\n".join(lines))
        for name, picture in ({} if given.quick else bench.pictures).items():
            write_text(picture, ROOT / "docs" / name)


class Bench:
    """The rankers, their peers, and the sentences."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        os.environ.setdefault("AS2_HOME", str(folder / "home"))
        self.ways, self.sizes = Ways(folder), sizes
        tests = [q for part in ("test", "dev", "train") for q in load_questions(f"starter-{part}").questions]
        self.pool = list({c.text: replace(c, label=None) for q in tests for c in q.candidates}.values())
        self.asked = [q.text for q in tests if q.positives]
        self.pictures: dict[str, str] = {}  # by the file of docs/

    def times(self) -> list[str]:
        """One question's candidates, few and many, every way; and where the limit lies."""
        (few, many), sizes = self.sizes.rounds, self.sizes
        lines = self._times(sizes.few, few)[0]
        more, medians = self._times(sizes.many, many)
        return [*lines, *more, *self._limit(sizes.many, medians[BASE])]

    def openvino(self) -> list[str]:
        """OpenVINO's ways of the whole model beside ours, over sentences of SQuAD."""
        n, rounds = self.sizes.few, self.sizes.rounds[0] * 3
        questions = [q for q in load_questions(str(DATA / SQUAD)).questions if q.positives][:1000]
        sentences = list({c.text: Candidate(c.text, c.text) for q in questions for c in q.candidates}.values())[:n]
        ours = (INT8, INT8.replace("32", "8"), WHOLE_TORCH, BASE, BASIC)
        ways = {**self.ways.openvino, **{name: self.ways[name] for name in ours}}
        whole = {name: way(questions[0].text, sentences) for name, way in ways.items() if name != BASIC}  # warm, too
        taken = interleaved(ways, [(questions[r].text, sentences) for r in range(rounds)])
        medians = {name: statistics.median(t) for name, t in taken.items()}
        best = min(t for name, t in medians.items() if name.startswith("OpenVINO"))
        lines = [
            f"### OpenVINO, one question, {n:,} sentences of SQuAD, medians of {rounds} rounds",
            "",
            "| way | ms | speed-up over the best OpenVINO | largest difference from torch, logit |",
            "|---|---|---|---|",
        ]
        for name, t in medians.items():
            apart = f"{np.abs(whole[name] - whole[WHOLE_TORCH]).max():.2f}" if name in whole else ""
            lines.append(f"| {name} | {t * 1000:,.0f} | {best / t:.2f} | {apart} |")
        return [*lines, ""]

    def ap(self) -> list[str]:
        """Whether int8 ranks as float32, and what dropping and a first stage cost."""
        (few, many), sizes = self.sizes.pooled, self.sizes
        return [
            *self._agreement(),
            *self._agreement_dropping(),
            *self._peers(),
            *self._losses(sizes.few, (20, 30, 40, 50), few),
            *self._losses(sizes.many, (100, 200, 400), many),
        ]

    def sentences(self, n: int) -> list[Candidate]:
        """Different ones, the starter corpus's first; over again only where no more sets are at hand."""
        if n > len(self.pool):
            known = {c.text for c in self.pool}
            self.pool += [Candidate(t, t) for t in self._more() if t not in known]
        return [self.pool[i % len(self.pool)] for i in range(n)]

    def _more(self) -> list[str]:
        """Kept in a file, for a process whose memory is measured should not hold the sets they are read from."""
        kept = self.ways.folder / "sentences.json"
        if not kept.exists():
            kept.write_text(json.dumps(more_sentences(max(self.sizes.growth))))
        return json.loads(kept.read_text())

    def _times(self, n: int, rounds: int) -> tuple[list[str], dict[str, float]]:
        """One question's `n` candidates: the table, and every way's median seconds."""
        sentences = self.sentences(n)
        ways = {name: self.ways[name] for name in self.ways.names_for(n)}
        for name, way in ways.items():  # warm; vectors of these sentences are kept from now on
            way(self.asked[-1], sentences if "first=" in name else sentences[:20])
        taken = interleaved(ways, [(self.asked[r], sentences) for r in range(rounds)])
        medians = {name: statistics.median(t) for name, t in taken.items()}
        cross = medians.get(CROSS, medians[LOOP])
        peer = min(t for name, t in medians.items() if "int8," in name)
        nothing = medians[NOTHING]
        lines = [
            f"### {n:,} candidates, one question, medians of {rounds} rounds",
            "",
            "| way | ms | speed-up over CrossEncoder | over the best int8 peer | compute saved | time saved "
            "| time saved / compute saved |",
            "|---|---|---|---|---|---|---|",
        ]
        for name, t in medians.items():
            cells = ["", "", ""]
            if name.startswith("`cascade") and name != NOTHING:
                promised = 1 - ways[name](self.asked[0], sentences).relative_cost
                saved = 1 - t / nothing
                cells = [f"{promised:.0%}", f"{saved:.0%}", f"{saved / promised:.0%}"]
            row = [name, f"{t * 1000:,.0f}", f"{cross / t:.1f}", f"{peer / t:.1f}", *cells]
            lines.append(f"| {' | '.join(row)} |")
        cut = nothing / medians[BASE]
        told = f"At ratio 0 the cascade takes {cut:.2f} times as long as the whole model on the same engine."
        return [*lines, "", told, ""], medians

    def sets(self) -> dict[str, list[Question]]:
        found = {name: spec for name, spec in SETS.items() if spec == name or Path(spec).exists()}
        clean = {name: apply_setting(load_questions(spec).questions, "clean") for name, spec in found.items()}
        return {name: questions[: self.sizes.questions] for name, questions in clean.items()}

    def _agreement(self) -> list[str]:
        """int8 against float32, nothing dropped, and AP at the ratios."""
        lines = [
            "### The same ranking: int8 against float32",
            "",
            "AP of the last exit in points, how often both have the same top candidate, and the change of AP by "
            "dropping (int8).",
            "",
            "| set | questions | AP float32 | AP int8 | same top | mean logit difference | "
            + " | ".join(f"ratio {r:g}" for r in RATIOS)
            + " |",
            "|---|---|---|---|---|---|" + "---|" * len(RATIOS),
        ]
        for name, questions in self.sets().items():
            real, small = (run_complete(r, questions) for r in (self.ways.torch, self.ways.onnx))
            ap_real, ap = measure_ap(questions, real), measure_ap(questions, small)
            both = [(a.exits[-1].scores, b.exits[-1].scores) for a, b in zip(real, small, strict=True)]
            top = np.mean([order(a)[0] == order(b)[0] for a, b in both])
            apart = np.mean(np.concatenate([np.abs(a - b) for a, b in both]))
            dropped = [measure_ap(questions, [t.replay(self.ways.schedule(r)) for t in small]) - ap for r in RATIOS]
            cells = [name, str(len(questions)), f"{ap_real:.1f}", f"{ap:.1f}", f"{top:.1%}", f"{apart:.3f}"]
            lines.append(f"| {' | '.join([*cells, *(f'{d:+.1f}' for d in dropped)])} |")
        return [*lines, ""]

    def _agreement_dropping(self, ratio: float = 0.3) -> list[str]:
        """The same with dropping, each engine by its own logits all the way."""
        lines = [
            f"### int8 against float32 with dropping, at ratio {ratio:g}",
            "",
            "| set | questions | AP float32 | AP int8 | same top |",
            "|---|---|---|---|---|",
        ]
        schedule = self.ways.schedule(ratio)
        for name, questions in self.sets().items():
            real, small = (run_all(r, questions, schedule) for r in (self.ways.torch, self.ways.onnx))
            top = np.mean([a.ranking()[0] == b.ranking()[0] for a, b in zip(real, small, strict=True)])
            cells = f"{measure_ap(questions, real):.1f} | {measure_ap(questions, small):.1f} | {top:.1%}"
            lines.append(f"| {name} | {len(questions)} | {cells} |")
        return [*lines, ""]

    def _peers(self) -> list[str]:
        """AP of every way to run the whole model: all have the same weights, the classifier's among them."""
        sets = {name: q for name, q in self.sets().items() if name in ("starter-test", "TREC-QA dev")}
        lines = [
            "### AP of the whole model, by implementation",
            "",
            f"| way | {' | '.join(sets)} |",
            "|---|" + "---|" * len(sets),
        ]
        for name in self.ways.whole_models:
            way = self.ways[name]
            found = [
                100 * measure_mean(questions, {q.qid: way(q.text, q.candidates) for q in questions}, ("AP",))["AP"]
                for questions in sets.values()
            ]
            lines.append(f"| {name} | {' | '.join(f'{ap:.1f}' for ap in found)} |")
        return [*lines, ""]

    def _losses(self, n: int, keeps: Sequence[int], asked: int) -> list[str]:
        """AP of so many starter questions over `n` candidates: their own, and other questions' as distractors."""
        questions = apply_setting(load_questions("starter-test").questions, "clean")[:asked]
        pooled = [replace(q, candidates=self._pooled(q, n)) for q in questions]
        traces = [run_complete(self.ways.onnx, [q])[0] for q in pooled]
        ap = measure_ap(pooled, traces)
        lines = [
            f"### Change of AP, {n:,} candidates ({len(pooled)} starter-test questions)",
            "",
            f"A question's own candidates, with those of other questions as distractors. The whole int8 model has AP "
            f"{ap:.1f}. The difference from it, in points:",
            "",
            "| first stage | " + " | ".join(f"ratio {r:g}" for r in (0.0, *RATIOS)) + " |",
            "|---|" + "---|" * (1 + len(RATIOS)),
        ]
        for name in ("none", "bm25", "bi-encoder"):
            for keep in keeps if name != "none" else (0,):
                left = traces
                if name != "none":
                    cut = [self.ways.first(name, keep).cut(q.text, q.candidates) for q in pooled]
                    triples = zip(traces, cut, pooled, strict=True)
                    left = [t if c is None else restrict(t, c, q.candidates) for t, c, q in triples]
                lost = [
                    measure_ap(pooled, [t.replay(self.ways.schedule(r)) for t in left]) - ap for r in (0.0, *RATIOS)
                ]
                label = name if name == "none" else f"{name}, keeps {keep}"
                lines.append(f"| {label} | {' | '.join(f'{d:+.1f}' for d in lost)} |")
        return [*lines, ""]

    def _pooled(self, q: Question, n: int) -> tuple[Candidate, ...]:
        own = {c.text for c in q.candidates}
        others = [c for c in self.pool if c.text not in own][: max(0, n - len(q.candidates))]
        return (*q.candidates, *others)

    def together(self) -> list[str]:
        """Several questions: one after another, and all pairs at once."""
        rates = [self._together(self._many_asked(*size)) for size in self.sizes.together]
        titles = [f"{n} questions of {'up to ' if k <= 10 else ''}{k}" for n, k in self.sizes.together]
        lines = [
            "### Several questions, candidates per second",
            "",
            f"| way | {' | '.join(titles)} |",
            "|---|" + "---|" * len(titles),
        ]
        return [*lines, *(f"| {way} | {' | '.join(f'{r[way]:,.0f}' for r in rates)} |" for way in rates[0]), ""]

    def _many_asked(self, questions: int, candidates: int) -> list[tuple[str, list[Candidate]]]:
        """A labelled set's own candidates where they are few; else other sentences for each question."""
        if candidates <= 10:
            some = next(iter(reversed(self.sets().values())))[:questions]
            return [(q.text, list(q.candidates[:candidates])) for q in some]
        pool = self.sentences(questions * candidates)
        return [(q, pool[i * candidates : (i + 1) * candidates]) for i, q in enumerate(self.asked[:questions])]

    def _together(self, asked: list[tuple[str, list[Candidate]]]) -> dict[str, float]:
        """Candidates a second of every way."""
        pairs = [(q, c.titled_text) for q, some in asked for c in some]
        ways: dict[str, Way] = {}
        for name in (n for n in (CROSS, INT8) if n in self.ways.names):
            way, peer = self.ways[name], self.ways.peer(name)
            ways[f"{name}, one after another"] = lambda *_, way=way: [way(*a) for a in asked]
            ways[f"{name}, packed together"] = lambda *_, peer=peer: peer(pairs)
        for name, r in (("torch", self.ways.torch), ("onnx", self.ways.onnx)):
            ways[f"`cascade` ({name} engine), one after another"] = lambda *_, r=r: [r.trace(*a) for a in asked]
            ways[f"`cascade` ({name} engine), packed together"] = lambda *_, r=r: r.trace_many(asked)
        taken = interleaved(ways, [("", [])] * self.sizes.rounds[1])
        return {name: len(pairs) / statistics.median(t) for name, t in taken.items()}

    def _limit(self, n: int, seconds: float) -> list[str]:
        """Products a second: what the cores can do in int8 at all, and what the whole model gets out of them over `n`
        candidates in so many seconds."""
        peak = _int8_peak(self.ways.folder)
        trace = self.ways.whole.trace(self.asked[0], self.sentences(n))
        reached = trace.flops / seconds / 1e9
        return [
            "### The limit of the processor",
            "",
            f"The {count_cores()} cores multiply int8 matrices of the feed-forward layer's size ({BATCH_TOKENS} "
            f"tokens) at {peak:,.0f} billion operations per second if they do nothing else. The whole model over {n:,} "
            "candidates also tokenises, quantises, and computes attention, norms and activations. It runs at "
            f"{reached:,.0f} billion, "
            f"{reached / peak:.0%} of this limit.",
            "",
        ]

    def profile(self) -> list[str]:
        """Which operators take the whole model's time, as ONNX Runtime tells it."""
        engine, n = copy(self.ways.whole.engine), self.sizes.many
        engine.sessions = [session(g, profile=str(self.ways.folder / "profile")) for g in engine.graphs]
        began, rounds = time.perf_counter(), self.asked[: self.sizes.rounds[1]]
        for question in rounds:
            engine.start([question] * n, [c.text for c in self.sentences(n)]).advance(np.arange(n), 0, 1)
        spent = (time.perf_counter() - began) * count_cores()
        seconds: Counter[str] = Counter()
        for s in engine.sessions:
            for event in json.loads(Path(s.end_profiling()).read_text()):
                if event["cat"] == "Node":
                    seconds[event["args"]["op_name"]] += event["dur"] / 1e6
        lines = [
            "### Time by operator",
            "",
            f"The whole model (int8) over {n:,} candidates, {len(rounds)} questions, by ONNX Runtime's own profiler, "
            f"which slows it slightly. Operators take {sum(seconds.values()) / spent:.0%} of the cores' time; the rest "
            "is tokenising, packing and waiting.",
            "",
            "| operator | share of the operators' time |",
            "|---|---|",
        ]
        return [*lines, *(f"| {name} | {t / sum(seconds.values()):.1%} |" for name, t in seconds.most_common(9)), ""]

    def memory(self) -> list[str]:
        counts = self.sizes.peak_counts
        lines = [
            "### Peak memory of a process (MB), including Python, the libraries and the model",
            "",
            "| way | " + " | ".join(f"{n:,} candidates" for n in counts) + " |",
            "|---|" + "---|" * len(counts),
        ]
        for way in self.sizes.peaks:
            if way in self.ways.names:
                self.sentences(max(counts))  # writes the file that the processes read
                most = max(counts) if way.startswith("`cascade") else 1000  # the others take a minute and more
                peaks = [f"{_peak(way, n, self.ways.folder):,}" if n <= most else "" for n in counts]
                lines.append(f"| {way} | {' | '.join(peaks)} |")
        return [*lines, ""]

    def growth(self) -> list[str]:
        """Seconds and memory from few to very many candidates, with pictures."""
        counts = self.sizes.growth
        points: dict[str, list[tuple[int, float]]] = {name: [] for name in GROWING}
        for name in GROWING:
            self.ways[name]  # what is exported once is no part of a process's memory
        self.sentences(max(counts))
        peaks = {
            name: [(n, _peak(name, n, self.ways.folder)) for n in counts if n <= most]
            for name, (_, most) in GROWING.items()  # before the times: one batch of thousands leaves this process large
        }
        for n in counts:
            sentences, rounds = self.sentences(n), 3 if n <= 1000 else 1
            ways = {name: self.ways[name] for name, (_, most) in GROWING.items() if n <= most}
            interleaved(ways, [(self.asked[-1], sentences[:300])])  # warm
            for name, t in interleaved(ways, [(q, sentences) for q in self.asked[:rounds]]).items():
                points[name].append((n, statistics.median(t)))
        return [
            "### Time by number of candidates (seconds)",
            "",
            "Medians of 3 rounds up to 1,000 candidates, one round above; "
            f"{min(len(self.pool), counts[-1]):,} different sentences.",
            "",
            *self._grown("seconds", "performance.svg", points, ",.2f"),
            "### Peak memory by number of candidates (MB per process)",
            "",
            *self._grown("MB", "performance-memory.svg", peaks, ",d"),
        ]

    def _grown(self, unit: str, file: str, points: dict[str, list[tuple[int, float]]], how: str) -> list[str]:
        """A picture of what `points` has of each way, and its table."""
        counts, title = self.sizes.growth, f"{unit[0].upper()}{unit[1:]} against candidates"
        series = [Series(n.strip("`"), tuple(points[n]), colour, line=True) for n, (colour, _) in GROWING.items()]
        self.pictures[file] = scatter(series, title=title, x_title="candidates", y_title=unit, log=True)
        rows = [[name, *(f"{v:{how}}" for _, v in found)] for name, found in points.items()]
        return [
            f"![{title}]({file})",
            "",
            "| way | " + " | ".join(f"{n:,}" for n in counts) + " |",
            "|---|" + "---|" * len(counts),
            *(f"| {' | '.join([*row, *[''] * (len(counts) + 1 - len(row))])} |" for row in rows),
            "",
        ]


def list_missing() -> list[str]:
    """What the comparison with OpenVINO needs and is not here."""
    return [p for p in ("openvino", "nncf") if not has(p)] + ([] if (DATA / SQUAD).exists() else [SQUAD])


def interleaved(ways: dict[str, Way], asked: Sequence[tuple[str, list[Candidate]]]) -> dict[str, list[float]]:
    """Seconds of every way, once a round."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for question, candidates in asked:
        for name, way in ways.items():
            taken[name].append(_timed(way, question, candidates))
    return taken


def _timed(way: Way, question: str, candidates: list[Candidate]) -> float:
    start = time.perf_counter()
    way(question, candidates)
    return time.perf_counter() - start


def _high_water() -> int:
    """This process's peak memory in MB. Not getrusage's: that counts what the parent held before this one began."""
    told = Path("/proc/self/status").read_text().partition("VmHWM:")[2]
    return int(told.split()[0]) // 1024


def _peak(way: str, n: int, folder: Path) -> int:
    """Peak memory in MB of a process that does this once."""
    command = [sys.executable, __file__, "--peak", way, str(n), str(folder)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def _int8_peak(folder: Path) -> float:
    """Billions of operations a second of bare int8 products, one thread a core, each its own."""
    from onnx import TensorProto, helper, numpy_helper

    width, inner, times = 384, 1536, 50
    weight = np.random.default_rng(0).integers(-127, 127, (width, inner), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [BATCH_TOKENS, width])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [BATCH_TOKENS, inner])],
        [numpy_helper.from_array(weight, "w")],
    )
    path = folder / "product.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    )
    one, x = session(path), np.zeros((BATCH_TOKENS, width), np.uint8)

    def work() -> None:
        for _ in range(times):
            one.run(None, {"x": x})

    best = 0.0
    with ThreadPoolExecutor(count_cores()) as pool:
        for _ in range(5):
            start = time.perf_counter()
            for done in [pool.submit(work) for _ in range(count_cores())]:
                done.result()
            best = max(
                best, 2 * BATCH_TOKENS * width * inner * times * count_cores() / (time.perf_counter() - start) / 1e9
            )
    return best


if __name__ == "__main__":
    main()
