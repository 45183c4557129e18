"""The labels of a corpus, looked up one by one and withdrawn."""

import pytest
from label_files import import_labels
from sqlalchemy import select

from app.labels import annotation, consensus, label_list
from app.labels.label_list import LabelSearch
from app.workbench import audit_log, people
from app.workbench.people import NotAllowed
from as2core.data.source import format_rows
from as2core.errors import BadSetting
from db.models import LabelEvent
from db.repositories import labels


@pytest.fixture
def admin(ann):
    return ann  # the first with a name


@pytest.fixture
def cy(wb, admin):
    return people.sign_in(wb, "cy")


@pytest.fixture
def give(wb, asked):
    def act(who, position, label):
        pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[position].sentence_id}
        annotation.give_label(wb, **pair, annotator_id=who.id, label=label)

    return act


@pytest.fixture
def corpus_id(wb, asked, admin, cy, bob, give):
    """Two labels of cy's, one of bob's on the same pair as cy's first."""
    give(cy, 0, "correct")
    give(cy, 1, "incorrect")
    give(bob, 0, "incorrect")
    return asked.corpus_id


def find(wb, corpus_id, by, **which):
    return label_list.list_labels(wb, corpus_id, by=by.id, limit=100, which=LabelSearch(**which))


def test_an_admin_finds_everyones_labels_and_others_their_own(wb, corpus_id, admin, cy, bob):
    assert [(r.annotator, r.label) for r in find(wb, corpus_id, admin).page] == [
        ("bob", "incorrect"),
        ("cy", "incorrect"),
        ("cy", "correct"),
    ]
    assert consensus.count_annotators(wb, corpus_id) == {"cy": 2, "bob": 1}
    assert find(wb, corpus_id, bob, annotator=cy.name).total == 1


def test_labels_are_found_by_label_person_and_words_in_any_order(wb, corpus_id, asked, admin, cy):
    assert find(wb, corpus_id, admin, label="incorrect").total == 2
    assert find(wb, corpus_id, admin, annotator=cy.name, label="incorrect").total == 1
    words = " ".join([asked.candidates[1].text.split()[-2].upper(), asked.question.split()[0]])
    assert {r.sentence for r in find(wb, corpus_id, admin, search=words).page} >= {asked.candidates[1].text}
    assert find(wb, corpus_id, admin, search="% nowhere").total == 0
    page = label_list.list_labels(wb, corpus_id, by=admin.id, limit=1, offset=2)
    assert (page.total, [r.label for r in page.page]) == (3, ["correct"])


def test_labels_are_withdrawn_at_once_with_an_entry_in_the_log_and_a_history(wb, corpus_id, admin, cy):
    records = find(wb, corpus_id, admin).page
    assert label_list.withdraw_labels(wb, corpus_id, records, by=admin.id) == 3
    assert find(wb, corpus_id, admin).total == 0
    [event] = audit_log.list_events(wb, by=None, act=label_list.WITHDRAW)
    assert (event.actor, event.detail) == ("ann", "2 of cy, 1 of bob")
    first = records[-1]
    history = label_list.list_history(wb, first.question_id, first.sentence_id, by=admin.id)
    steps = [(e.annotator, e.label) for e in history]
    assert steps == [("cy", "correct"), ("bob", "incorrect"), ("bob", "withdrawn"), ("cy", "withdrawn")]
    own = label_list.list_history(wb, first.question_id, first.sentence_id, by=cy.id)
    assert [e.label for e in own] == ["correct", "withdrawn"]


def test_what_was_changed_meanwhile_stays(wb, corpus_id, admin, cy, give):
    records = find(wb, corpus_id, admin, annotator=cy.name).page
    give(cy, 0, "unsure")
    assert label_list.withdraw_labels(wb, corpus_id, records, by=admin.id) == 1
    assert [r.label for r in find(wb, corpus_id, cy).page] == ["unsure"]


def test_undo_takes_back_ones_own_withdrawal_and_no_admins(wb, corpus_id, admin, cy, bob):
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, bob).page, by=admin.id)
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, cy).page, by=cy.id)
    assert find(wb, corpus_id, admin).total == 0
    for _ in range(2):
        annotation.undo_last(wb, cy.id, corpus_id)
    assert find(wb, corpus_id, cy).total == 2
    annotation.undo_last(wb, bob.id, corpus_id)
    assert find(wb, corpus_id, bob).total == 0


def test_what_an_admin_withdrew_does_not_come_back_in_an_earlier_form(wb, corpus_id, admin, bob, give):
    give(bob, 0, "correct")  # was "incorrect"
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, bob).page, by=admin.id)
    annotation.undo_last(wb, bob.id, corpus_id)
    assert find(wb, corpus_id, bob).total == 0


@pytest.mark.parametrize("queue", [labels.BY_ADMIN, "imported"])  # "imported": in databases of before
def test_however_many_undos_bring_back_nothing_that_an_admin_withdrew(
    wb, corpus_id, admin, bob, give, queue, monkeypatch
):
    give(bob, 0, "correct")  # was "incorrect"
    give(bob, 0, "unsure")
    give(bob, 1, "correct")
    records = [r for r in find(wb, corpus_id, bob).page if r.label == "unsure"]
    with monkeypatch.context() as patch:
        patch.setattr(labels, "BY_ADMIN", queue)
        label_list.withdraw_labels(wb, corpus_id, records, by=admin.id)
    assert [r.label for r in find(wb, corpus_id, bob).page] == ["correct"]
    for _ in range(4):
        assert annotation.undo_last(wb, bob.id, corpus_id) is not None
        assert find(wb, corpus_id, bob).total == 0
    assert annotation.undo_last(wb, bob.id, corpus_id) is None


def test_labels_given_after_an_admin_withdrew_are_undone_as_any(wb, corpus_id, admin, bob, give):
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, bob).page, by=admin.id)
    given = ["correct", "unsure", "incorrect"]
    for label in given:
        give(bob, 0, label)
    states = []
    for _ in range(4):  # the fourth is of what was withdrawn
        annotation.undo_last(wb, bob.id, corpus_id)
        states.append([r.label for r in find(wb, corpus_id, bob).page])
    assert states == [["unsure"], ["correct"], [], []]


def test_a_withdrawal_says_whether_an_admin_or_the_person_made_it(wb, corpus_id, admin, cy, bob):
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, bob).page, by=admin.id)
    label_list.withdraw_labels(wb, corpus_id, find(wb, corpus_id, cy).page, by=cy.id)
    with wb.read() as s:
        events = s.execute(select(LabelEvent.annotator_id, LabelEvent.queue).where(LabelEvent.label == "withdrawn"))
        assert set(map(tuple, events)) == {(bob.id, labels.BY_ADMIN), (cy.id, "")}


def test_nobody_but_an_admin_withdraws_others_labels(wb, corpus_id, admin, cy, bob):
    records = find(wb, corpus_id, admin).page
    with pytest.raises(NotAllowed):
        label_list.withdraw_labels(wb, corpus_id, records, by=bob.id)
    assert find(wb, corpus_id, admin).total == 3


def test_a_new_account_takes_over_the_labels_of_the_one_it_replaces_once_that_is_blocked(wb, corpus_id, admin, give):
    old = people.sign_in_subject(wb, "https://id.example|8", "Dan")
    new = people.sign_in_subject(wb, "https://id.example|9", "Dan")
    give(old, 0, "correct")
    with pytest.raises(BadSetting, match="Dan logs in"):
        label_list.give_labels_to(wb, old.id, new.id, by=admin.id)
    people.set_role(wb, old.id, "blocked", by=admin.id)
    with pytest.raises(BadSetting, match=r"Dan is blocked, .* the other way round"):  # the two, mistaken for each other
        label_list.give_labels_to(wb, admin.id, old.id, by=None)
    assert label_list.count_labels_to_give(wb, old.id, by=admin.id) == 1
    assert label_list.count_labels_to_give(wb, old.id, by=new.id) == 0
    assert label_list.give_labels_to(wb, old.id, new.id, by=admin.id).moved == 1
    assert "Dan" not in consensus.count_annotators(wb, corpus_id)


def test_the_labels_of_an_imported_name_become_those_of_whoever_it_is(wb, asked, admin, give, clock):
    texts = [c.text for c in asked.candidates[:3]]
    labels_of = zip(texts, ("correct", "incorrect", "correct"), strict=True)
    rows = [(asked.question, sentence, label, "cy@lab.example") for sentence, label in labels_of]
    table = format_rows([("question", "sentence", "label", "annotator"), *rows])
    import_labels(wb, asked.corpus_id, "tool.csv", table.encode())
    name = people.find_person(wb, "cy@lab.example")
    cy = people.sign_in_subject(wb, "https://id.example|3", "Cy")
    given = find(wb, asked.corpus_id, admin).page[0].created
    clock.advance(days=1)
    give(cy, 1, "incorrect")
    give(cy, 2, "incorrect")
    for giver, heir, by in ((name, cy, cy.id), (cy, name, None), (name, name, None)):
        with pytest.raises(NotAllowed if by else BadSetting):
            label_list.give_labels_to(wb, giver.id, heir.id, by=by)
    view = label_list.give_labels_to(wb, name.id, cy.id, by=admin.id)
    assert view == label_list.HandoverView(moved=1, same=1, different=1)
    assert consensus.count_annotators(wb, asked.corpus_id) == {"Cy": 3, "cy@lab.example": 1}
    record = find(wb, asked.corpus_id, admin, annotator="Cy", label="correct").page[0]
    assert (record.sentence, record.created) == (texts[0], given)
    detail = "to Cy: 1 moved, 1 the same, 1 different and left"
    event = audit_log.list_events(wb, by=None)[0]
    assert (event.act, event.target, event.detail) == ("hand over labels", "cy@lab.example", detail)
    view = import_labels(wb, asked.corpus_id, "tool.csv", table.encode())  # the same file again
    assert (view.new, view.same, view.conflicting, view.signers) == (0, 2, 1, ("cy@lab.example is Cy",))
    for _ in range(3):  # Cy's own two, and nothing else
        annotation.undo_last(wb, cy.id, asked.corpus_id)
    assert consensus.count_annotators(wb, asked.corpus_id) == {"Cy": 1, "cy@lab.example": 1}
