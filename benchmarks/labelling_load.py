"""Several people label one corpus at once, each a process of their own, while the worker retrains from another: how
long a label takes, and whether every one is stored exactly once with no pair over its overlap.

    python benchmarks/labelling_load.py                        8 people, 200 labels each, SQLite in a temporary folder
    python benchmarks/labelling_load.py --url postgresql://…   the same on PostgreSQL

These two write what they found to docs/performance.md; `--persons` and `--each` try something else and only print.

A label is what a key press costs the server: the label itself, on the disk, and the next item of the queue. People
read before they press, half a second here, which is little; without any pause the machine is simply full.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from sqlalchemy import text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from app import bootstrap
from app.adapt import retrain_job
from app.adapt.settings import RetrainSettings
from app.corpora import corpora, documents, ingestion
from app.exchange import starter
from app.jobs import queue
from app.jobs.process import start_worker
from app.labels import annotation, leasing, rules
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.workbench import people
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.experiments.base import write_section
from db.models import Run
from db.repositories import candidates as candidate_rows
from db.repositories import questions as question_rows
from db.repositories import sentences as sentence_rows
from db.repositories import versions as version_rows

QUEUES = ("uncertain", "tops", "early", "random")
QUESTIONS, CANDIDATES, OVERLAP = 40, 30, 2
EXITS = (2, 4, 6)
PAUSES = (0.5, 0.0)  # seconds between seeing an item and pressing a key


@dataclass(frozen=True)
class LoadResult:
    """`milliseconds` of every label of everyone; `events` stored; `over`: pairs that more people labelled than wanted;
    `twice`: (person, pair) stored more than once; `errors`: what went wrong, as told;
    `retraining`: a retrain was at work all the time."""

    milliseconds: np.ndarray
    events: int
    over: int
    twice: int
    errors: tuple[str, ...]
    retraining: bool

    @property
    def p95(self) -> float:
        return float(np.percentile(self.milliseconds, 95))


def measure(settings: Settings, *, persons: int = 8, each: int = 200, pause: float = 0.0) -> LoadResult:
    """Fill the database the settings name, let them label, and look at what is there afterwards."""
    wb = bootstrap.open(settings)
    corpus_id = _fill(wb, f"load with pauses of {pause:g} s")
    variables = {**os.environ, **{f"AS2_{k.upper()}": str(v) for k, v in settings.model_dump().items()}}
    command = [sys.executable, __file__, "--corpus", str(corpus_id), "--each", str(each)]
    command += ["--pause", str(pause), "--person"]
    label_seconds, errors = [], []
    with _retraining(wb) as at_work:
        started = [
            subprocess.Popen(
                [*command, str(i)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            for i in range(persons)
        ]
        for process in started:
            out, err = process.communicate()
            if process.returncode:
                errors.append(err.strip().splitlines()[-1])
            else:
                label_seconds += json.loads(out)
        retraining = at_work()
    with wb.read() as s:
        rows = s.execute(
            text(
                "SELECT question_id, sentence_id, annotator_id FROM label_event "
                "JOIN question ON question.id = question_id WHERE question.corpus_id = :corpus"
            ),
            {"corpus": corpus_id},
        ).all()
    wb.close()
    pairs = Counter((q, c) for q, c, _ in set(map(tuple, rows)))
    return LoadResult(
        np.array(label_seconds) * 1000,
        events=len(rows),
        over=sum(n > OVERLAP for n in pairs.values()),
        twice=sum(n > 1 for n in Counter(map(tuple, rows)).values()),
        errors=tuple(errors),
        retraining=retraining,
    )


@contextmanager
def _retraining(wb: Workbench) -> Iterator[Callable[[], bool]]:
    """Retrains from the starter corpus's labels, one after the other, in a worker as the app starts it; the first has
    begun to train. Gives what tells whether they go on."""
    corpus_id, over, job_ids = starter.ensure_starter(wb).id, threading.Event(), []

    def ask() -> None:
        job_ids.append(retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=50, seed=len(job_ids))).id)

    def keep_asking() -> None:
        while not over.wait(0.5):
            if not queue.load_job(wb, job_ids[-1]).is_active:
                ask()

    ask()
    process, keeper = start_worker(wb.settings, idle=None), threading.Thread(target=keep_asking)
    try:
        job = queue.load_job(wb, job_ids[-1])
        while not any(e["kind"] == "step" for e in job.events):
            if not job.is_active:
                raise SystemExit(f"the retrain did not begin: {job.error or job.message}")
            time.sleep(0.5)
            job = queue.load_job(wb, job.id)
        keeper.start()
        yield keeper.is_alive
    finally:
        over.set()
        if keeper.ident is not None:
            keeper.join()
        queue.cancel(wb, job_ids[-1])
        until = time.monotonic() + 30  # a worker that is stopped first leaves a job that stands in the next one's way
        while queue.load_job(wb, job_ids[-1]).is_active and time.monotonic() < until:
            time.sleep(0.2)
        process.terminate()
        process.wait()


def _fill(wb: Workbench, name: str) -> int:
    """A corpus of made-up sentences, ranked by nobody but a generator of random numbers."""
    draw = np.random.default_rng(0)
    corpus = corpora.create_corpus(wb, name)
    words = (
        "iron river bridge tower lamp stone winter harbour letter engine garden signal copper window market"
    ).split()
    files = []
    for d in range(QUESTIONS):
        sentences = [f"Sentence {d} {i} tells of {' and '.join(draw.choice(words, 6))}." for i in range(CANDIDATES)]
        files.append((f"doc{d}.txt", " ".join(sentences).encode()))
    ingestion.ingest(wb, corpus.id, files)
    admin = people.sign_in(wb, "admin")
    rules.set_rules(wb, corpus.id, by=admin.id, overlap=OVERLAP)
    with wb.write() as s:
        version = version_rows.find_version(s, name="cascade")
        for d, document in enumerate(documents.list_documents(wb, corpus.id, limit=QUESTIONS)):
            question_text = f"Which sentence tells of matter {d}?"
            question = question_rows.add_question(
                s, corpus.id, question_text, external_id=f"q{d}", origin="listed", now=wb.clock()
            )
            run = Run(
                question_id=question.id,
                version_id=version.id,
                last_exit=EXITS[-1],
                threshold=0.5,
                settings={},
                seconds={},
                created=wb.clock(),
            )
            s.add(run)
            s.flush()
            result = sentence_rows.list_sentences(s, [document.id])
            new = [candidate_rows.NewCandidate(x.id, i, i + 1) for i, x in enumerate(result)]
            ids = list(candidate_rows.put_candidates(s, question.id, new, origin="retrieved", run_id=run.id).values())
            for exit_ in EXITS:
                logits = draw.normal(size=len(ids))
                ranks = np.argsort(np.argsort(-logits)) + 1
                scores = zip(ids, logits, 1 / (1 + np.exp(-logits)), ranks, strict=True)
                candidate_rows.put_scores(
                    s, version.id, exit_, ((c, float(v), float(p), int(r)) for c, v, p, r in scores)
                )
    wb.analyze()  # as the job that scores does
    return corpus.id


def label(wb: Workbench, corpus_id: int, person: int, each: int, pause: float) -> list[float]:
    """One person's sitting; the seconds of each label."""
    me = people.sign_in(wb, f"person {person}")
    draw = np.random.default_rng(person)
    label_seconds: list[float] = []
    item = leasing.find_next_item(wb, Seat(corpus_id, me.id, QUEUES[person % len(QUEUES)]))
    for name in islice(cycle(QUEUES), person, None):
        if len(label_seconds) == each or item is None:
            break
        presentation = Presentation(
            item.version,
            item.rank,
            queue=item.assignment.queue,
            control=item.assignment.control,
            arm=item.assignment.arm,
        )
        time.sleep(pause)
        began = time.perf_counter()
        try:
            result = annotation.give_label(
                wb,
                question_id=item.question_id,
                sentence_id=item.sentence_id,
                annotator_id=me.id,
                label=str(draw.choice(["correct", "incorrect", "unsure"], p=[0.2, 0.7, 0.1])),
                presentation=presentation,
            )
        except annotation.OverlapReached:
            item = leasing.find_next_item(wb, Seat(corpus_id, me.id, name))
            continue
        item = leasing.find_next_item(wb, Seat(corpus_id, me.id, name))
        label_seconds.append(time.perf_counter() - began)
        assert result.changed
    return label_seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="", help="the database; SQLite in a temporary folder if not given")
    parser.add_argument("--persons", type=int, default=8)
    parser.add_argument("--each", type=int, default=200, help="labels a person")
    parser.add_argument("--person", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=int, help=argparse.SUPPRESS)
    parsed = parser.parse_args()
    if parsed.person is not None:
        print(json.dumps(label(bootstrap.open(), parsed.corpus, parsed.person, parsed.each, parsed.pause)))
        return
    lines = [
        "| database | people | pause, s | labels | stored | above the overlap | p50 ms | p95 ms | max ms "
        "| retrain running |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for pause in PAUSES:
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home), database_url=parsed.url, worker="external")
            result = measure(settings, persons=parsed.persons, each=parsed.each, pause=pause)
        for error in result.errors:
            print(f"error: {error}")
        cells = [
            "PostgreSQL" if parsed.url else "SQLite",
            str(parsed.persons),
            f"{pause:g}",
            f"{parsed.persons * parsed.each:,}",
            f"{result.events:,}",
            str(result.over),
            f"{np.median(result.milliseconds):.0f}",
            f"{result.p95:.0f}",
            f"{result.milliseconds.max():.0f}",
            "all the time" if result.retraining else "ended earlier",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    print("\n".join(lines))
    if (parsed.persons, parsed.each) == (8, 200):
        name = "labelling-postgresql" if parsed.url else "labelling"
        head = ["## Eight people labelling" + (", on PostgreSQL" if parsed.url else ""), ""]
        intro = [
            "Printed and written by `python benchmarks/labelling_load.py" + (" --url ...`." if parsed.url else "`."),
            "",
        ]
        write_section(ROOT / "docs" / "performance.md", name, "\n".join([*head, *intro, *lines]))


if __name__ == "__main__":
    main()
