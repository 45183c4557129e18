"""Questions are skipped, removed from the queues and added to them."""

import pytest
import stored
from app_pages import markup, open_page
from label_desk import BRIDGE, front, label, open_label, press

from app.ask import stored_questions
from app.corpora import corpora
from app.exchange import starter
from app.exchange.starter import UNFINISHED
from app.labels import leasing
from app.labels.seats import Seat
from app.ui.landing import shipped
from app.workbench.settings import Settings
from db.models import Corpus


@pytest.mark.parametrize("sentences", [True, False])
def test_a_corpus_nobody_has_asked_offers_proposed_questions_first(wb, sentences):
    if not sentences:
        corpora.create_corpus(wb, "Empty")
    at = open_label({"corpus": "Works" if sentences else "Empty"})
    links = {p.label: f"{p.page}?{p.query_string}" for p in (e.proto for e in at.get("page_link"))}
    assert ("accept questions proposed from the sentences" in markup(at)) == sentences
    assert links.get("Add documents") == (None if sentences else "data?view=corpora")
    assert links.get("Propose questions") == ("data?view=proposals" if sentences else None)


def test_a_question_is_skipped_with_all_its_pairs_in_every_queue_of_the_session(wb):
    at = press(open_label(), "skip")
    assert front(at)[0] != BRIDGE
    for queue in ("random", "tops"):
        at = at.selectbox(key="label_queue").set_value(queue).run()
        met = set()
        while front(at):
            met.add(front(at)[0])
            at = press(at, "forward")
        assert met == {1, 2}
    assert "You skipped" in markup(at)
    at = press(at, "forward")  # from the end all come again
    assert front(at)
    assert stored.label_events(wb) == []


def test_a_question_is_removed_from_the_queue_for_everyone(wb, ann):
    at = press(open_label(), "remove")
    assert front(at)[0] != BRIDGE
    assert "Removed from the queue" in at.toast[0].value
    assert not stored_questions.is_queued(wb, BRIDGE)
    met, skips = set(), []
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "random"), skips):
        met.add(item.question_id)
        skips.append((item.question_id, item.sentence_id))
    assert met == {1, 2}


def test_a_question_is_removed_from_its_list_too(wb):
    at = press(open_label({"mode": "list"}), "remove")
    assert front(at)[0] != BRIDGE
    assert not stored_questions.is_queued(wb, BRIDGE)
    assert "label_skip" not in [b.key for b in at.button]  # here Skip skips questions


def test_a_viewer_skips_questions_and_removes_none(wb):
    stored.set_role(wb, "viewer")
    at = open_label()
    assert at.button(key="label_remove").disabled
    assert not at.button(key="label_skip").disabled


def test_where_nothing_is_queued_one_press_adds_what_was_asked(wb, me):
    stored_questions.set_queued(wb, [1, 2, 3], queued=False, by=me.id)
    at = open_label()
    assert "Add the 3 questions asked on Ask, type, paste or upload your own" in markup(at)
    links = {p.label: f"{p.page}?{p.query_string}" for p in (e.proto for e in at.get("page_link"))}
    assert links["Add other questions"] == "data?view=questions"
    assert "data?view=labels" not in links.values()  # an import takes no questions without sentences
    at = at.button(key="label_add_asked").click().run()
    assert "3 questions were added to the queue" in at.toast[0].value
    assert front(at)[0] == BRIDGE and stored_questions.is_queued(wb, BRIDGE)


def test_where_all_that_is_queued_is_labelled_one_press_adds_what_was_asked(wb, me, ann):
    stored_questions.set_queued(wb, [1], queued=False, by=me.id)
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "unlabelled")):
        label(wb, ann, (item.question_id, item.sentence_id))
    at = open_page("label")
    assert "This queue is finished" in markup(at)
    at = at.button(key="label_add_asked").click().run()
    assert "1 question was added to the queue" in at.toast[0].value
    assert front(at)[0] == 1


def test_a_shipped_corpus_that_is_still_being_read_says_so(wb, tmp_path, monkeypatch):
    (tmp_path / corpora.HANDBOOK / "articles").mkdir(parents=True)
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    made = corpora.create_corpus(wb, corpora.HANDBOOK)
    with wb.write() as s:
        s.get_one(Corpus, made.id).digest = UNFINISHED
    at = open_label({"corpus": corpora.HANDBOOK})
    assert "The corpus is being read" in markup(at) and "Nothing to label yet" not in markup(at)
    with wb.write() as s:
        s.get_one(Corpus, made.id).digest = "read"
    assert "Nothing to label yet" in markup(at.run())


def test_a_shipped_corpus_that_cannot_be_read_says_why_and_what_to_do(wb, tmp_path, monkeypatch):
    folder = tmp_path / corpora.HANDBOOK
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "valve.md").write_text("# Valve\n\nIt opens.", encoding="utf-8")
    (folder / "train.jsonl").write_text("{", encoding="utf-8")
    monkeypatch.setattr(Settings, "shipped_dir", lambda self, name: tmp_path / name)
    shipped.read_handbook(wb, shipped.get_failures())
    at = open_label({"corpus": corpora.HANDBOOK})
    assert "The corpus handbook could not be read: train.jsonl: line 1: the JSON ends" in markup(at)
    assert "load it on Data, under Corpora" in markup(at) and "being read" not in markup(at)
    (folder / "train.jsonl").unlink()
    starter.bring_back(wb, corpora.HANDBOOK)
    assert "could not be read" not in markup(at.run())
