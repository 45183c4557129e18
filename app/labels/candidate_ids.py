"""The ids of candidates in files: unique within a question, so that an export comes back to the same sentences."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from db.models import Sentence
from db.repositories import candidates as candidate_rows
from db.repositories import corpora as corpus_rows
from db.repositories.pairs import Pair


def map_candidate_ids(s: Session, question_ids: Sequence[int]) -> dict[int, dict[str, Sentence]]:
    """Question id -> id -> sentence, of all its candidates. The id is the one a candidate came with, or its sentence's;
    where an older candidate has that one already, the sentence's own, or that with a number. So an export comes back
    to the same sentences."""
    by_question: dict[int, dict[str, Sentence]] = {}
    for question_id, external_id, sentence in corpus_rows.list_candidate_sentences(s, question_ids):
        by_id, own = by_question.setdefault(question_id, {}), sentence.external_id
        ids = (own if external_id is None else external_id, own, *(f"{own} {n}" for n in range(2, len(by_id) + 3)))
        by_id[next(i for i in ids if i not in by_id)] = sentence
    return by_question


def make_unique_candidate_ids(s: Session, corpus_id: int) -> dict[Pair, str]:
    """(question id, sentence id) -> the candidate's id, of those questions of which two candidates have the same."""
    twice = candidate_rows.list_repeated_ids(s, corpus_id)
    return {(q, sentence.id): i for q, of_one in map_candidate_ids(s, twice).items() for i, sentence in of_one.items()}
