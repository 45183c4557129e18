import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from sqlalchemy import event

from as2core.types import Document
from db.models import Document as DocumentRow
from db.models import Sentence
from db.repositories import corpora, labels, people, questions, sentences
from db.repositories import documents as document_rows

OLD = ["Rain fell.", "The river rose.", "People left."]


@pytest.fixture
def flood(database, add_document):
    return add_document("flood", OLD)


def replace(database, flood, texts, as_pieces, now):
    with database.write() as s:
        content = Document("flood", "The flood", " ".join(texts))
        document_rows.replace_document(s, s.get(DocumentRow, flood[1]), content, "d2", as_pieces(texts), now)


def list_sentences(database, flood):
    with database.read() as s:
        return {x.text: (x.id, x.position, x.external_id) for x in sentences.list_sentences(s, [flood[1]])}


def label(database, flood, text, now):
    with database.write() as s:
        q = questions.add_question(s, flood[0], "Why did they leave?", external_id="q", origin="asked", now=now)
        ann = people.ensure_annotator(s, "ann", now)
        [sentence] = sentences.find_sentences_by_text(s, flood[0], [text])
        labels.add_event(s, q.id, sentence.id, ann.id, "correct", now)
        return sentence.id


def test_sentences_are_named_after_document_and_place(database, flood):
    assert [x[1:] for x in list_sentences(database, flood).values()] == [(0, "flood-0"), (1, "flood-1"), (2, "flood-2")]


def test_a_sentence_that_only_moved_keeps_its_row(database, flood, as_pieces, now):
    before = list_sentences(database, flood)
    replace(database, flood, ["It was May.", "The river rose.", "Rain fell."], as_pieces, now)
    after = list_sentences(database, flood)
    assert list(after) == ["It was May.", "The river rose.", "Rain fell."]
    assert after["Rain fell."][0] == before["Rain fell."][0]
    assert after["The river rose."][0] == before["The river rose."][0]
    assert "People left." not in after
    assert len({name for _, _, name in after.values()}) == 3


def test_a_labelled_sentence_that_was_stored_with_its_line_ends_keeps_its_row(database, flood, as_pieces, now):
    kept = label(database, flood, "The river rose.", now)
    with database.write() as s:
        s.get(Sentence, kept).text = "The river\nrose."
    replace(database, flood, ["Rain fell.", "The river rose."], as_pieces, now)
    assert list_sentences(database, flood)["The river rose."][0] == kept


def test_a_labelled_sentence_that_vanished_is_retired_and_comes_back_with_its_text(database, flood, as_pieces, now):
    kept = label(database, flood, "People left.", now)
    replace(database, flood, ["Rain fell.", "The river rose."], as_pieces, now)
    assert list(list_sentences(database, flood)) == ["Rain fell.", "The river rose."]
    with database.read() as s:
        assert s.get(Sentence, kept).retired
        assert len(labels.list_labels_of_corpus(s, flood[0])) == 1
        assert corpora.count_contents(s, [flood[0]])[flood[0]].sentences == 2
    replace(database, flood, [*OLD, "They came back."], as_pieces, now)
    assert list_sentences(database, flood)["People left."][0] == kept


def test_a_label_that_comes_while_its_sentence_is_about_to_go_is_kept(database, flood, as_pieces, now):
    texts = ["Rain fell.", "The river rose."]
    with ThreadPoolExecutor(1) as pool, database.write() as s:
        q = questions.add_question(s, flood[0], "Why did they leave?", external_id="q", origin="asked", now=now)
        [sentence] = sentences.find_sentences_by_text(s, flood[0], ["People left."])
        labels.add_event(s, q.id, sentence.id, people.ensure_annotator(s, "ann", now).id, "correct", now)
        replacing = pool.submit(replace, database, flood, texts, as_pieces, now)
        assert wait([replacing], timeout=0.5).not_done  # the label is not committed: it waits
        s.commit()
        replacing.result(timeout=60)
    with database.read() as s:
        assert s.get(Sentence, sentence.id).retired
        assert len(labels.list_labels_of_corpus(s, flood[0])) == 1


def test_more_names_are_looked_up_than_a_statement_takes(database, flood):
    names = [f"flood-{i}" for i in range(70_000)]
    with database.read() as s:
        if database.sqlite:
            lower = s.connection().connection.dbapi_connection.setlimit
            lower(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)  # what most builds have
        assert [x.text for x in sentences.find_sentences(s, flood[0], names)] == OLD
        assert [x.text for x in sentences.find_sentences_by_text(s, flood[0], [*names, *OLD])] == OLD
        assert [x.text for x in sentences.list_sentences(s, [flood[1], *range(10_000, 80_000)])] == OLD


def test_a_sentence_said_twice_has_two_rows(database, add_document):
    home = add_document("song", ["Row your boat.", "Row your boat."])
    with database.read() as s:
        assert [x.position for x in sentences.list_sentences(s, [home[1]])] == [0, 1]


def test_a_changed_document_is_to_be_indexed_again_unless_it_changed_once_more(database, flood, as_pieces, now):
    with database.write() as s:
        document_rows.mark_indexed(s, [(flood[1], "d1")])
        assert document_rows.count_unindexed(s, flood[0]) == 0
    replace(database, flood, ["Rain fell."], as_pieces, now)
    with database.write() as s:
        document_rows.mark_indexed(s, [(flood[1], "d1")])  # what the index took in is the older content
        assert document_rows.count_unindexed(s, flood[0]) == 1
        document_rows.mark_indexed(s, [(flood[1], "d2")])
        assert document_rows.count_unindexed(s, flood[0]) == 0
        assert document_rows.mark_indexed(s, [(flood[1], "d1")]) == 1  # by a slower process: the older content is back
        assert document_rows.count_unindexed(s, flood[0]) == 1


def test_neighbours_are_the_sentences_before_and_after(database, flood):
    with database.read() as s:
        first, second, third = sentences.list_sentences(s, [flood[1]])
        assert sentences.find_neighbours(s, first.document_id, first.position) == ("", "The river rose.")
        assert sentences.find_neighbours(s, second.document_id, second.position) == ("Rain fell.", "People left.")
        assert sentences.find_neighbours(s, third.document_id, third.position) == ("The river rose.", "")


def test_a_percent_sign_in_a_search_is_only_itself(database, add_document):
    corpus_id, _ = add_document("100% wool", ["It is warm."])
    add_document("100 sheep", ["They graze."])
    with database.read() as s:
        assert [d.external_id for d in document_rows.find_documents(s, corpus_id, "100%", 10)] == ["100% wool"]
        assert len(document_rows.find_documents(s, corpus_id, "100", 10)) == 2


@pytest.mark.parametrize("search", ["äpfel und Öl", "Äpfel und öl", "ÄPFEL UND ÖL"])
def test_a_search_minds_no_case_of_any_letter(database, add_document, search):
    corpus_id, _ = add_document("über äpfel und öl", ["They are fruit."])
    add_document("apfel", ["It is one."])
    with database.read() as s:
        assert [d.title for d in document_rows.find_documents(s, corpus_id, search, 10)] == ["Über Äpfel Und Öl"]


def test_the_id_of_a_sentence_that_is_gone_goes_to_no_other(database, flood, as_pieces, now):
    before = {row[0] for row in list_sentences(database, flood).values()}
    replace(database, flood, ["Rain fell.", "Snow fell.", "Hail fell."], as_pieces, now)
    after = {text: row[0] for text, row in list_sentences(database, flood).items()}
    assert before.isdisjoint({after["Snow fell."], after["Hail fell."]})


def test_text_is_found_whatever_its_white_space(database, flood):
    with database.read() as s:
        found = sentences.find_sentences_by_text(s, flood[0], ["The  river\nrose."])
        assert [x.text for x in found] == ["The river rose."]


def test_the_contents_of_all_corpora_are_counted_in_one_statement_from_indexes_alone(database, flood, add_document):
    """Each page asks for them; the texts of a large corpus's documents are not to be read for it."""
    other, _ = add_document("nile", ["The Nile is longer."], corpus="more rivers")
    with database.write() as s:
        empty = corpora.add_corpus(s, "empty", s.get(DocumentRow, flood[1]).updated).id
    statements = []
    with database.read() as s:
        event.listen(s.get_bind(), "before_cursor_execute", lambda *args: statements.append(args[2:4]))
        contents = corpora.count_contents(s, [flood[0], other, empty])
        counts = {i: (of.documents, of.sentences, of.questions, of.newest_question) for i, of in contents.items()}
        assert counts[other] == (1, 1, 0, 0) and counts[empty] == (0, 0, 0, 0) and contents[empty].changed is None
        assert counts[flood[0]][:2] == (1, len(OLD))
        [(statement, values)] = statements
        if s.get_bind().dialect.name == "sqlite":
            plan = [row.detail for row in s.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
            for_table = [step for step in plan if step.startswith(("SEARCH document ", "SEARCH question ", "SCAN "))]
            assert any(
                "COVERING INDEX ix_document_corpus_id_split_rules_sentences_updated" in step for step in for_table
            )
            assert all("COVERING INDEX" in step for step in for_table if step.split()[1] in ("document", "question"))
