import csv
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import pytrec_eval
from label_files import import_labels

from app.adapt import label_selection
from app.ask import asking, stored_questions
from app.corpora import corpora, documents, ingestion
from app.corpora.corpora import UnknownCorpus
from app.exchange import exports, imports, sentence_matching, storage
from app.jobs import queue
from app.labels import agreement, annotation, consensus, rules
from app.labels import consensus as labels
from app.ranking.synonyms import write_synonyms
from app.workbench import audit_log, people, sessions
from app.workbench.sessions import Login
from app.workbench.workbench import DatabaseContention
from as2core.data import jsonl, qrels
from as2core.data.catalog import TOOLS
from as2core.data.source import format_rows, read_all
from as2core.errors import As2Error, BadSetting, UnreadableFile
from as2core.synonyms import Synonyms
from as2core.types import Candidate, Question
from db.repositories import labels as label_rows
from db.repositories import questions as question_rows

WIKIQA = """QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-0\tThe tower stands in Paris .\t0
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-1\tIt is 330 metres high .\t1
Q1\thow high is the tower\tD1\tEiffel Tower\tD1-2\tIt is 330 metres high .\t0
Q2\twho painted it\tD1\tEiffel Tower\tD1-1\tIt is 330 metres high .\t0
Q2\twho painted it\tD2\tPaint\tD2-0\tSixty painters painted it .\t1
"""
QUESTIONS = [
    Question(
        "q-1",
        "How high is the tower?",
        (
            Candidate("t-0", "The tower stands in Paris.", 0, "Tower"),
            Candidate("t-1", "It is 330 metres high.", 1, "Tower"),
            Candidate("t-7", "Its lifts are old.", None, "Tower"),
        ),
        kind="how-many",
    ),
    Question("q-2", "Who painted it?", (Candidate("odd id", "Sixty painters did.", 1), Candidate("t-0", "Not I.", 0))),
    Question("q-3", "Why?", (Candidate("t-1", "It is 330 metres high.", 0, "Tower"), Candidate("0", "Why not.", 0))),
    Question("q-4", "Never judged?", (Candidate("u-0", "Nobody knows.", None),)),
]


def import_new(wb, name, content, **more):
    return import_labels(wb, None, name, content if isinstance(content, bytes) else content.encode(), **more)


def zip_files(*names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    return packed.getvalue()


def test_wikiqa_leaves_as_the_same_bytes_it_came_as(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    assert (done.new, done.same, done.conflicting, done.malformed, done.questions) == (5, 0, 0, (), 2)
    assert done.format == "wikiqa"
    assert exports.export_labels(wb, done.corpus_id, "wikiqa").decode() == WIKIQA


def test_a_list_of_results_from_many_documents_keeps_every_title(wb):
    rows = [("star wars", f"Plot {i}.", i % 4, f"Film {i % 5}") for i in range(8)]
    table = format_rows([("query", "text", "rating", "title"), *rows])
    done = import_new(wb, "films.csv", table)
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    titles = {c.text: c.title for c in question.candidates}
    assert titles == {text: title for _, text, _, title in rows}
    again = import_labels(wb, done.corpus_id, "films.csv", table.encode())
    assert (again.new, again.same, again.new_sentences, again.new_documents) == (0, 8, 0, 0)


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


def test_jsonl_keeps_ids_order_kinds_titles_and_what_nobody_judged(wb):
    done = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS))
    assert exports.load_labelled_questions(wb, done.corpus_id) == QUESTIONS
    assert exports.export_labels(wb, done.corpus_id, "jsonl").decode() == jsonl.dumps(QUESTIONS)


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


@pytest.mark.parametrize("fmt", ["jsonl", "csv", "qrels", "wikiqa", "beir", "pairs", "triplets", "table", *TOOLS])
def test_importing_what_was_exported_changes_nothing(wb, fmt):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    before = exports.load_labelled_questions(wb, corpus)
    done = import_labels(wb, corpus, f"again.{fmt}", exports.export_labels(wb, corpus, fmt))
    assert (done.new, done.conflicting, done.malformed) == (0, 0, ())
    assert done.same == (4 if fmt == "triplets" else 6)  # a question without a correct sentence makes no triplet
    assert {x.outcome for x in done.lines} == {"same"}
    assert exports.load_labelled_questions(wb, corpus) == before


@pytest.mark.parametrize("fmt", ["pairs", "triplets", "table"])
@pytest.mark.parametrize("content", [jsonl.dumps(QUESTIONS), WIKIQA.replace("It is 330 metres high .\t0\n", "", 1)])
def test_pairs_and_triplets_leave_a_corpus_made_of_them_as_the_same_bytes(wb, fmt, content):
    first = import_new(wb, "set", content).corpus_id
    exported = exports.export_labels(wb, first, fmt)
    again = import_new(wb, "again.jsonl", exported)
    assert (again.format, again.malformed) == (fmt, ())
    assert exports.export_labels(wb, again.corpus_id, fmt) == exported


def test_every_line_of_an_import_says_what_became_of_it(wb):
    rows = ["tower-0,1", "tower-1,0", "tower-2,1", "tower-99,1", "tower-3,perhaps"]
    first = import_labels(wb, import_tower(wb), "a.csv", ratings(*rows[:2]))
    assert [(x.line, x.outcome) for x in first.lines] == [(2, "new"), (3, "new")]
    again = import_labels(wb, first.corpus_id, "b.csv", ratings("tower-0,1", "tower-1,1", *rows[2:]))
    assert [(x.line, x.outcome) for x in again.lines] == [
        (2, "same"), (3, "conflicting"), (4, "new"), (5, "malformed"), (6, "malformed"),
    ]  # fmt: skip
    assert "tower-99" in again.lines[3].what


def ratings(*rows: str) -> bytes:
    return "\n".join(["query,docid,rating", *(f"how old?,{row}" for row in rows)]).encode()


def import_tower(wb) -> int:
    corpus = corpora.create_corpus(wb, "tower")
    text = "It is old. It is tall. It is thin. It is grey."
    ingestion.ingest(wb, corpus.id, [("tower.txt", text.encode())])
    return corpus.id


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


def test_an_export_of_somebody_without_labels_names_those_who_have_some(wb):
    corpus = import_new(wb, "w.tsv", WIKIQA, annotator="ann").corpus_id
    for i in range(10):
        import_labels(wb, corpus, "w.tsv", WIKIQA.encode(), annotator=f"p{i}")
    with pytest.raises(As2Error) as error:
        exports.export_labels(wb, corpus, "csv", annotator="nobody")
    assert str(error.value).startswith("no label by 'nobody' in 'w'; annotators with labels: ann, p0, ")
    assert str(error.value).endswith(", p8, 1 more")
    empty = corpora.create_corpus(wb, "empty")
    with pytest.raises(As2Error, match="nothing is labelled in this corpus yet"):
        exports.export_labels(wb, empty.id, "csv", annotator="nobody")


def test_the_good_lines_of_a_bad_file_go_in_and_the_others_are_named(wb):
    bad = WIKIQA + "Q3\ttoo few columns\n" + "Q4\twho\tD4\tT\tD4-0\tText .\tperhaps\n"
    done = import_new(wb, "bad.tsv", bad)
    assert done.new == 5
    assert [line for line, _ in done.malformed] == [7, 8]
    assert "perhaps" in done.malformed[1][1]


@pytest.mark.parametrize(
    ("fmt", "lines"),
    [
        ("jsonl", [jsonl.dumps([q]).strip() for q in QUESTIONS[:2]]),
        ("qrels", ["q-1 0 t-0 0", "q-1 0 t-1 1"]),
        ("csv", ["query,docid,rating", "Who painted it?,odd id,1", "Who painted it?,t-0,0"]),
        ("wikiqa", WIKIQA.splitlines()),
    ],
)
def test_a_line_that_is_not_utf_8_is_named_and_the_others_go_in(wb, fmt, lines):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    *before, last = (x.encode() for x in lines)
    done = import_labels(wb, corpus, "set", b"\n".join([*before, b"caf\xe9", last]), fmt)
    assert [(number, "not UTF-8" in reason) for number, reason in done.malformed] == [(len(lines), True)]
    assert {x.line for x in done.lines if x.outcome in ("new", "same")} >= {len(lines) - 1, len(lines) + 1}


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
    file = imports.read_labels("rows.csv", table.encode())
    assert imports.list_unknown_sentences(wb, corpus.id, file) == ("No.",)  # which of the two is nobody's to guess
    assert imports.store_labels(wb, corpus.id, file, add_sentences=False).new == 1
    exported = exports.export_labels(wb, corpus.id, "table")
    assert b"Fees: A late payment costs ten euros." in exported


def test_a_rating_of_a_document_is_that_of_its_only_sentence_and_leaves_with_its_id(wb):
    corpus = corpora.create_corpus(wb, "shop")
    table = b"id,title,text\n70,Lamp,It is bright.\n71,Chair,It is low. It is red.\n"
    ingestion.ingest(wb, corpus.id, [("shop.csv", table)])
    done = import_labels(wb, corpus.id, "case.csv", ratings("70,3", "71,1", "72,0"))
    assert done.new == 1
    (line, several), (_, unknown) = done.malformed
    assert line == 3 and several.startswith("document '71' has 2 sentences") and "71-0" in several
    assert unknown.startswith("sentence '72' is not in this corpus")
    assert exports.export_labels(wb, corpus.id, "csv").splitlines() == ratings("70,3").splitlines()


@pytest.mark.parametrize(
    ("name", "content", "at"),
    [
        ("x.qrels", "q-1 0 t-0 0\nq-1 0 nobody%20has 1\nnew%20one 0 t-0 1\n", [2, 3]),
        ("x.csv", 'query,docid,rating\nHow high is the tower?,t-0,0\n"Not\nasked?",t-9,1\n', [3]),
    ],
)
def test_an_id_in_escapes_and_a_row_of_several_lines_are_told_where_they_stand(wb, name, content, at):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    done = import_labels(wb, corpus, name, content.encode())
    assert [line for line, _ in done.malformed] == at


def test_qrels_of_a_question_the_corpus_does_not_have_are_reported_by_line(wb, towers):
    with pytest.raises(BadSetting, match="choose the corpus"):
        import_new(wb, "x.qrels", "q1 0 tower-0 1\n")
    done = import_labels(wb, towers.id, "x.qrels", b"q1 0 tower-0 1\n")
    assert done.new == 0
    assert done.malformed == ((1, "question 'q1' is not in this corpus, and the file does not hold its text"),)


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


def test_asking_an_imported_question_does_not_disturb_its_export(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    asking.ask(wb, done.corpus_id, "who painted it")
    asking.ask(wb, done.corpus_id, "how high is the tower")
    assert exports.export_labels(wb, done.corpus_id, "wikiqa").decode() == WIKIQA


def test_a_label_given_on_the_page_leaves_with_the_others(wb, ann):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    asked = asking.ask(wb, done.corpus_id, "who painted it")
    [tower] = documents.list_documents(wb, done.corpus_id, search="eiffel")
    extra = documents.list_sentences(wb, tower.id)[0]
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=extra.id, annotator_id=ann.id, label="incorrect"
    )
    found = read_all(qrels.stream, exports.export_labels(wb, done.corpus_id, "qrels"))[0]
    assert {c.id: c.label for c in found[1].candidates} == {"D1-1": 0, "D2-0": 1, "D1-0": 0}


def test_a_rating_leaves_as_it_came_until_somebody_says_otherwise(wb, towers, ann):
    question = "When was the Eiffel Tower finished?"
    content = f"query,docid,rating\n{question},tower-0,3\n{question},tower-1,0\n{question},tower-2,-1\n".encode()
    done = import_labels(wb, towers.id, "ratings.csv", content)
    assert done.new == 3
    assert exports.export_labels(wb, towers.id, "csv") == content
    asked = asking.ask(wb, towers.id, question)
    assert exports.export_labels(wb, towers.id, "csv") == content
    first = next(c for c in asked.candidates if (c.title, c.position) == ("tower", 0))
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=first.sentence_id, annotator_id=ann.id, label="incorrect"
    )
    assert exports.export_labels(wb, towers.id, "csv") == content.replace(b"tower-0,3", b"tower-0,0")
    [found] = exports.load_labelled_questions(wb, towers.id)
    assert [(c.label, c.grade) for c in found.candidates] == [(0, None), (0, None), (0, -1)]


def test_a_grade_is_added_to_a_label_that_came_without(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    content = "".join(f"Q1 0 D1-{i} {grade}\n" for i, grade in enumerate((0, 2, 0)))
    again = import_labels(wb, done.corpus_id, "graded.qrels", content.encode())
    assert (again.new, again.same, again.conflicting) == (0, 3, 0)
    assert exports.export_labels(wb, done.corpus_id, "qrels").decode().startswith(content)


def test_jsonl_and_beir_keep_grades(wb):
    graded = [
        Question("q-1", "How high?", (Candidate("a", "It is high.", 1, "Tower", 3), Candidate("b", "No.", 0, "", -2)))
    ]
    for number, fmt in enumerate(("jsonl", "beir")):
        done = import_new(wb, f"set{number}.jsonl", jsonl.dumps(graded))
        out = exports.export_labels(wb, done.corpus_id, fmt)
        again = import_new(wb, f"again{number}.{'zip' if fmt == 'beir' else fmt}", out)
        assert exports.load_labelled_questions(wb, again.corpus_id) == graded


@pytest.mark.parametrize("fmt", ["csv", "qrels", "wikiqa", "beir", "pairs"])
def test_what_people_labelled_comes_back_unsigned_as_the_same_and_its_opposite_as_a_conflict(wb, towers, ann, fmt):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    first = asked.candidates[0].sentence_id
    for c, label in zip(asked.candidates[:3], ("correct", "incorrect", "unsure"), strict=True):
        annotation.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label=label
        )
    out = exports.export_labels(wb, towers.id, fmt)
    done = import_labels(wb, towers.id, "again", out, fmt)
    assert (done.new, done.same, done.conflicting) == (0, 2, 0)
    annotation.give_label(wb, question_id=asked.question_id, sentence_id=first, annotator_id=ann.id, label="incorrect")
    done = import_labels(wb, towers.id, "again", out, fmt)
    assert (done.new, done.same, done.conflicting) == (0, 1, 1)


def test_a_label_that_came_unsigned_and_was_corrected_here_comes_back_beside_the_correction(wb, ann):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    asked = asking.ask(wb, corpus, QUESTIONS[0].text)
    pair = next(c.sentence_id for c in asked.candidates if c.text == "The tower stands in Paris.")
    annotation.give_label(wb, question_id=asked.question_id, sentence_id=pair, annotator_id=ann.id, label="correct")
    out = exports.export_labels(wb, corpus, "jsonl")
    assert json.loads(out.splitlines()[0])["candidates"][0]["labels"] == {"ann": "correct", "import": "incorrect"}
    done = import_labels(wb, corpus, "again.jsonl", out)
    assert (done.new, done.same, done.conflicts) == (0, 6 + 1, ())
    changed = out.replace(b'"ann": "correct"', b'"ann": "incorrect"')
    assert (
        import_labels(wb, corpus, "changed.jsonl", changed)
        .conflicts[0]
        .endswith(", ann’s label: incorrect in the file, correct here")
    )
    unsigned = import_labels(wb, corpus, "set.jsonl", jsonl.dumps(QUESTIONS).encode())
    first = QUESTIONS[0]
    texts = f"“{first.text}”, “{first.candidates[0].text}”"
    assert unsigned.conflicts == (f"{texts} (q-1 t-0): incorrect in the file, correct here",)


def test_a_run_ranks_every_labelled_question_by_the_active_version(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    run = pytrec_eval.parse_run(exports.export_labels(wb, done.corpus_id, "run").decode().splitlines())
    assert set(run) == {"Q1", "Q2"}
    assert list(run["Q2"]) == ["D2-0", "D1-1"]


def test_a_run_ranks_with_the_synonyms_that_every_ranker_reads(wb):
    done = import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    runs = []
    for synonyms in (Synonyms(), Synonyms((("it", "the fresco"),))):
        write_synonyms(wb, done.corpus_id, str(synonyms), by=None)
        runs.append(pytrec_eval.parse_run(exports.export_labels(wb, done.corpus_id, "run").decode().splitlines()))
    assert runs[1]["Q1"] == runs[0]["Q1"]  # it has no such word
    assert runs[1]["Q2"]["D2-0"] != runs[0]["Q2"]["D2-0"]


TABLE = "question;sentence;label\nWas kostet das?;Das kostet 19 € für jede Tür.;correct\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "unicode.txt"])
def test_a_csv_of_an_older_spreadsheet_is_read_as_documents_are(wb, name, encoding):
    done = import_new(wb, name, TABLE.encode(encoding))
    assert (done.new, done.malformed) == (1, ())
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    assert question.candidates[0].text == "Das kostet 19 € für jede Tür."


def test_a_tool_s_file_saved_as_utf_16_is_read(wb):
    records = json.dumps([{"question": "Wie?", "text": "Für 19 €.", "label": ["yes"]}], ensure_ascii=False)
    done = import_new(wb, "doccano.json", records.encode("utf-16"))
    assert (done.format, done.new, done.malformed, done.unit) == ("records", 1, (), "record")
    assert done.notes == ("text read as the sentence",)


def test_a_csv_in_utf_8_with_a_damaged_line_is_not_taken_for_windows_1252(wb):
    done = import_new(wb, "mine.csv", TABLE.encode() + "Wie?;Für sich.;correct\n".encode("cp1252"))
    assert done.new == 1
    assert [(line, "not UTF-8" in reason) for line, reason in done.malformed] == [(3, True)]


def test_the_sentences_that_a_corpus_lacks_are_listed_and_can_be_left_out(wb, towers):
    [tower, *_] = (s.text for s in documents.list_sentences(wb, documents.list_documents(wb, towers.id)[0].id))
    rows = [("question", "sentence", "label"), ("Who?", tower, "correct"), ("Who?", "Nobody did.", "incorrect")]
    file = imports.read_labels("mine.csv", format_rows(rows).encode())
    assert imports.list_unknown_sentences(wb, towers.id, file) == ("Nobody did.",)
    left_out = imports.store_labels(wb, towers.id, file, add_sentences=False)
    assert (left_out.new, left_out.new_documents) == (1, 0)
    assert left_out.malformed == ((3, "the sentence “Nobody did.” is not in this corpus"),)
    added = imports.store_labels(wb, towers.id, file)
    assert (added.new, added.same, added.new_documents) == (1, 1, 1)
    assert not imports.list_unknown_sentences(wb, towers.id, file)


def test_pairs_are_the_judged_ones(wb):
    done = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS))
    lines = [json.loads(x) for x in exports.export_labels(wb, done.corpus_id, "pairs").splitlines()]
    assert len(lines) == 6
    assert lines[1] == {"sentence1": "How high is the tower?", "sentence2": "It is 330 metres high.", "label": 1}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("letter.txt", b"Dear Sir, this is a letter.", "unknown format"),
        ("mine.csv", b"question,label\nWho?,1\n", "query,docid,rating or question,sentence,label, not question,label"),
        ("mine.csv", b"\xef\xbb\xbfQuestion\r\nWho?\r\n", "paste them under Data, Questions"),
        ("scores.run", b"q1 Q0 d1 1 0.5 tag\n", "import qrels as TREC instead"),
        ("empty.jsonl", b" \n", "the file is empty"),
        ("cut.zip", b"PK\x03\x04 cut short", "cannot be unpacked"),
        ("latin.json", '{"data": "é"}'.encode("latin-1"), "UTF-8"),
        ("none.json", b"[]\n", "no labelled question in it"),
        ("labels.parquet", b"PAR1\x15\x04", "it is Parquet; save it as JSON: to_json of datasets, or of pandas"),
        ("book.xlsx", zip_files("[Content_Types].xml", "xl/workbook.xml"), "it is a spreadsheet; save it as CSV"),
        ("book.ods", zip_files("mimetype", "content.xml"), "it is a spreadsheet; save it as CSV"),
        (
            "export.zip",
            zip_files("ann.jsonl", "bob.jsonl"),
            "holds no BEIR set .*; unpack it and import the files in it",
        ),
        ("half.zip", zip_files("s/corpus.jsonl", "s/qrels/test.tsv"), "^half.zip: the archive holds no BEIR set"),
        ("deep.json", b'{"data": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_none_of_the_formats_is_named_with_the_remedy(wb, name, content, said):
    with pytest.raises(UnreadableFile, match=said) as told:
        import_new(wb, name, content)
    assert str(told.value).startswith(name)
    assert corpora.list_corpora(wb) == []


@pytest.mark.parametrize("into", ["a corpus of its own", "the corpus"])
def test_a_file_of_nothing_but_malformed_lines_is_reported_line_by_line(wb, towers, into):
    lines = ["{", '{"qid": "q", "candidates": ' + "[" * 100_000, '{"qid": "q", "question": "Who?"}']
    corpus_id = towers.id if into == "the corpus" else None
    done = import_labels(wb, corpus_id, "bad.jsonl", "\n".join(lines).encode(), fmt="jsonl")
    assert [line for line, _ in done.malformed] == [1, 2, 3]
    assert [reason for _, reason in done.malformed][1:] == [
        "nested too deeply to read",
        jsonl.NO_CANDIDATES,
    ]
    assert [(x.line, x.outcome) for x in done.lines] == [(n, "malformed") for n in (1, 2, 3)]
    assert (done.new, done.questions, done.corpus_id) == (0, 0, corpus_id)
    assert [c.name for c in corpora.list_corpora(wb)] == ["towers"]


def damage_archive(how):
    """A BEIR archive with one damage that `zipfile` does not tell as its own error."""
    content = bytearray(beir_zip({"test": ["q0\ta\t1"]}))
    directory = content.index(b"PK\x01\x02")
    if how == "data":  # no deflate stream begins so
        content[8:10] = content[directory + 10 : directory + 12] = b"\x08\x00"
        content[content.index(b"{")] = 0xFF
    elif how == "size":  # more than the file holds
        content[directory + 20 : directory + 24] = (len(content) * 2).to_bytes(4, "little")
        content[directory + 24 : directory + 28] = (len(content) * 2).to_bytes(4, "little")
    else:  # a name that says it is UTF-8
        content[directory + 9] |= 0x08
        content[directory + 46] = 0xFF
    return bytes(content)


@pytest.mark.parametrize("how", ["data", "size", "name"])
def test_a_damaged_archive_is_named_and_nothing_is_stored(wb, how):
    with pytest.raises(UnreadableFile, match=r"^set\.zip: the archive cannot be unpacked"):
        import_new(wb, "set.zip", damage_archive(how))
    assert corpora.list_corpora(wb) == []


def test_a_rating_whose_query_is_too_long_is_reported_and_the_rest_goes_in(wb, towers):
    csv.field_size_limit(131_072)  # Python's own; another test may have raised it
    content = f"query,docid,rating\nHow old?,tower-0,1\n{'long ' * 30_000},tower-1,1\nHow old?,tower-2,0\n".encode()
    done = import_labels(wb, towers.id, "ratings.csv", content)
    assert (done.new, done.malformed) == (2, ((3, "field larger than field limit (131072)"),))
    assert [(x.line, x.outcome) for x in done.lines] == [(2, "new"), (3, "malformed"), (4, "new")]
    with pytest.raises(UnreadableFile, match=r"^wide\.csv: line 1: field larger"):
        import_labels(wb, towers.id, "wide.csv", b"query,docid,rating" + b" " * 200_000)


def test_asnqs_rows_are_recognised_and_only_label_four_is_correct(wb):
    rows = b"who built it\tIt is tall .\t1\nwho built it\tEiffel built it .\t4\nwho built it\tno label\t9\n"
    done = import_new(wb, "dev.tsv", rows)
    assert (done.format, done.new, done.malformed) == ("asnq", 2, ((3, "label '9' is not 1, 2, 3, 4"),))
    (question,) = exports.load_labelled_questions(wb, done.corpus_id)
    assert [(c.text, c.label) for c in question.candidates] == [("It is tall .", 0), ("Eiffel built it .", 1)]


def test_a_set_of_several_files_is_sent_to_the_command_that_makes_one(wb):
    with pytest.raises(
        UnreadableFile, match=r"test\.encoded: insuranceqa consists of several files; .*as2 data convert"
    ):
        import_new(wb, "test.encoded", b"life\tidx_1 idx_2\t18\t7 18\n")


def test_a_file_on_disk_or_gzipped_is_read_alike(wb, tmp_path):
    import gzip

    (tmp_path / "a.tsv").write_text(WIKIQA)
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(WIKIQA.encode()))
    one, other = (import_labels(wb, None, p, tmp_path / p) for p in ("a.tsv", "b.tsv.gz"))
    assert exports.export_labels(wb, one.corpus_id, "jsonl") == exports.export_labels(wb, other.corpus_id, "jsonl")
    assert [c.name for c in corpora.list_corpora(wb)] == ["a", "b"]


def test_a_second_set_of_the_same_name_gets_a_number(wb):
    for _ in range(2):
        import_new(wb, "WikiQA-dev.tsv", WIKIQA)
    assert [c.name for c in corpora.list_corpora(wb)] == ["WikiQA-dev", "WikiQA-dev 2"]


def test_unknown_formats_and_empty_exports_say_what_to_do(wb, towers):
    with pytest.raises(BadSetting, match="jsonl"):
        exports.export_labels(wb, towers.id, "xlsx")
    with pytest.raises(As2Error, match="nothing is labelled"):
        exports.export_labels(wb, towers.id, "jsonl")
    with pytest.raises(BadSetting, match="known: auto"):
        import_new(wb, "a.tsv", WIKIQA, fmt="xlsx")


def test_characters_no_database_takes_are_left_out_of_an_import(wb):
    line = '{"qid": "q", "question": "What?\\u0000", "candidates": [{"id": "a-0", "text": "x\\u0000y", "label": 1}]}'
    done = import_new(wb, "odd.jsonl", line)
    [question] = exports.load_labelled_questions(wb, done.corpus_id)
    assert (question.text, question.candidates[0].text) == ("What?", "xy")


def test_jsonl_brings_unsure_and_disputed_labels_into_another_corpus_as_theirs_who_gave_them(wb, ann, bob):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    question = next(x for x in labels.load_questions(wb, corpus) if x.question.qid == "q-1")
    with wb.read() as s:
        rows = question_rows.list_candidate_rows(s, corpus)
        sentences = [r.sentence_id for r in rows if r.question_id == question.id]
    for who, given in ((ann, ("correct", "unsure", "correct")), (bob, ("incorrect", "unsure", "unsure"))):
        for sentence, label in zip(sentences, given, strict=True):
            annotation.give_label(wb, question_id=question.id, sentence_id=sentence, annotator_id=who.id, label=label)
    exported = exports.export_labels(wb, corpus, "jsonl")
    first = json.loads(exported.splitlines()[0])["candidates"]
    assert [(c["label"], c["labels"]) for c in first] == [
        (None, {"ann": "correct", "bob": "incorrect", "import": "incorrect"}),
        (1, {"ann": "unsure", "bob": "unsure", "import": "correct"}),
        (1, {"ann": "correct", "bob": "unsure"}),
    ]
    again = import_labels(wb, corpus, "again.jsonl", exported)
    assert (again.new, again.same, again.conflicting, again.malformed) == (0, 6 + 6, 0, ())
    other = import_new(wb, "other.jsonl", exported)
    assert (other.new, other.conflicting, other.malformed) == (6 + 6, 0, ())
    assert exports.export_labels(wb, other.corpus_id, "jsonl") == exported


def test_a_question_with_nothing_but_an_unsure_label_leaves_in_jsonl(wb, towers, ann):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="unsure")
    exported = exports.export_labels(wb, towers.id, "jsonl", annotator="ann")
    [candidate] = json.loads(exported)["candidates"]
    assert (candidate["label"], candidate["labels"]) == (None, {"ann": "unsure"})
    with pytest.raises(As2Error, match="nothing is labelled"):
        exports.export_labels(wb, towers.id, "csv")


def test_an_export_reads_no_sentence_that_nobody_labelled(wb, towers, ann, monkeypatch):
    """A corpus may have a hundred of them for each that somebody labelled."""
    asked = [asking.ask(wb, towers.id, f"When was the {thing} finished?") for thing in ("tower", "bridge")]
    sentence_id = asked[0].candidates[1].sentence_id
    pair = {"question_id": asked[0].question_id, "sentence_id": sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    calls, list_rows = [], question_rows.list_candidate_rows

    def note_rows(*args, **kwargs):
        calls.append(list_rows(*args, **kwargs))
        return calls[-1]

    monkeypatch.setattr(question_rows, "list_candidate_rows", note_rows)
    exports.export_labels(wb, towers.id, "jsonl")
    pairs = [(asked[0].question_id, sentence_id), (asked[1].question_id, None)]
    assert [[(r.question_id, r.sentence_id) for r in rows] for rows in calls] == [pairs]


@pytest.mark.parametrize("fmt", ["jsonl", "csv"])
def test_an_export_tells_what_peers_said_once_a_pair_waits_no_longer_for_whoever_exports(wb, towers, ann, bob, fmt):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pairs = [{"question_id": asked.question_id, "sentence_id": c.sentence_id} for c in asked.candidates[:3]]
    for pair, *who in zip(pairs, (ann, bob, ann), (None, ann, None), strict=True):
        for person in filter(None, who):
            annotation.give_label(wb, **pair, annotator_id=person.id, label="correct")

    def count_correct(by):
        exported = exports.export_labels(wb, towers.id, fmt, by=by)
        return exported.count(b'"label": 1') if fmt == "jsonl" else exported.count(b",1\n")

    cy = people.sign_in(wb, "cy")
    assert (count_correct(None), count_correct(ann.id), count_correct(bob.id), count_correct(cy.id)) == (3, 3, 1, 1)
    annotation.give_label(wb, **pairs[0], annotator_id=bob.id, label="correct")
    assert (count_correct(bob.id), count_correct(cy.id)) == (2, 2)


def test_an_export_says_when_all_that_is_labelled_waits_for_whoever_exports(wb, towers, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    with pytest.raises(As2Error, match="are hidden until you have labelled"):
        exports.export_labels(wb, towers.id, "csv", by=bob.id)
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    with pytest.raises(As2Error, match="are hidden until as many people as are wanted have labelled"):
        exports.export_labels(wb, towers.id, "csv", by=bob.id)


def settle_pair(wb, towers, ann, bob, label, note=""):
    """A pair on which ann and bob differ, settled by ann."""
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    for who, said in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, **pair, annotator_id=who.id, label=said)
    agreement.adjudicate(wb, **pair, annotator_id=ann.id, label=label, note=note)
    return pair


def test_an_annotator_imports_the_own_export_with_what_others_gave_and_it_changes_nothing(wb, towers, ann, bob):
    settle_pair(wb, towers, ann, bob, "correct", note="as agreed")
    content = exports.export_labels(wb, towers.id, "jsonl", by=bob.id)
    view = import_labels(wb, towers.id, "own.jsonl", content, by=bob.id)
    assert (view.new, view.same, view.conflicting, view.malformed) == (0, 1, 0, ())
    assert view.notes == ("1 label and 1 verdict that other people gave here already: left as they are",)
    again = exports.export_labels(wb, towers.id, "jsonl", by=bob.id)
    assert again == content
    for before, after in ((b"as agreed", b"as I like it"), (b'"ann": "correct"', b'"ann": "unsure"')):
        assert before in content
        with pytest.raises(people.NotAllowed):
            import_labels(wb, towers.id, "own.jsonl", content.replace(before, after), by=bob.id)


def test_what_is_hidden_from_an_annotator_counts_as_not_here_when_they_import_it(wb, towers, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    content = exports.export_labels(wb, towers.id, "jsonl", by=ann.id)
    with pytest.raises(people.NotAllowed):
        import_labels(wb, towers.id, "theirs.jsonl", content, by=bob.id)


@pytest.mark.parametrize(("label", "number"), [("correct", 1), ("incorrect", 0), ("unsure", None)])
def test_a_settled_pair_leaves_with_both_labels_and_the_verdict(wb, towers, ann, bob, label, number):
    settle_pair(wb, towers, ann, bob, label, note="as agreed")
    [candidate] = json.loads(exports.export_labels(wb, towers.id, "jsonl"))["candidates"]
    assert candidate["label"] == number
    assert candidate["labels"] == {"ann": "correct", "bob": "incorrect"}
    assert candidate["verdict"] == {"by": "ann", "label": label, "note": "as agreed"}
    [alone] = json.loads(exports.export_labels(wb, towers.id, "jsonl", annotator="bob"))["candidates"]
    assert (alone["label"], alone["labels"], "verdict" in alone) == (0, {"bob": "incorrect"}, False)


def test_a_settled_pair_comes_into_another_home_with_labels_names_verdict_and_note_once(
    wb, towers, ann, bob, elsewhere
):
    settle_pair(wb, towers, ann, bob, "incorrect", note="as agreed")
    exported = exports.export_labels(wb, towers.id, "jsonl")
    first = import_new(elsewhere, "set.jsonl", exported)
    assert (first.new, first.verdicts, first.same, first.conflicting, first.malformed) == (2, 1, 0, 0, ())
    assert exports.export_labels(elsewhere, first.corpus_id, "jsonl") == exported
    [found] = agreement.list_conflicts(elsewhere, first.corpus_id, people.find_person(elsewhere, "cy").id)
    assert set(found.labels) == {("ann", "correct"), ("bob", "incorrect")}
    assert (found.verdict, found.by, found.note) == ("incorrect", "ann", "as agreed")
    again = import_labels(elsewhere, first.corpus_id, "set.jsonl", exported)
    assert (again.new, again.verdicts, again.same, again.conflicting, again.malformed) == (0, 0, 2, 0, ())
    assert {x.outcome for x in again.lines} == {"same"}
    assert exports.export_labels(elsewhere, first.corpus_id, "jsonl") == exported


def test_a_verdict_whose_note_is_too_long_is_reported_and_left_out(wb, towers, ann, bob, elsewhere):
    settle_pair(wb, towers, ann, bob, "incorrect", note="as agreed")
    exported = exports.export_labels(wb, towers.id, "jsonl").replace(
        b"as agreed", b"a" * (consensus.MAX_NOTE_CHARS + 1)
    )
    done = import_new(elsewhere, "set.jsonl", exported)
    assert (done.new, done.verdicts) == (2, 0)
    assert [(line, "at most 500 characters, not 501" in reason) for line, reason in done.malformed] == [(1, True)]


def test_a_verdict_that_differs_from_the_one_that_stands_is_a_conflict_and_not_taken(wb, towers, ann, bob):
    pair = settle_pair(wb, towers, ann, bob, "incorrect")
    exported = exports.export_labels(wb, towers.id, "jsonl")
    agreement.adjudicate(wb, **pair, annotator_id=ann.id, label="correct", note="on second thoughts")
    done = import_labels(wb, towers.id, "again.jsonl", exported)
    assert (done.new, done.verdicts, done.same, done.conflicting) == (0, 0, 2, 1)
    assert done.conflicts[0].endswith("verdict incorrect in the file, correct here")
    assert [x.outcome for x in done.lines] == ["conflicting"]
    [found] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (found.verdict, found.note) == ("correct", "on second thoughts")


@pytest.mark.parametrize("fmt", ["old jsonl", "csv"])
def test_a_settled_pair_that_comes_without_names_is_the_same_as_the_verdict_or_in_conflict(wb, towers, ann, bob, fmt):
    pair = settle_pair(wb, towers, ann, bob, "incorrect")
    out = exports.export_labels(wb, towers.id, fmt.removeprefix("old "))
    if fmt == "old jsonl":
        record = json.loads(out)
        for name in ("labels", "verdict"):
            del record["candidates"][0][name]
        out = json.dumps(record).encode()
    done = import_labels(wb, towers.id, "again", out)
    assert (done.new, done.same, done.conflicting) == (0, 1, 0)
    agreement.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    done = import_labels(wb, towers.id, "again", out)
    assert (done.new, done.same, done.conflicting) == (0, 0, 1)


ROUND = ["jsonl", "csv", "qrels", "wikiqa", "beir", "pairs"]


def comes_back(wb, corpus_id, fmt, labels):
    """Whether the corpus can be trained on, and its export brings nothing new."""
    for found in label_selection.load(wb, corpus_id, label_selection.LabelSelection()):
        assert len({c.id for c in found.question.candidates}) == len(found.question.candidates)
    out = exports.export_labels(wb, corpus_id, fmt)
    done = import_labels(wb, corpus_id, "again", out, fmt)
    assert (done.new, done.same, done.conflicting, done.malformed) == (0, labels, 0, ())
    assert exports.export_labels(wb, corpus_id, fmt) == out
    return done


@pytest.mark.parametrize("fmt", ROUND)
def test_a_sentence_whose_id_an_import_used_for_another_leaves_and_comes_back_beside_it(wb, ann, fmt):
    corpus = corpora.create_corpus(wb, "guides")
    ingestion.ingest(wb, corpus.id, [("guide.txt", b"Welcome to the museum. It opens at nine. It closes at five.")])
    question = "When does the museum open?"
    opens = {"id": "guide-0", "text": "It opens at nine.", "label": 1}  # as it was called before the welcome came
    line = json.dumps({"qid": "q", "question": question, "candidates": [opens]})
    import_labels(wb, corpus.id, "old.jsonl", line.encode())
    asked = asking.ask(wb, corpus.id, question)
    welcome = next(c for c in asked.candidates if c.text == "Welcome to the museum.")
    annotation.give_label(
        wb, question_id=asked.question_id, sentence_id=welcome.sentence_id, annotator_id=ann.id, label="incorrect"
    )
    comes_back(wb, corpus.id, fmt, 2)
    [found] = exports.load_labelled_questions(wb, corpus.id)
    assert {c.text: (c.id, c.label) for c in found.candidates} == {
        "It opens at nine.": ("guide-0", 1),
        "Welcome to the museum.": ("guide-0 2", 0),
    }


@pytest.mark.parametrize("fmt", ROUND)
def test_sentences_of_two_questions_under_one_id_are_told_apart_in_a_third(wb, ann, fmt):
    texts = ("The tower is tall.", "The tower is old.")
    content = jsonl.dumps([Question(f"q{i}", f"Why {i}?", (Candidate("0", t, 1),)) for i, t in enumerate(texts)])
    corpus_id = import_new(wb, "set.jsonl", content).corpus_id
    asked = asking.ask(wb, corpus_id, "Is the tower tall or old?")
    assert sorted(c.text for c in asked.candidates) == sorted(texts)
    for c in asked.candidates:
        annotation.give_label(
            wb, question_id=asked.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="correct"
        )
    comes_back(wb, corpus_id, fmt, 4)


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


def beir_zip(qrels: dict[str, list[str]], corpus=({"_id": "a", "text": "It is tall."}, {"_id": "b", "text": "No."})):
    out = io.BytesIO()
    queries = [{"_id": f"q{i}", "text": f"How tall, says {i}?"} for i in range(3)]
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("set/corpus.jsonl", "\n".join(map(json.dumps, corpus)))
        archive.writestr("set/queries.jsonl", "\n".join(map(json.dumps, queries)))
        for split, rows in qrels.items():
            archive.writestr(f"set/qrels/{split}.tsv", "\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return out.getvalue()


def test_a_beir_record_without_a_text_is_reported_and_the_rest_goes_in(wb):
    content = beir_zip({"test": ["q0\ta\t1", "q0\tb\t0"]}, [{"_id": "a", "text": "It is tall."}, {"_id": "b"}])
    done = import_new(wb, "set.zip", content)
    assert (done.format, done.new) == ("beir", 1)
    assert done.malformed == ((2, "of corpus.jsonl: not a BEIR record (no 'text')"), (3, "no 'b' in corpus"))


def test_every_split_of_a_beir_archive_is_imported_and_told_by_its_line(wb):
    splits = {"dev": ["q0\ta\t1"], "test": ["q1\ta\t0", "q1\tb\t1"], "train": ["q2\tb\t2"], "._test": ["\0"]}
    done = import_new(wb, "set.zip", beir_zip(splits))
    assert (done.new, done.questions, done.malformed) == (4, 3, ())
    assert [(x.line, x.outcome, x.what) for x in done.lines] == [
        (2, "new", "in dev.tsv: q0 a"),
        (2, "new", "in test.tsv: q1 a"),
        (2, "new", "in train.tsv: q2 b"),
        (3, "new", "in test.tsv: q1 b"),
    ]


def test_a_beir_archive_of_one_split_is_reported_line_by_line(wb):
    first = import_new(wb, "set.zip", beir_zip({"test": ["q0\ta\t1"]}))
    again = import_labels(wb, first.corpus_id, "set.zip", beir_zip({"test": ["q0\ta\t0", "q0\tb\t0"]}))
    assert [(x.line, x.outcome, x.what) for x in again.lines] == [(2, "conflicting", "q0 a"), (3, "new", "q0 b")]


def test_a_line_of_a_report_has_the_texts_of_its_question_and_its_first_sentence(wb):
    texts = {"a": "It was opened in 1889.", "b": "Tall " * 50, "c": "It is made of iron."}
    question = {"qid": "q0", "question": "When was it opened?", "candidates": [
        {"id": name, "text": text, "label": int(name == "a")} for name, text in texts.items()]}  # fmt: skip
    done = import_new(wb, "set.jsonl", json.dumps(question).encode())
    assert [x.text for x in done.lines] == ["When was it opened? · It was opened in 1889., and 2 more"]
    labels = b"question,sentence,label\nWhen was it opened?," + texts["b"].encode() + b",correct\n,,\n"
    lines = import_labels(wb, done.corpus_id, "more.csv", labels).lines
    assert [x.outcome for x in lines] == ["conflicting", "malformed"] and lines[1].text == ""
    assert lines[0].text.startswith("When was it opened? · Tall Tall") and len(lines[0].text) < 150


def test_what_comes_for_a_corpus_that_was_deleted_meanwhile_is_told_so(wb, towers, ann):
    corpora.delete_corpus(wb, towers.id)
    question = Question("q0", "How high is it?", (Candidate("c0", "It is tall.", 1),))
    with pytest.raises(UnknownCorpus, match="deleted meanwhile"):
        storage.store_questions(wb, towers.id, [question], storage.ImportOptions(ann.id))


@pytest.mark.shared
def test_the_real_wikiqa_file_goes_round(wb):
    path = Path(__file__).parents[4] / "shared" / "data" / "wikiqa" / "WikiQA-dev.tsv"
    if not path.is_file():
        pytest.skip("WikiQA is not at hand (it belongs into ../shared/data)")
    done = import_labels(wb, None, path.name, path)
    assert (done.questions, done.new) == (296, 2733)
    assert exports.export_labels(wb, done.corpus_id, "wikiqa") == path.read_bytes()


def test_a_label_file_whose_name_is_not_utf8_is_imported_under_a_name_that_is(wb):
    line = b'{"qid": "q", "question": "Who?", "candidates": [{"id": "c", "text": "Me.", "label": 1}]}\n'
    report = import_labels(wb, None, "L\udce9ger.jsonl", line)
    assert corpora.get_corpus(wb, report.corpus_id).name == "L\u00e9ger"


def test_a_signature_in_other_capitals_is_the_person_of_that_name(wb, ann):
    signed = replace(QUESTIONS[0].candidates[0], annotations=(("ANN", "correct"), ("Import", "correct")))
    question = replace(QUESTIONS[0], candidates=(signed, *QUESTIONS[0].candidates[1:]))
    corpus = import_new(wb, "set.jsonl", jsonl.dumps([question])).corpus_id
    with wb.read() as s:
        signers = {(r.annotator, r.imported) for r in label_rows.list_labels_of_corpus(s, corpus)}
    assert signers == {("ann", False), ("import", True)}
    assert [p.name for p in people.list_people(wb) if p.name.lower() == "ann"] == ["ann"]
