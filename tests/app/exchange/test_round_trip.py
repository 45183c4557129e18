"""Labels that leave come back as the same."""

import json
from pathlib import Path

import pytest
from exchanged import QUESTIONS, WIKIQA, import_new, ratings, settle_pair
from label_files import import_labels

from app.adapt import label_selection
from app.ask import asking
from app.corpora import corpora, documents, ingestion
from app.exchange import exports
from app.labels import annotation, rules
from app.labels import consensus as labels
from app.workbench import people
from as2core.data import jsonl, qrels
from as2core.data.catalog import TOOLS
from as2core.data.source import format_rows, read_all
from as2core.types import Candidate, Question
from db.repositories import candidates as candidate_rows


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


def test_jsonl_keeps_ids_order_kinds_titles_and_what_nobody_judged(wb):
    done = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS))
    assert exports.load_labelled_questions(wb, done.corpus_id) == QUESTIONS
    assert exports.export_labels(wb, done.corpus_id, "jsonl").decode() == jsonl.dumps(QUESTIONS)


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


def test_jsonl_brings_unsure_and_disputed_labels_into_another_corpus_as_theirs_who_gave_them(wb, ann, bob):
    corpus = import_new(wb, "set.jsonl", jsonl.dumps(QUESTIONS)).corpus_id
    question = next(x for x in labels.load_questions(wb, corpus) if x.question.qid == "q-1")
    with wb.read() as s:
        rows = candidate_rows.list_candidate_rows(s, corpus)
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


@pytest.mark.shared
def test_the_real_wikiqa_file_goes_round(wb):
    path = Path(__file__).parents[4] / "shared" / "data" / "wikiqa" / "WikiQA-dev.tsv"
    if not path.is_file():
        pytest.skip("WikiQA is not at hand (it belongs into ../shared/data)")
    done = import_labels(wb, None, path.name, path)
    assert (done.questions, done.new) == (296, 2733)
    assert exports.export_labels(wb, done.corpus_id, "wikiqa") == path.read_bytes()
