"""Which labels a retrain uses: whose, since when, how conflicts are resolved, and what is presumed incorrect.

A selection is stored with the job, the snapshot and the card, so that a version can be made again.
"""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from itertools import groupby

from pydantic import TypeAdapter
from sqlalchemy import Row

from app.corpora.successors import MIN_DICE, measure_overlap
from app.labels import consensus
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from as2core.text import normalise_text, tokenize
from as2core.types import UNSURE, Candidate, Json, Question
from db.models import text_key
from db.repositories import candidates as candidate_rows
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows
from db.repositories.pairs import read_pair
from db.repositories.questions import IMPORTED

CONFLICTS = {
    "majority": "Majority; ties are left out; a settled conflict counts as settled",
    "latest": "Latest label; a settled conflict counts as settled",
    "adjudicated": "Only settled conflicts; others are left out",
    "leave-out": "Leave out every pair in conflict, settled or not",
}
LABEL_KINDS = {"people": "given here", "imported": "imported from a file"}
PRESUMED_COUNT, MAX_PRESUMED_COUNT = 10, 50  # by default, and at most


@dataclass(frozen=True, slots=True)
class LabelSelection:
    """`annotators`: names, none for everyone. `kinds`: of LABEL_KINDS. `since`: a day such as 2024-05-01 in UTC, "" for
    all. `conflicts`: of CONFLICTS. `unsure_incorrect`: pairs that are only "unsure" count as incorrect instead of not
    at all. `presumed`: up to so many unlabelled candidates of a question with a correct one count as incorrect, for
    training only: whoever finds the answer seldom labels what is wrong. `doubtful`: labels that look wrong are trained
    on, too (see `label_noise`). `questions`: ids of those to train on, none for all; validation and held-out questions
    stay those of the whole corpus. Raises BadSetting."""

    annotators: tuple[str, ...] = ()
    kinds: tuple[str, ...] = tuple(LABEL_KINDS)
    since: str = ""
    conflicts: str = "majority"
    unsure_incorrect: bool = False
    presumed: int = PRESUMED_COUNT
    doubtful: bool = False
    questions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.conflicts not in CONFLICTS:
            raise BadSetting(f"no way {self.conflicts!r} to resolve conflicts; known: {', '.join(CONFLICTS)}")
        if not self.kinds or not set(self.kinds) <= set(LABEL_KINDS):
            raise BadSetting(
                f"label kinds {', '.join(self.kinds) or 'none'}: give one or both of {', '.join(LABEL_KINDS)}"
            )
        if not 0 <= self.presumed <= MAX_PRESUMED_COUNT:
            raise BadSetting(f"{self.presumed} presumed incorrect a question: give 0 to {MAX_PRESUMED_COUNT}")
        if self.since:
            _parse_day(self.since)

    @classmethod
    def from_json(cls, record: Json) -> "LabelSelection":
        """From a job's settings or a card; None gives the defaults. Records of older programs may lack what was not
        presumed."""
        return _ADAPTER.validate_python({"presumed": 0} | record if isinstance(record, dict) and record else {})

    def to_json(self) -> dict[str, Json]:
        return {
            **asdict(self),
            "annotators": [*self.annotators],
            "kinds": [*self.kinds],
            "questions": [*self.questions],
        }

    def includes(self, vote: Row) -> bool:
        return (
            (not self.annotators or vote.annotator in self.annotators)
            and ("imported" if vote.imported else "people") in self.kinds
            and (not self.since or vote.created >= _parse_day(self.since))
        )

    @property
    def values(self) -> dict[str, int]:
        """Label -> 1 for correct, 0 for incorrect; labels that are not in it do not count."""
        return consensus.BINARY | ({UNSURE: 0} if self.unsure_incorrect else {})


_ADAPTER = TypeAdapter(LabelSelection)


def _parse_day(text: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    except ValueError:
        raise BadSetting(f"{text!r} is not a day: write it as 2024-05-01") from None


def load(
    wb: Workbench, corpus_id: int, selection: LabelSelection, *, seed: int | None = None
) -> list[consensus.LabelledQuestion]:
    """All questions of the corpus with their selected labels, and the unlabelled candidates beside them; with a `seed`
    only those that `presume_incorrect` draws: the others may be most by far."""
    with wb.read() as s:
        is_whole = seed is None
        candidates = candidate_rows.list_candidate_rows(
            s, corpus_id, with_unlabelled=is_whole or selection.presumed > 0, only_with_answers=not is_whole
        )
        votes = label_rows.list_labels_with_verdicts(s, corpus_id)
        ids = candidate_rows.make_unique_candidate_ids(s, corpus_id)
    labelled_pairs = {read_pair(v) for v in votes}
    by_question: dict[int, list[Row]] = {}
    for v in filter(selection.includes, votes):
        by_question.setdefault(v.question_id, []).append(v)

    def label_question(question_id: int, group: list[Row]) -> consensus.LabelledQuestion:
        """Pairs with some label, but none that counts, are left out: they are never presumed incorrect."""
        own = by_question.get(question_id, [])
        pairs, conflicts = consensus.group_by_sentence(own), selection.conflicts
        labels = {i: consensus.resolve_label(v, v[0].verdict, conflicts) for i, v in pairs.items()}
        values = {i: selection.values.get(label or "") for i, label in labels.items()}
        usable = [
            r
            for r in group
            if r.sentence_id is not None
            and ((question_id, r.sentence_id) not in labelled_pairs or values.get(r.sentence_id) is not None)
        ]
        usable = _drop_rewordings(usable, values)
        if seed is not None:
            open_indices = [i for i, r in enumerate(usable) if values.get(r.sentence_id) is None]
            number = selection.presumed if 1 in values.values() else 0
            sample = _draw_negatives(group[0].qid, open_indices, number, seed)
            usable = [r for i, r in enumerate(usable) if i in sample or values.get(r.sentence_id) is not None]
        candidates = tuple(
            Candidate(ids.get((question_id, r.sentence_id), r.candidate), r.text, values.get(r.sentence_id), r.title)
            for r in usable
        )
        return consensus.LabelledQuestion.build(group[0], candidates, own, labels)

    groups = groupby(candidates, key=lambda r: r.question_id)
    return [label_question(question_id, list(group)) for question_id, group in groups]


def _drop_rewordings(group: Sequence[Row], values: Mapping[int, int | None]) -> list[Row]:
    """A question's candidates without those unlabelled ones that may be its answer all the same, and are not to be
    presumed incorrect: with the words of a correct sentence, as in a copy of its document, or like a correct one that
    left its document, as when it was reworded, or is an item of a longer sentence now; and sentences that left their
    document themselves."""
    correct = [r for r in group if values.get(r.sentence_id) == 1]
    texts = {normalise_text(r.text) for r in correct}
    old_words = [tokenize(r.text) for r in correct if r.retired]

    def is_kept(row: Row) -> bool:
        if values.get(row.sentence_id) is not None or row.candidate_origin == IMPORTED:
            return True
        is_like = any(measure_overlap(words, row.text) >= MIN_DICE for words in old_words)
        return not (row.retired or is_like or normalise_text(row.text) in texts)

    return [r for r in group if is_kept(r)]


def find_questions(wb: Workbench, corpus_id: int, texts: Collection[str]) -> tuple[int, ...]:
    """The ids of the corpus's questions of this wording. Raises BadSetting for one that it does not have."""
    with wb.read() as s:
        rows = question_rows.find_questions_by_text(s, corpus_id, texts)
        first = {q.text_key: q.id for q in reversed(rows)}
    distinct = list(dict.fromkeys(texts))
    if missing := [text for text in distinct if text_key(text) not in first]:
        raise BadSetting(
            f"{len(missing)} of {len(distinct)} questions are not in this corpus, the first is {missing[0]!r}: leave "
            "them out, or add them to the corpus and label them"
        )
    return tuple(sorted(first.values()))


def count_givers(
    wb: Workbench, corpus_id: int, selection: LabelSelection, question_ids: Collection[int]
) -> dict[str, int]:
    """Annotator -> how many of the labels on these questions that count are theirs, the busiest first."""
    with wb.read() as s:
        votes = label_rows.list_labels_with_verdicts(s, corpus_id)
    matches = [v for v in votes if v.question_id in question_ids and selection.includes(v)]
    return dict(Counter(v.annotator for v in matches if v.label in selection.values).most_common())


def presume_incorrect(question: Question, number: int, seed: int = 0) -> Question:
    """The question's labelled candidates, and up to `number` others as incorrect ones if it has a correct one."""
    if not number or not question.positives:
        return consensus.drop_unlabelled(question)
    open_indices = [i for i, c in enumerate(question.candidates) if c.label is None]
    sample = _draw_negatives(question.qid, open_indices, number, seed)
    candidates = tuple(
        replace(c, label=0) if i in sample else c
        for i, c in enumerate(question.candidates)
        if c.label is not None or i in sample
    )
    return replace(question, candidates=candidates)


def _draw_negatives(qid: str, open_indices: Sequence[int], number: int, seed: int) -> set[int]:
    return set(random.Random(f"{seed}:{qid}").sample(open_indices, min(number, len(open_indices))))
