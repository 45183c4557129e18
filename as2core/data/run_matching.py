"""What runs have of a set's questions, and which questions all of them have.

One rule for as2 eval, as2 decide and Compare, where the candidates of a data set are ranked: a question of which a run
has no candidate is left out for every ranker, so that all are measured on the same ones, and the reader is told how
many of how many those are. (Against qrels alone it counts 0, see `as2core.evaluation.runs`.) The reasons:
docs/decisions/0093-an-uploaded-ranking-is-a-file-of-the-home.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from as2core.data.runs import read_run_scores
from as2core.errors import BadSetting
from as2core.messages import count
from as2core.sources.content import Source
from as2core.types import Question

MAX_QUOTE_CHARS = 80


@dataclass(frozen=True, slots=True)
class RunMatch:
    """What a run has of a set's questions. `missing`: those of which it has no candidate; of the others'
    `all_candidates` it has `candidates`. `example`: a question's and a candidate's id in it, "" of an empty one."""

    questions: int
    missing: tuple[Question, ...]
    candidates: int
    all_candidates: int
    example: tuple[str, str]

    @property
    def is_usable(self) -> bool:
        """Whether it has a candidate of any question."""
        return self.candidates > 0 or not self.missing


def match_run(source: Source, questions: Sequence[Question]) -> RunMatch:
    """Raises UnreadableFile."""
    run = read_run_scores(source)
    matches = {q.qid: sum(c.id in run.get(q.qid, {}) for c in q.candidates) for q in questions}
    missing = tuple(q for q in questions if q.candidates and not matches[q.qid])
    gaps = {q.qid for q in missing}
    return RunMatch(
        questions=len(questions),
        missing=missing,
        candidates=sum(matches.values()),
        all_candidates=sum(len(q.candidates) for q in questions if q.qid not in gaps),
        example=next(((qid, docid) for qid, row in run.items() for docid in row), ("", "")),
    )


def keep_common(matches: Mapping[str, RunMatch], questions: Sequence[Question]) -> tuple[list[Question], list[str]]:
    """The questions that every one of these runs, by name, has a candidate of, and a note on each run that lacks some.
    Raises BadSetting where no question is left."""
    gaps = {q.qid for match in matches.values() for q in match.missing}
    notes = [describe_match(name, match, questions) for name, match in matches.items() if match.missing]
    common = [q for q in questions if q.qid not in gaps]
    if questions and gaps and not any(q.candidates for q in common):
        raise BadSetting(" ".join(notes))
    return common, notes


def describe_match(name: str, match: RunMatch, questions: Sequence[Question]) -> str:
    """What a run has of these questions, and what that means for the figures."""
    total, missing = match.questions, len(match.missing)
    if not match.is_usable:
        docid = next(c.id for q in questions for c in q.candidates)
        return (
            f"{name} has no candidate of {'these' if total > 1 else 'this'} {count(total, 'question')}. Its ids are "
            f"like {match.example[0]!r} and {match.example[1]!r}, and those of the labelled set like "
            f"{questions[0].qid!r} and {docid!r}: write the ranking with the ids of the set."
        )
    if missing:
        example = shorten(match.missing[0].text, MAX_QUOTE_CHARS, placeholder=" …")
        verb, pronoun = ("it is", "it") if missing == 1 else ("they are", "them")
        return (
            f"{name} has no candidate of {missing:,} of the {total:,} questions, such as “{example}”: {verb} left out "
            f"for every ranker. If its search engine found nothing for {pronoun}, its figures are too high."
        )
    return f"{name} matches {'all' if total > 1 else 'the'} {count(total, 'question')}."


def describe_candidates(match: RunMatch) -> str:
    """`It ranks 40 of the 50 candidates of these questions; the others come last.`"""
    if match.candidates == match.all_candidates:
        return f"It ranks all their {match.candidates:,} candidates."
    return f"It ranks {match.candidates:,} of their {match.all_candidates:,} candidates; the others come last."
