import gzip
import json
import shutil
from dataclasses import replace

import pytest
from sqlalchemy import text
from tower_texts import TOWER

from app.ask import asking
from app.ask.examples import list_examples
from app.cli import context
from app.corpora import corpora, documents, indexing, ingestion
from app.corpora.corpora import HANDBOOK, STARTER, UnknownCorpus
from app.exchange import exports
from app.exchange import starter as starter_module
from app.exchange.starter import bring_back, ensure_handbook, ensure_shipped, ensure_starter
from app.jobs import queue
from app.labels import annotation, consensus
from app.ranking import retrieval
from app.workbench import audit_log, people
from as2core.errors import As2Error
from as2core.types import Progress
from db.repositories import corpora as corpus_rows

MANY = "\n".join(
    json.dumps({"id": f"d{i}", "title": f"T{i}", "text": f"Fact number {i}. It is odd."}) for i in range(900)
)


def test_an_ingested_corpus_counts_its_documents_and_sentences(towers):
    assert (towers.documents, towers.sentences, towers.questions, towers.labels) == (3, 14, 0, 0)
    assert towers.vectors_done == 0
    assert towers.vectors_total > 0


def test_ingesting_the_same_files_again_changes_nothing(wb, towers):
    files = [(d.source, (wb.settings.home / d.source)) for d in documents.list_documents(wb, towers.id)]
    for name, path in files:
        [document] = [d for d in documents.list_documents(wb, towers.id) if d.source == name]
        with wb.read() as s:
            path.write_text(s.scalar(text("SELECT text FROM document WHERE id = :i"), {"i": document.id}))
    again = ingestion.ingest(wb, towers.id, files)
    assert (again.added, again.updated, again.unchanged, again.failed) == (0, 0, 3, ())
    assert corpora.get_corpus(wb, towers.id) == towers


def test_a_changed_document_is_updated_and_found_by_its_new_words(wb, towers):
    done = ingestion.ingest(
        wb, towers.id, [("bread.txt", b"Bread is baked from flour and water. Rye grows in Poland.")]
    )
    assert (done.added, done.updated, done.unchanged) == (0, 1, 0)
    found = asking.ask(wb, towers.id, "Where does rye grow?")
    assert found.candidates[found.best].text == "Rye grows in Poland."
    assert all("Sourdough" not in c.text for c in asking.ask(wb, towers.id, "sourdough yeast").candidates)


def test_a_slower_ingest_leaves_no_older_text_in_the_index(wb, towers, monkeypatch):
    split = indexing.split_passages

    def change_meanwhile(*args, **settings):
        monkeypatch.setattr(indexing, "split_passages", split)
        ingestion.ingest(wb, towers.id, [("bread.txt", b"Rye grows in Poland.")])
        return split(*args, **settings)

    monkeypatch.setattr(indexing, "split_passages", change_meanwhile)
    ingestion.ingest(wb, towers.id, [("bread.txt", b"Bread is baked from millet.")])
    assert wb.index(towers.id).search_words("millet", 10) == []
    found = asking.ask(wb, towers.id, "Where does rye grow?")
    assert found.candidates[found.best].text == "Rye grows in Poland."


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


def test_labels_survive_a_change_of_their_document(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "What is bread baked from?")
    best = asked.candidates[asked.best]
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=best.sentence_id, annotator_id=ann.id, label="correct"
    )
    ingestion.ingest(wb, towers.id, [("bread.txt", b"A new first sentence. " + best.text.encode())])
    again = asking.ask(wb, towers.id, "What is bread baked from?")
    assert {c.text: c.label for c in again.candidates}[best.text] == "correct"
    assert corpora.get_corpus(wb, towers.id).labels == 1


MANUAL = b"# Labels\n\nOne key gives one.\n\n## %s\n\nPress z. The key z works again and again."


def test_a_sentence_is_shown_below_the_heading_of_its_section(wb, towers, ann):
    ingestion.ingest(wb, towers.id, [("labels.md", MANUAL % b"Undo")])
    asked = asking.ask(wb, towers.id, "Which key is for undo?")
    [sentence] = [c for c in asked.candidates if c.text == "The key z works again and again."]
    assert (sentence.title, sentence.heading, sentence.before) == ("Labels", "Undo", "Undo: Press z.")
    pair = {"question_id": asked.question_id, "sentence_id": sentence.sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")

    assert ingestion.ingest(wb, towers.id, [("labels.md", MANUAL % b"Undo")]).unchanged == 1
    assert ingestion.ingest(wb, towers.id, [("labels.md", MANUAL % b"Take back")]).updated == 1
    [placed] = documents.load_sentences(wb, [sentence.sentence_id])
    assert placed.heading == "Take back"


def test_what_cannot_be_read_is_named_with_its_reason_and_the_rest_goes_in(wb, towers, tmp_path):
    files = [
        ("broken.pdf", b"this is no PDF"),
        ("picture.png", b"\x89PNG"),
        ("lines.jsonl", b'{"id": "a", "text": "Good."}\nnot json\n{"id": "b", "text": "Also good."}\n'),
        ("missing.txt", tmp_path / "missing.txt"),
        ("fine.txt", b"This one is fine."),
    ]
    done = ingestion.ingest(wb, towers.id, files)
    assert done.added == 3
    reasons = dict(done.failed)
    assert set(reasons) == {"broken.pdf", "picture.png", "lines.jsonl", "missing.txt"}
    assert "line 2" in reasons["lines.jsonl"]
    assert all(reasons.values())


def test_an_odd_file_name_or_line_takes_no_good_file_with_it(wb, towers):
    odd = b'{"text": "Good."}\n' + b"[" * 100_000 + b"\n"
    files = [("B\udce4che.txt", b"Brooks."), ("B\udcfcche.txt", b""), ("odd.jsonl", odd), ("fine.txt", b"Fine.")]
    done = ingestion.ingest(wb, towers.id, files)
    assert done.added == 3
    assert done.failed == (
        ("B\u00fcche.txt", "there is no text in it"),
        ("odd.jsonl", "line 2: nested too deeply to read"),
    )
    assert [d.title for d in documents.list_documents(wb, towers.id, search="che")] == ["B\u00e4che"]


def test_a_document_with_many_blanks_after_a_stop_goes_in_with_its_batch(wb, towers):
    blanks = b"Our office opens at 9 a.m." + b" " * 320 + b"Monday to Friday."
    done = ingestion.ingest(wb, towers.id, [("office.txt", blanks), ("fine.txt", b"Fine.")])
    assert (done.added, done.failed) == (2, ())


@pytest.mark.parametrize("step", ["split_document", "read_documents"])
def test_a_fault_in_one_document_is_a_line_of_the_report_and_the_others_go_in(wb, towers, monkeypatch, step):
    work = getattr(ingestion, step)

    def fail_on_bad(source, *args, **kwargs):
        if "bad" in str(source):
            raise IndexError("string index out of range")
        return work(source, *args, **kwargs)

    monkeypatch.setattr(ingestion, step, fail_on_bad)
    files = [("good.txt", b"Good."), ("bad.txt", b"This is bad."), ("fine.txt", b"Fine.")]
    done = ingestion.ingest(wb, towers.id, files)
    assert (done.added, done.updated, done.unchanged) == (2, 0, 0)
    (name, reason), *others = done.failed
    assert name == "bad.txt" and "string index out of range" in reason and not others
    assert {d.title for d in documents.list_documents(wb, towers.id)} >= {"good", "fine"}


def test_progress_is_told_up_to_the_end(wb, towers):
    told: list[Progress] = []
    ingestion.ingest(wb, towers.id, [("many.jsonl", MANY.encode())], on_progress=told.append)
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert told[-1].done == told[-1].total == 900
    assert len(told) >= 3


def test_the_same_document_twice_in_one_call_ends_as_the_later_one(wb, towers):
    done = ingestion.ingest(wb, towers.id, [("note.txt", b"First version."), ("note.txt", b"Second version.")])
    assert (done.added, done.updated) == (1, 1)
    [note] = documents.list_documents(wb, towers.id, search="note")
    assert [s.text for s in documents.list_sentences(wb, note.id)] == ["Second version."]


def test_files_that_would_share_an_id_replace_nothing_of_each_other(wb, towers):
    tables = [(name, f"id,text\n1,The text of {name}.\n".encode()) for name in ("a.csv", "b.csv")]
    files = [("note.md", b"From Markdown."), ("note.txt", b"From a text file."), *tables]
    done = ingestion.ingest(wb, towers.id, files)
    assert (done.added, done.updated) == (4, 0)
    stored = {d.external_id: d.source for d in documents.list_documents(wb, towers.id)}
    assert stored.items() >= {"note": "note.md", "note.txt": "note.txt", "1": "a.csv", "b.csv-1": "b.csv"}.items()
    for again in (files, files[1:2], files[3:]):
        assert ingestion.ingest(wb, towers.id, again).unchanged == len(again)


def test_a_file_with_the_text_of_another_one_is_added_with_a_note_that_names_it(wb, towers):
    first = ingestion.ingest(
        wb, towers.id, [("tea.txt", b"Tea is hot. It is a drink."), ("cup.txt", b"A cup is round.")]
    )
    again = ingestion.ingest(wb, towers.id, [("tea2.txt", b"Tea is hot. It is a drink."), ("tea.txt", b"Tea is hot.")])
    assert (first.notes, again.added, again.updated) == ((), 1, 1)
    assert again.notes == (("tea2.txt", ingestion.SAME_TEXT.format("tea.txt")),)
    both = ingestion.ingest(wb, towers.id, [("pot.txt", b"A pot has a lid."), ("pot2.txt", b"A pot has a lid.")])
    assert both.notes == (("pot2.txt", ingestion.SAME_TEXT.format("pot.txt")),)


def test_a_file_with_most_sentences_of_an_older_one_is_added_with_a_note(wb, towers):
    rules = ["The fee is 48 euros.", "It is due in March.", "The board meets monthly.", "Guests are welcome.", "Fin."]
    ingestion.ingest(wb, towers.id, [("rules.txt", " ".join(rules).encode())])
    edited = " ".join([rules[0].replace("48", "54"), *rules[1:4], "The end."]).encode()  # 3 of 5 are the same
    view = ingestion.ingest(wb, towers.id, [("rules2.txt", edited)])
    assert view.notes == (("rules2.txt", ingestion.SIMILAR_TEXT.format("rules.txt")),)
    both = [(f"{name}.txt", " ".join([*map(str.upper, rules[:4]), name]).encode()) for name in ("One", "Two")]
    assert ingestion.ingest(wb, towers.id, both).notes == (("Two.txt", ingestion.SIMILAR_TEXT.format("One.txt")),)
    other = " ".join([*rules[:2], "The roof leaks.", "A roofer comes.", "It costs a lot."]).encode()  # 2 of 5
    assert ingestion.ingest(wb, towers.id, [("roof.txt", other)]).notes == ()
    assert ingestion.ingest(wb, towers.id, [("note.txt", b"Guests are welcome. Fin.")]).notes == ()  # too short to tell


def test_a_file_of_another_ending_that_comes_later_is_another_document(wb, towers):
    assert ingestion.ingest(wb, towers.id, [("bread.md", b"Rye grows in Poland.")]).added == 1
    assert ingestion.ingest(wb, towers.id, [("bread.md", b"Rye grows in Latvia.")]).updated == 1
    assert sorted(d.source for d in documents.list_documents(wb, towers.id, search="bread")) == [
        "bread.md",
        "bread.txt",
    ]


def test_a_table_under_another_name_still_updates_the_documents_it_names(wb, towers):
    ingestion.ingest(wb, towers.id, [("may.csv", b"id,text\nk1,Before.\n")])
    assert ingestion.ingest(wb, towers.id, [("june.csv", b"id,text\nk1,After.\n")]).updated == 1


def test_new_text_asks_for_vectors_once_until_the_job_is_taken(wb, towers):
    first = ingestion.ingest(wb, towers.id, [("one.txt", b"One more.")])
    second = ingestion.ingest(wb, towers.id, [("two.txt", b"And another.")])
    assert first.job_id is not None
    assert first.job_id == second.job_id


def embedding(wb, corpus):
    return [j.id for j in queue.list_active(wb, "embed", corpus.id)]


def test_an_ingest_asks_for_no_vectors_where_none_is_missing(wb, towers, models):
    index = wb.index(towers.id)
    passages = index.list_pending(100)
    index.set_vectors(
        dict(zip([p.id for p in passages], models.vectors.embed([p.text for p in passages]), strict=True))
    )
    assert ingestion.ingest(wb, towers.id, [("bread.txt", b"")]).job_id is None


def test_a_reader_who_leaves_during_an_ingest_leaves_a_job_for_the_vectors_of_what_went_in(wb):
    class Left(BaseException):
        """As Streamlit ends a page's script."""

    def leaves(_):
        raise Left

    corpus = corpora.create_corpus(wb, "many")
    with pytest.raises(Left):
        ingestion.ingest(wb, corpus.id, [("many.jsonl", MANY.encode())], on_progress=leaves)
    assert 0 < corpora.get_corpus(wb, corpus.id).documents < 900
    assert len(embedding(wb, corpus)) == 1


def test_the_same_files_again_ask_for_the_vectors_that_a_kill_left_out(wb, monkeypatch):
    corpus, files = corpora.create_corpus(wb, "notes"), [("note.txt", b"Zebras have stripes.")]
    with monkeypatch.context() as killed:
        killed.setattr(ingestion, "request_vectors", lambda *_: None)
        ingestion.ingest(wb, corpus.id, files)
    assert embedding(wb, corpus) == []
    again = ingestion.ingest(wb, corpus.id, files)
    assert (again.unchanged, [again.job_id]) == (1, embedding(wb, corpus))


def test_documents_are_listed_and_searched_by_title(wb, towers):
    assert [d.title for d in documents.list_documents(wb, towers.id)] == ["tower", "bridge", "bread"]
    assert [d.title for d in documents.list_documents(wb, towers.id, search="BRI")] == ["bridge"]
    assert len(documents.list_documents(wb, towers.id, limit=2)) == 2


def test_sentences_know_their_paragraph(wb, towers):
    [tower] = documents.list_documents(wb, towers.id, search="tower")
    found = documents.list_sentences(wb, tower.id)
    assert [s.position for s in found] == list(range(6))
    assert [s.paragraph for s in found] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("name", ["", "   ", "x" * 200, "towers", " towers ", "TOWERS"])
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


def test_a_shipped_corpus_keeps_its_name(wb, starter):
    starter = ensure_starter(wb)
    with pytest.raises(As2Error, match="'starter' comes with the program and keeps its name"):
        corpora.rename_corpus(wb, starter.id, "mine")


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


def test_documents_stored_but_not_indexed_when_the_process_died_are_found_and_get_vectors(wb, monkeypatch):
    def dies(*_args):
        raise KeyboardInterrupt

    corpus = corpora.create_corpus(wb, "notes")
    monkeypatch.setattr(ingestion, "index_pending", dies)
    with pytest.raises(KeyboardInterrupt):
        ingestion.ingest(wb, corpus.id, [("late.txt", b"Zebras have stripes.")])
    found = asking.ask(wb, corpus.id, "What do zebras have?")
    assert found.candidates[found.best].text == "Zebras have stripes."
    assert len(embedding(wb, corpus)) == 1


def test_reindexing_keeps_every_document_searchable(wb, towers):
    assert indexing.reindex(wb, towers.id) == 3
    assert corpora.get_corpus(wb, towers.id).vectors_total == towers.vectors_total


ARTICLE = "---\ntitle: Tea\nsplit: train\n---\nTea is a drink. It comes from China. The leaf is dried.\n"


@pytest.fixture
def starter(wb):
    folder = wb.settings.corpora_dir / "starter"
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "tea.md").write_text(ARTICLE)
    labels = zip(["Tea is a drink.", "It comes from China.", "The leaf is dried."], [1, 0, 0], strict=True)
    candidates = [{"id": f"tea-{i}", "text": t, "label": y, "title": "Tea"} for i, (t, y) in enumerate(labels)]
    question = {"qid": "tea-1", "question": "What is tea?", "candidates": candidates, "kind": "definition"}
    (folder / "train.jsonl").write_text(json.dumps(question) + "\n")
    return folder


def test_the_starter_comes_with_labels_on_its_own_sentences(wb, starter):
    corpus = ensure_starter(wb)
    assert (corpus.name, corpus.documents, corpus.sentences, corpus.questions, corpus.labels) == ("starter", 1, 3, 1, 3)
    assert list_examples(wb, corpus.id).questions == ("What is tea?",)


def test_the_starter_is_brought_in_once_and_again_when_it_changed(wb, starter):
    first = ensure_starter(wb)
    assert ensure_starter(wb) == first
    relabelled = (starter / "train.jsonl").read_text().replace('"label": 0', '"label": 1', 1)
    (starter / "train.jsonl").write_text(relabelled)
    again = ensure_starter(wb)
    assert (again.documents, again.labels) == (1, 3)
    [question] = [a.question_id for a in [asking.ask(wb, again.id, "What is tea?")]]
    assert sorted(consensus.read_labels(wb, question).values()) == ["correct", "correct", "incorrect"]


def test_a_starter_somebody_deleted_stays_away_until_asked_for(wb, starter):
    corpora.delete_corpus(wb, ensure_starter(wb).id)
    assert ensure_starter(wb) is None
    assert corpora.list_corpora(wb) == []
    assert bring_back(wb, STARTER).documents == 1


@pytest.fixture
def handbook(wb, starter):
    """With a dev question: those to train on come without labels."""
    folder = shutil.copytree(starter, starter.parent / "handbook")
    (folder / "train.jsonl").rename(folder / "dev.jsonl")


def test_the_handbook_comes_second_with_its_labels(wb, handbook):
    ensure_shipped(wb)
    assert [(c.name, c.documents, c.questions, c.labels) for c in corpora.list_corpora(wb)] == [
        ("starter", 1, 1, 3),
        ("handbook", 1, 1, 3),
    ]
    question = exports.load_labelled_questions(wb, corpora.find_corpus(wb, "handbook").id)[0]
    assert (question.text, question.kind) == ("What is tea?", "definition")


def test_a_handbook_of_ones_own_is_left_alone_and_its_deletion_keeps_the_shipped_one_away_no_longer(wb, handbook):
    own = corpora.create_corpus(wb, "handbook")
    ingestion.ingest(wb, own.id, [("tower.txt", TOWER.encode())])
    assert ensure_handbook(wb) is None
    assert corpora.get_corpus(wb, own.id).documents == 1
    corpora.delete_corpus(wb, own.id)
    assert ensure_handbook(wb).questions == 1


def test_a_handbook_somebody_deleted_stays_away_until_asked_for_and_the_starter_stays(wb, handbook):
    ensure_shipped(wb)
    corpora.delete_corpus(wb, corpora.find_corpus(wb, "handbook").id)
    ensure_shipped(wb)
    assert [c.name for c in corpora.list_corpora(wb)] == ["starter"]
    assert bring_back(wb, HANDBOOK).documents == 1


def test_a_handbook_whose_reading_was_interrupted_is_completed(wb, handbook, monkeypatch):
    def dies(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(starter_module, "store_questions", dies)
        with pytest.raises(KeyboardInterrupt):
            ensure_handbook(wb)
    assert corpora.find_corpus(wb, "handbook").labels == 0
    assert ensure_handbook(wb).labels == 3


def test_a_command_without_a_corpus_takes_ones_own_before_the_shipped_ones(wb, handbook):
    ensure_shipped(wb)
    assert context.find_corpus(wb, None).name == "starter"
    corpora.create_corpus(wb, "notes")
    assert context.find_corpus(wb, None).name == "notes"


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
    assert "1 new, 0 changed" in audit_log.list_events(wb, by=None, act=ingestion.ADD)[0].detail
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


def test_a_page_that_no_parser_ends_and_a_packed_bomb_are_reported_and_the_others_go_in(wb, towers, monkeypatch):
    monkeypatch.setattr("as2core.data.parser_process.BASE_SECONDS", 2)
    monkeypatch.setattr("as2core.data.parser_process.SECONDS_PER_MB", 0)
    attributes = b"<html><body><p " + b" ".join(b"a%d=1" % i for i in range(300_000)) + b">x</p></body></html>"
    bomb = gzip.compress(b"a" * 100_000_000)
    files = [("good.html", b"<p>Good.</p>"), ("attributes.html", attributes), ("bomb.txt", bomb), ("fine.md", b"Fine.")]
    done = ingestion.ingest(wb, towers.id, files)
    assert done.added == 2
    assert {name: reason[:22] for name, reason in done.failed} == {
        "attributes.html": "reading it took more t", "bomb.txt": "it unpacks to more tha",
    }  # fmt: skip


@pytest.mark.parametrize("place", ["the database", "the index"])
def test_a_full_disk_is_named_with_what_is_stored_already(wb, towers, monkeypatch, place):
    import sqlite3

    if place == "the index":

        def fail(*_args):
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr("as2core.retrieval.sqlite._next_stamp", fail)
    elif wb.database.sqlite:
        with wb.database.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    else:
        pytest.skip("SQLite's limit stands for the disk's")
    text = " ".join(f"Sentence number {i} is about towers." for i in range(20_000))
    with pytest.raises(As2Error, match=r"the disk is full: free some space and try again \(\d+ documents of this call"):
        ingestion.ingest(wb, towers.id, [("long.txt", text.encode())])
