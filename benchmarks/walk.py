"""A newcomer's walk, timed: from a folder of PDFs to a promoted, adapted ranker.

    python benchmarks/walk.py           prints the steps and writes them to docs/walk.md; some minutes on two idle cores
    python benchmarks/walk.py --tiny    two PDFs, few questions, to see that it works; writes nothing

The machine's part is measured: PDFs printed by a browser, the real commands, the real worker, a home of its own. The
person's part is reckoned from the seconds below, since no person walks here: the labels are given through the same
services that the page's buttons call, by somebody who knows the answers. The documents are the handbook's, whose words
no shipped model knows; the person writes down what these mean. The questions that are not asked show what the synonyms
and the labels brought.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from _served import browser

from app import bootstrap
from app.ask import asking
from app.ask import proposals as proposing
from app.ask.asking import AskView
from app.corpora import corpora
from app.jobs import queue
from app.jobs.process import start_worker
from app.labels import annotation
from app.labels.annotation import Presentation
from app.labels.queues import ASK
from app.versions import loading, registry
from app.workbench import people
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.data.catalog import load_questions
from as2core.documents.reading import read_documents
from as2core.evaluation.rankers import Evaluation, evaluate
from as2core.experiments.base import write_section
from as2core.metrics import order, paired_test
from as2core.questions.synonyms import Synonyms
from as2core.rankers.base import Ranker
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
HANDBOOK = ROOT / "corpora" / "handbook"
ARTICLES, SYNONYMS = HANDBOOK / "articles", HANDBOOK / "synonyms.txt"
CORPUS = "company"
# a person's seconds: a synonym, a proposal, a question, a sentence, the card
NAMING, DECIDING, TYPING, READING, CARD = 6, 8, 12, 6, 120
READ_AT_MOST = 10  # sentences of a list


@dataclass
class Walk:
    """The steps so far: what the person does, the machine's seconds, and the person's."""

    steps: list[tuple[str, float, float]] = field(default_factory=list)
    note: str = ""

    def step(self, what: str, do: Callable[[], object], *, person: Callable[[object], float] | float = 0.0) -> object:
        began = time.monotonic()
        done = do()
        machine = time.monotonic() - began
        own = person(done) if callable(person) else person
        self.steps.append((what, machine, own))
        print(f"{machine:6.0f} s  {what}", flush=True)
        return done

    def table(self) -> list[str]:
        lines = ["| step | machine | person |", "|---|---|---|"]
        lines += [f"| {what} | {_time(machine)} | {_time(person)} |" for what, machine, person in self.steps]
        machine, person = (sum(s[i] for s in self.steps) for i in (1, 2))
        labelling = sum(s[2] for s in self.steps if s[0].startswith(("Write", "Accept", "Type")))
        whole = machine + person
        return [
            *lines,
            f"| **total** | {_time(machine)} | {_time(person)} |",
            "",
            f"Total {_time(whole)}; synonyms, questions and labels take {labelling / whole:.0%} of it.",
        ]


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def print_pdfs(folder: Path, n: int | None) -> set[str]:
    """The handbook's documents, as a browser prints them; their titles."""
    folder.mkdir()
    documents = [d for file in sorted(ARTICLES.glob("*.md"))[:n] for d in read_documents(file)]
    with browser() as started:
        page = started.new_page()
        for d in documents:
            body = "".join(f"<p>{escape(p)}</p>" for p in d.text.split("\n\n"))
            page.set_content(f"<title>{escape(d.title)}</title><h1>{escape(d.title)}</h1>{body}")
            page.pdf(path=folder / f"{d.id}.pdf", format="A4")
    return {d.title for d in documents}


def as2(home: Path, *arguments: str) -> str:
    """A command as it is typed; what it prints."""
    command = [str(Path(sys.executable).with_name("as2")), *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "AS2_HOME": str(home)}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"as2 {' '.join(arguments)}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Person:
    """Knows which sentences answer, and works through the services that the pages call."""

    def __init__(self, wb: Workbench, corpus_id: int, asks: list[Question]) -> None:
        self.wb, self.corpus, self.asks = wb, corpus_id, asks
        self.me = people.sign_in(wb, "newcomer").id
        self.labels = 0

    def decide(self) -> int:
        """Take every proposed question; how many there were."""
        proposals = proposing.list_waiting(self.wb, self.corpus).page
        for p in proposals:
            proposing.accept(self.wb, p.id, annotator_id=self.me)
        self.labels += len(proposals)
        return len(proposals)

    def ask_and_label(self) -> int:
        """Ask every question, and read its candidates from the top to the first correct one; how many were read."""
        return sum(self._read(q, asking.ask(self.wb, self.corpus, q.text)) for q in self.asks)

    def _read(self, question: Question, view: AskView) -> int:
        answers = [_bare(c.text) for c in question.candidates if c.label == 1]
        for read, i in enumerate(order(view.trace.scores())[:READ_AT_MOST].tolist(), start=1):
            sentence = view.candidates[i]
            is_correct = any(_same(_bare(sentence.text), a) for a in answers)
            annotation.give_label(
                self.wb,
                question_id=view.question_id,
                sentence_id=sentence.sentence_id,
                annotator_id=self.me,
                label="correct" if is_correct else "incorrect",
                presentation=Presentation(version=view.version, rank=read, queue=ASK),
            )
            self.labels += 1
            if is_correct:
                break
        return read


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text.casefold())


def _same(a: str, b: str) -> bool:
    """A line broken in print may cut a sentence elsewhere."""
    return a == b or (min(len(a), len(b)) > 30 and (a in b or b in a))


def wait(wb: Workbench, *job_ids: int) -> None:
    while any((job := queue.load_job(wb, i)).is_active for i in job_ids):
        time.sleep(0.5)
    for i in job_ids:
        if (job := queue.load_job(wb, i)).state != "done":
            raise SystemExit(f"job {i}, {job.kind}: {job.state} {job.error}")


def walk(folder: Path, *, pdfs: int | None, proposals: int, asks: int) -> Walk:
    settings = Settings(home=folder / "home")
    worker = start_worker(settings, idle=None)  # the commands would start one that outlives the folder
    try:
        return _walk(folder, settings, pdfs=pdfs, proposals=proposals, asks=asks)
    finally:
        worker.terminate()
        worker.wait()


def _walk(folder: Path, settings: Settings, *, pdfs: int | None, proposals: int, asks: int) -> Walk:
    path, home = Walk(), settings.home
    titles = print_pdfs(folder / "pdfs", pdfs)
    path.step(f"`as2 ingest pdfs --corpus {CORPUS}`: {len(titles)} PDFs",
              lambda: as2(home, "ingest", str(folder / "pdfs"), "--corpus", CORPUS), person=30)  # fmt: skip
    wb = bootstrap.open(settings)
    corpus = corpora.find_corpus(wb, CORPUS)
    train = [q for q in load_questions("handbook-train").questions if q.positives]
    about = [q for q in train if all(c.title in titles for c in q.candidates if c.label == 1)]
    questions = random.Random(0).sample(about, min(asks, len(about)))
    me = Person(wb, corpus.id, questions)
    path.step("Wait for the vectors", lambda: wait(wb, *(j.id for j in queue.list_jobs(wb, "embed"))))
    synonyms = Synonyms.read(SYNONYMS)
    path.step(f"Write {len(synonyms.words)} synonyms (Data)",
              lambda: as2(home, "synonyms", str(SYNONYMS), "--corpus", CORPUS),
              person=NAMING * len(synonyms.words))  # fmt: skip
    path.step(f"Propose {proposals} questions (Data)",
              lambda: wait(wb, proposing.start(wb, corpus.id, number=proposals, seed=0).id), person=15)  # fmt: skip
    accepted = path.step("Accept the proposals (Data)", me.decide, person=lambda n: n * DECIDING)
    path.step(f"Type {len(questions)} questions, label from the top to the answer (Ask)", me.ask_and_label,
              person=lambda read: len(questions) * TYPING + read * READING)  # fmt: skip
    result = json.loads(path.step(f"`as2 adapt --corpus {CORPUS}`",
                                  lambda: as2(home, "adapt", "--corpus", CORPUS, "--json"), person=15))  # fmt: skip
    reason = ["--reason", "a walk"] if result["objection"] else []
    path.step("Read the card and promote (Adapt)",
              lambda: as2(home, "versions", "promote", result["version"], *reason), person=CARD)  # fmt: skip
    path.step("Ask again", lambda: as2(home, "ask", questions[0].text, "--corpus", CORPUS), person=TYPING)
    before, after = (loading.load_version(wb, name).ranker for name in (result["base"], "active"))
    ids = {q.qid for q in questions}
    others = {
        "questions about the same documents": [q for q in train if q.qid not in ids],
        "questions about other documents": list(load_questions("handbook-test").questions),
    }
    path.note = " ".join([
        f"{accepted} proposed and {len(questions)} typed questions, {me.labels} labels.",
        *(compare(before, after, synonyms, questions, name) for name, questions in others.items()),
        describe_card(result),
        f"`{registry.get_active(wb).name}` is the active version.",
    ])  # fmt: skip
    wb.close()
    print(path.note)
    return path


def compare(before: Ranker, after: Ranker, synonyms: Synonyms, questions: Sequence[Question], name: str) -> str:
    """AP on questions that were not asked: at first, with the synonyms, and after the labels as well, with the paired
    differences and their 95 % intervals."""
    read = synonyms.expand_all(questions)
    first, meant, adapted = evaluate(before, questions), evaluate(before, read), evaluate(after, read)
    return (
        f"On {adapted.questions} other {name}, AP is {first.metrics['AP']:.3f} at first, {meant.metrics['AP']:.3f} "
        f"with the synonyms ({_difference(meant, first)}), and {adapted.metrics['AP']:.3f} after the labels as well "
        f"({_difference(adapted, meant)})."
    )


def _difference(after: Evaluation, before: Evaluation) -> str:
    test = paired_test(after.per_question["AP"], before.per_question["AP"])
    return f"{test.difference:+.3f}; {test.low:+.3f} to {test.high:+.3f}"


def describe_card(result: dict) -> str:
    n, before, after = result["labels"], result["before"]["AP"], result["after"]["AP"]
    return (
        f"The retrain learnt from {n['questions']} questions with {n['correct']} correct sentences; "
        f"{n['dev_questions']} were for validation. On its card, AP on {n['held_out_questions']} held-out questions "
        f"and {n['cross_fitted_questions']} compared by copies went from {before:.3f} to {after:.3f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    arguments = parser.parse_args()
    size = {"pdfs": 12, "proposals": 3, "asks": 12} if arguments.tiny else {"pdfs": None, "proposals": 15, "asks": 30}
    with tempfile.TemporaryDirectory() as folder:
        done = walk(Path(folder), **size)
    print("\n".join(done.table()))
    if not arguments.tiny:
        head = ["Printed and written by `python benchmarks/walk.py`.", ""]
        write_section(ROOT / "docs" / "walk.md", "walk", "\n".join([*head, *done.table(), "", done.note]))


if __name__ == "__main__":
    main()
