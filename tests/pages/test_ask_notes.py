"""What stands around the answer on Ask: the sentence that was judged right, links into documents, places held for the
generative scores, and how far search by meaning is."""

import threading
from urllib.parse import parse_qsl, quote_plus

import pytest
import stored
from app_pages import markup, open_page, texts
from ask_page import QUESTION, ask_question, open_ask, table, view_of
from fake_models import FakeEmbedder, FakeGenerative

from app.corpora import documents, indexing, ingestion
from app.jobs.attempt import run_queued
from app.labels import annotation, rules
from app.ranking.synonyms import write_synonyms
from app.ui.label.buttons import UNLABELLED
from app.ui.wording import describe_vectors
from app.workbench import people
from app.worker import RUNNERS
from as2core.errors import DamagedModel
from db.models import Annotator, Job

ANSWER = 11  # the sentence that answers QUESTION


def label(wb, at, who, sentence_id, value="correct"):
    annotation.give_label(
        wb, question_id=view_of(at).question_id, sentence_id=sentence_id, annotator_id=who.id, label=value
    )


def sentence_id(at, row):
    return view_of(at).candidates[int(row["position"])].sentence_id


def links(at):
    """The page and the query of every link to another page."""
    return [(link.proto.label, link.proto.query_string) for link in at.get("page_link")]


def test_without_labels_no_sentence_is_called_right(wb):
    assert "Labelled correct" not in texts(ask_question())


def test_where_the_answer_is_labelled_incorrect_the_sentence_judged_right_is_named_and_one_click_away(wb, me):
    at = ask_question()
    row = table(at).iloc[3]
    label(wb, at, me, sentence_id(at, row))
    label(wb, at, me, ANSWER, "incorrect")
    at.run()
    place = view_of(at).candidates[int(row["position"])]
    named = f"Labelled correct instead: “{row['sentence']}” ({place.title}, sentence {place.position + 1}; rank 4)"
    assert named in texts(at)
    query = f"corpus=Works&queue=tops&mode=list&only={view_of(at).question_id}"
    assert ("Label its candidates", query) in links(at)
    at.button(key="as2_overlooked").click().run()
    assert at.session_state["_as2_chosen"] == row["position"]
    assert row["sentence"] in markup(at).split('class="as2-details"')[1]


def test_a_label_that_came_with_the_corpus_is_told_beside_the_own_ones(wb, ann, me):
    at = ask_question()
    label(wb, at, ann, ANSWER)
    assert "The corpus came with" not in texts(at.run())  # a person gave it
    with wb.write() as s:
        s.get_one(Annotator, ann.id).imported = True
    assert f"{UNLABELLED}\nThe corpus came with this sentence labelled correct." in texts(at.run())
    at = open_page("ask", {"corpus": "Works", "q": QUESTION, "against": "bm25"})
    assert texts(at).count("The corpus came with this sentence labelled correct.") >= 1
    label(wb, at, me, ANSWER, "incorrect")
    assert "The corpus came with" not in texts(at.run())  # what a person says counts


def test_of_several_the_best_ranked_is_named_and_a_dropped_one_with_its_exit(wb, me):
    at = ask_question()
    dropped = table(at)[table(at)["dropped"] == "layer 2"]
    for _, row in dropped.iloc[[5, 0, 2]].iterrows():
        label(wb, at, me, sentence_id(at, row))
    at.run()
    first = dropped.iloc[0]
    assert f"Labelled correct: “{first['sentence']}”" in texts(at)
    assert "dropped after layer 2, rank 29) and 2 more" in texts(at)  # 28 of 40 stay


def test_an_answer_that_is_labelled_correct_hides_the_others(wb, me):
    at = ask_question()
    label(wb, at, me, sentence_id(at, table(at).iloc[3]))
    label(wb, at, me, ANSWER)
    assert "Labelled correct" not in texts(at.run())


@pytest.mark.parametrize("more_settings", [{"candidates": 5}])
def test_a_sentence_judged_right_that_was_not_retrieved_is_named_with_a_link_to_it(wb, me):
    at = ask_question()
    missing = next(i for i in range(ANSWER, ANSWER + 20) if i not in {c.sentence_id for c in view_of(at).candidates})
    label(wb, at, me, missing)
    at.run()
    assert f"Labelled correct: “{stored.sentence(wb, missing)}”" in texts(at)
    assert "the search did not retrieve it" in texts(at)
    number = missing - ANSWER + 1
    address = f"corpus=Works&view=documents&doc=Iron_works&sentence={number}&q={quote_plus(QUESTION)}"
    assert ("Open the document", address) in links(at)


def test_anothers_label_stays_hidden_until_ones_own_is_given_where_two_are_to_label(wb, me):
    rules.set_rules(wb, stored.WORKS, by=me.id, overlap=2)
    at = ask_question()
    other = sentence_id(at, table(at).iloc[3])
    label(wb, at, people.sign_in(wb, "ann"), other)
    assert "Labelled correct" not in texts(at.run())
    label(wb, at, me, other)
    assert "Labelled correct" in texts(at.run())


def test_the_answer_links_to_its_sentence_and_the_link_shows_it_marked(wb):
    [(name, query), *_] = [link for link in links(ask_question()) if "view=documents" in link[1]]
    assert name == "Open the document"
    assert query.startswith("corpus=Works&view=documents&doc=Iron_works&sentence=1&")
    at = open_page("data", dict(parse_qsl(query)))
    assert '<span class="s here"><mark><sup>1</sup>The hall was finished in 1889.</mark>' in markup(at)
    assert at.query_params["sentence"] == "1"


def test_a_document_opened_from_a_question_leads_back_to_it(wb):
    [(_, query), *_] = [link for link in links(ask_question()) if "view=documents" in link[1]]
    at = open_page("data", dict(parse_qsl(query)))
    assert ("Back to the question", f"corpus=Works&q={quote_plus(QUESTION)}") in links(at)
    at = at.segmented_control(key="data_view").set_value("questions").run()
    assert "q" not in at.query_params
    assert "Back to the question" not in dict(links(open_page("data", {"corpus": "Works", "view": "documents"})))


def test_the_way_back_from_a_document_leads_to_the_model_that_answered(wb):
    at = open_page("data", {"corpus": "Works", "view": "documents", "q": QUESTION, "model": "starter-3"})
    assert ("Back to the question", f"corpus=Works&q={quote_plus(QUESTION)}&model=starter-3") in links(at)


def test_another_document_than_the_links_marks_nothing(wb):
    at = open_page("data", {"corpus": "Works", "view": "documents", "doc": "Iron_works", "sentence": "no"})
    assert "<mark>" not in markup(at)


def test_columns_of_the_generative_scores_are_there_before_the_scores(wb, monkeypatch):
    ready, score = threading.Event(), FakeGenerative.score
    monkeypatch.setattr(FakeGenerative, "score", lambda *args: ready.wait(10) and score(*args))
    at = open_ask({"q": QUESTION})
    before, columns = table(at), at.dataframe[0].proto.column_order
    assert set(before["generative"]) == set(before["together"]) == set(before["differ"]) == {"…"}
    assert "Generative rank … of 40. Document rank 2 of " in markup(at)
    expanders = len(at.expander)
    ready.set()
    at.session_state["_as2_result"][1].generative.result(timeout=60)
    at.run()
    assert sorted(table(at)["generative"]) == list(range(1, 41))
    assert at.dataframe[0].proto.column_order == columns
    assert list(columns)[:2] == ["cascade", "sentence"]  # a phone has room for two
    assert len(at.expander) == expanders
    assert "Generative scores: computed for 40 candidates." in texts(at)


def test_columns_of_scores_that_failed_say_so(wb):
    (wb.settings.models_dir / "generative" / "model.safetensors").write_bytes(b"damaged")
    at = ask_question()
    assert set(table(at)["generative"]) == {"failed"}
    assert "Generative rank" not in markup(at)


def run_embed(wb):
    indexing.request_vectors(wb, stored.WORKS)
    run_queued(wb, RUNNERS)


def test_with_all_vectors_the_page_says_nothing_of_search_by_meaning(wb):
    index = wb.index(stored.WORKS)
    run_embed(wb)
    assert index.count_vectors() == index.count()
    at = ask_question()
    assert "Search by meaning" not in texts(at) and not at.get("progress")


def test_without_vectors_the_answer_says_how_far_they_are_and_offers_another_search_when_they_are_there(wb):
    at = ask_question()
    total = wb.index(stored.WORKS).count()
    [bar] = at.get("progress")
    assert bar.proto.text == describe_vectors(0, total)
    assert all(c.vector_rank is None for c in view_of(at).candidates)
    at.button(key="as2_prepare").click().run()
    with wb.write() as s:
        s.get_one(Job, indexing.request_vectors(wb, stored.WORKS)).message = "64 of 900 passages, 4 to 6 min left"
    [bar] = at.run().get("progress")
    assert bar.proto.text == describe_vectors(0, total, ", 4 to 6 min left")
    assert describe_vectors(0, total, ", 4 to 6 min left") in [caption.value for caption in at.sidebar.caption]
    run_queued(wb, RUNNERS)
    at.run()
    assert "Search by meaning is ready. This answer was found by its words alone." in texts(at)
    at.button(key="as2_again").click().run()
    assert any(c.vector_rank for c in view_of(at).candidates)
    assert "Search by meaning" not in texts(at) and not at.get("progress")


def test_vectors_that_come_later_leave_the_result_and_a_new_version_of_a_document_does_not(wb, me):
    at = ask_question()
    before = view_of(at)
    run_embed(wb)
    assert view_of(at.run()) is before
    ingestion.ingest(wb, stored.WORKS, [("Iron_works.txt", b"The hall was finished in 1890.")], by=me.id)
    at.run()
    assert "The hall was finished in 1890.</mark>" in markup(at)
    assert view_of(at.run()) is not before


def test_the_answer_of_a_document_that_was_deleted_is_not_shown_again(wb, me):
    at = ask_question()
    documents.delete_document(wb, view_of(at).candidates[view_of(at).best].document_id, by=me.id)
    at.run()
    assert {c.title for c in view_of(at).candidates} == {"Other iron works"}
    assert "Iron works <span>" not in markup(at)


def test_a_synonym_saved_meanwhile_is_read_in_the_question_and_its_page_leads_back(wb, me):
    at = open_page("ask", {"corpus": "Works", "q": "When was the palace finished?"})
    write_synonyms(wb, stored.WORKS, "palace => hall", by=me.id)
    assert "Read as: When was the palace (hall) finished?" in texts(at.run())
    [query] = [query for label, query in links(at) if label == "Synonyms"]
    at = open_page("data", dict(parse_qsl(query)))
    assert ("Back to the question", f"corpus=Works&q={quote_plus('When was the palace finished?')}") in links(at)


def test_a_damaged_embedder_is_named_and_no_other_search_is_offered(wb, monkeypatch):
    run_embed(wb)

    def refuse(self, question):
        raise DamagedModel("no weights")

    monkeypatch.setattr(FakeEmbedder, "embed_question", refuse)
    at = ask_question()
    assert "no weights" in texts(at)
    assert "as2_again" not in [b.key for b in at.button]
