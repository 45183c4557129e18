"""Adding files to a corpus: what goes in, what is refused, what is reported, and the vectors asked for."""

import gzip
import json
import time

import pytest
from sqlalchemy import text

from app.ask import asking
from app.corpora import batch_storage, corpora, documents, indexing, ingestion
from app.corpora.near_copies import SAME_TEXT, SIMILAR_TEXT
from app.jobs import queue
from app.labels import annotation
from as2core.errors import As2Error
from as2core.text import split_sentences
from as2core.types import Progress

MANY = "\n".join(
    json.dumps({"id": f"d{i}", "title": f"T{i}", "text": f"Fact number {i}. It is odd."}) for i in range(900)
)


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


def test_what_an_earlier_release_divided_otherwise_is_divided_anew_when_it_is_added_again(wb, towers, ann, monkeypatch):
    files = [
        ("list.txt", b"Bring the following: \n- a pen\n- paper\n\nCome early."),
        ("plain.txt", b"It is free. Ask."),
    ]
    with monkeypatch.context() as earlier:
        earlier.setattr(batch_storage, "split_document", lambda document: split_sentences(document.text))
        earlier.setattr(batch_storage, "SPLIT_RULES", 0)
        ingestion.ingest(wb, towers.id, files)
    [stored] = documents.list_documents(wb, towers.id, "list")
    [*_, last] = documents.list_sentences(wb, stored.id)
    asked = asking.ask(wb, towers.id, "When to come?")
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=last.id, annotator_id=ann.id, label="correct"
    )  # fmt: skip

    done = ingestion.ingest(wb, towers.id, files)
    assert (done.updates, done.unchanged, done.orphans) == (("list.txt",), 1, 0)
    sentences = documents.list_sentences(wb, stored.id)
    assert [s.text for s in sentences] == ["Bring the following: a pen; paper", "Come early."]
    assert sentences[1].id == last.id
    assert ingestion.ingest(wb, towers.id, files).unchanged == 2


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
        ("B\u00fcche.txt", "the file is empty"),
        ("odd.jsonl", "line 2: nested too deeply to read"),
    )
    assert [d.title for d in documents.list_documents(wb, towers.id, search="che")] == ["B\u00e4che"]


def test_a_document_with_many_blanks_after_a_stop_goes_in_with_its_batch(wb, towers):
    blanks = b"Our office opens at 9 a.m." + b" " * 320 + b"Monday to Friday."
    done = ingestion.ingest(wb, towers.id, [("office.txt", blanks), ("fine.txt", b"Fine.")])
    assert (done.added, done.failed) == (2, ())


@pytest.mark.parametrize(("module", "step"), [(batch_storage, "split_document"), (ingestion, "read_documents")])
def test_a_fault_in_one_document_is_a_line_of_the_report_and_the_others_go_in(wb, towers, monkeypatch, module, step):
    work = getattr(module, step)

    def fail_on_bad(source, *args, **kwargs):
        if "bad" in str(source):
            raise IndexError("string index out of range")
        return work(source, *args, **kwargs)

    monkeypatch.setattr(module, step, fail_on_bad)
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


def test_each_file_is_named_before_it_is_read_and_ends_the_ingest_where_its_reader_left(wb):
    """Of many files none is stored before hundreds are read."""

    class Left(BaseException):
        pass

    told: list[str] = []

    def leave_at_the_third(progress):
        told.append(progress.stage)
        if "c.txt" in progress.stage:
            raise Left

    with pytest.raises(Left):
        ingestion.ingest(
            wb,
            corpora.create_corpus(wb, "many").id,
            [(f"{x}.txt", b"Some words.") for x in "abcd"],
            on_progress=leave_at_the_third,
        )
    assert told == [f"{n} documents, reading {x}.txt" for n, x in enumerate("abc")]


def test_a_file_that_takes_long_is_left_in_the_middle(wb):
    class Left(BaseException):
        pass

    told: list[str] = []

    def leave_while_it_is_read(progress):
        told.append(progress.stage)
        if told.count("1 documents, reading b.html") == 3:  # before it, and twice meanwhile
            raise Left

    slow = b"<p " + b" ".join(b"a%d=1" % i for i in range(300_000)) + b">"  # minutes
    files = [("a.html", b"<p>Some words.</p>"), ("b.html", slow)]
    corpus, started = corpora.create_corpus(wb, "slow"), time.monotonic()
    with pytest.raises(Left):
        ingestion.ingest(wb, corpus.id, files, on_progress=leave_while_it_is_read)
    assert time.monotonic() - started < 20  # its limit is more than 80 s


@pytest.mark.parametrize(("is_upload", "refused"), [(True, ["b.md"]), (False, [])])
def test_an_upload_of_slow_files_leaves_the_rest_and_says_so(wb, ann, monkeypatch, is_upload, refused):
    monkeypatch.setattr(ingestion, "MAX_SLOW_SECONDS", -1)
    files = [("a.txt", b"Plain text."), ("b.md", b"# A\n\nSome words."), ("c.jsonl", b'{"text": "More words."}')]
    corpus = corpora.create_corpus(wb, "slow")
    done = ingestion.ingest(wb, corpus.id, files, by=ann.id if is_upload else None)
    assert [name for name, _ in done.failed] == refused and done.added == 3 - len(refused)
    assert all("not read, since the files before it took" in reason for _, reason in done.failed)


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
    assert again.notes == (("tea2.txt", SAME_TEXT.format("tea.txt")),)
    both = ingestion.ingest(wb, towers.id, [("pot.txt", b"A pot has a lid."), ("pot2.txt", b"A pot has a lid.")])
    assert both.notes == (("pot2.txt", SAME_TEXT.format("pot.txt")),)


def test_a_file_with_most_sentences_of_an_older_one_is_added_with_a_note(wb, towers):
    rules = ["The fee is 48 euros.", "It is due in March.", "The board meets monthly.", "Guests are welcome.", "Fin."]
    ingestion.ingest(wb, towers.id, [("rules.txt", " ".join(rules).encode())])
    edited = " ".join([rules[0].replace("48", "54"), *rules[1:4], "The end."]).encode()  # 3 of 5 are the same
    view = ingestion.ingest(wb, towers.id, [("rules2.txt", edited)])
    assert view.notes == (("rules2.txt", SIMILAR_TEXT.format("rules.txt")),)
    both = [(f"{name}.txt", " ".join([*map(str.upper, rules[:4]), name]).encode()) for name in ("One", "Two")]
    assert ingestion.ingest(wb, towers.id, both).notes == (("Two.txt", SIMILAR_TEXT.format("One.txt")),)
    other = " ".join([*rules[:2], "The roof leaks.", "A roofer comes.", "It costs a lot."]).encode()  # 2 of 5
    assert ingestion.ingest(wb, towers.id, [("roof.txt", other)]).notes == ()
    assert ingestion.ingest(wb, towers.id, [("note.txt", b"Guests are welcome. Fin.")]).notes == ()  # too short to tell


def test_a_web_page_named_txt_is_said_to_be_one_in_the_report(wb, towers):
    view = ingestion.ingest(wb, towers.id, [("tea.txt", b"<!doctype html><title>Tea</title><p>It is hot.</p>")])
    assert view.notes == (("tea.txt", "is a web page by its content, and was read as one"),)
    assert "Tea" in {d.title for d in documents.list_documents(wb, towers.id)}


def test_a_file_whose_document_has_its_full_name_is_reported_by_that_name_alone(wb, towers):
    files = [("iron.txt", b"Iron melts at 1538 degrees."), ("iron.md", b"Iron melts at 1538 degrees.")]
    both = ingestion.ingest(wb, towers.id, files)
    assert both.notes == (("iron.md", SAME_TEXT.format("iron.txt")),)
    again = ingestion.ingest(wb, towers.id, [("iron.md", b"Iron melts at 1538 degrees. It rusts.")])
    assert again.updates == ("iron.md",)


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

    def leaves(progress):
        if progress.done:
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


def test_a_page_that_no_parser_ends_and_a_packed_bomb_are_reported_and_the_others_go_in(wb, towers, monkeypatch):
    monkeypatch.setattr("as2core.parser_process.BASE_SECONDS", 2)
    monkeypatch.setattr("as2core.parser_process.SECONDS_PER_MB", 0)
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
