import threading
from datetime import timedelta

import pytest
from sqlalchemy import text
from tower_texts import BRIDGE, QUESTIONS, TOWER

from app.ask import asking
from app.corpora import corpora, documents, ingestion
from app.exchange import storage
from app.labels import annotation, conflicts, consensus, progress, rules
from app.labels.annotation import CannotUndo, Presentation
from app.workbench import people
from app.workbench.people import Gone
from as2core.errors import BadSetting
from as2core.types import LABELS, Candidate, Question
from db.models import Sentence


@pytest.fixture
def give(wb, asked):
    """give(annotator, position, label) labels a candidate of the asked question."""

    def act(who, position, label, **more):
        return annotation.give_label(
            wb,
            question_id=asked.question_id,
            sentence_id=asked.candidates[position].sentence_id,
            annotator_id=who.id,
            label=label,
            **more,
        )

    return act


@pytest.fixture
def state(wb, asked):
    """state(annotator): candidate position -> label."""

    def read(who=None):
        found = consensus.read_labels(wb, asked.question_id, who.id if who else None)
        places = {c.sentence_id: i for i, c in enumerate(asked.candidates)}
        return {places[s]: label for s, label in found.items()}

    return read


def count_events(wb):
    with wb.read() as s:
        return s.scalar(text("SELECT count(*) FROM label_event"))


def test_a_label_is_there_once_the_call_returns(wb, give, state, ann):
    said = give(ann, 0, "correct")
    assert (said.label, said.changed, said.annotator_id) == ("correct", True, ann.id)
    assert state(ann) == {0: "correct"}


def test_what_was_shown_is_kept_with_the_event(wb, give, ann):
    give(ann, 0, "correct", presentation=Presentation(version="towers-1", rank=3, scores_visible=True, queue="tops"))
    with wb.read() as s:
        row = s.execute(text("SELECT shown_version, shown_rank, scores_visible, queue FROM label_event")).one()
    assert tuple(row) == ("towers-1", 3, True, "tops")


def test_a_double_click_counts_once(wb, give, state, ann):
    first, second = give(ann, 0, "correct"), give(ann, 0, "correct")
    assert (second.changed, second.event_id) == (False, first.event_id)
    assert count_events(wb) == 1


def test_clicks_of_many_threads_count_exactly_once_each(wb, asked, ann, bob):
    start = threading.Barrier(8)

    def click(who) -> None:
        start.wait()
        for c in asked.candidates:
            annotation.give_label(
                wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=who.id, label="incorrect"
            )

    threads = [threading.Thread(target=click, args=(who,)) for who in (ann, bob) * 4]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert count_events(wb) == 2 * len(asked.candidates)


@pytest.mark.parametrize("label", ["", "Correct", "withdrawn", "maybe"])
def test_an_unknown_label_is_refused_with_the_known_ones(give, ann, label):
    with pytest.raises(BadSetting, match=", ".join(LABELS)):
        give(ann, 0, label)


def test_a_label_for_what_was_deleted_says_so(wb, towers, give, ann):
    corpora.delete_corpus(wb, towers.id)
    with pytest.raises(Gone, match="no longer exists"):
        give(ann, 0, "correct")


def test_a_label_for_a_sentence_replaced_while_it_was_looked_at_lands_on_no_other(wb, towers, ann):
    ingestion.ingest(wb, towers.id, [("mill.txt", b"The mill is old. The miller lives upstairs.")])
    asked = asking.ask(wb, towers.id, "Where does the miller live?")
    looked_at = asked.candidates[asked.best]
    assert looked_at.text == "The miller lives upstairs."
    ingestion.ingest(wb, towers.id, [("mill.txt", b"The mill is old. Nobody ever lived upstairs.")])
    pair = {"question_id": asked.question_id, "annotator_id": ann.id, "label": "correct"}
    assert annotation.give_labels(wb, **pair, presentations={looked_at.sentence_id: Presentation()}) == ()
    with pytest.raises(annotation.LeftDocument, match="no longer exists"):
        annotation.give_label(
            wb,
            question_id=asked.question_id,
            sentence_id=looked_at.sentence_id,
            annotator_id=ann.id,
            label="correct",
        )
    assert count_events(wb) == 0


def test_a_label_for_a_corpus_that_is_gone_lands_in_no_other(wb, towers, give, ann):
    corpora.delete_corpus(wb, towers.id)
    other = corpora.create_corpus(wb, "other")
    ingestion.ingest(wb, other.id, [("tower.txt", TOWER.encode()), ("bridge.txt", BRIDGE.encode())])
    asking.ask(wb, other.id, QUESTIONS[0])
    with pytest.raises(Gone, match="no longer exists"):
        give(ann, 0, "correct")
    assert count_events(wb) == 0


def test_undo_goes_back_step_by_step_through_every_kind_of_act(wb, towers, asked, give, state, ann):
    give(ann, 0, "correct")
    give(ann, 0, "incorrect")
    give(ann, 1, "unsure")
    annotation.withdraw(
        wb, question_id=asked.question_id, sentence_id=asked.candidates[1].sentence_id, annotator_id=ann.id
    )
    expected = [{0: "incorrect", 1: "unsure"}, {0: "incorrect"}, {0: "correct"}, {}]
    for after in expected:
        assert annotation.undo_last(wb, ann.id, towers.id) is not None
        assert state(ann) == after
    assert annotation.undo_last(wb, ann.id, towers.id) is None
    assert count_events(wb) == 8


def test_an_act_after_an_undo_is_the_next_to_be_undone(wb, towers, give, state, ann):
    give(ann, 0, "correct")
    give(ann, 1, "correct")
    annotation.undo_last(wb, ann.id, towers.id)
    give(ann, 2, "incorrect")
    assert state(ann) == {0: "correct", 2: "incorrect"}
    annotation.undo_last(wb, ann.id, towers.id)
    assert state(ann) == {0: "correct"}
    annotation.undo_last(wb, ann.id, towers.id)
    assert state(ann) == {}


def test_undo_tells_which_pair_it_restored_to_what(wb, towers, asked, give, ann):
    give(ann, 0, "correct")
    give(ann, 0, "unsure")
    undone = annotation.undo_last(wb, ann.id, towers.id)
    assert (undone.sentence_id, undone.label) == (asked.candidates[0].sentence_id, "correct")
    assert annotation.undo_last(wb, ann.id, towers.id).label is None


def test_a_withdrawn_label_comes_back_only_while_it_is_wanted(wb, towers, asked, give, state, ann, bob):
    key = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    give(ann, 0, "correct")
    annotation.withdraw(wb, **key, annotator_id=ann.id)
    give(bob, 0, "incorrect")
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    assert annotation.undo_last(wb, ann.id, towers.id).label == "correct"
    assert (state(ann), state(bob)) == ({0: "correct"}, {0: "incorrect"})


def test_a_withdrawal_that_stays_is_told_once_and_undo_goes_on_to_what_was_done_before(
    wb, towers, asked, give, state, ann, bob
):
    give(ann, 0, "correct")
    give(ann, 1, "unsure")
    give(ann, 1, "correct")
    annotation.withdraw(
        wb, question_id=asked.question_id, sentence_id=asked.candidates[1].sentence_id, annotator_id=ann.id
    )
    give(bob, 1, "incorrect")
    with pytest.raises(CannotUndo, match=r"stays withdrawn.*Undo again"):
        annotation.undo_last(wb, ann.id, towers.id)
    assert (state(ann), state(bob)) == ({0: "correct"}, {1: "incorrect"})
    assert [act.sentence_id for act in annotation.list_acts(wb, ann.id, towers.id)] == [asked.candidates[0].sentence_id]
    assert annotation.undo_last(wb, ann.id, towers.id).sentence_id == asked.candidates[0].sentence_id
    assert (state(ann), state(bob)) == ({}, {1: "incorrect"})
    assert annotation.undo_last(wb, ann.id, towers.id) is None


def test_undo_leaves_imported_labels_alone(wb, towers, give, state, ann):
    question = Question("q9", "How high?", (Candidate("x", "It is high.", 1),))
    storage.store_questions(wb, towers.id, [question], storage.ImportOptions(ann.id))
    assert annotation.undo_last(wb, ann.id, towers.id) is None
    assert annotation.list_acts(wb, ann.id, towers.id) == ()
    give(ann, 0, "correct")
    assert annotation.undo_last(wb, ann.id, towers.id) is not None
    assert annotation.undo_last(wb, ann.id, towers.id) is None


def test_undo_is_ones_own_and_of_this_corpus(wb, towers, give, state, ann, bob):
    other = corpora.create_corpus(wb, "other")
    give(ann, 0, "correct")
    assert annotation.undo_last(wb, bob.id, towers.id) is None
    assert annotation.undo_last(wb, ann.id, other.id) is None
    assert state(ann) == {0: "correct"}


def test_withdrawing_what_was_never_labelled_does_nothing(wb, asked, ann):
    sentence = asked.candidates[0].sentence_id
    assert annotation.withdraw(wb, question_id=asked.question_id, sentence_id=sentence, annotator_id=ann.id) is None
    assert count_events(wb) == 0


def test_people_agree_disagree_and_outrank_imports(wb, asked, give, state, ann, bob):
    from db.repositories import people as rows

    with wb.write() as s:
        imported = rows.ensure_annotator(s, "import", wb.clock(), is_imported=True)
    for who, position, label in (
        (imported, 0, "incorrect"), (ann, 0, "correct"),
        (ann, 1, "correct"), (bob, 1, "incorrect"),
        (imported, 2, "incorrect"),
        (ann, 3, "unsure"), (bob, 3, "incorrect"),
    ):  # fmt: skip
        give(who, position, label)
    assert state() == {0: "correct", 2: "incorrect", 3: "incorrect"}


def test_progress_counts_days_people_and_what_is_left(wb, towers, asked, give, clock, ann, bob):
    n = len(asked.candidates)
    give(ann, 0, "correct")
    clock.advance(days=1)
    give(ann, 1, "incorrect")
    give(ann, 2, "correct")
    give(bob, 2, "incorrect")
    give(bob, 3, "unsure")
    mine = progress.measure_progress(wb, towers.id, ann.id)
    assert (mine.today, mine.mine, mine.all, mine.labelled_questions, mine.remaining) == (2, 3, 4, 1, n - 4)
    assert mine.per_label == {"correct": 1, "incorrect": 1, "unsure": 1, "disputed": 1}


def test_today_begins_at_midnight_where_the_reader_is(wb, towers, asked, give, clock, ann):
    clock.advance(hours=10)
    give(ann, 0, "correct")  # at ten in the evening, UTC
    clock.advance(hours=5)
    give(ann, 1, "incorrect")  # at three in the morning
    zones = {h: progress.measure_progress(wb, towers.id, ann.id, ahead=timedelta(hours=h)).today for h in (-5, 0, 1, 3)}
    assert zones == {-5: 2, 0: 1, 1: 1, 3: 2}


@pytest.mark.usefixtures("scored")
def test_what_takes_long_to_count_goes_on_by_ones_own_count_meanwhile(wb, towers, give, monkeypatch, ann, bob):
    monkeypatch.setattr(progress, "SLOW_COUNT_SECONDS", 0.0)  # everything takes long
    monkeypatch.setattr(progress, "CACHE_FACTOR", 1e9)
    counted = []
    count = annotation.rows.count_outcomes
    monkeypatch.setattr(annotation.rows, "count_outcomes", lambda *a: counted.append(1) or count(*a))
    n = progress.measure_progress(wb, towers.id, ann.id).remaining

    def end_seconds():
        for cache in (wb.progress_counts, wb.label_summaries):
            monkeypatch.setattr(cache, "_entries", {})

    end_seconds()
    counted.clear()

    def read_progress(who):
        told = progress.measure_progress(wb, towers.id, who.id)
        return told.today, told.mine, told.all, told.remaining

    assert read_progress(ann) == (0, 0, 0, n)
    give(ann, 0, "correct")
    give(ann, 1, "incorrect")
    assert read_progress(ann) == (2, 2, 2, n - 2)
    annotation.undo_last(wb, ann.id, towers.id)
    assert read_progress(ann) == (1, 1, 1, n - 1)
    assert len(counted) == 1
    give(ann, 2, "unsure")
    assert read_progress(bob) == (0, 0, 2, n - 2)
    end_seconds()
    assert read_progress(ann) == (2, 2, 2, n - 2)
    assert len(counted) == 3


def test_the_mark_of_a_corpus_changes_with_its_own_labels_and_verdicts_alone(wb, towers, asked, give, ann):
    other = corpora.create_corpus(wb, "other").id
    question = Question("1", "A question?", (Candidate("1", "It is.", 1),))
    asking.ask(wb, towers.id, QUESTIONS[1])
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": ann.id}

    def change(act):
        """Which of the two marks that changes."""
        before = [consensus.mark_outcomes(wb, i) for i in (towers.id, other)]
        act()
        after = [consensus.mark_outcomes(wb, i) for i in (towers.id, other)]
        assert after == [consensus.mark_outcomes(wb, i) for i in (towers.id, other)]
        return [a != b for a, b in zip(before, after, strict=True)]

    assert change(lambda: give(ann, 0, "correct")) == [True, False]
    assert change(lambda: conflicts.adjudicate(wb, **pair, label="incorrect")) == [True, False]
    assert change(lambda: conflicts.adjudicate(wb, **pair, label=None)) == [True, False]
    assert change(lambda: annotation.undo_last(wb, ann.id, towers.id)) == [True, False]
    assert change(lambda: asking.ask(wb, towers.id, QUESTIONS[2])) == [True, False]
    options = storage.ImportOptions(ann.id)
    assert change(lambda: storage.store_questions(wb, other, [question], options)) == [False, True]
    with wb.read() as s:
        other_pair = s.execute(text("SELECT question_id, sentence_id FROM label_event ORDER BY id DESC LIMIT 1")).one()
    give(ann, 0, "correct")
    for label in ("incorrect", None):
        conflicts.adjudicate(wb, **other_pair._mapping, annotator_id=ann.id, label=label)

    def delete_and_settle():  # SQLite gives the id of the first deleted verdict once more
        corpora.delete_corpus(wb, other)
        conflicts.adjudicate(wb, **pair, label="incorrect")

    assert change(delete_and_settle) == [True, True]


def test_counts_of_more_desks_than_are_kept_replace_the_oldest(wb, monkeypatch):
    monkeypatch.setattr(progress, "SLOW_COUNT_SECONDS", -1.0)  # everything takes long
    monkeypatch.setattr(progress, "CACHE_FACTOR", 1e9)
    counts = [progress.count_cached(wb, (f"desk {n}",), 0, lambda n=n: n)[0] for n in range(500)]
    assert counts == list(range(500))
    assert len(wb.progress_counts) == wb.progress_counts.size == 200
    assert progress.count_cached(wb, ("desk 499",), 3, lambda: -1) == (499, 3)
    assert progress.count_cached(wb, ("desk 0",), 3, lambda: -1) == (-1, 0)


def test_an_annotator_is_known_by_a_tidied_name(wb):
    assert people.sign_in(wb, "  Ada   Lovelace ") == people.sign_in(wb, "Ada Lovelace")


@pytest.mark.parametrize("name", ["", " ", "\x00", "x" * 61])
def test_a_name_nobody_could_read_is_refused(wb, name):
    with pytest.raises(BadSetting):
        people.sign_in(wb, name)


def test_a_sentence_that_was_never_a_candidate_can_be_labelled(wb, towers, asked, ann):
    [bread] = documents.list_documents(wb, towers.id, search="bread")
    sentence = documents.list_sentences(wb, bread.id)[0]
    assert sentence.id not in {c.sentence_id for c in asked.candidates}
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=sentence.id, annotator_id=ann.id, label="incorrect"
    )
    assert consensus.read_labels(wb, asked.question_id)[sentence.id] == "incorrect"


def test_a_sentence_whose_document_was_deleted_meanwhile_is_not_labelled(wb, towers, asked, give, state, ann, bob):
    give(bob, 0, "correct")
    with wb.read() as s:
        sentence = s.get_one(Sentence, asked.candidates[0].sentence_id)
    documents.delete_document(wb, sentence.document_id, by=ann.id)
    with pytest.raises(annotation.LeftDocument, match="nothing was recorded"):
        give(ann, 0, "incorrect")
    elsewhere = {c.sentence_id: Presentation() for c in asked.candidates if c.document_id != sentence.document_id}
    views = annotation.give_labels(
        wb, question_id=asked.question_id, annotator_id=ann.id, label="incorrect",
        presentations=elsewhere | {sentence.id: Presentation()},
    )  # fmt: skip
    assert {v.sentence_id for v in views} == set(elsewhere) and 0 not in state(ann)
