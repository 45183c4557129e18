"""`as2 decide`: which of two rankers is better, with few labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from as2core.commands.options import JsonFlag, Seed, Titles
from as2core.commands.outputs import check_outputs
from as2core.errors import BadSetting, UnreadableFile
from as2core.lookup import keep_common_questions, load_ranker, read_questions
from as2core.terminal import echo, print_json, print_note, show_progress
from as2core.types import Question

if TYPE_CHECKING:
    import numpy as np

    from as2core.deciding.decision import Decision, Item
    from as2core.deciding.differences import OrderPair

CORRECT, INCORRECT, UNSURE, UNDO, STOP = "a", "x", " ", "undo", "q"
LABELS = {CORRECT: 1, INCORRECT: 0, UNSURE: None}  # unsure counts as incorrect, as a missing label does
KEYS = {"\x7f": UNDO, "\b": UNDO, "u": UNDO, "": STOP, "\x03": STOP, "\x04": STOP}
HELP = "a: correct, x: incorrect, space: unsure (counts as incorrect), u: undo, q: stop"
Answer = Callable[["Decision", "Item"], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a conclusion is given."""

    measure: Annotated[Literal["P@1", "RR", "AP"], typer.Option(help="P@1 needs the fewest labels.")] = "P@1"
    level: Annotated[float, typer.Option(help="How certain a conclusion has to be.")] = 0.95
    tolerance: Annotated[float, typer.Option(help="The smallest difference that matters.")] = 0.02
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class Means:
    """Where labels come from, and by what the draws are planned."""

    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write your labels here; go on from those in it.")
    ] = None
    simulate: Annotated[bool, typer.Option("--simulate", help="Hide DATA's labels and let them answer.")] = False
    proxy: Annotated[
        str | None, typer.Option(metavar="RANKER", help="A calibrated cascade whose probabilities plan the draws.")
    ] = None
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None


def decide(
    a: Annotated[str, typer.Argument(metavar="A", help="A ranker, or the file of a run (TREC, JSON or a table).")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other one.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Questions with candidates, labelled or not.")],
    rule: Rule,
    means: Means,
    titles: Titles = True,
    as_json: JsonFlag = False,
) -> None:
    """Decide which of two rankers is better with as few labels as possible."""
    from as2core.deciding.decision import OPEN, Decision, DecisionSettings

    settings = DecisionSettings(**asdict(rule))
    if not means.simulate and means.labels is None:
        raise BadSetting("your labels need a file: --labels FILE; or --simulate if DATA is labelled")
    if means.simulate and means.labels is not None:
        raise BadSetting("--labels is for your labels, and --simulate takes DATA's: leave one out")
    check_outputs([means.labels], [data, a, b], goes_on=True)
    questions = [q for q in read_questions(data, titles=titles) if q.candidates][: means.limit]
    questions, notes = keep_common_questions((a, b), questions)
    for note in notes:
        print_note(note)
    if means.simulate:
        _check_labels(questions, data)
    pairs = pair_up(questions, _score(a, questions), _score(b, questions), hide_labels=means.simulate)
    probabilities = _estimate_probabilities(means.proxy, questions) if means.proxy else None
    start = Decision.start(pairs, settings, probabilities)
    by_id = {q.qid: q for q in questions}
    source = {"a": a, "b": b, "data": data, "measure": settings.measure, "seed": settings.seed}
    record = Record(means.labels, source, start, by_id)
    _run(record, _answer_from_labels(by_id) if means.simulate else _ask(by_id, a, b))
    if means.labels is not None and record.decision.judge().outcome == OPEN:
        print_note(f"labels in {means.labels}: {len(record.acts):,}; the same command goes on from there")
    _print(record.decision, source, as_json=as_json)


class Record:
    """The labels given so far, in the file (if one is wanted) before the next question is asked."""

    def __init__(
        self, file: Path | None, source: Mapping[str, object], start: Decision, questions: Mapping[str, Question]
    ) -> None:
        self.file, self.source, self.start, self.questions = file, dict(source), start, questions
        self.acts: list[tuple[Item, int | None]] = []
        self.decision = start
        if file is not None and file.exists():
            self._read(file)

    def add(self, item: Item, label: int | None) -> None:
        self.acts.append((item, label))
        self._write()
        self.decision = self.decision.give_to(item, label or 0)

    def undo(self) -> None:
        if self.acts:
            self.acts.pop()
            self._write()
            self._replay()

    def _replay(self) -> None:
        self.decision = self.start
        for item, label in self.acts:
            self.decision = self.decision.give_to(item, label or 0)

    def _write(self) -> None:
        from as2core.data.source import json_line
        from as2core.system.files import write_text

        if self.file is None:
            return
        lines = [json_line(self.source)]
        for item, label in self.acts:
            id_ = self.questions[item.qid].candidates[item.candidate].id
            lines.append(json_line({"qid": item.qid, "id": id_, "label": label, "probability": item.probability}))
        write_text("".join(lines), self.file)

    def _read(self, file: Path) -> None:
        from as2core.sources.content import MALFORMED, describe_problem, read_lines

        number, acts = 1, []
        try:
            lines = read_lines(file) or [(1, "{}")]
            source = json.loads(lines[0][1])
            others = {name: source[name] for name in self.source}
            if others == self.source:
                for number, line in lines[1:]:  # noqa: B007, it is named by the error
                    acts.append(self._read_act(json.loads(line)))
        except MALFORMED as error:
            reason = f"line {number}: {describe_problem(error)}"
            raise UnreadableFile(f"{file}: {reason}; not the labels of this decision: give another file") from None
        if others != self.source:
            raise BadSetting(f"{file} has the labels of another decision, {others}: give another file")
        self.acts = acts
        self._replay()

    def _read_act(self, record: Mapping[str, Any]) -> tuple[Item, int | None]:
        """Raises one of MALFORMED."""
        from as2core.deciding.decision import Item

        qid, docid, probability = record["qid"], record["id"], float(record["probability"])
        candidates = self.questions[qid].candidates if qid in self.questions else ()
        for i, c in enumerate(candidates):
            if c.id == docid:
                return Item(qid, i, probability), record["label"]
        raise ValueError(f"the data has no candidate {docid!r} of question {qid!r}")


def pair_up(
    questions: Sequence[Question], a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray], *, hide_labels: bool
) -> list[OrderPair]:
    """Both rankers' orders of every question's candidates."""
    import numpy as np

    from as2core.deciding.differences import UNKNOWN, OrderPair

    pairs = []
    for q in questions:
        labels = [UNKNOWN if hide_labels or c.label is None else c.label for c in q.candidates]
        pairs.append(OrderPair.of_scores(q.qid, a[q.qid], b[q.qid], np.array(labels)))
    return pairs


def _check_labels(questions: Sequence[Question], data: str) -> None:
    """Say how many candidates have no label to answer with. Raises BadSetting if none has one."""
    labels = [c.label for q in questions for c in q.candidates]
    if not (missing := labels.count(None)):
        return
    if missing == len(labels):
        raise BadSetting(
            f"none of the {missing:,} candidates of {data} has a label, so they cannot answer: use --labels"
        )
    print_note(f"candidates of {data} without a label, which count as incorrect: {missing:,} of {len(labels):,}")


def _score(spec: str, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    import numpy as np

    from as2core.rankers.base import bind_questions
    from as2core.types import Progress

    ranker, scores = load_ranker(spec), {}
    bind_questions(ranker, questions)
    with show_progress(spec) as on_progress:
        for i, q in enumerate(questions):
            on_progress(Progress(i, len(questions)))
            scores[q.qid] = np.asarray(ranker.score(q.text, q.candidates))
    return scores


def _estimate_probabilities(spec: str, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    from as2core.rankers.base import CalibratesScores

    ranker = load_ranker(spec)
    if not isinstance(ranker, CalibratesScores) or not ranker.is_calibrated:
        raise BadSetting(f"{spec} has no calibrated probabilities: take a cascade, or leave out --proxy")
    return {q.qid: ranker.probability(ranker.score(q.text, q.candidates)) for q in questions}


def _run(record: Record, answer: Answer) -> None:
    """Until there is a conclusion, nothing is left to label, or the person stops."""
    from as2core.deciding.decision import OPEN

    while (item := record.decision.item) and record.decision.judge().outcome == OPEN:
        key = answer(record.decision, item)
        if key == STOP:
            return
        if key == UNDO:
            record.undo()
        else:
            record.add(item, LABELS[key])


def _answer_from_labels(questions: Mapping[str, Question]) -> Answer:
    return lambda _, item: CORRECT if questions[item.qid].candidates[item.candidate].label == 1 else INCORRECT


def _ask(questions: Mapping[str, Question], a: str, b: str) -> Answer:
    from as2core.deciding.text import describe_conclusion

    def ask(decision: Decision, item: Item) -> str:
        question = questions[item.qid]
        print_note(describe_conclusion(decision.judge(), a, b, decision.settings))
        print_note(f"Q: {question.text}")
        print_note(f"   {question.candidates[item.candidate].titled_text}")
        return _read_key()

    print_note(HELP)
    return ask


def _read_key() -> str:
    """A key on a terminal, else the first character of a line."""
    while True:
        if sys.stdin.isatty():
            pressed = typer.getchar()
        else:
            line = sys.stdin.readline()
            pressed = line.rstrip("\n")[:1] or (UNSURE if line else "")
        key = KEYS.get(pressed, pressed)
        if key in (*LABELS, UNDO, STOP):
            return key
        print_note(HELP)


def _print(decision: Decision, source: Mapping[str, object], *, as_json: bool) -> None:
    from as2core.deciding.text import describe_conclusion, describe_evidence, describe_others

    conclusion, others, settings = decision.judge(), decision.estimate_for_others(), decision.settings
    a, b = str(source["a"]), str(source["b"])
    if as_json:
        rule = {"level": settings.level, "tolerance": settings.tolerance}
        print_json({**source, **rule, **asdict(conclusion), "others": others})
        return
    echo(describe_conclusion(conclusion, a, b, settings))
    echo(describe_evidence(conclusion, a, b, settings))
    if others:
        echo(describe_others(others))
