"""The people of Agreement, what admins read there, and what viewers find closed."""

import pytest
import stored
from app_pages import find_popover, markup, open_page, texts

from app.corpora import corpora
from app.labels import annotation
from app.ui.text import WORD_JOINER
from app.workbench import people
from db.models import Annotator

PEOPLE = {"view": "people"}


def test_an_admin_reads_who_did_what_and_what_was_refused(wb):
    people.sign_in(wb, "ann")
    bob = people.sign_in(wb, "<b>bob</b>")
    corpus = corpora.create_corpus(wb, "old")
    with pytest.raises(people.NotAllowed):
        corpora.delete_corpus(wb, corpus.id, by=bob.id)
    corpora.delete_corpus(wb, corpus.id, by=None)
    at = open_page("agreement", PEOPLE)
    assert "Audit log" in [h.value for h in at.header]
    table = markup(at)
    assert "<td>command line</td><td>delete a corpus</td><td>old</td>" in table
    assert "<td>&lt;b&gt;bob&lt;/b&gt;</td><td>delete a corpus (refused)</td>" in table


def test_others_see_people_and_no_log(wb):
    stored.set_role(wb, "annotator")
    at = open_page("agreement", PEOPLE)
    assert "**ann**" in texts(at) and "**me** (you), whoever typed no name" in texts(at)
    assert "Audit log" not in [h.value for h in at.header]
    assert "become the first admin" not in markup(at)


def test_an_admin_reads_how_far_each_person_is_and_others_do_not(wb, clock):
    ann, bob = people.sign_in(wb, "ann"), people.sign_in(wb, "bob")
    for sentence, who, label in ((1, bob, "correct"), (1, ann, "incorrect"), (2, ann, "unsure")):
        clock.advance(days=1)
        annotation.give_label(wb, question_id=1, sentence_id=sentence, annotator_id=who.id, label=label)
    [table] = [d.value for d in open_page("agreement", PEOPLE).dataframe]
    assert table.drop(columns="Newest").to_numpy().tolist() == [["ann", 1, 2, 0, 1, 1], ["bob", 0, 1, 1, 0, 0]]
    stored.set_role(wb, "annotator")
    assert not open_page("agreement", PEOPLE).dataframe


def test_an_admin_hands_the_labels_of_a_name_over_to_an_account(wb):
    tool, eve = people.sign_in(wb, "eve@lab.example"), people.sign_in_subject(wb, "https://id.example|2", "Eve")
    annotation.give_label(wb, question_id=1, sentence_id=1, annotator_id=tool.id, label="correct")
    at = open_page("agreement", PEOPLE)
    assert "Eve" not in at.selectbox(key="agreement_giver").options and at.button(key="agreement_hand_over").disabled
    at = at.selectbox(key="agreement_giver").set_value(tool.id).run()
    assert "has 1 label in all corpora together." in texts(at)
    at = at.selectbox(key="agreement_heir").set_value(eve.id).run()
    at = at.button(key="agreement_hand_over").click().run()
    assert next(t.value for t in at.toast).startswith("1 label handed over, 0 the same")
    assert [(e.annotator_id, e.label) for e in stored.label_events(wb)][1:] == [
        (eve.id, "correct"),
        (tool.id, "withdrawn"),
    ]
    stored.set_role(wb, "annotator")
    assert "agreement_giver" not in [s.key for s in open_page("agreement", PEOPLE).selectbox]


def test_a_viewer_finds_the_shipped_corpora_closed(wb):
    stored.set_role(wb, "viewer")
    at = open_page("data")
    assert at.button(key="data_starter").disabled and at.button(key="data_handbook").disabled


def test_a_viewer_finds_the_control_of_a_retrain_closed(wb):
    stored.set_role(wb, "viewer")
    job = stored.put_job(wb, "retrain", state="running")
    at = open_page("adapt", {"job": str(job)})
    assert find_popover(at, "Cancel").disabled and at.button(key="adapt_pause__on").disabled
    assert "only jobs that they started" in find_popover(at, "Cancel").help


def test_an_admin_reads_who_waits_to_be_let_in(wb):
    object.__setattr__(wb.settings, "newcomers", "blocked")
    for name in ("eve", "*fay*"):
        people.sign_in_subject(wb, f"https://id.example|{name}", name)
    object.__setattr__(wb.settings, "newcomers", "annotator")
    at = open_page("agreement", PEOPLE)
    assert "2 people wait to be let in: eve and *fay*." in texts(at)
    people.set_role(wb, people.find_person(wb, "*fay*").id, "viewer", by=None)
    at = at.run()
    assert "1 person waits to be let in: eve." in texts(at)
    assert f"**eve**, https:/{WORD_JOINER}/id.example|eve, waits to be let in" in texts(at)
    stored.set_role(wb, "annotator")
    shown = texts(open_page("agreement", PEOPLE))
    assert "to be let in:" not in shown and "id.example" not in shown


def test_the_box_has_the_role_that_is_stored_after_a_refusal_and_after_a_change_by_another(wb):
    ann = people.sign_in(wb, "ann")
    with wb.write() as s:
        s.get_one(Annotator, ann.id).role = "admin"
    at = open_page("agreement", PEOPLE)
    at = at.text_input(key="as2_name").set_value("ann").run()
    box = at.selectbox(key=f"agreement_role_{ann.id}")
    at = box.set_value("blocked").run()
    assert "ann is the only admin: make somebody else one first. Nothing was recorded." in texts(at)
    assert at.selectbox(key=f"agreement_role_{ann.id}").value == "admin"
    assert "<td>ann</td><td>change a role (refused)</td><td>ann</td>" in markup(at)
    eve = people.sign_in(wb, "eve")
    at = at.run()
    people.set_role(wb, eve.id, "viewer", by=None)
    assert at.run().selectbox(key=f"agreement_role_{eve.id}").value == "viewer"


def test_who_gives_roles_reads_what_each_of_them_may_do(wb):
    line = next(c.value for c in open_page("agreement", PEOPLE).caption if "**Viewer**" in c.value)
    of = dict(part.split("**: ") for part in line.split(" **") if "**: " in part)
    assert "deletes corpora" in line.partition("**Annotator**")[0]
    for act in ("documents", "renames corpora", "retrains", "promotes"):
        assert act in of["Annotator"]
    for act in ("asks", "exports labels"):
        assert act in of["Viewer"]


def test_each_persons_controls_have_names_of_their_own_and_say_what_they_did(wb):
    eve = people.sign_in_subject(wb, "https://id.example|2", "*eve*")
    at = open_page("agreement", PEOPLE)
    box = at.selectbox(key=f"agreement_role_{eve.id}")
    assert box.label == "Role of \\*eve\\*"
    at = box.set_value("viewer").run()
    assert [t.value for t in at.toast] == ["\\*eve\\* is a viewer now."]
    end = at.button(key=f"agreement_sessions_{eve.id}")
    assert end.label == "End sessions of \\*eve\\*"
    assert [t.value for t in end.click().run().toast] == ["The sessions of \\*eve\\* are ended."]
