"""Documents go in, and questions about them are answered."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from sqlalchemy import select

from app.ask import asking
from db.models import Question


def test_documents_go_in_once_and_a_second_time_changes_nothing(as2, as2_json, articles):
    first = as2_json("ingest", articles, "--corpus", "mine")
    assert first["corpus"] == "mine"
    assert {k: first["result"][k] for k in ("added", "unchanged", "sentences")} == {
        "added": 2,
        "unchanged": 0,
        "sentences": 5,
    }
    assert "Vectors are computed" not in as2("ingest", articles, "--corpus", "mine")[2]
    again = as2_json("ingest", articles, "--corpus", "mine")
    assert {k: again["result"][k] for k in ("added", "updated", "unchanged")} == {
        "added": 0,
        "updated": 0,
        "unchanged": 2,
    }


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_in(as2, articles):
    bad = articles / "scan.pdf"
    bad.write_bytes(b"not a pdf at all")
    code, out, err = as2("ingest", articles, "--json")
    assert code == 1
    assert json.loads(out)["result"]["added"] == 2
    assert [line for line in err.splitlines() if line.startswith("as2: scan.pdf: ")]


def test_files_of_other_kinds_in_a_folder_are_named(as2, articles):
    (articles / "table.xyz").write_text("x")
    (articles / ".git").mkdir()
    (articles / ".git" / "4ab1").write_text("x")
    code, _, err = as2("ingest", articles, "--corpus", "mine")
    assert code == 0 and "files of other kinds left out: 1 (.xyz)" in err


@pytest.mark.parametrize("what", ["nowhere", "empty"])
def test_nothing_to_ingest_is_said(as2, tmp_path, what):
    (tmp_path / "empty").mkdir()
    code, out, err = as2("ingest", tmp_path / what)
    assert (code, out) == (1, "")
    assert what in err


def test_files_of_one_name_are_refused_as_the_second_would_replace_the_first(as2, as2_json, articles, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "bread.txt").write_text("Flat bread does not rise.")
    for given in ([articles / "bread.txt", other / "bread.txt"], [articles, other]):
        code, out, err = as2("ingest", *given)
        assert (code, out) == (1, "")
        assert f"{articles / 'bread.txt'} and {other / 'bread.txt'} would both be named 'bread.txt'" in err
    assert as2_json("ingest", articles, articles / "bread.txt")["result"]["added"] == 2  # the same file, meant once
    assert as2_json("ingest", tmp_path, "--corpus", "above")["result"]["added"] == 3


def test_an_ingest_that_adds_nothing_leaves_no_corpus_that_every_command_would_take(as2, as2_json, articles, tmp_path):
    as2("ingest", articles, "--corpus", "mine")
    bad = tmp_path / "scan.pdf"
    bad.write_bytes(b"not a pdf at all")
    code, out, err = as2("ingest", bad, "--corpus", "new")
    assert code == 1 and "0 added" in out and "new corpus" not in err
    assert as2_json("ask", "When was Kestrel Tower finished?")["corpus"] == "mine"
    code, _, err = as2("ingest", bad, "--corpus", "mine")
    assert code == 1 and as2_json("reindex", "--corpus", "mine")["documents"] == 2
    assert "new corpus 'new'" in as2("ingest", articles, "--corpus", "new")[2]


def test_a_question_is_answered_from_the_newest_corpus(as2, as2_json, articles):
    as2("ingest", articles, "--corpus", "mine")
    document = as2_json("ask", "When was Kestrel Tower finished?", "--drop-ratio", "0.5")
    texts = {c["text"]: c for c in document["candidates"]}
    assert document["corpus"] == "mine" and document["version"] == "cascade"
    assert "The tower was finished in 1889." in texts
    assert [c["rank"] for c in document["candidates"]] == list(range(1, len(texts) + 1))
    assert 1 in [c["document_rank"] for c in document["candidates"]]
    assert all(0 <= c["probability"] <= 1 for c in document["candidates"])
    scored = [e["candidates"] for e in document["exits"]]
    assert scored[0] == len(texts) and scored[1] == len(texts) - len(texts) // 2
    dropped = sum(c["dropped_after_layer"] is not None for c in document["candidates"])
    assert dropped == len(texts) - document["exits"][-1]["kept"]


def test_where_no_sentence_seems_to_answer_the_probabilities_are_said_to_compare_only(as2, articles, monkeypatch):
    rate = asking.rate_candidates
    monkeypatch.setattr(asking, "rate_candidates", lambda *of: (rate(*of)[0], np.zeros(len(rate(*of)[0]), dtype=bool)))
    as2("ingest", articles, "--corpus", "mine")
    out = as2("ask", "When was Kestrel Tower finished?")[1]
    assert "No sentence seems to answer the question. The probabilities only compare the candidates with each" in out


def label_last(question, ranked):
    """Ann labels the last of the ranked candidates of a stored question correct, and the first incorrect."""
    from app import bootstrap
    from app.labels import annotation
    from app.workbench import people
    from db.models import Sentence

    with contextlib.closing(bootstrap.open()) as wb:
        ann = people.sign_in(wb, "ann")
        with wb.read() as s:
            ids = {s.get_one(Sentence, c["sentence_id"]).text: c["sentence_id"] for c in ranked}
            question_id = s.scalars(select(Question.id).where(Question.text == question)).one()
        for place, label in ((-1, "correct"), (0, "incorrect")):
            sentence_id = ids[ranked[place]["text"]]
            annotation.give_label(
                wb, question_id=question_id, sentence_id=sentence_id, annotator_id=ann.id, label=label
            )


def test_asked_again_labels_come_first_and_last_unless_they_are_to_be_ignored(as2, as2_json, articles):
    as2("ingest", articles, "--corpus", "mine")
    question = "When was Kestrel Tower finished?"
    ranked = as2_json("ask", question)["candidates"]
    label_last(question, ranked)
    texts = [c["text"] for c in ranked]
    again = as2_json("ask", "when was the kestrel tower finished")["candidates"]
    assert [c["text"] for c in again] == [texts[-1], *texts[1:-1], texts[0]]
    assert [c["rank"] for c in again] == [len(texts), *range(2, len(texts)), 1]
    labelled = {"label": "correct", "by": ["ann"], "settled_by": None, "question": question}
    assert again[0]["labelled"] == labelled
    assert again[-1]["labelled"]["label"] == "incorrect" and again[1]["labelled"] is None
    assert [c["text"] for c in as2_json("ask", question, "--ignore-labels")["candidates"]] == texts
    _, out, err = as2("ask", question)
    assert f"[{texts[-1]}]" in out and "labelled correct by ann" in out
    assert f"the ranker's own answer: {texts[0]} (--ignore-labels shows its order)" in err
    assert "listed last" not in err  # all are shown
    assert "rank 1 is labelled incorrect and listed last (--ignore-labels" in as2("ask", question, "--top-n", "2")[2]


def test_the_answer_in_words_stands_in_its_document(as2, articles):
    as2("ingest", articles)
    code, out, _ = as2("ask", "When was Kestrel Tower finished?", "--top-n", "2")
    assert code == 0
    assert "1889" in out and "Kestrel Tower" in out and "of the cascade's compute saved" in out


def test_an_answer_leads_to_its_file_and_its_place_there(as2, as2_json, tmp_path):
    text = "Some words first. The filter is changed every month. It is cheap."
    (tmp_path / "docs" / "pump").mkdir(parents=True)
    (tmp_path / "docs" / "pump" / "care.txt").write_text(text)
    as2("ingest", tmp_path / "docs")
    (best,) = (c for c in as2_json("ask", "How often is the filter changed?")["candidates"] if "filter" in c["text"])
    assert (best["source"], best["external_id"]) == ("pump/care.txt", "pump/care")
    assert text[best["start"] : best["end"]] == best["text"] == "The filter is changed every month."
    out = as2("ask", "How often is the filter changed?")[1]
    assert "  care (pump/care.txt), probability" in out and "to load it, with cascade on documents" in out


def test_top_n_cuts_the_json_of_an_answer_only_where_it_is_given(as2, as2_json, tmp_path):
    (tmp_path / "a.txt").write_text(" ".join(f"The filter {i} is changed every month." for i in range(8)))
    as2("ingest", tmp_path / "a.txt")
    assert len(as2_json("ask", "When is the filter changed?")["candidates"]) == 8
    assert len(as2_json("ask", "When is the filter changed?", "--top-n", "2")["candidates"]) == 2


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["ask", "Why?"], "as2 ingest"),
        (["ask", "Why?", "--corpus", "nosuch"], "no corpus 'nosuch'"),
        (["reindex", "--corpus", "nosuch"], "no corpus 'nosuch'"),
        (["reindex", "--ray", "here"], "--ray"),
        (["labels", "import", "nowhere.jsonl"], "nowhere.jsonl"),
        (["labels", "import", __file__, "--corpus", "nosuch"], "`as2 ingest --corpus` makes one of documents"),
        (["labels", "export", "-", "--corpus", "nosuch"], "no corpus 'nosuch'"),
        (["versions", "promote", "nosuch"], "no version 'nosuch'"),
        (["versions", "show", "nosuch"], "no version 'nosuch'"),
        (["versions", "reject", "cascade"], "cascade"),
        (["versions", "roll-back"], "nothing to roll back"),
        (["versions", "roll-back", "--kind", "wo"], "no wo version was promoted: there is nothing to roll back to"),
        (["jobs", "show", "7"], "no job 7"),
        (["jobs", "cancel", "7"], "no job 7"),
        (["jobs", "retry", "7"], "no job 7"),
        (["eval", "wo", "labels:nosuch"], "no corpus 'nosuch'"),
        (["adapt"], "as2 ingest"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_what_is_not_there_is_said_in_one_line(as2, argv, said):
    code, out, err = as2(*argv)
    assert (code, out, err.count("\n")) == (1, "", 1), err
    assert said in err
