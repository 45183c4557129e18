"""A newcomer's walk, timed: from a folder of PDFs to a promoted, adapted ranker.

    python benchmarks/walk.py           prints the steps and writes them to docs/walk.md; some minutes on two idle cores
    python benchmarks/walk.py --tiny    two PDFs, few questions, to see that it works; writes nothing

The machine's part is measured: PDFs printed by a browser, the real commands, the real worker, a home of its own. The
person's part is reckoned from the seconds below, since no person walks here: the labels are given through the same
services that the page's keys call, by somebody who knows the starter corpus's answers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from _served import browser

from app import bootstrap
from app.ask import asking
from app.ask import proposals as proposing
from app.corpora import corpora
from app.jobs import queue
from app.labels import annotation as labelling
from app.labels import queues
from app.labels.annotation import Presentation
from app.labels.queues import Seat
from app.ranking import scoring
from app.versions import registry
from app.workbench import people
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.data import jsonl
from as2core.data.documents import read_documents
from as2core.experiments.base import write_section

ROOT = Path(__file__).resolve().parents[1]
STARTER = ROOT / "corpora" / "starter"
CORPUS = "handbook"
DECIDING, TYPING, READING, CARD = 8, 12, 20, 120  # a person's seconds: a proposal, a question, a list, the card


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
        labelling = sum(s[2] for s in self.steps if s[0].startswith(("Accept", "Type", "Label")))
        whole = machine + person
        return [
            *lines,
            f"| **total** | {_time(machine)} | {_time(person)} |",
            "",
            f"Total {_time(whole)}; questions and labels take {labelling / whole:.0%} of it.",
        ]


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def print_pdfs(folder: Path, n: int | None) -> list[str]:
    """Articles that no shipped model was trained on, as a browser prints them; their titles."""
    folder.mkdir()
    found = [d for file in sorted((STARTER / "articles").glob("*.md")) for d in read_documents(file)]
    chosen = [d for d in found if d.meta.get("split") == "dev"][:n]
    with browser() as started:
        page = started.new_page()
        for d in chosen:
            body = "".join(f"<p>{escape(p)}</p>" for p in d.text.split("\n\n"))
            page.set_content(f"<title>{escape(d.title)}</title><h1>{escape(d.title)}</h1>{body}")
            page.pdf(path=folder / f"{d.id}.pdf", format="A4")
    return [d.title for d in chosen]


def as2(home: Path, *arguments: str) -> str:
    """A command as it is typed; what it prints."""
    command = [str(Path(sys.executable).with_name("as2")), *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "AS2_HOME": str(home)}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"as2 {' '.join(arguments)}: {done.stderr.strip()[-500:]}")
    return done.stdout


class Person:
    """Knows which sentences answer, and works through the services that the pages call."""

    def __init__(self, wb: Workbench, corpus_id: int, titles: list[str], asks: int) -> None:
        self.wb, self.corpus, self.me = wb, corpus_id, people.sign_in(wb, "newcomer").id
        known = [q for q in jsonl.read(STARTER / "dev.jsonl")[0] if q.positives]
        self.asks = [q for q in known if any(c.label == 1 and c.title in titles for c in q.candidates)][:asks]
        self.right = {q.text: [_bare(c.text) for c in q.candidates if c.label == 1] for q in self.asks}

    def decide(self) -> int:
        """Take every proposed question; how many there were."""
        shown = proposing.waiting(self.wb, self.corpus).shown
        for p in shown:
            proposing.accept(self.wb, p.id, annotator_id=self.me)
            self.right[p.text] = [_bare(p.sentence)]
        return len(shown)

    def type_questions(self) -> int:
        for q in self.asks:
            asking.ask(self.wb, self.corpus, q.text)
        return len(self.asks)

    def label(self) -> tuple[int, int]:
        """Go through the lists, question by question: (lists, labels)."""
        lists = given = 0
        passed: list[int] = []
        while (asked := queues.next_question(self.wb, Seat(self.corpus, self.me, "tops"), skips=passed)) is not None:
            passed.append(asked.question_id)
            free = [r for r in asked.rows if r.free and r.label is None]
            answers = [r for r in free if any(_same(_bare(r.text), a) for a in self.right.get(asked.question, ()))]
            for label, some in (("correct", answers), ("incorrect", [r for r in free if r not in answers])):
                if some:
                    shown = {
                        r.sentence_id: Presentation(asked.version, r.rank, queue=asked.assignment.queue) for r in some
                    }
                    labelling.give_labels(
                        self.wb, question_id=asked.question_id, annotator_id=self.me, label=label, presentations=shown
                    )
            lists, given = lists + 1, given + len(free)
        return lists, given


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
    path, home = Walk(), folder / "home"
    titles = print_pdfs(folder / "pdfs", pdfs)
    path.step(f"`as2 ingest pdfs --corpus {CORPUS}`: {len(titles)} PDFs",
              lambda: as2(home, "ingest", str(folder / "pdfs"), "--corpus", CORPUS), person=30)  # fmt: skip
    wb = bootstrap.open(Settings(home=home))
    corpus = corpora.find_corpus(wb, CORPUS)
    me = Person(wb, corpus.id, titles, asks)
    path.step("Wait for the vectors", lambda: wait(wb, *(j.id for j in queue.list_jobs(wb, "embed"))))
    path.step(f"Propose {proposals} questions (Data)",
              lambda: wait(wb, proposing.start(wb, corpus.id, number=proposals, seed=0).id), person=15)  # fmt: skip
    decided = path.step("Accept the proposals (Data)", me.decide, person=lambda n: n * DECIDING)
    typed = path.step("Type own questions (Ask)", me.type_questions, person=lambda n: n * TYPING)
    path.step("Rank the questions (Label)", lambda: wait(wb, scoring.start_scoring(wb, corpus.id).id), person=5)
    lists, given = path.step("Label whole lists (Label)", me.label, person=lambda done: done[0] * READING)
    result = json.loads(path.step(f"`as2 adapt --corpus {CORPUS}`",
                                  lambda: as2(home, "adapt", "--corpus", CORPUS, "--json"), person=15))  # fmt: skip
    before, after = result["before"]["AP"], result["after"]["AP"]
    reason = ["--reason", "a walk"] if result["objection"] else []
    path.step("Read the card and promote (Adapt)",
              lambda: as2(home, "versions", "promote", result["version"], *reason), person=CARD)  # fmt: skip
    question = me.asks[0].text
    path.step("Ask again", lambda: as2(home, "ask", question, "--corpus", CORPUS), person=TYPING)
    answering = registry.get_active(wb).name
    wb.close()
    print(f"{decided} proposals, {typed} questions typed, {lists} lists, {given} labels; "
          f"AP on {result['labels']['held_out_questions']} held-out questions {before:.3f} -> {after:.3f}; "
          f"{answering} answers")  # fmt: skip
    path.note = (
        f"{decided} proposed and {typed} typed questions, {lists} lists, {given:,} labels. On the "
        f"{result['labels']['held_out_questions']} held-out questions, AP went from {before:.3f} to {after:.3f}. "
        f"`{answering}` is the active version."
    )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args()
    size = {"pdfs": 3, "proposals": 3, "asks": 8} if given.tiny else {"pdfs": None, "proposals": 15, "asks": 30}
    with tempfile.TemporaryDirectory() as folder:
        done = walk(Path(folder), **size)
    print("\n".join(done.table()))
    if not given.tiny:
        head = ["Printed and written by `python benchmarks/walk.py`.", ""]
        write_section(ROOT / "docs" / "walk.md", "walk", "\n".join([*head, *done.table(), "", done.note]))


if __name__ == "__main__":
    main()
