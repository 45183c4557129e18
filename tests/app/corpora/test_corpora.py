"""Corpora and their documents: names, counts, renaming, deleting, and the index of one."""

from dataclasses import replace

import pytest
from sqlalchemy import event
from tower_texts import TOWER

from app.ask import asking
from app.corpora import corpora, documents, indexing, ingestion
from app.corpora.batch_storage import ADD
from app.corpora.corpora import UnknownCorpus
from app.exchange import exports
from app.jobs import queue
from app.labels import annotation, consensus
from app.ranking import retrieval
from app.workbench import audit_log, people
from as2core.errors import As2Error
from db.repositories import corpora as corpus_rows


def test_an_ingested_corpus_counts_its_documents_and_sentences(towers):
    assert (towers.documents, towers.sentences, towers.questions, towers.labels) == (3, 14, 0, 0)
    assert towers.vectors_done == 0
    assert towers.vectors_total > 0


def test_the_labels_of_a_corpus_are_counted_again_after_its_own_changes_only(wb, towers, ann, monkeypatch):
    corpora.create_corpus(wb, "other")
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": ann.id}
    calls, count_labels = [], corpus_rows.count_labels
    monkeypatch.setattr(corpus_rows, "count_labels", lambda s, i: calls.append(i) or count_labels(s, i))
    labels = []
    for _ in range(2):
        labels.append([c.labels for c in corpora.list_corpora(wb) if c.name in ("towers", "other")])
        calls.clear()
        annotation.give_label(wb, **pair, label="correct")
    labels.append([c.labels for c in corpora.list_corpora(wb) if c.name in ("towers", "other")])
    assert labels == [[0, 0], [1, 0], [1, 0]] and calls == []
    annotation.withdraw(wb, **pair)
    assert corpora.get_corpus(wb, towers.id).labels == 0
    assert [c.labels for c in corpora.list_corpora(wb)] and calls == [towers.id]


def test_the_list_of_corpora_takes_as_many_statements_for_several_as_for_one(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": ann.id}
    statements = []
    event.listen(wb.database._reader, "before_cursor_execute", lambda *args: statements.append(args[2]))
    taken = []
    for name in ("second", "third", "fourth"):
        corpora.create_corpus(wb, name)
        corpora.list_corpora(wb)
        annotation.give_label(wb, **pair, label="correct" if name == "third" else "incorrect")
        statements.clear()
        corpora.list_corpora(wb)
        taken.append(len(statements))
    assert taken[0] == taken[1] == taken[2], statements


def test_a_corpus_that_is_deleted_while_it_is_counted_is_left_out_and_unknown(wb, towers, monkeypatch):
    """On PostgreSQL another's deletion shows between two statements of a transaction."""
    other, count_contents = corpora.create_corpus(wb, "other"), corpus_rows.count_contents
    monkeypatch.setattr(
        corpus_rows, "count_contents", lambda s, ids: count_contents(s, [i for i in ids if i != other.id])
    )
    assert [c.id for c in corpora.list_corpora(wb)] == [towers.id]
    with pytest.raises(UnknownCorpus, match="deleted meanwhile"):
        corpora.get_corpus(wb, other.id)


def test_a_count_of_labels_is_no_older_than_an_hour_however_much_is_labelled_elsewhere(wb, towers, ann, monkeypatch):
    """On PostgreSQL an event may be committed after a newer one of another corpus, and nothing tells of it."""
    now = [0.0]
    monkeypatch.setattr(wb.label_counts, "_clock", lambda: now[0])
    other = corpora.create_corpus(wb, "other")
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": ann.id}
    assert corpora.get_corpus(wb, other.id).labels == 0
    monkeypatch.setattr(corpus_rows, "count_labels", lambda s, i: 7)
    counts = []
    for label in ("correct", "incorrect", "correct"):
        annotation.give_label(wb, **pair, label=label)
        counts.append(corpora.get_corpus(wb, other.id).labels)
        now[0] += 0.6 * corpora.COUNT_SECONDS
    assert counts == [0, 0, 7]


def test_documents_are_listed_and_searched_by_title(wb, towers):
    assert [d.title for d in documents.list_documents(wb, towers.id)] == ["tower", "bridge", "bread"]
    assert [d.title for d in documents.list_documents(wb, towers.id, search="BRI")] == ["bridge"]
    assert len(documents.list_documents(wb, towers.id, limit=2)) == 2


def test_sentences_know_their_paragraph(wb, towers):
    [tower] = documents.list_documents(wb, towers.id, search="tower")
    found = documents.list_sentences(wb, tower.id)
    assert [s.position for s in found] == list(range(6))
    assert [s.paragraph for s in found] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", ["", "   ", "x" * 200, "towers", " towers ", "TOWERS", "tow\u200bers", "\u202etowers"])
def test_a_name_that_is_empty_too_long_or_taken_is_refused(wb, towers, name):
    with pytest.raises(As2Error):
        corpora.create_corpus(wb, name)


def test_names_that_differ_only_in_case_and_space_are_one_name(wb):
    corpora.create_corpus(wb, "Große  Türme")
    with pytest.raises(As2Error, match="there is already a corpus 'Große Türme': choose another name"):
        corpora.create_corpus(wb, "GROSSE TÜRME")


def test_a_renamed_corpus_keeps_everything_and_is_found_by_its_new_name(wb, towers):
    renamed = corpora.rename_corpus(wb, towers.id, " Tall  towers ")
    assert renamed == replace(towers, name="Tall towers") == corpora.find_corpus(wb, "Tall towers")
    assert asking.ask(wb, towers.id, "When was the tower finished?").candidates
    with pytest.raises(UnknownCorpus):
        corpora.find_corpus(wb, "towers")
    assert corpora.rename_corpus(wb, towers.id, "TALL towers").name == "TALL towers"  # its own name is not taken
    events = audit_log.list_events(wb, by=None, act=corpora.RENAME)
    assert [(e.target, e.detail) for e in events] == [("Tall towers", "to TALL towers"), ("towers", "to Tall towers")]


@pytest.mark.parametrize("name", ["", "x" * 200, "NOTES"])
def test_no_corpus_is_renamed_to_a_name_that_none_could_be_created_with(wb, towers, name):
    corpora.create_corpus(wb, "notes")
    with pytest.raises(As2Error):
        corpora.rename_corpus(wb, towers.id, name)
    assert corpora.get_corpus(wb, towers.id).name == "towers"


def test_comparisons_on_the_labels_of_a_renamed_corpus_follow(wb, towers):
    settings = [{"data": "labels:towers", "rankers": ["bm25"]}, {"data": "labels:others"}, {}]
    jobs = [queue.enqueue(wb, "compare", s, corpus_id=towers.id) for s in settings]
    corpora.rename_corpus(wb, towers.id, "bridges")
    renamed = [queue.load_job(wb, job.id).settings for job in jobs]
    assert renamed == [{**settings[0], "data": "labels:bridges"}, *settings[1:]]


def test_a_deleted_corpus_is_gone_with_its_index(wb, towers):
    asking.ask(wb, towers.id, "When was the tower finished?")
    corpora.delete_corpus(wb, towers.id)
    assert corpora.list_corpora(wb) == []
    assert not wb.settings.index_file(towers.id).exists()
    with pytest.raises(UnknownCorpus):
        asking.ask(wb, towers.id, "When was the tower finished?")


def test_the_second_of_two_who_delete_a_corpus_at_once_reads_that_it_is_gone(wb, towers, monkeypatch):
    get_corpus = corpora.get_corpus

    def read_and_lose(wb, corpus_id):
        view = get_corpus(wb, corpus_id)
        monkeypatch.setattr(corpora, "get_corpus", get_corpus)
        corpora.delete_corpus(wb, corpus_id)
        return view

    monkeypatch.setattr(corpora, "get_corpus", read_and_lose)
    with pytest.raises(UnknownCorpus, match="deleted meanwhile"):
        corpora.delete_corpus(wb, towers.id)


def test_a_corpus_is_found_though_its_index_cannot_be_opened(wb, towers, asked):
    file = wb.settings.index_file(towers.id)
    wb.indexes.close()
    file.unlink()
    file.mkdir()
    assert corpora.get_corpus(wb, towers.id).vectors_total == 0


def test_an_index_that_was_deleted_is_built_anew_when_asked(wb, towers):
    before = [c.text for c in asking.ask(wb, towers.id, "When was the tower finished?").candidates]
    wb.forget_index(towers.id)
    assert [c.text for c in asking.ask(wb, towers.id, "When was the tower finished?").candidates] == before


def test_reindexing_keeps_every_document_searchable(wb, towers):
    assert indexing.reindex(wb, towers.id) == 3
    assert corpora.get_corpus(wb, towers.id).vectors_total == towers.vectors_total


def test_a_deleted_document_is_found_no_more_and_its_labels_wait_for_it(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "How high is the Eiffel Tower?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    tower = next(d for d in documents.list_documents(wb, towers.id) if d.external_id == "tower")
    documents.delete_document(wb, tower.id, by=ann.id)
    left = corpora.get_corpus(wb, towers.id)
    assert (left.documents, left.labels) == (towers.documents - 1, 1)
    assert tower.id not in [d.id for d in documents.list_documents(wb, towers.id)]
    assert documents.list_sentences(wb, tower.id) == []
    hits = wb.index(towers.id).search_words("Eiffel Tower bread bridge", 100)
    assert hits and str(tower.id) not in {hit.doc_id for hit in hits}
    assert not {c.title for c in asking.ask(wb, towers.id, "How high is the Eiffel Tower?").candidates} & {tower.title}
    assert exports.load_labelled_questions(wb, towers.id)[0].positives == 1

    view = ingestion.ingest(wb, towers.id, [("tower.txt", TOWER.encode())], by=ann.id)
    assert (view.added, view.updated, view.updates) == (1, 0, ())
    assert "1 new, 0 changed" in audit_log.list_events(wb, by=None, act=ADD)[0].detail
    assert corpora.get_corpus(wb, towers.id).sentences == towers.sentences
    again = asking.ask(wb, towers.id, "How high is the Eiffel Tower?")
    assert consensus.read_labels(wb, again.question_id) == {pair["sentence_id"]: "correct"}


def test_a_corpus_whose_documents_are_all_deleted_is_empty_and_one_that_is_gone_says_so(wb, towers):
    known = documents.list_documents(wb, towers.id)
    for document in known:
        documents.delete_document(wb, document.id)
    with pytest.raises(retrieval.EmptyCorpus):
        asking.ask(wb, towers.id, "How high is the Eiffel Tower?")
    with pytest.raises(people.Gone, match="no longer exists"):
        documents.delete_document(wb, 10**6)


def test_a_viewer_deletes_no_document(wb, towers, ann, bob):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    with pytest.raises(people.NotAllowed):
        documents.delete_document(wb, documents.list_documents(wb, towers.id)[0].id, by=bob.id)
    assert corpora.get_corpus(wb, towers.id).documents == towers.documents
