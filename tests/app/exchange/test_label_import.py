"""Labels that come in: which are new, which the same, which in conflict, and in which corpus."""

import gzip
import json
from dataclasses import replace

import pytest
from exchanged import QUESTIONS, WIKIQA, import_new
from label_files import import_labels

from app.ask import asking, stored_questions
from app.corpora import corpora, documents, ingestion
from app.corpora.corpora import UnknownCorpus
from app.exchange import exports, imports, label_files, sentence_matching, storage
from app.jobs import queue
from app.labels import consensus
from app.workbench import audit_log, people, sessions
from app.workbench.sessions import Login
from app.workbench.workbench import DatabaseContention
from as2core.data import beir, jsonl
from as2core.data.source import format_rows
from as2core.errors import BadSetting, UnreadableFile
from as2core.types import Candidate, Question
from db.repositories import labels as label_rows


def test_of_two_labels_of_one_person_under_two_spellings_the_second_is_a_conflict(wb, ann):
    labels_of = {"ANN": "correct", "ann": "incorrect"}
    rows = [("how high", "It is 324 m high.", label, name) for name, label in labels_of.items()]
    table = format_rows([("question", "sentence", "label", "annotator"), *rows])
    done = import_new(wb, "notes.csv", table)
    assert (done.new, done.same, len(done.conflicts)) == (1, 0, 1) and "incorrect in the file" in done.conflicts[0]
    assert consensus.count_annotators(wb, done.corpus_id) == {"ann": 1}
    again = import_labels(wb, done.corpus_id, "notes.csv", table.encode())
    assert (again.new, again.same, len(again.conflicts)) == (0, 1, 1)


def test_labels_signed_by_an_address_are_those_of_whoever_logs_in_with_it(wb, ann):
    claims = {"is_logged_in": True, "iss": "https://id.example", "iat": wb.clock().timestamp(), "email_verified": True}
    for name in ("Bob", "Cy"):
        login = Login.from_claims(claims | {"sub": name, "name": name, "email": f"{name}@lab.example"})
        people.set_role(wb, sessions.admit(wb, login).id, "annotator", by=None)
    bob, by = people.find_person(wb, "Bob"), people.find_person(wb, "Cy").id
    rows = [("how high", "It is 324 m high.", "correct", name) for name in ("BOB@lab.example", "eve@lab.example")]
    table = format_rows([("question", "sentence", "label", "annotator"), *rows])
    with pytest.raises(people.NotAllowed, match="only Bob or an admin"):
        import_new(wb, "notes.csv", table, by=by)
    done = import_new(wb, "notes.csv", table, by=bob.id)
    assert consensus.count_annotators(wb, done.corpus_id) == {"Bob": 1, "eve@lab.example": 1}
    assert done.signers == ("BOB@lab.example is Bob", "1 annotator not known here before: eve@lab.example")


def test_the_document_of_each_title_is_looked_up_once(wb, monkeypatch):
    """Not once for each title before it: a list may have a thousand."""
    matcher = sentence_matching.SentenceMatcher
    calls, ensure = [], matcher._ensure_document
    monkeypatch.setattr(matcher, "_ensure_document", lambda self, *args: calls.append(args) or ensure(self, *args))
    rows = [("star wars", f"Plot {i}.", 1, f"Film {i % 20}") for i in range(60)]
    done = import_new(wb, "films.csv", format_rows([("query", "text", "rating", "title"), *rows]))
    assert done.new_documents == 20 and len(calls) == 60 + 19


def test_the_same_import_again_asks_for_the_vectors_that_a_kill_left_out(wb, monkeypatch):
    content = jsonl.dumps(QUESTIONS).encode()
    with monkeypatch.context() as killed:
        killed.setattr(imports, "request_vectors", lambda *_: None)
        corpus = import_new(wb, "set.jsonl", content).corpus_id
    assert queue.list_active(wb, "embed", corpus) == []
    import_labels(wb, corpus, "set.jsonl", content)
    assert len(queue.list_active(wb, "embed", corpus)) == 1


def test_an_imported_question_without_a_label_leaves_no_more_once_it_is_out_of_the_queues(wb, ann):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    for x in consensus.load_questions(wb, corpus):
        if x.question.qid in ("q-1", "q-4"):
            stored_questions.set_queued(wb, [x.id], queued=False, by=ann.id)
    exported = exports.load_labelled_questions(wb, corpus)
    assert exported == QUESTIONS[:3]  # q-1 has labels


def test_one_text_under_two_ids_of_two_sets_keeps_the_title_of_each(wb):
    sets = [
        [Question(f"q{i}", f"Why {i}?", (Candidate(f"{title}-0", "It is high.", 1, title),))]
        for i, title in enumerate(("Tower", "Hill"))
    ]
    corpus = import_new(wb, "a.jsonl", jsonl.dumps(sets[0])).corpus_id
    done = import_labels(wb, corpus, "b.jsonl", jsonl.dumps(sets[1]).encode())
    assert (done.new, done.new_sentences) == (1, 1)
    assert exports.load_labelled_questions(wb, corpus) == sets[0] + sets[1]


def test_importing_twice_counts_the_labels_as_the_same(wb):
    first = import_new(wb, "a.tsv", WIKIQA)
    again = import_labels(wb, first.corpus_id, "a.tsv", WIKIQA.encode())
    assert (again.new, again.same, again.conflicting) == (0, 5, 0)
    assert corpora.get_corpus(wb, first.corpus_id).sentences == 4


def test_an_import_counts_what_its_corpus_did_not_have(wb):
    first = import_new(wb, "a.tsv", WIKIQA)
    assert (first.corpus, first.is_new_corpus) == ("a", True)
    assert (first.new_sentences, first.new_documents, first.new_questions) == (4, 2, 2)
    more = WIKIQA + "Q2\twho painted it\tD2\tPaint\tD2-1\tIt took weeks .\t0\nQ3\twhy\tD3\tWhy\tD3-0\tSo .\t1\n"
    again = import_labels(wb, first.corpus_id, "b.tsv", more.encode())
    assert (again.corpus, again.is_new_corpus) == ("a", False)
    assert (again.new_sentences, again.new_documents, again.new_questions) == (2, 1, 1)
    assert again.describe_additions() == "2 new sentences, 1 new document and 1 new question"
    same = import_labels(wb, first.corpus_id, "b.tsv", more.encode())
    assert same.describe_additions() == ""
    view = corpora.get_corpus(wb, first.corpus_id)
    assert (view.sentences, view.documents, view.questions) == (6, 3, 3)


def test_an_interrupted_import_is_audited_and_goes_on_in_its_corpus(wb, monkeypatch):
    content = jsonl.dumps(
        Question(f"q-{i}", f"Is it {i}?", (Candidate(f"d{i}-0", f"It is {i}.", 1),)) for i in range(5)
    ).encode()
    monkeypatch.setattr(storage, "MAX_BATCH_QUESTIONS", 2)
    store, batches = storage._BatchImport.store, []

    def interrupt_third(self, batch):
        batches.append(batch)
        store(self, batch)
        if len(batches) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as interruption, pytest.raises(imports.ImportInterrupted) as stop:
        interruption.setattr(storage._BatchImport, "store", interrupt_third)
        import_labels(wb, None, "set.jsonl", content)
    assert (str(stop.value), stop.value.corpus) == ("4 of 5 questions are in", "set")
    corpus = corpora.find_corpus(wb, "set")
    assert (corpus.questions, corpus.labels) == (4, 4)
    [event] = audit_log.list_events(wb, by=None, act=imports.IMPORT_LABELS)
    assert (event.target, event.detail) == ("set", "set.jsonl: 4 new labels, stopped after 4 of 5 questions")
    rest = import_labels(wb, corpus.id, "set.jsonl", content)
    assert (rest.new, rest.same, rest.new_questions) == (1, 4, 1)


def test_an_import_that_is_left_in_the_middle_keeps_what_is_stored_and_goes_on_when_it_is_repeated(wb, monkeypatch):
    class Left(BaseException):
        """As Streamlit ends a page's script."""

    questions = [Question(f"q-{i}", f"Is it {i}?", (Candidate(f"d{i}-0", f"It is {i}.", 1),)) for i in range(5)]
    monkeypatch.setattr(storage, "MAX_BATCH_QUESTIONS", 2)
    file = label_files.read_labels("set.jsonl", jsonl.dumps(questions).encode())
    told = []

    def leave_at_the_second(progress):
        told.append((progress.done, progress.total))
        if len(told) == 2:
            raise Left

    with pytest.raises(Left):
        imports.store_labels(wb, None, file, on_progress=leave_at_the_second)
    corpus = corpora.find_corpus(wb, "set")
    assert told == [(2, 5), (4, 5)] and (corpus.questions, corpus.labels) == (4, 4)
    [event] = audit_log.list_events(wb, by=None, act=imports.IMPORT_LABELS)
    assert event.detail == "set.jsonl: 4 new labels, stopped after 4 of 5 questions"
    rest = imports.store_labels(wb, corpus.id, file)
    assert (rest.new, rest.same, rest.new_questions) == (1, 4, 1)


def test_an_import_that_fails_in_the_middle_is_audited(wb, monkeypatch):
    monkeypatch.setattr(imports, "index_import", lambda *_: (_ for _ in ()).throw(OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        import_new(wb, "a.tsv", WIKIQA)
    [event] = audit_log.list_events(wb, by=None, act=imports.IMPORT_LABELS)
    assert event.detail == "a.tsv: 5 new labels, stopped after 2 of 2 questions"


def test_an_import_that_finds_the_database_busy_says_what_is_stored_already(wb, monkeypatch):
    content = jsonl.dumps(Question(f"q-{i}", f"Is it {i}?", (Candidate(f"d{i}", f"It is {i}.", 1),)) for i in range(4))
    monkeypatch.setattr(storage, "MAX_BATCH_QUESTIONS", 2)
    store, batches = storage._BatchImport.store, []

    def wait_in_vain(self, batch):
        batches.append(batch)
        store(self, batch)
        if len(batches) == 2:
            raise DatabaseContention("the database is busy")

    monkeypatch.setattr(storage._BatchImport, "store", wait_in_vain)
    with pytest.raises(DatabaseContention, match="2 of 4 questions are stored; importing the file again goes on"):
        import_labels(wb, None, "set.jsonl", content.encode())
    corpus = corpora.find_corpus(wb, "set")
    assert corpus.questions == 2
    assert import_labels(wb, corpus.id, "set.jsonl", content.encode()).new_questions == 2


def test_a_label_that_contradicts_the_same_annotators_earlier_one_is_not_taken(wb):
    first = import_new(wb, "a.tsv", WIKIQA)
    changed = WIKIQA.replace("It is 330 metres high .\t1", "It is 330 metres high .\t0")
    again = import_labels(wb, first.corpus_id, "a.tsv", changed.encode())
    assert (again.same, again.conflicting) == (4, 1)
    assert "D1-1" in again.conflicts[0]
    assert exports.export_labels(wb, first.corpus_id, "wikiqa").decode() == WIKIQA


def test_another_annotator_may_differ_and_can_be_exported_alone(wb):
    first = import_new(wb, "a.tsv", WIKIQA, annotator="ann")
    changed = WIKIQA.replace("Sixty painters painted it .\t1", "Sixty painters painted it .\t0")
    again = import_labels(wb, first.corpus_id, "a.tsv", changed.encode(), annotator="bob")
    assert (again.new, again.conflicting) == (5, 0)
    assert exports.export_labels(wb, first.corpus_id, "wikiqa", annotator="bob").decode() == changed
    assert exports.export_labels(wb, first.corpus_id, "wikiqa", annotator="ann").decode() == WIKIQA


def test_labels_without_texts_find_the_sentences_of_their_corpus(wb, towers):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    content = 'query,docid,rating\n"When was the Eiffel Tower finished?",tower-0,1\nwhen?,tower-1,0\nwhen?,tower-99,1\n'
    done = import_labels(wb, towers.id, "ratings.csv", content.encode())
    assert (done.new, done.questions) == (2, 2)
    assert [line for line, _ in done.malformed] == [4]
    assert "tower-99" in done.malformed[0][1]
    assert list(consensus.read_labels(wb, asked.question_id).values()) == ["correct"]


def test_the_first_sentence_of_a_section_is_found_without_its_heading(wb):
    corpus = corpora.create_corpus(wb, "bank")
    page = b"# Bank\n\n## Fees\n\nA late payment costs ten euros.\n\nIs it free?\n\nNo.\n\nIs it safe?\n\nNo.\n"
    ingestion.ingest(wb, corpus.id, [("bank.md", page)])
    table = "question,sentence,label\nWhat does it cost?,A late  payment costs ten euros.,yes\nIs it?,No.,yes\n"
    file = label_files.read_labels("rows.csv", table.encode())
    assert imports.list_unknown_sentences(wb, corpus.id, file) == ("No.",)  # which of the two is nobody's to guess
    assert imports.store_labels(wb, corpus.id, file, add_sentences=False).new == 1
    exported = exports.export_labels(wb, corpus.id, "table")
    assert b"Fees: A late payment costs ten euros." in exported


def test_qrels_of_a_question_the_corpus_does_not_have_are_reported_by_line(wb, towers):
    with pytest.raises(BadSetting, match="choose the corpus"):
        import_new(wb, "x.qrels", "q1 0 tower-0 1\n")
    done = import_labels(wb, towers.id, "x.qrels", b"q1 0 tower-0 1\nq1 0 tower-1 0\n")
    assert done.new == 0
    reason = (
        "question 'q1' is not in this corpus, and the file does not hold its text: use the ids of an export of this "
        "corpus, or a table with the texts"
    )
    assert done.malformed == ((1, reason), (2, reason))  # each line that is left out


def test_candidates_without_a_text_are_counted_and_never_land_on_a_sentence_of_that_id(wb):
    first = [Question("a", "Who?", (Candidate("2-0", "", 0, "Tower"), Candidate("2-1", "She.", 1, "Tower")))]
    other = [Question("b", "Why?", (Candidate("2-0", "So.", 1), Candidate("2-1", " \n", 0), Candidate("2-2", "", 0)))]
    done = import_new(wb, "set.jsonl", jsonl.dumps(first))
    assert (done.new, done.textless, done.malformed) == (1, 1, ())
    again = import_labels(wb, done.corpus_id, "other.jsonl", jsonl.dumps(other).encode())
    assert (again.new, again.textless, again.malformed) == (1, 2, ())
    read = {q.qid: [(c.id, c.label) for c in q.candidates] for q in exports.load_labelled_questions(wb, done.corpus_id)}
    assert read == {"a": [("2-1", 1)], "b": [("2-0", 1)]}


def test_labels_with_texts_land_on_the_sentences_that_read_the_same(wb, towers):
    texts = ["The Eiffel Tower was finished on 31 March 1889.", "Its  steel weighs\n53,000 tonnes."]
    candidates = [{"id": f"x{i}", "text": t, "label": i} for i, t in enumerate(texts)]
    line = json.dumps({"qid": "weight", "question": "How heavy is the bridge?", "candidates": candidates})
    done = import_labels(wb, towers.id, "weights.jsonl", line.encode())
    assert done.new == 2
    assert corpora.get_corpus(wb, towers.id).documents == 3
    asked = asking.ask(wb, towers.id, "How heavy is the bridge?")
    assert [c.text for c in asked.candidates if c.label == "correct"] == ["Its steel weighs 53,000 tonnes."]


def test_a_sentence_the_document_no_longer_has_keeps_its_label_out_of_sight(wb, towers):
    line = json.dumps(
        {"qid": "q", "question": "How old is it?", "candidates": [{"id": "tower-9", "text": "It is old.", "label": 1}]}
    )
    before = corpora.get_corpus(wb, towers.id)
    done = import_labels(wb, towers.id, "old.jsonl", line.encode())
    after = corpora.get_corpus(wb, towers.id)
    assert (done.new, after.documents, after.sentences) == (1, before.documents, before.sentences)
    assert "It is old." not in [c.text for c in asking.ask(wb, towers.id, "How old is the tower?").candidates]
    assert json.loads(exports.export_labels(wb, towers.id, "jsonl"))["candidates"][0]["text"] == "It is old."


def test_imported_texts_are_searchable(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    asked = asking.ask(wb, done.corpus_id, "who painted it with sixty painters")
    assert asked.candidates[asked.best].text == "Sixty painters painted it ."


def test_the_sentences_that_a_corpus_lacks_are_listed_and_can_be_left_out(wb, towers):
    [tower, *_] = (s.text for s in documents.list_sentences(wb, documents.list_documents(wb, towers.id)[0].id))
    rows = [("question", "sentence", "label"), ("Who?", tower, "correct"), ("Who?", "Nobody did.", "incorrect")]
    file = label_files.read_labels("mine.csv", format_rows(rows).encode())
    assert imports.list_unknown_sentences(wb, towers.id, file) == ("Nobody did.",)
    left_out = imports.store_labels(wb, towers.id, file, add_sentences=False)
    assert (left_out.new, left_out.new_documents) == (1, 0)
    assert left_out.malformed == ((3, "the sentence “Nobody did.” is not in this corpus"),)
    added = imports.store_labels(wb, towers.id, file)
    assert (added.new, added.same, added.new_documents) == (1, 1, 1)
    assert not imports.list_unknown_sentences(wb, towers.id, file)


def test_a_second_set_of_the_same_name_gets_a_number(wb):
    for _ in range(2):
        import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    assert [c.name for c in corpora.list_corpora(wb)] == ["WikiQA-dev", "WikiQA-dev 2"]


def test_characters_no_database_takes_are_left_out_of_an_import(wb):
    line = '{"qid": "q", "question": "What?\\u0000", "candidates": [{"id": "a-0", "text": "x\\u0000y", "label": 1}]}'
    done = import_new(wb, "odd.jsonl", line)
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    assert (question.text, question.candidates[0].text) == ("What?", "xy")


def test_a_batch_ends_at_a_hundred_questions_or_ten_thousand_candidates(wb, towers, monkeypatch):
    sizes = []
    monkeypatch.setattr(storage._BatchImport, "store", lambda _, batch: sizes.append(len(batch)))

    def store(*candidates):
        sizes.clear()
        asked = [Question(str(i), "?", (Candidate("a", ""),) * n) for i, n in enumerate(candidates)]
        storage.store_questions(wb, towers.id, asked, storage.ImportOptions(1))
        return sizes

    assert store(*[2] * 250) == [100, 100, 50]
    assert store(4_000, 6_000, 1, 30_000, 5_000) == [2, 1, 1, 1]


def test_what_comes_for_a_corpus_that_was_deleted_meanwhile_is_told_so(wb, towers, ann):
    corpora.delete_corpus(wb, towers.id)
    question = Question("q0", "How high is it?", (Candidate("c0", "It is tall.", 1),))
    with pytest.raises(UnknownCorpus, match="deleted meanwhile"):
        storage.store_questions(wb, towers.id, [question], storage.ImportOptions(ann.id))


def test_a_label_file_whose_name_is_not_utf8_is_imported_under_a_name_that_is(wb):
    line = b'{"qid": "q", "question": "Who?", "candidates": [{"id": "c", "text": "Me.", "label": 1}]}\n'
    report = import_labels(wb, None, "L\udce9ger.jsonl", line)
    assert corpora.get_corpus(wb, report.corpus_id).name == "L\u00e9ger"


def test_a_signature_in_other_capitals_or_with_unseen_characters_is_the_person_of_that_name(wb, ann):
    signed = replace(QUESTIONS[0].candidates[0], annotations=(("A\u200bNN", "correct"), ("Import", "correct")))
    question = replace(QUESTIONS[0], candidates=(signed, *QUESTIONS[0].candidates[1:]))
    corpus = import_new(wb, "set.jsonl", jsonl.dumps([question])).corpus_id
    with wb.read() as s:
        signers = {(r.annotator, r.imported) for r in label_rows.list_labels_of_corpus(s, corpus)}
    assert signers == {("ann", False), ("import", True)}
    assert [p.name for p in people.list_people(wb) if p.name.lower() == "ann"] == ["ann"]


def test_a_label_file_that_is_uploaded_has_a_bound_also_unpacked_and_one_on_the_command_line_has_none(
    monkeypatch, tmp_path
):
    rows = b"".join(b"q%d 0 d 1\n" % i for i in range(10))
    (tmp_path / "a.qrels").write_bytes(rows)
    monkeypatch.setattr(label_files, "MAX_SENT_BYTES", len(rows))
    assert len(label_files.read_labels("a.qrels", rows).questions) == 10
    for content in (rows + b"r 0 d 1\n", gzip.compress(rows + b"r 0 d 1\n")):
        with pytest.raises(
            UnreadableFile, match=r"a\.qrels: it has more than 0 MB; divide it, or import it with `as2 la"
        ):
            label_files.read_labels("a.qrels", content)
    monkeypatch.setattr(label_files, "MAX_SENT_BYTES", 10)
    assert len(label_files.read_labels("a.qrels", tmp_path / "a.qrels").questions) == 10


def test_a_beir_set_that_is_uploaded_is_unpacked_up_to_the_same_bound(monkeypatch, wb, towers):
    monkeypatch.setattr(label_files, "MAX_SENT_BYTES", 40)
    content = exports._zip(beir.dumps(QUESTIONS))
    with pytest.raises(UnreadableFile, match=r"a\.zip: it unpacks to more than"):
        label_files.read_labels("a.zip", content)
