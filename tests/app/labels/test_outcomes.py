"""What the labels of a pair come to: settled in Python for one pair, in SQL for a corpus and for a label in doubt."""

from collections import Counter
from itertools import product

import pytest
from label_files import import_labels
from sqlalchemy import select

from app.labels import consensus
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Question as QuestionRow
from db.models import Sentence
from db.repositories import labels as rows
from db.repositories import people as people_rows
from db.repositories import reviews

GIVEN = (None, "correct", "incorrect", "unsure")
CASES = [case for case in product(GIVEN, repeat=4) if any(case[:3])]  # ann's, bob's, the import's, the verdict


def settle(ann, bob, imported, verdict):
    """By the rule of docs/labelling.md, written out for two people and an import."""
    if verdict:
        return verdict
    people = {ann, bob} & {"correct", "incorrect"}
    values = people or {imported} & {"correct", "incorrect"}
    if len(values) == 2:
        return "disputed"
    return values.pop() if values else "unsure"


@pytest.fixture
def pairs(wb, ann, bob):
    """(question id, sentence id) -> its case: all of one question."""
    question = Question("q", "What is it?", tuple(Candidate(f"c{i}", f"Sentence {i}.") for i in range(len(CASES))))
    import_labels(wb, None, "pairs.jsonl", jsonl.dumps([question]).encode())
    with wb.write() as s:
        importer = people_rows.ensure_annotator(s, "import", wb.clock(), is_imported=True)
        [row] = s.scalars(select(QuestionRow))
        pair_of = {
            (row.id, sentence): case for sentence, case in zip(s.scalars(select(Sentence.id)), CASES, strict=True)
        }
        for pair, (*labels, verdict) in pair_of.items():
            for who, label in zip((ann.id, bob.id, importer.id), labels, strict=True):
                if label:
                    rows.add_event(s, *pair, who, label, wb.clock())
            if verdict:
                reviews.add_verdict(s, pair, ann.id, verdict, "", wb.clock())
    return pair_of


def test_a_pair_is_settled_by_the_verdict_then_by_people_then_by_imports(wb, pairs):
    expected = {pair: settle(*case) for pair, case in pairs.items()}
    with wb.read() as s:
        of_question = consensus.find_outcomes(s, question_ids=[next(iter(pairs))[0]])
        of_corpus = consensus.find_outcomes(s, corpus_id=s.scalar(select(QuestionRow.corpus_id)))
    assert of_question == of_corpus
    assert {pair: label or "disputed" for pair, label in of_question.items()} == expected


def test_what_a_corpus_came_with_is_shown_where_no_person_labelled(wb, pairs):
    expected = {
        sentence_id: imported for (_, sentence_id), (ann, bob, imported, _) in pairs.items() if not ann and not bob
    }
    assert consensus.read_corpus_labels(wb, next(iter(pairs))[0]) == expected


def test_a_corpus_counts_the_same_outcomes(wb, pairs):
    expected = {pair: settle(*case) for pair, case in pairs.items()}
    with wb.read() as s:
        corpus_id = s.scalar(select(QuestionRow.corpus_id))
        assert rows.count_outcomes(s, corpus_id) == (Counter(expected.values()), 1)
        correct = {(r.question_id, r.sentence_id) for r in rows.list_correct_pairs(s, corpus_id, [])}
        [by_question] = rows.count_outcomes_by_question(s, corpus_id, [])
    assert correct == {pair for pair, outcome in expected.items() if outcome == "correct"}
    assert tuple(by_question) == ("q", len(correct), list(expected.values()).count("incorrect"))


@pytest.mark.parametrize("label", ["correct", "incorrect"])
def test_a_doubt_stands_while_its_label_is_the_outcome(wb, pairs, label):
    with wb.write() as s:
        corpus_id = s.scalar(select(QuestionRow.corpus_id))
        reviews.put_suspicions(s, corpus_id, [(pair, label, 0.9) for pair in pairs], wb.clock())
    expected = {pair for pair, case in pairs.items() if settle(*case) == label}
    with wb.read() as s:
        assert reviews.count_suspicions(s, corpus_id) == len(expected)
        assert {pair for pair in pairs if reviews.find_suspicion(s, pair) is not None} == expected
