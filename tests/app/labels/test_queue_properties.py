"""What a queue is, its entry says: a second queue of the same properties is treated alike, whatever its name."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from label_files import import_labels
from sqlalchemy import select

from app.labels import annotation, leasing, prevalence, queues, rules
from app.labels.queues import QUEUES, Assignment
from app.labels.seats import Seat
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Candidate as CandidateRow
from db.models import Sentence

DOCS = Path(__file__).resolve().parents[3] / "docs"
TABLE = DOCS / "labelling.md"


@pytest.fixture
def articles(monkeypatch):
    """A second queue that draws at random."""
    monkeypatch.setitem(QUEUES, "articles", replace(QUEUES["random"], name="articles"))
    return "articles"


def give(wb, item, who):
    shown = item.present(item.assignment, item.version, scores=True, guideline=0)
    annotation.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=who.id,
        label="correct",
        presentation=shown,
    )


@pytest.mark.parametrize("name", ["random", "articles"])
def test_all_that_a_queue_draws_at_random_is_in_the_fair_sample(wb, scored, ann, articles, name):
    for _ in range(4):
        give(wb, leasing.find_next_item(wb, Seat(scored.id, ann.id, name)), ann)
    estimate = prevalence.estimate_prevalence(wb, scored.id)
    assert (estimate.fair.value, estimate.fair.n, estimate.by_queue) == (1.0, 4, ())


@pytest.mark.parametrize("name", ["random", "articles"])
def test_a_share_of_what_a_queue_draws_at_random_is_blind(wb, scored, ann, articles, name):
    rules.set_rules(wb, scored.id, by=ann.id, blind=1)
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, name))
    assert (item.assignment.arm, item.why) == ("blind", f"A random pick. {queues.BLIND}")
    rules.set_rules(wb, scored.id, by=ann.id, blind=0)
    item = leasing.find_next_item(wb, Seat(scored.id, ann.id, name))
    assert item.assignment.arm == "shown"
    again = leasing.open_item(wb, item.question_id, item.sentence_id, ann.id, assignment=item.assignment)
    assert again.why == item.why == f"A random pick, ranked {item.rank} of {item.candidates}."


def test_what_no_model_ranked_has_no_scores_to_be_blind_to(wb, towers, ann):
    rules.set_rules(wb, towers.id, by=ann.id, blind=1)
    question = Question("q", "Why is it grey?", (Candidate("a", "It is old."),))
    import_labels(wb, towers.id, "set.jsonl", jsonl.dumps([question]).encode())
    item = leasing.find_next_item(wb, Seat(towers.id, ann.id, "random"))
    assert (item.text, item.rank, item.assignment.arm) == ("It is old.", None, "")


@pytest.mark.parametrize("name", ["random", "articles"])
def test_a_list_drawn_at_random_is_drawn_again_and_neither_narrowed_nor_reopened(wb, scored, ann, articles, name):
    seat = Seat(scored.id, ann.id, name, "here")
    item = leasing.find_next_question(wb, seat)
    assert item.assignment.first_id == item.rows[0].sentence_id
    assert leasing.reopen_question(wb, seat, item.question_id) is None
    assert not queues.can_narrow(name)
    assert Assignment(name).is_random


def test_which_queues_are_samples_adaptive_and_pooled():
    of = {flag: [q.name for q in QUEUES.values() if getattr(q, flag)] for flag in ("is_sample", "is_pooled")}
    assert of == {"is_sample": ["random"], "is_pooled": ["tops"]}
    assert not any(q.is_sample and (q.is_adaptive or q.is_review) for q in QUEUES.values())


def test_the_docs_have_every_queue_with_its_random_share():
    table = TABLE.read_text().partition("| queue | contents | random share |")[2].partition("\n\n")[0]
    shares = dict(re.findall(r"^\| ([^|]+?) \|[^|]+\| ?([^|]*?) ?\|$", table, re.M))
    expected = {
        q.display_name.lower(): "all of it" if q.is_sample else "yes" if q.is_adaptive else "" for q in QUEUES.values()
    }
    assert shares == expected


def test_the_queue_of_the_docs_offers_the_longest_sentence_first_and_says_why(wb, scored, ann, monkeypatch):
    [block] = [
        b
        for b in re.findall(r"^```python\n(.*?)^```", (DOCS / "extending.md").read_text(), re.M | re.S)
        if "Queue(" in b
    ]
    names: dict[str, object] = {}
    exec(block, names)
    monkeypatch.setitem(QUEUES, names["LONGEST"].name, names["LONGEST"])
    first = leasing.find_next_item(wb, Seat(scored.id, ann.id, "longest"))
    give(wb, first, ann)
    second = leasing.find_next_item(wb, Seat(scored.id, ann.id, "longest"))
    assert len(first.text) >= len(second.text) and first.question_id
    assert first.why == f"It has {len(first.text)} characters and is ranked {first.rank}."
    in_order = str(names["LONGEST"].order.sort(select(CandidateRow.id).join(Sentence), None))
    assert "ORDER BY" in in_order and ".text" not in in_order  # as test_texts_are_read_of_the_head_of_a_queue_alone
