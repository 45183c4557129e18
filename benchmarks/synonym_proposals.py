"""What synonyms bring that labels suggest: on the lists of test questions, and on Ask over the whole handbook.

    python benchmarks/synonym_proposals.py              prints the tables; some minutes on two cores
    python benchmarks/synonym_proposals.py --retrain    with two retrains beside them, without and with the synonyms
    python benchmarks/synonym_proposals.py --retrain --write     writes them to docs/techniques/synonyms.md

The prepared labels of the handbook's train questions are accepted in the order in which the page Adapt accepts them,
and all synonyms that they suggest are taken over, wrong ones too. No test question is about a document of the train
questions. The starter corpus, whose words the shipped model knows, shows what they harm where nobody needs them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app import bootstrap
from app.adapt import retrain_job
from app.adapt.settings import RetrainSettings
from app.ask import asking
from app.corpora.indexing import reindex
from app.exchange.prepared import accept_prepared
from app.exchange.starter import ensure_handbook, ensure_starter
from app.jobs.attempt import run_queued
from app.ranking.synonym_proposals import propose_from_labels
from app.ranking.synonyms import write_synonyms
from app.versions import registry
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from app.worker import RUNNERS
from as2core.cascade.schedule import DropSchedule
from as2core.data.catalog import load_questions
from as2core.evaluation.rankers import evaluate
from as2core.experiments.base import write_section
from as2core.metrics import paired_test
from as2core.questions.synonym_proposals import SynonymProposal
from as2core.questions.synonyms import Synonyms
from as2core.rankers.catalog import get
from as2core.types import Question

ROOT = Path(__file__).resolve().parents[1]
LABELS = (20, 50, 100)
DROP_RATIO = 0.3  # of Ask
Values = dict[str, float]  # by question


@dataclass(frozen=True)
class AskValues:
    """Of the test questions, by id: P@1 and RR on Ask, and whether the first stage passed a correct sentence on."""

    p1: Values
    rr: Values
    entered: Values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--labels", type=int, nargs="+", default=LABELS)
    parser.add_argument("--retrain", action="store_true", help="retrain on the last number of labels, too")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/techniques/synonyms.md")
    options = parser.parse_args()
    lines = ["`python benchmarks/synonym_proposals.py`" + " with `--retrain`:" * options.retrain, ""]
    proposals = {n: propose(n) for n in options.labels}
    lines += [*report_lists(proposals), "", *report_ask(proposals, retrain=options.retrain)]
    text = "\n".join(lines)
    sys.stdout.write(text + "\n")
    if options.write:
        write_section(ROOT / "docs" / "techniques" / "synonyms.md", "proposals", text)


@contextmanager
def open_home() -> Iterator[Workbench]:
    """A workbench of its own, without a worker."""
    with tempfile.TemporaryDirectory() as home:
        wb = bootstrap.open(Settings(home=Path(home), worker="external"))
        try:
            yield wb
        finally:
            wb.close()


def get_handbook(wb: Workbench) -> int:
    """The id of the corpus, which is made."""
    corpus = ensure_handbook(wb)
    assert corpus is not None
    return corpus.id


def propose(labels: int) -> list[SynonymProposal]:
    """What so many prepared labels of the handbook suggest."""
    with open_home() as wb:
        corpus_id = get_handbook(wb)
        accept_prepared(wb, corpus_id, labels)
        return propose_from_labels(wb, corpus_id)


def propose_for_starter() -> list[SynonymProposal]:
    with open_home() as wb:
        return propose_from_labels(wb, ensure_starter(wb).id)


def to_synonyms(proposals: Sequence[SynonymProposal]) -> Synonyms:
    return Synonyms(tuple((p.word, p.meaning) for p in proposals))


def report_lists(proposals: dict[int, list[SynonymProposal]]) -> list[str]:
    """The shipped cascade on the lists of the test questions."""
    ranker = get("cascade")
    ranker.use("auto")
    rows = ["| lists of | labels | synonyms | questions with one | P@1 | AP |", "|---|---|---|---|---|---|"]
    cases = [("handbook-test", n, suggestions) for n, suggestions in proposals.items()]
    cases.append(("starter-test", 0, propose_for_starter()))
    for name, labels, suggestions in cases:
        questions, synonyms = load_questions(name).questions, to_synonyms(suggestions)
        questions = [q for q in questions if q.positives]
        expanded = synonyms.expand_all(questions)
        changed = sum(a.text != b.text for a, b in zip(questions, expanded, strict=True))
        before, after = evaluate(ranker, questions), evaluate(ranker, expanded)
        cells = [describe(before.per_question[m], after.per_question[m]) for m in ("P@1", "AP")]
        counts = (name, labels or "its own", len(suggestions), f"{changed} of {len(questions)}")
        rows.append(f"| {' | '.join(map(str, counts))} | {' | '.join(cells)} |")
    return rows


def describe(before: Values, after: Values) -> str:
    test = paired_test(after, before)
    first, last = (sum(v.values()) / len(v) for v in (before, after))
    return f"{first:.3f} -> {last:.3f}, {test.difference:+.3f} [{test.low:+.3f}, {test.high:+.3f}]"


def report_ask(proposals: dict[int, list[SynonymProposal]], *, retrain: bool) -> list[str]:
    """Ask over all documents of the handbook."""
    rows = ["| on Ask over the handbook | passed on by the first stage | P@1 | RR |", "|---|---|---|---|"]
    questions = [q for q in load_questions("handbook-test").questions if q.positives]
    with open_home() as wb:
        corpus_id = get_handbook(wb)
        reindex(wb, corpus_id)
        run_queued(wb, RUNNERS)  # the passages' vectors
        first = ask_all(wb, corpus_id, questions, "cascade")
        labels, last = list(proposals.items())[-1]
        by_hand = Synonyms.read(ROOT / "corpora" / "handbook" / "synonyms.txt")
        arms = {f"{n} labels, their synonyms": to_synonyms(suggestions) for n, suggestions in proposals.items()}
        rows.append(f"| shipped model | {mean(first.entered):.3f} | {mean(first.p1):.3f} | {mean(first.rr):.3f} |")
        for title, synonyms in {**arms, f"{len(by_hand.words)} synonyms by hand": by_hand}.items():
            write_synonyms(wb, corpus_id, str(synonyms), by=None)
            rows.append(row(title, first, ask_all(wb, corpus_id, questions, "cascade")))
        if retrain:
            accept_prepared(wb, corpus_id, labels)
            for title, synonyms in (("", Synonyms()), (" and their synonyms", to_synonyms(last))):
                write_synonyms(wb, corpus_id, str(synonyms), by=None)
                version = retrain_now(wb, corpus_id)
                after = ask_all(wb, corpus_id, questions, version)
                rows.append(row(f"{labels} labels, a retrain{title}", first, after))
    return rows


def retrain_now(wb: Workbench, corpus_id: int) -> str:
    """From the shipped version; the name of what it made."""
    before = {v.name for v in registry.list_versions(wb, kind="cascade")}
    retrain_job.start_retrain(wb, corpus_id, RetrainSettings(base="cascade"))
    run_queued(wb, RUNNERS)
    return next(v.name for v in registry.list_versions(wb, kind="cascade") if v.name not in before)


def ask_all(wb: Workbench, corpus_id: int, questions: Sequence[Question], version: str) -> AskValues:
    values = AskValues({}, {}, {})
    for q in questions:
        correct = {c.text for c in q.candidates if c.label == 1}
        view = asking.ask(wb, corpus_id, q.text, version=version, as_typed=True)
        exits = len(view.trace.exits)
        ranking = view.trace.replay(DropSchedule.constant(DROP_RATIO, exits=exits)).ranking().tolist()
        ranks = [rank for rank, i in enumerate(ranking, 1) if view.candidates[i].text in correct]
        values.rr[q.qid] = 1 / min(ranks) if ranks else 0.0
        values.p1[q.qid] = float(values.rr[q.qid] == 1)
        values.entered[q.qid] = float(any(view.candidates[i].text in correct for i in view.trace.entered.tolist()))
    return values


def mean(values: Values) -> float:
    return sum(values.values()) / len(values)


def row(title: str, first: AskValues, after: AskValues) -> str:
    return f"| {title} | {mean(after.entered):.3f} | {describe(first.p1, after.p1)} | {describe(first.rr, after.rr)} |"


if __name__ == "__main__":
    main()
