import pytest
from sqlalchemy import event

from db.models import WITHDRAWN, Corpus
from db.repositories import corpora, labels, people, questions, reviews, sentences


@pytest.fixture
def pair(database, add_document, now):
    """A question and a sentence, and two annotators: (corpus, question, sentence, ann, bob)."""
    corpus_id, document_id = add_document("rhine", ["The Rhine is a river.", "It is long."])
    with database.write() as s:
        q = questions.add_question(s, corpus_id, "What is the Rhine?", external_id="q1", origin="asked", now=now)
        first = sentences.list_sentences(s, [document_id])[0]
        ann, bob = people.ensure_annotator(s, "ann", now), people.ensure_annotator(s, "bob", now)
        return corpus_id, q.id, first.id, ann.id, bob.id


def events(database, question_id, *said, now):
    with database.write(durable=True) as s:
        return [labels.add_event(s, question_id, sentence, who, label, now).id for sentence, who, label in said]


def current(database, question_id):
    with database.read() as s:
        return {(r.sentence_id, r.annotator_id): r.label for r in labels.list_labels_of_questions(s, [question_id])}


def test_the_newest_event_of_each_annotator_is_the_current_label(database, pair, now):
    _, q, sentence, ann, bob = pair
    events(database, q, (sentence, ann, "correct"), (sentence, bob, "unsure"), (sentence, ann, "incorrect"), now=now)
    assert current(database, q) == {(sentence, ann): "incorrect", (sentence, bob): "unsure"}


def test_a_withdrawn_label_is_none_until_the_next_event(database, pair, now):
    _, q, sentence, ann, _ = pair
    events(database, q, (sentence, ann, "correct"), (sentence, ann, WITHDRAWN), now=now)
    assert current(database, q) == {}
    events(database, q, (sentence, ann, "correct"), now=now)
    assert current(database, q) == {(sentence, ann): "correct"}


def test_the_last_act_skips_undoes_and_what_they_undid(database, pair, now):
    corpus_id, q, sentence, ann, bob = pair
    first, second, _ = events(
        database, q, (sentence, ann, "correct"), (sentence, ann, "incorrect"), (sentence, bob, "correct"), now=now
    )
    with database.write() as s:
        assert [e.id for e in labels.find_last_act(s, ann, corpus_id)] == [second]
        labels.add_event(s, q, sentence, ann, "correct", now, {"undoes": second})
        assert [e.id for e in labels.find_last_act(s, ann, corpus_id)] == [first]
        labels.add_event(s, q, sentence, ann, WITHDRAWN, now, {"undoes": first})
        assert labels.find_last_act(s, ann, corpus_id) == []


def test_an_act_cannot_be_undone_twice(database, pair, now):
    _, q, sentence, ann, _ = pair
    [act] = events(database, q, (sentence, ann, "correct"), now=now)
    with database.write() as s:
        labels.add_event(s, q, sentence, ann, WITHDRAWN, now, {"undoes": act})
    with pytest.raises(Exception, match="refused"), database.write() as s:
        labels.add_event(s, q, sentence, ann, WITHDRAWN, now, {"undoes": act})


def test_an_annotator_asked_for_twice_is_one(database, now):
    with database.write() as s:
        assert people.ensure_annotator(s, "ann", now).id == people.ensure_annotator(s, "ann", now).id


def test_deleting_a_corpus_takes_its_labels_along_and_leaves_the_others(database, add_document, pair, now):
    corpus_id, q, sentence, ann, _ = pair
    events(database, q, (sentence, ann, "correct"), now=now)
    other, _ = add_document("nile", ["The Nile is longer."], corpus="more rivers")
    with database.write() as s:
        s.delete(s.get(Corpus, corpus_id))
    with database.read() as s:
        assert [c.id for c in corpora.list_corpora(s)] == [other]
        assert corpora.count_contents(s, [other])[other].sentences == 1
        assert labels.list_labels_of_corpus(s, corpus_id) == []


def steps(session, of) -> int:
    """What SQLite works for it, in hundreds of its own steps."""
    connection, taken = session.connection().connection.dbapi_connection, []
    connection.set_progress_handler(lambda: taken.append(1), 100)
    of(session)
    connection.set_progress_handler(None, 0)
    return len(taken)


@pytest.mark.parametrize(
    "asked",
    [labels.find_verdicts, labels.count_outcomes, labels.list_labels_with_verdicts, reviews.list_comparable_labels],
)
def test_of_twice_the_labels_and_verdicts_sqlite_makes_twice_the_work(database, pair, add_document, now, asked):
    if not database.sqlite:
        pytest.skip("PostgreSQL plans by itself")
    corpus_id, q, _, ann, _ = pair
    worked = []
    for name in ("first", "second"):
        _, document_id = add_document(name, [f"{name} {i}." for i in range(300)])
        with database.write() as s:
            for row in sentences.list_sentences(s, [document_id]):
                labels.add_event(s, q, row.id, ann, "correct", now)
                reviews.add_verdict(s, (q, row.id), ann, "incorrect", "", now)
        with database.read() as s:
            worked.append(steps(s, lambda s: asked(s, corpus_id=corpus_id)))
    assert worked[1] < 2.5 * worked[0]  # four times as much where each label looks through all verdicts


def test_questions_are_counted_by_split_from_an_index_alone(database, pair):
    corpus_id, question_id, *_ = pair
    statements = []
    with database.read() as s:
        event.listen(s.get_bind(), "before_cursor_execute", lambda *args: statements.append(args[2:4]))
        assert labels.mark_corpus(s, corpus_id)[1] == ((None, "", 1, question_id),)
        [(counts, values)] = [x for x in statements if "GROUP BY" in x[0]]
        if s.get_bind().dialect.name == "sqlite":
            plan = s.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {counts}", values).all()
            assert any("COVERING INDEX ix_question_corpus_id_split_id" in step.detail for step in plan)
