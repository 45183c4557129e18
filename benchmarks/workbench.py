"""How long the workbench takes: bringing documents in, finding candidates, retraining, the page, a cold start.

    python benchmarks/workbench.py                           all parts, each into its section of docs/performance.md
    python benchmarks/workbench.py --only retrieval,page     these alone
    python benchmarks/workbench.py --quick                   a little of each; writes nothing

Everything runs through the services the pages and the commands call, over a home of its own in a temporary folder. The
data sets are read from AS2_BENCH_DATA, or from ../shared/data beside the repository; without them the starter corpus
stands in, and the tables say how much there was. Peers (sentence-transformers, bm25s) are timed where they are
installed, the extra `bench`. The page needs a Chromium.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _peers
import _served
import numpy as np
from _texts import DATA, SENTENCES

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app import bootstrap
from app.adapt import readiness, retrain_job
from app.adapt.readiness import Readiness
from app.adapt.settings import RetrainSettings
from app.corpora import corpora
from app.corpora.corpora import CorpusView
from app.corpora.ingestion import ingest
from app.exchange.prepared import accept_prepared
from app.exchange.starter import ensure_handbook, ensure_starter
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.jobs.process import start_worker
from app.jobs.queue import JobView
from app.ranking import retrieval, scoring
from app.versions import registry
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from app.worker import RUNNERS
from as2core.data.catalog import load_questions
from as2core.documents.reading import read_documents
from as2core.experiments.base import write_section
from as2core.retrieval.passages import split_passages
from as2core.system.cores import count_cores
from as2core.text import split_sentences

MEDQUAD = DATA / "medquad" / "qa.jsonl"
WIDTH = 384  # of a passage's vector
POLL = 0.1  # seconds between looks at a job


@dataclass(frozen=True, slots=True)
class RetrainCase:
    """`prepared` labels of the handbook that are accepted; 0: the starter corpus's own. `measured_ahead`: what can be
    measured of the base was measured before the click, as it is where people label (docs/decisions/0072)."""

    prepared: int
    measured_ahead: bool = False

    @property
    def title(self) -> str:
        title = f"handbook, {self.prepared} questions" if self.prepared else "starter corpus"
        return f"{title}, measured ahead" if self.measured_ahead else title


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything: documents brought in, passages whose vectors are made, passages searched and questions
    asked of them, files and questions an index's corpus is drawn from, starter questions a part (None: all), retrains,
    their epochs (None: the default), questions asked on the page, starts, seconds that background work is waited for.
    """

    documents: int | None = None
    embedded: int = 1024
    searched: tuple[int, ...] = (16_000, 200_000)
    repeats: int = 200
    files: tuple[str, ...] = SENTENCES
    starter: tuple[int, int, int] | None = None
    retrains: tuple[RetrainCase, ...] = (
        RetrainCase(0),
        RetrainCase(20),
        *(RetrainCase(questions, measured_ahead=True) for questions in (20, 100, 180)),
    )
    epochs: int | None = None
    page: int = 12
    starts: int = 3
    patience: float = 600.0


QUICK = Sizes(
    documents=60,
    embedded=16,
    searched=(300,),
    repeats=5,
    files=("wikiqa/WikiQA-dev.tsv",),
    starter=(8, 4, 2),
    retrains=(RetrainCase(0, measured_ahead=True),),
    epochs=1,
    page=1,
    starts=1,
    patience=5.0,
)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parsed = options.parse_args(arguments)
    wanted = parsed.only.split(",")
    if unknown := set(wanted) - set(PARTS):
        options.error(f"no part {', '.join(sorted(unknown))}; known: {', '.join(PARTS)}")
    sizes = QUICK if parsed.quick else Sizes()
    for part in wanted:
        command = f"python benchmarks/workbench.py --only {part}"
        intro = f"Printed and written by `{command}`, on {count_cores()} cores{name_processor()}."
        with tempfile.TemporaryDirectory() as folder:
            lines = [f"## {TITLES[part]}", "", intro, "", *PARTS[part](Path(folder), sizes)]
        print("\n".join([*lines, ""]), flush=True)
        if not parsed.quick:
            write_section(ROOT / "docs" / "performance.md", part, "\n".join(lines))


def name_processor() -> str:
    """` (AMD EPYC)`; "" where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((f" ({line.partition(':')[2].strip()})" for line in lines if line.startswith("model name")), "")


# --- adding documents ------------------------------------------------------------------------------------------------


def ingestion(folder: Path, sizes: Sizes) -> list[str]:
    """From files to searchable by words, then the vectors of some passages, by the job and by a peer."""
    with home(folder / "home") as wb:
        corpus = corpora.create_corpus(wb, "ingested")
        done, seconds = timed(lambda: ingest(wb, corpus.id, _files(sizes.documents)))
        index = wb.index(corpus.id)
        n = index.count()
        report = [
            "| documents | sentences | passages | until searchable by words, s | documents/s | sentences/s |",
            "|---|---|---|---|---|---|",
            f"| {done.documents:,} | {done.sentences:,} | {n:,} | {seconds:.1f} | {done.documents / seconds:,.0f} "
            f"| {done.sentences / seconds:,.0f} |",
            "",
        ]
        texts = [p.text for p in index.list_pending(sizes.embedded)]
    ways: dict[str, Callable[[list[str]], np.ndarray]] = {}
    with home(folder / "vectors") as wb:
        embedder = wb.models.embedder()
        ways["the model alone, as the job calls it, 64 at a time"] = lambda some: np.concatenate(
            [embedder.embed(some[i : i + 64]) for i in range(0, len(some), 64)]
        )
        if _peers.has("sentence_transformers"):
            ways["sentence-transformers `encode`, the same weights"] = _peers.encode(embedder)
        for way in ways.values():
            way(texts[:8])
        rates, vectors = {"the background job, including storage": _embedded(wb, texts)}, []
        for name, way in ways.items():
            result, seconds = timed(lambda way=way: way(texts))
            vectors.append(result)
            rates[name] = len(result) / seconds
    report += [
        f"Vectors of {len(texts):,} of these passages ({statistics.mean(len(t.split()) for t in texts):.0f} words on "
        "average), computed in the background:",
        "",
        "| way | passages/s |",
        "|---|---|",
        *(f"| {name} | {rate:,.0f} |" for name, rate in rates.items()),
    ]
    if len(vectors) > 1:
        near = (vectors[0] * vectors[1]).sum(1).min()
        report += ["", f"Both compute the same vectors: the smallest cosine between them is {near:.4f}."]
    return report


def _files(documents: int | None) -> list[tuple[str, Path | bytes]]:
    """MedQuAD's answers, or the starter corpus's articles where MedQuAD is not at hand, in capitals: as they are, their
    vectors come with the program."""
    if not MEDQUAD.exists():
        articles = sorted((ROOT / "corpora" / "starter" / "articles").glob("*.md"))
        return [(a.name, a.read_text(encoding="utf-8").upper().encode()) for a in articles[:documents]]
    if documents is None:
        return [(MEDQUAD.name, MEDQUAD)]
    with MEDQUAD.open("rb") as lines:
        return [(MEDQUAD.name, b"".join(line for line, _ in zip(lines, range(documents), strict=False)))]


def _embedded(wb: Workbench, texts: Sequence[str]) -> float:
    """Passages a second of the background job, over documents of a passage each."""
    corpus = corpora.create_corpus(wb, "embedded")
    ingest(wb, corpus.id, [("passages.jsonl", _lines(("", t) for t in texts))])
    n = wb.index(corpus.id).count()
    _, seconds = timed(lambda: run_queued(wb, RUNNERS))
    assert wb.index(corpus.id).count_vectors() == n
    return n / seconds


# --- finding candidates ----------------------------------------------------------------------------------------------


def search(folder: Path, sizes: Sizes) -> list[str]:
    """What a question waits for before the ranker, over corpora of some sizes drawn from all documents at hand."""
    known, questions = _all_documents(sizes.files)
    draw = random.Random(0)
    draw.shuffle(known)
    questions = draw.sample(questions, min(sizes.repeats, len(questions)))
    report = [
        f"{len(questions)} questions of the same sources. As on the Ask page, {scoring.MAX_DOCUMENTS} documents and up "
        f"to {Settings().candidates:,} of their sentences are loaded. The documents are drawn from the available sets: "
        "MedQuAD's answers, split into passages as usual, and every distinct sentence of the labelled sets as a "
        f"document of its own. The vectors of the passages are random, of the usual width ({WIDTH}). Every vector is "
        "compared, so they take as long as real ones. The questions are really embedded. The first question reads the "
        "vectors from disk.",
        "",
        "| passages (documents) | step | first, ms | p50, ms | p95, ms |",
        "|---|---|---|---|---|",
    ]
    for size in sizes.searched:
        sample, texts = _of_size(known, size)
        with home(folder / str(size)) as wb:
            corpus = corpora.create_corpus(wb, "searched")
            ingest(wb, corpus.id, [("documents.jsonl", _lines(sample))])
            _give_vectors(wb, corpus)
            rows = _searches(wb, corpus, texts, questions)
            label = f"{wb.index(corpus.id).count():,} ({len(sample):,})"
        report += [f"| {label} | {what} | {first} | {p50:,.1f} | {p95:,.1f} |" for what, first, p50, p95 in rows]
    return report


def _all_documents(files: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """(title, text) of every different document at hand, and the questions asked about them."""
    titles: dict[str, str] = {}
    questions: dict[str, None] = {}
    if MEDQUAD.exists() and len(files) > 1:
        for d in read_documents(MEDQUAD, on_problem=lambda _: None):
            titles.setdefault(d.text, d.title)
        with MEDQUAD.open(encoding="utf-8") as lines:
            questions.update((json.loads(line)["question"], None) for line in lines)
    for spec in [DATA / f for f in files if (DATA / f).exists()] or ["starter-train"]:
        for q in load_questions(spec).questions:
            questions.setdefault(q.text)
            titles.update((c.text, "") for c in q.candidates if c.text not in titles)
    return [(title, text) for text, title in titles.items()], list(questions)


def _of_size(documents: Sequence[tuple[str, str]], size: int) -> tuple[list[tuple[str, str]], list[str]]:
    """As many documents as make `size` passages, or all; and these passages' texts."""
    sample, texts = [], []
    for title, text in documents:
        if len(texts) >= size:
            break
        sample.append((title, text))
        texts += [p.text for p in split_passages("", split_sentences(text), title=title)]
    return sample, texts


def _give_vectors(wb: Workbench, corpus: CorpusView) -> None:
    index, draw = wb.index(corpus.id), np.random.default_rng(0)
    while batch := index.list_pending(5000):
        vectors = draw.normal(size=(len(batch), WIDTH)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        index.set_vectors({p.id: v for p, v in zip(batch, vectors, strict=True)})


def _searches(
    wb: Workbench, corpus: CorpusView, texts: list[str], questions: Sequence[str]
) -> list[tuple[str, str, float, float]]:
    """What was done, the first time in ms as text, p50 and p95 in ms. Ways take turns over the questions."""
    index, embed = wb.index(corpus.id), wb.models.embedder().embed
    embed(questions[:1])
    k = max(50, 5 * scoring.MAX_DOCUMENTS)
    vectors = dict(zip(questions, embed(list(questions)), strict=True))
    ways: dict[str, Callable[[str], object]] = {
        "`retrieve`, total": lambda q: retrieval.retrieve(
            wb, corpus.id, q, documents=scoring.MAX_DOCUMENTS, candidates=wb.settings.candidates
        ),
        "of which: search by words (FTS5)": lambda q: index.search_words(q, k),
        "of which: embedding the question": lambda q: embed([q]),
        "of which: search by meaning": lambda q: index.search_vectors(vectors[q], k),
    }
    if _peers.has("bm25s"):
        ways["for comparison: bm25s, by words, all in memory"] = _peers.bm25s(texts, k)
    milliseconds: dict[str, list[float]] = {name: [] for name in ways}
    for q in questions:
        for name, way in ways.items():
            milliseconds[name].append(1000 * timed(lambda way=way, q=q: way(q))[1])
    whole = next(iter(ways))
    return [
        (name, f"{ms[0]:,.0f}" if name == whole else "", *np.percentile(ms[1:] or ms, [50, 95]))
        for name, ms in milliseconds.items()
    ]


# --- retraining ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimedRetrain:
    """A retrain that ran; `seconds` by step, and those `before` the click."""

    title: str
    ready: Readiness
    seconds: dict[str, float]
    training: float
    before: float

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


def retrain(folder: Path, sizes: Sizes) -> list[str]:
    """The job that the Adapt page starts, each time in a worker of its own and a new home: wall time, and where it
    goes."""
    runs = [time_retrain(folder / str(i), sizes, case) for i, case in enumerate(sizes.retrains)]
    steps = dict.fromkeys(step for run in runs for step in run.seconds)
    return [
        "From the click to the version's card, in a new home:",
        "",
        "| labels | training questions | correct | incorrect | validation | held out | before the click, s | total, s "
        "| optimiser, s |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {r.title} | {r.ready.train_questions} | {r.ready.train_correct:,} | {r.ready.train_incorrect:,} "
            f"| {r.ready.dev_questions} | {r.ready.heldout_questions} | {r.before:.0f} | {r.total:.0f} "
            f"| {r.training:.0f} |"
            for r in runs
        ),
        "",
        "The steps, by the job's messages, in seconds:",
        "",
        f"| step | {' | '.join(r.title for r in runs)} |",
        f"|---|{'---|' * len(runs)}",
        *(f"| {step} | {' | '.join(f'{r.seconds.get(step, 0):.0f}' for r in runs)} |" for step in steps),
    ]


def time_retrain(folder: Path, sizes: Sizes, case: RetrainCase) -> TimedRetrain:
    folder.mkdir()
    settings = Settings(home=folder / "home", corpora_dir=_served.starter(folder, sizes.starter), worker="external")
    wb = bootstrap.open(settings)
    try:
        corpus = ensure_handbook(wb) if case.prepared else ensure_starter(wb)
        assert corpus is not None
        if case.prepared:
            accept_prepared(wb, corpus.id, case.prepared)
        before, worker = 0.0, start_worker(settings, idle=30) if case.measured_ahead else None
        try:
            if case.measured_ahead:
                job = queue.enqueue(wb, "measure", {"version": registry.get_active(wb).id}, corpus_id=corpus.id)
                before = sum(_watch_job(wb, job, time.perf_counter())[0].values())
            ready = readiness.check_readiness(wb, corpus.id)
            started_at = time.perf_counter()
            job = retrain_job.start_retrain(wb, corpus.id, RetrainSettings(epochs=sizes.epochs))
            worker = worker or start_worker(settings, idle=30)
            seconds_by_step, job = _watch_job(wb, job, started_at)
        finally:
            if worker:
                worker.terminate()
                worker.wait(30)
    finally:
        wb.close()
    if job.state != "done":
        raise SystemExit(f"the retrain {job.state}: {job.error}")
    return TimedRetrain(case.title, ready, seconds_by_step, float(str(job.result["training_seconds"])), before)


def _watch_job(wb: Workbench, job: JobView, started_at: float) -> tuple[dict[str, float], JobView]:
    """Seconds by what the job said it was doing, until it is over."""
    seconds_by_step: dict[str, float] = {}
    at, doing = started_at, "starting the worker"
    while True:
        job = queue.load_job(wb, job.id)
        if job.started and job.is_active:
            doing = job.message.partition(",")[0]  # "training, step 3 of 40"
        now = time.perf_counter()
        seconds_by_step[doing] = seconds_by_step.get(doing, 0.0) + now - at
        at = now
        if not job.is_active:
            return seconds_by_step, job
        time.sleep(POLL)


# --- the page, and starting cold -------------------------------------------------------------------------------------


def page(folder: Path, sizes: Sizes) -> list[str]:
    """From Enter to the answer in a real browser: the first ever, and those that follow."""
    if (why := _served.no_browser()) is not None:
        return [f"Not measured: {why}."]
    questions = [q.text for q in load_questions("starter-test").questions if q.positives]
    environment = _served.environment(folder / "home", _served.starter(folder, sizes.starter))
    with _served.app(environment) as url, _served.browser() as browser:
        first = _served.time_answer(browser, url, questions[0])
        with home(folder / "home") as wb:
            _settled(wb, sizes.patience)
        later = [_served.time_answer(browser, url, q) for q in questions[1 : 1 + sizes.page]]
    answers, scores = zip(*later, strict=True)
    return [
        f"A new home, a newly started server, a new browser session for each question. Up to {wb.settings.candidates:,}"
        f" sentences are candidates. The cascade reads {wb.settings.first_keep} of them through all its layers, "
        "because the slider on the page replays the drops. The first question is asked while the models load, the "
        "graphs of the int8 engine are built and the vectors of the corpus are computed. The other "
        f"{len(later)} are asked when this background work is done.",
        "",
        "| from Enter until | first question, s | median, s | slowest, s |",
        "|---|---|---|---|",
        f"| the answer is visible | {first[0]:.2f} | {statistics.median(answers):.2f} | {max(answers):.2f} |",
        f"| the generative ranks are visible | {first[1]:.2f} | {statistics.median(scores):.2f} | {max(scores):.2f} |",
    ]


def _settled(wb: Workbench, patience: float) -> None:
    """Wait until the background work is done."""
    until = time.monotonic() + patience
    while any(j.is_active for j in queue.list_jobs(wb)) and time.monotonic() < until:
        time.sleep(1.0)


def cold(folder: Path, sizes: Sizes) -> list[str]:
    """From nothing running: the app, a question in the shell, the models. In new homes, and again."""
    shipped = _served.starter(folder, sizes.starter)
    browser = _served.no_browser() is None
    rows: dict[str, list[float]] = {}
    for _ in range(1 + sizes.starts):
        for name, seconds in _served.cold_starts(folder, shipped, with_browser=browser):
            rows.setdefault(name, []).append(seconds)
        for name in ("app", "ask"):
            with home(folder / name, corpora_dir=shipped) as wb:
                run_queued(wb, RUNNERS)  # what is left of the vectors: it would go on beside the next start
    return [
        "The first start in a new home imports the starter corpus and builds the engine's graphs. Later starts: the "
        f"median of {sizes.starts}.",
        "",
        "| from the start of the process until | first start, s | later starts, s |",
        "|---|---|---|",
        *(f"| {name} | {s[0]:.1f} | {statistics.median(s[1:]):.1f} |" for name, s in rows.items()),
    ]


# --- what the parts share --------------------------------------------------------------------------------------------


@contextmanager
def home(folder: Path, **settings: Path) -> Iterator[Workbench]:
    """A workbench of its own; jobs wait until they are run here."""
    wb = bootstrap.open(Settings(home=folder, worker="external", **settings))
    try:
        yield wb
    finally:
        wb.close()


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    started_at = time.perf_counter()
    result = act()
    return result, time.perf_counter() - started_at


def _lines(documents: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> bytes:
    """A JSONL file of documents with a title and a text."""
    records = ({"id": str(i), "title": title, "text": text} for i, (title, text) in enumerate(documents))
    return "\n".join(map(json.dumps, records)).encode()


PARTS: dict[str, Callable[[Path, Sizes], list[str]]] = {
    "ingestion": ingestion,
    "retrieval": search,
    "retrain": retrain,
    "page": page,
    "cold-start": cold,
}
TITLES = {
    "ingestion": "Adding documents",
    "retrieval": "Finding candidates",
    "retrain": "Retraining",
    "page": "Time to the answer on Ask",
    "cold-start": "Cold start",
}


if __name__ == "__main__":
    main()
