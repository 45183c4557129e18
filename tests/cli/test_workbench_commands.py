"""The commands that need the database, over a home of their own and the shipped models."""

from __future__ import annotations

import contextlib
import errno
import io
import json
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from app.ask import asking
from app.cli import version_directories
from as2core.rankers.catalog import MODELS_DIR
from db.models import Question

ARTICLES = {
    "tower.md": "# Kestrel Tower\n\nThe tower was finished in 1889. It has three lifts. Rain stops nobody.\n",
    "bread.txt": "Bread rises because yeast makes gas. A loaf needs an hour in the oven.\n",
}
QUESTION = {
    "qid": "q1",
    "question": "In which year was Kestrel Tower finished?",
    "candidates": [
        {"id": "a-0", "text": "Kestrel Tower was finished in 1889.", "label": 1, "title": "Kestrel Tower"},
        {"id": "a-1", "text": "Kestrel Tower has three lifts.", "label": 0, "title": "Kestrel Tower"},
    ],
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty AS2_HOME, without the starter corpus, whose jobs nobody runs."""
    from app.workbench.settings import get_settings

    monkeypatch.setenv("AS2_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AS2_CORPORA_DIR", str(tmp_path / "no-corpora"))
    monkeypatch.setenv("AS2_WORKER", "external")
    get_settings.cache_clear()
    yield tmp_path / "home"
    get_settings.cache_clear()


@pytest.fixture
def as2(home, as2):
    return as2


@pytest.fixture
def articles(tmp_path):
    folder = tmp_path / "articles"
    folder.mkdir()
    for name, text in ARTICLES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def label_file(tmp_path):
    path = tmp_path / "kestrel.jsonl"
    path.write_text(json.dumps(QUESTION) + "\n")
    return path


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


def test_labels_go_in_and_come_out_as_they_were(as2, as2_json, label_file, tmp_path):
    done = as2_json("labels", "import", label_file)
    assert (done["new"], done["questions"], done["malformed"]) == (2, 1, [])
    code, _, err = as2("labels", "export", tmp_path / "out.jsonl")
    assert code == 0 and "kestrel: 1 question with 2 labels as jsonl in " in err
    assert json.loads((tmp_path / "out.jsonl").read_text()) == QUESTION


def test_an_export_that_ends_early_leaves_the_file_as_it_was(as2, label_file, tmp_path, monkeypatch):
    def write_half(path, content):
        path.open("wb").write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    as2("labels", "import", label_file)
    (tmp_path / "out.jsonl").write_text("what was exported before")
    monkeypatch.setattr(Path, "write_bytes", write_half)
    code, _, err = as2("labels", "export", tmp_path / "out.jsonl")
    assert (code, err) == (1, "as2: the disk is full: free some space and try again\n")
    assert (tmp_path / "out.jsonl").read_text() == "what was exported before"
    assert not list(tmp_path.glob(".*.part"))


def test_a_corpus_without_labels_says_so_where_data_is_read(as2, articles):
    as2("ingest", articles)
    code, _, err = as2("eval", "bm25", "labels:documents")
    assert code == 1 and err.startswith("as2: labels:documents: nothing is labelled there yet; label on the page Label")


def test_an_import_names_the_corpus_it_makes_and_what_it_adds_to_one(as2, as2_json, articles, label_file):
    as2("ingest", articles, "--corpus", "mine")
    code, out, err = as2("labels", "import", label_file, "--corpus", "mine")
    assert code == 0 and "new corpus" not in err
    assert out.endswith("; 1 question; 2 new sentences, 1 new document and 1 new question in 'mine'\n")
    assert as2("labels", "import", label_file, "--corpus", "mine")[1].endswith("; 1 question\n")
    assert "new corpus 'kestrel'\n" in as2("labels", "import", label_file)[2]
    again = as2_json("labels", "import", label_file)
    assert (again["corpus"], again["is_new_corpus"], again["new_documents"]) == ("kestrel 2", True, 1)


def test_an_interrupted_import_says_how_to_go_on(as2, label_file, monkeypatch):
    from app.exchange import storage

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as interruption:
        interruption.setattr(storage._BatchImport, "store", interrupt)
        code, out, err = as2("labels", "import", label_file)
    assert (code, out) == (130, "")
    assert "as2: kestrel.jsonl: 0 of 1 questions are in; go on with --corpus 'kestrel'\nstopped\n" in err
    assert "2 new labels" in as2("labels", "import", label_file, "--corpus", "kestrel")[1]


def test_a_folder_is_no_label_file(as2, tmp_path):
    code, out, err = as2("labels", "import", tmp_path)
    assert (code, out) == (1, "") and f"{tmp_path}: it is a folder; " in err
    assert "there is no such file" in as2("labels", "import", tmp_path / "gone.tsv")[2]


def test_labels_for_standard_output_are_all_there_is_on_it(as2, label_file):
    as2("labels", "import", label_file)
    assert as2("labels", "export", "-", "--format", "qrels") == (0, "q1 0 a-0 1\nq1 0 a-1 0\n", "")


def test_labels_go_to_another_tool_and_come_back_and_records_are_told_by_number(as2, as2_json, label_file, tmp_path):
    as2("labels", "import", label_file, "--annotator", "ann")
    file = tmp_path / "tasks.json"
    code, _, err = as2("labels", "export", file, "--format", "label-studio")
    assert code == 0 and "kestrel: 1 question with 2 labels as label-studio in " in err
    tasks = json.loads(file.read_text())
    assert [t["annotations"][0]["completed_by"] for t in tasks] == [{"email": "ann"}] * 2
    assert all(0 <= t["predictions"][0]["score"] <= 1 for t in tasks)
    assert as2_json("labels", "import", file, "--corpus", "kestrel")["same"] == 2
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["perhaps"]
    file.write_text(json.dumps(tasks))
    code, out, err = as2("labels", "import", file)
    assert code == 1 and "1 new label, " in out and "1 malformed record; " in out
    assert "as2: tasks.json: record 2: label 'perhaps' is neither" in err


def test_the_rating_from_which_on_a_sentence_is_correct_is_an_option(as2, tmp_path):
    (tmp_path / "case.csv").write_text("Query Text,Doc ID,Rating,text\nWho?,1,3,She.\nWho?,2,1,He.\n")
    for least, expected in ((None, 2), (2, 1)):
        options = ["--correct-from", str(least)] if least else []
        code, out, _ = as2("labels", "import", tmp_path / "case.csv", *options)
        assert code == 0 and f"; a rating of {least or 1} or more counts as correct\n" in out
        name = "case" if least is None else "case 2"
        assert as2("labels", "export", "-", "--corpus", name, "--format", "pairs")[1].count('"label": 1') == expected


def test_a_malformed_line_of_labels_is_told_and_the_others_go_in(as2, label_file):
    label_file.write_text(label_file.read_text() + "{broken\n")
    code, out, err = as2("labels", "import", label_file, "--json")
    assert (code, json.loads(out)["new"]) == (1, 2)
    assert "kestrel.jsonl: line 2" in err


def test_candidates_without_a_text_are_counted_once_and_are_no_error(as2, as2_json, label_file):
    blank = [{**QUESTION["candidates"][1], "id": f"a-{i}", "text": ""} for i in (2, 3)]
    label_file.write_text(json.dumps({**QUESTION, "candidates": [*QUESTION["candidates"], *blank]}) + "\n")
    code, out, err = as2("labels", "import", label_file)
    assert code == 0 and "without" not in err and "line" not in err
    assert "2 new labels, " in out and "0 malformed lines; " in out and "; 2 candidates without a text left out" in out
    assert as2_json("labels", "import", label_file)["textless"] == 2


def test_an_import_says_how_many_questions_it_moved_to_another_split(as2, label_file):
    assert "moved" not in as2("labels", "import", label_file, "--split", "train")[1]
    out = as2("labels", "import", label_file, "--corpus", "kestrel", "--split", "test")[1]
    assert out.endswith("1 question; moved from train to test: 1\n")


def test_labels_given_here_can_be_evaluated_on(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    by_default = as2_json("eval", "wo", "labels")
    by_name = as2_json("eval", "wo", "labels:kestrel")
    # six words shared with the right sentence, two with the other
    assert by_default["AP"] == by_name["AP"] == 1.0
    assert by_default["questions"] == 1


def test_too_few_labels_are_told_before_anything_starts(as2, label_file):
    as2("labels", "import", label_file)
    code, out, err = as2("adapt")
    assert (code, out) == (1, "")
    assert "needed" in err
    assert f"seed={2**70}: give a whole number from 0 to" in as2("adapt", "--seed", 2**70)[2]
    assert as2("jobs")[1].count("retrain") == 0


def test_adapt_says_beforehand_that_the_shipped_model_knows_these_questions(as2, label_file, tmp_path):
    starter = tmp_path / "no-corpora" / "starter"
    starter.mkdir(parents=True)
    (starter / "train.jsonl").write_text(json.dumps(QUESTION) + "\n")
    as2("labels", "import", label_file)
    assert "The shipped version has already learnt from all training questions here." in as2("adapt", "--dry-run")[2]


def test_a_dry_run_says_what_would_be_learnt_from(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    ready = as2_json("adapt", "--dry-run")
    assert (ready["labels"], ready["correct"], ready["incorrect"]) == (2, 1, 1) and ready["problems"]
    assert as2_json("adapt", "--dry-run", "--label-kind", "people")["labels"] == 0
    code, out, err = as2("adapt", "--dry-run")
    assert (code, out) == (1, "") and ready["problems"][0] in err
    assert "already learnt" not in err
    assert "'bm25' is not one of 'cascade'" in as2("adapt", "--dry-run", "--kind", "bm25")[2]


def test_an_annotator_without_labels_is_named_and_not_taken_for_an_empty_corpus(as2, as2_json, label_file):
    as2("labels", "import", label_file)
    reason = "abel by 'nobody' in 'kestrel'; annotators with labels: import"
    code, out, err = as2("labels", "export", "-", "--annotator", "nobody")
    assert (code, out) == (1, "") and reason in err
    code, out, err = as2("adapt", "--dry-run", "--annotator", "import", "--annotator", "nobody")
    assert (code, out) == (1, "") and reason in err
    assert reason in as2_json("adapt", "--dry-run", "--annotator", "nobody")["problems"][0]
    assert reason in as2("adapt", "--annotator", "nobody")[2]


def test_a_dry_run_tells_what_becomes_of_chosen_questions(as2, as2_json, label_file, tmp_path):
    as2("labels", "import", label_file)
    file = tmp_path / "questions.txt"
    file.write_text(f"\n{QUESTION['question']}\n")
    ready = as2_json("adapt", "--dry-run", "--questions", file)
    assert (ready["narrowing"]["questions"], ready["narrowing"]["unlabelled"]) == (1, 0)
    file.write_text("Where?\n")
    assert "the first is 'Where?'" in as2("adapt", "--dry-run", "--questions", file)[2]
    file.write_text("\n")
    assert "has no question: write one a line" in as2("adapt", "--questions", file)[2]


def test_a_promotion_of_another_kind_is_rolled_back_by_its_kind(as2):
    from app.cli.context import workbench
    from app.versions import registry
    from db.repositories import versions as rows

    with workbench(starter=False) as wb:
        shipped = registry.get_active(wb, "generative").id
        with wb.write() as s:
            rows.add_activation(s, "generative", shipped, "", wb.clock())
    assert as2("versions", "roll-back")[0] == 1
    assert as2("versions", "roll-back", "--kind", "generative") == (0, "generative is active again\n", "")
    assert as2("versions", "roll-back", "--kind", "generative")[0] == 1


def test_the_words_of_a_promotion_stand_beside_the_card(as2, as2_json):
    from app.cli.context import workbench
    from db.repositories import versions as rows

    with workbench(starter=False) as wb, wb.write() as s:
        for words in ("our field", "", "the other one is slow"):
            rows.add_activation(s, "cascade", rows.find_version(s, name="cascade").id, words, wb.clock())
    said = as2_json("versions", "show", "cascade")["promotions"]
    assert [p["words"] for p in said] == ["our field", "the other one is slow"]
    assert all(p["at"][:2] == "20" for p in said)


@pytest.mark.slow
def test_the_gates_of_the_home_are_checked_alone_and_a_miss_is_exit_code_3(as2, as2_json, tmp_path):
    from app.workbench.settings import Settings
    from as2core.data import jsonl
    from as2core.types import Candidate, Question

    assert as2("versions", "check", "cascade") == (0, "no gate is set for its kind\n", "")
    candidates = (Candidate("a", "It rained all day.", 0), Candidate("b", "The tower was finished in 1889.", 1))
    data = tmp_path / "set.jsonl"
    data.write_text(jsonl.dumps([Question("q", "When was the tower finished?", candidates)]))
    folder = Settings().gates_dir
    folder.mkdir(parents=True)
    gate = f'data = "{data}"\n[[require]]\nmeasure = "P@1"\nat_least = '
    (folder / "release.toml").write_text(gate + "1.0")
    assert as2("versions", "check", "cascade")[:2] == (0, "release: P@1 of cascade at least 1: 1.000, met\n")
    swapped = tuple(Candidate(c.id, c.text, 1 - c.label) for c in candidates)  # what no ranker gets right
    data.write_text(jsonl.dumps([Question("q", "When was the tower finished?", swapped)]))
    code, out, _ = as2("versions", "check", "cascade", "--json")
    [result] = json.loads(out)["gates"]
    assert code == 3 and not result["is_passed"] and result["checks"][0]["value"] == 0.0


def test_the_shipped_versions_are_listed_and_have_cards(as2, as2_json):
    listed = {v["name"]: v for v in as2_json("versions")["versions"]}
    assert listed["cascade"]["kind"] == "cascade" and listed["generative"]["kind"] == "generative"
    assert as2_json("versions", "list")["versions"][0]["name"] in listed
    assert as2_json("versions", "show", "cascade")["name"] == "cascade"
    assert "active" in {v["name"] for v in as2_json("rankers")["versions"]}


def test_the_active_version_is_named_without_making_a_home(home):
    assert version_directories() == {"active": MODELS_DIR / "cascade"}
    assert not home.exists()


def test_background_jobs_are_listed_and_cancelled(as2, as2_json, articles):
    as2("ingest", articles)
    jobs = as2_json("jobs")["jobs"]
    assert [(j["kind"], j["state"]) for j in jobs] == [("embed", "queued")]
    assert as2_json("jobs", "cancel", jobs[0]["id"])["state"] == "cancelled"
    assert as2_json("jobs", "retry", jobs[0]["id"])["state"] == "queued"
    assert as2_json("jobs", "show", jobs[0]["id"])["kind"] == "embed"


def test_an_index_that_was_lost_is_built_anew(as2, as2_json, articles, home):
    as2("ingest", articles)
    for file in (home / "index").iterdir():
        file.unlink()
    assert as2_json("reindex")["documents"] == 2
    event = as2_json("audit", "--limit", 1)["events"][0]
    assert (event["act"], event["detail"]) == ("rebuild a search index", "2 documents")


def test_synonyms_are_given_by_a_file_and_said_with_the_answer(as2, as2_json, articles, tmp_path):
    as2("ingest", articles)
    code, out, err = as2("synonyms")
    assert (code, out) == (0, "") and "has no synonyms" in err
    (tmp_path / "house.txt").write_text("# ours\ncrumb, loaf => bread\n", encoding="utf-8")
    assert as2_json("synonyms", tmp_path / "house.txt")["synonyms"] == [["crumb", "bread"], ["loaf", "bread"]]
    assert as2("synonyms")[1] == "crumb, loaf => bread\n"
    assert as2_json("ask", "who baked the loaf?")["read"] == "who baked the loaf (bread)?"
    (tmp_path / "house.txt").write_text("loaf bread", encoding="utf-8")
    code, _, err = as2("synonyms", tmp_path / "house.txt")
    assert code == 1 and "line 1" in err and "word => meaning" in err
    (tmp_path / "house.txt").write_text("loaf => bread", encoding="utf-8")
    assert as2("synonyms", tmp_path / "house.txt")[1].startswith("documents: 1 synonym. Questions are read")
    (tmp_path / "house.txt").write_text("", encoding="utf-8")
    assert as2("synonyms", tmp_path / "house.txt")[1] == "documents has no synonyms any more: the file has none\n"


def test_synonyms_that_the_labels_suggest_are_printed_as_lines_of_a_file(as2, as2_json, tmp_path):
    rows = [
        {
            "qid": f"{word} {part}",
            "question": f"which {part} has the {word}",
            "candidates": [{"id": f"{kind} {part}", "text": f"{kind} {part}.", "label": 1}],
        }
        for word, kind in (("whale", "VX-90"), ("clerk", "VX-60"), ("toaster", "DR-12"))
        for part in ("belt", "pump", "fan", "valve")
    ]
    (tmp_path / "machines.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert as2("labels", "import", tmp_path / "machines.jsonl")[0] == 0
    of_machines = ("synonyms", "--corpus", "machines", "--from-labels")
    code, out, _ = as2(*of_machines)
    reason = "# 4 of the 4 answers to such questions have it: which belt has the whale"
    assert code == 0 and f"{reason}\nwhale => VX-90" in out
    whale = next(p for p in as2_json(*of_machines)["proposals"] if p["word"] == "whale")
    assert (whale["meaning"], whale["answers"], whale["questions"]) == ("VX-90", 4, 4)
    (tmp_path / "lines.txt").write_text(out, encoding="utf-8")
    as2("synonyms", tmp_path / "lines.txt", "--corpus", "machines")
    code, out, err = as2(*of_machines)
    assert (code, out) == (0, "") and "suggest no more synonyms" in err
    code, _, err = as2("synonyms", tmp_path / "lines.txt", "--from-labels")
    assert code == 1 and "give no FILE" in err


class Watched:
    """A job's states, one at each look, in place of the services."""

    def __init__(self, *states):
        self.states, self.cancelled = list(states), []

    def job(self, wb, number):
        return self.states.pop(0)

    def cancel(self, wb, number):
        self.cancelled.append(number)


def state(name, *, events=(), message="", error=""):
    from datetime import UTC, datetime

    from app.jobs.queue import JobView

    now = datetime(2026, 1, 2, tzinfo=UTC)
    return JobView(5, "retrain", name, 0.0, message, tuple(events), {}, error, "", {}, None, 1, False, now, None, None)


def follow(monkeypatch, first, *later, sleep=lambda seconds: None):
    from app.cli import adapt
    from app.jobs import queue, supervisor

    watched = Watched(*later)
    monkeypatch.setattr(queue, "load_job", watched.job)
    monkeypatch.setattr(queue, "cancel", watched.cancel)
    monkeypatch.setattr(supervisor, "attend", lambda wb: None)
    return watched, lambda: adapt.follow(None, first, sleep)


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [(0.1, "better"), (0.01, "no clear difference"), (-0.01, "no clear difference"), (-0.1, "worse")],
)
def test_adapt_and_versions_give_the_outcome_of_the_card(as2, as2_json, home, capsys, difference, outcome):
    from pathlib import Path

    from app.adapt.readiness import Readiness
    from app.adapt.report import BeforeAfter, RetrainReport
    from app.cli.adapt import print_report
    from app.cli.context import workbench
    from app.versions import registry
    from as2core.metrics import PairedTest

    test = PairedTest(difference, difference - 0.03, difference + 0.03, p=0.04, wins=9, losses=9, ties=9)
    frozen = BeforeAfter({"AP": 0.8}, {"AP": 0.75})
    report = RetrainReport("spring", {"AP": 0.7}, {"AP": 0.7 + difference}, test, frozen=frozen)
    print_report(report, Readiness(0, 0, 0, 0, 0, 0, 0, 0, (), ()))
    out = capsys.readouterr().out
    assert (
        f"{outcome.capitalize()} on 27 questions: AP {difference:+.3f} (95 %:" in out and "too few to judge" not in out
    )
    with workbench(starter=False) as wb, wb.write() as s:
        metrics = report.to_metrics()
        registry.add_candidate(s, wb, "spring", Path("gone"), is_rejected=True, parent="cascade", metrics=metrics)
    first = next(v for v in as2_json("versions")["versions"] if v["name"] == "spring")
    assert first["change"]["outcome"] == outcome
    head, *lines = as2("versions")[1].splitlines()
    line = next(x for x in lines if x.startswith("spring"))
    assert "outcome" in head.split()
    assert "rejected: " in line and "AP fell by 5.0 points on the frozen benchmark Starter test" in line
    assert (f"  {outcome}  " in line) and ("worse on 27 questions" in line) == (outcome == "worse")


def test_the_json_of_a_retrain_has_its_outcome(as2, as2_json, label_file, monkeypatch):
    from dataclasses import replace

    from app.adapt.report import RetrainReport
    from app.cli import adapt
    from as2core.metrics import PairedTest

    as2("labels", "import", label_file)
    test = PairedTest(-0.1, -0.13, -0.07, p=0.04, wins=9, losses=9, ties=9)
    result = RetrainReport("spring", {"AP": 0.7}, {"AP": 0.6}, test).to_json()
    monkeypatch.setattr(adapt, "start", lambda wb, corpus_id, settings: state("queued"))
    monkeypatch.setattr(adapt, "follow", lambda wb, job: replace(state("done"), result=result))
    told = as2_json("adapt")
    assert (told["version"], told["outcome"]) == ("spring", "worse") and told["objection"].startswith("worse on 27")
    assert "verdict" not in told


def test_a_retrain_is_followed_to_its_end_and_every_evaluation_told_once(monkeypatch, capsys):
    evaluations = [{"kind": "eval", "step": n, "steps": 2, "dev_ap": {"6": n / 4}} for n in (1, 2)]
    _, run = follow(
        monkeypatch,
        state("queued", message="waiting for the worker"),
        state("running", events=evaluations[:1], message="training, step 1 of 2"),
        state("running", events=evaluations, message="training, step 2 of 2"),
        state("done", events=evaluations),
    )
    assert run().state == "done"
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("step 1/2  dev AP 6: 0.250") == err.count("step 2/2  dev AP 6: 0.500") == 1
    assert [line for line in err.splitlines() if "job 5" in line] == [
        "job 5: waiting for the worker",
        "job 5: training",
    ]


def test_a_retrain_is_followed_though_steps_told_before_are_thinned_out(monkeypatch):
    from app.cli import adapt

    told, of = [], lambda *events: [{"kind": kind, "step": step} for kind, step in events]
    monkeypatch.setattr(
        adapt, "show_training", lambda: contextlib.nullcontext(lambda e: told.append((e["kind"], e["step"])))
    )
    _, run = follow(
        monkeypatch,
        state("running", events=of(("start", 0), ("step", 1), ("step", 2), ("step", 3), ("eval", 3))),
        state("running", events=of(("start", 0), ("step", 2), ("eval", 3), ("step", 4))),
        state("done", events=of(("start", 0), ("step", 2), ("eval", 3), ("eval", 6), ("step", 6), ("end", 6))),
    )
    run()
    assert told == [("start", 0), ("eval", 3), ("step", 3), ("step", 4), ("eval", 6), ("end", 6), ("step", 6)]


def test_a_stage_after_the_training_is_shown_with_how_far_it_is_and_not_the_last_step_again(monkeypatch):
    from app.cli import adapt

    told = []
    monkeypatch.setattr(
        adapt, "show_training", lambda: contextlib.nullcontext(lambda e: told.append(e.get("name") or e["step"]))
    )
    steps = [{"kind": "step", "step": n, "steps": 2} for n in (1, 2)]
    later = [state("running", events=steps, message=f"checking the result, {n} of 24 questions read") for n in (3, 9)]
    _, run = follow(
        monkeypatch, state("running", events=steps, message="training"), *later, state("done", events=steps)
    )
    run()
    assert told == [2, "job 5: checking the result, 9 of 24 questions read"]


def test_a_retrain_that_fails_says_why_and_how_to_go_on(monkeypatch):
    from app.cli.adapt import NotAdapted

    _, run = follow(monkeypatch, state("running"), state("failed", error="no space left on the disk"))
    with pytest.raises(NotAdapted, match=r"job 5 failed: no space left on the disk .*as2 jobs retry 5"):
        run()


def test_ctrl_c_asks_the_retrain_to_stop(monkeypatch):
    def interrupted(seconds):
        raise KeyboardInterrupt

    watched, run = follow(monkeypatch, state("running"), sleep=interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert watched.cancelled == [5]


def test_propose_shows_what_the_worker_kept(as2, as2_json, tmp_path, monkeypatch):
    from app.ask import proposals
    from app.cli import propose as command
    from app.jobs import queue
    from app.jobs.attempt import run_queued
    from app.worker import RUNNERS

    (tmp_path / "tower.txt").write_text("Kestrel Tower was finished in the year 1889 by masons. Rain stops nobody.\n")
    assert as2("ingest", tmp_path / "tower.txt", "--corpus", "towers")[0] == 0

    def follow(wb, job):
        run_queued(wb, RUNNERS)  # the worker's part, here
        return queue.load_job(wb, job.id)

    monkeypatch.setattr(command, "follow", follow)
    monkeypatch.setattr(proposals, "load_writer", lambda *_: lambda some, _each: [[] for _ in some])
    out = as2("propose", "--corpus", "towers")[1]
    assert out.startswith("0 questions proposed from ") and out.endswith("; 0 waiting for review\n")
    monkeypatch.setattr(proposals, "load_writer", lambda *_: lambda some, _each: [[(f"{p[:-1]}?", -1.0)] for p in some])
    told = as2_json("propose", "--corpus", "towers", "--number", "3", "--seed", "1")
    assert (told["corpus"], told["proposed"], told["tried"], told["waiting"]) == ("towers", 1, 1, 1)
    assert told["proposals"][0]["text"] == "Kestrel Tower was finished in the year 1889 by masons?"


def test_propose_goes_on_with_the_job_of_a_command_that_was_killed(as2, home, tmp_path, monkeypatch):
    from app import bootstrap
    from app.cli import propose as command
    from app.jobs import queue
    from as2core.errors import As2Error

    (tmp_path / "tower.txt").write_text("Kestrel Tower was finished in the year 1889 by masons.\n")
    assert as2("ingest", tmp_path / "tower.txt", "--corpus", "towers")[0] == 0
    ids = []

    def die(_wb, job):
        ids.append(job.id)
        raise As2Error("killed")

    monkeypatch.setattr(command, "follow", die)
    as2("propose", "--corpus", "towers")
    said = as2("propose", "--corpus", "towers")[2]
    assert f"job {ids[0]} already does this: following it to its end" in said
    as2("propose", "--corpus", "towers", "--number", "3")
    as2("propose", "--corpus", "towers", "--seed", "7")
    with contextlib.closing(bootstrap.open()) as wb:
        for job_id in (ids[0], ids[3]):
            queue.cancel(wb, job_id)
    as2("propose", "--corpus", "towers")
    assert ids[0] == ids[1] and len(set(ids)) == 4


def test_people_are_listed_and_given_roles(as2, as2_json, home, monkeypatch):
    from app import bootstrap
    from app.workbench import people

    as2("people")
    with contextlib.closing(bootstrap.open()) as wb:
        people.sign_in(wb, "me")
        people.sign_in_subject(wb, "https://id.example|1", "cara")
    assert as2_json("people", "role", "cara", "admin")["role"] == "admin"
    assert [(p["name"], p["role"], p["local"]) for p in as2_json("people")["people"]] == [
        ("me", "admin", True),
        ("cara", "admin", False),
    ]
    assert as2("people")[1].splitlines()[-1].split() == ["cara", "admin", "logs", "in", "https://id.example|1"]
    assert as2("people")[1].splitlines()[-2].split() == ["me", "admin", "without", "a", "name"]
    assert [p["account"] for p in as2_json("people")["people"]] == [None, "https://id.example|1"]
    code, _, err = as2("people", "role", "dan", "admin")
    assert code == 1 and "known: me, cara" in err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, _, err = as2("people", "hand-over", "me", "cara")
    assert code == 1 and "nothing was handed over (--yes does not ask)" in err
    assert "Make the 0 labels of me, in all corpora, those of cara?" in err
    assert as2("people", "hand-over", "me", "cara", "--yes")[1] == "me to cara: there was no label to hand over\n"
    assert "me twice: name two people" in as2("people", "hand-over", "me", "me", "--yes")[2]
    view = as2_json("people", "hand-over", "me", "cara", "--yes")
    assert view == {"moved": 0, "same": 0, "different": 0}


def test_who_did_what_is_listed_newest_first_and_by_act(as2, as2_json, home):
    from app import bootstrap
    from app.workbench import people

    assert as2("audit")[1].strip() == "nothing is recorded"
    with contextlib.closing(bootstrap.open()) as wb:
        people.sign_in(wb, "ann")
        people.sign_in(wb, "bob")
    as2("people", "role", "bob", "viewer")
    events = as2_json("audit", "--limit", 1)["events"]
    assert [(e["actor"], e["act"], e["target"], e["detail"]) for e in events] == [
        ("command line", "change a role", "bob", "annotator to viewer")
    ]
    assert as2("audit", "--who", "ann")[1].splitlines()[-1].split()[2:] == "ann become the first admin ann".split()
    assert as2_json("audit", "--act", "first")["events"][0]["act"] == "become the first admin"
    assert as2_json("audit", "--since", "2999-01-01")["events"] == []
    code, _, err = as2("audit", "--since", "yesterday")
    assert code == 1 and "give a day as 2024-05-01" in err


def test_a_home_is_checked_backed_up_and_restored(as2, as2_json, articles, home, tmp_path, monkeypatch):
    code, _, err = as2("backup", tmp_path / "empty.tar")  # of a home that the app does not use
    assert code == 1 and "so nothing was backed up: name the home in AS2_HOME" in err
    as2("ingest", articles)
    as2("ingest", articles)  # nothing new
    acts = [(e["actor"], e["act"], e["target"]) for e in as2_json("audit")["events"]]
    assert acts == [("command line", act, "documents") for act in ("add documents", "create a corpus")]
    for job in as2_json("jobs")["jobs"]:
        as2("jobs", "cancel", job["id"])
    assert as2_json("check")["sound"]
    assert as2("check")[1].startswith(f"{home}: ")
    view = as2_json("backup", tmp_path / "monday.tar")
    assert view["file"] == str(tmp_path / "monday.tar")
    _, out, _ = as2("backup", tmp_path / "tuesday.tar")
    assert f"other files, {(tmp_path / 'tuesday.tar').stat().st_size / 1e6:.1f} MB" in out
    newest = as2_json("audit", "--limit", 1)["events"][0]
    assert (newest["act"], newest["detail"]) == ("write a backup", str(tmp_path / "tuesday.tar"))
    as2("ingest", articles, "--corpus", "later")
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        code, _, err = as2("restore", tmp_path / "monday.tar")
        assert code == 1 and "as2: nothing was restored (--yes does not ask)" in err
    whole = (tmp_path / "monday.tar").read_bytes()
    (tmp_path / "part.tar").write_bytes(whole[: len(whole) // 2])
    for name, reason in (("part.tar", "is no backup of a home"), ("none.tar", "No such file")):
        code, _, err = as2("restore", tmp_path / name)
        assert code == 1 and reason in err and "Replace" not in err
    assert as2("restore", tmp_path / "monday.tar", "--yes")[0] == 0
    code, _, err = as2("ask", "who", "--corpus", "later")
    assert code == 1 and "'later'" in err
    assert as2("ask", "who", "--corpus", "documents")[0] == 0


def test_a_damaged_home_is_described_with_its_remedy(as2, articles, home):
    as2("ingest", articles)
    for file in (home / "index").iterdir():
        file.unlink()
    code, out, _ = as2("check", "--json")
    problems = {f["part"]: f for f in json.loads(out)["findings"] if f["problem"]}
    assert code == 1 and "as2 reindex" in problems["index of documents"]["remedy"]
    (home / "as2.db").write_bytes(b"x" * 9999)
    code, out, _ = as2("check")
    assert code == 1 and "is not a SQLite database" in out and "as2 restore FILE" in out


def test_keys_made_and_revoked_are_in_the_audit_log_of_a_home_with_a_database(as2, as2_json, home):
    as2("keys", "add", "before")
    assert not (home / "as2.db").exists()
    assert as2_json("audit")["events"] == []
    code, key, _ = as2("keys", "add", "search")
    as2("keys", "revoke", "search")
    as2("keys", "revoke", "unknown")
    events = [(e["actor"], e["act"], e["target"], e["detail"]) for e in as2_json("audit")["events"]]
    assert events == [
        ("command line", "revoke an API key", "search", ""),
        ("command line", "make an API key", "search", ""),
    ]
    assert code == 0 and key.startswith("as2_")
