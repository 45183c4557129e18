"""`as2 ingest` of folders that change, and `as2 documents`."""

from __future__ import annotations

import io

import pytest


@pytest.fixture
def write(tmp_path):
    """`write("docs", **{"a.txt": "A text."})` makes a folder and its files."""

    def make(name, files):
        for path, text in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / name

    return make


@pytest.fixture
def list_names(as2_json):
    return lambda: [d["external_id"] for d in as2_json("documents")["documents"]]


def answer(monkeypatch, line):
    monkeypatch.setattr("sys.stdin", io.StringIO(line))


def test_a_second_folder_takes_nothing_from_the_first_unless_told_to(as2, as2_json, write, list_names):
    first = write("2024", {"readme.txt": "The alpha engine was built in 1951."})
    second = write("2025", {"readme.txt": "A quite different text.", "news.txt": "The beta engine is new."})
    as2("ingest", first)
    code, out, err = as2("ingest", second)
    assert code == 1 and "1 added, 0 updated, 0 unchanged, 1 problem in 1 file;" in out
    assert "as2: readme.txt: another document of this name is there" in err and "--replace" in err
    assert list_names() == ["readme", "news"]
    assert as2_json("ask", "When was the alpha engine built?")["candidates"][0]["text"].startswith("The alpha")
    code, out, err = as2("ingest", second, "--replace")
    assert code == 0 and "0 added, 1 updated, 1 unchanged, 0 failed" in out
    assert "replaced by another text: readme.txt\n" in err


def test_updated_rows_are_named_by_their_file_as_on_the_page_data(as2, write):
    table = "question,answer\nOpen?,At {}.\nKey?,Ask {}.\nWhy?,So.\n"
    as2("ingest", write("docs", {"faq.csv": table.format("nine", "Ben"), "a.txt": "Tea. Milk."}))
    folder = write("docs", {"faq.csv": table.format("ten", "Cem"), "a.txt": "Tea. Water."})
    assert "updated: a.txt, faq.csv (2 documents)" in as2("ingest", folder)[2].splitlines()


def test_problems_are_counted_apart_from_the_files_that_have_them(as2, write):
    folder = write("docs", {"a.jsonl": '{"text": "Good."}\nbad\nbad\n', "b.pdf": "no PDF"})
    assert "1 added, 0 updated, 0 unchanged, 3 problems in 2 files;" in as2("ingest", folder)[1]


def test_hidden_files_and_folders_of_libraries_are_left_out_unless_named(as2, write, list_names):
    hidden = [".git/a.txt", ".b.txt", "node_modules/c/README.md", "sub/.cache/d.md", "~$e.xlsx"]
    folder = write(".docs", dict.fromkeys(["plain.txt", *hidden], "Some text."))
    code, out, err = as2("ingest", folder)
    assert code == 0 and "1 added" in out and "files that are hidden or of libraries left out: 5" in err
    assert "1 added" in as2("ingest", folder / ".b.txt")[1]
    assert list_names() == ["plain", ".b"]


def test_notes_of_one_kind_are_printed_five_times(as2, write):
    german = "Der Filter {} wird gewechselt. Das Gerät ist vorher vom Netz zu nehmen."
    err = as2("ingest", write("docs", {f"{i}.txt": german.format(i) for i in range(7)}))[2]
    assert err.count("does not look English") == 5 and "the same holds for 2 other documents" in err


def test_a_copy_under_another_name_is_pointed_out(as2, write):
    assert "b.txt has the same text as a.txt" in as2("ingest", write("docs", {"a.txt": "Tea.", "b.txt": "Tea."}))[2]


def test_files_that_are_gone_are_pruned_after_a_question(as2, as2_json, write, list_names, monkeypatch):
    folder = write("docs", {"a.txt": "The alpha engine.", "b.txt": "The beta engine.", "t.csv": "id,text\n7,A row.\n"})
    as2("ingest", folder)
    (folder / "b.txt").rename(folder / "c.txt")
    (folder / "t.csv").unlink()
    for line in ("n\n", ""):
        answer(monkeypatch, line)
        code, out, err = as2("ingest", folder, "--prune")
        assert (code, out) == (1, "") and "to be deleted from 'documents': b.txt, 7 (t.csv)" in err
        assert "nothing was deleted or added (--yes does not ask)" in err
    assert list_names() == ["a", "b", "7"]
    answer(monkeypatch, "y\n")
    assert "1 added, 0 updated, 1 unchanged, 0 failed, 2 deleted;" in as2("ingest", folder, "--prune")[1]
    assert list_names() == ["a", "c"]
    (folder / "c.txt").unlink()
    assert as2_json("ingest", folder, "--prune", "--yes")["deleted"] == ["c"]
    assert as2_json("ingest", folder, "--prune")["deleted"] == []
    assert [e["target"] for e in as2_json("audit", "--act", "delete")["events"]] == ["c", "7", "b"]


def test_rows_that_left_a_table_are_named_and_pruned_after_a_question(as2, as2_json, write, list_names, monkeypatch):
    rows = "title,text\n{}Ulm,It is old.\nBonn,It is small.\n"
    folder = write("docs", {"towns.csv": rows.format("Rome,It is far.\n")})
    as2("ingest", folder)
    write("docs", {"towns.csv": rows.format("")})
    err = as2("ingest", folder)[2]
    assert "no longer in their tables, and still in the corpus: towns-2 (towns.csv); --prune deletes" in err
    answer(monkeypatch, "n\n")
    code, _, err = as2("ingest", folder, "--prune")
    assert code == 1 and "to be deleted from 'documents': towns-2 (towns.csv)" in err
    assert "rows that left their tables stay (--yes does not ask)" in err and len(list_names()) == 3
    write("docs", {"towns.csv": rows.format("a,b,c\n")})  # a row that cannot be read may be the one that is missed
    code, out, _ = as2("ingest", folder, "--prune", "--yes")
    assert code == 1 and "1 problem in 1 file, 0 deleted;" in out
    write("docs", {"towns.csv": rows.format("")})
    assert as2_json("ingest", folder, "--prune", "--yes")["deleted"] == ["towns-2"]
    assert list_names() == ["towns-3", "towns-4"]


def test_pruning_keeps_what_another_folder_of_the_call_or_no_folder_has_brought(
    as2, as2_json, write, list_names, tmp_path
):
    first, second = write("one", {"a.txt": "The alpha engine."}), write("two", {"sub/b.txt": "The beta engine."})
    as2("ingest", first, second)
    labels = '{"qid": "q", "question": "What?", "candidates": [{"id": "x", "text": "A label.", "label": 1}]}\n'
    (tmp_path / "labels.jsonl").write_text(labels)
    as2("labels", "import", tmp_path / "labels.jsonl", "--corpus", "documents")
    assert as2_json("ingest", first, second, "--prune", "--yes")["deleted"] == []
    assert as2_json("ingest", first, "--prune", "--yes")["deleted"] == ["sub/b"]
    assert len(list_names()) == 2
    code, out, err = as2("ingest", first / "a.txt", "--prune")
    assert (code, out) == (1, "") and "--prune compares the corpus with folders" in err
    assert "no such file or folder" in as2("ingest", tmp_path / "nowhere", "--prune")[2]


def test_documents_are_listed_and_searched(as2, as2_json, write):
    files = {"a.txt": "The alpha engine. It is old.", "b/towns.csv": "id,title,text\n7,Ulm,A row.\n"}
    as2("ingest", write("docs", files))
    row = {"external_id": "7", "title": "Ulm", "source": "b/towns.csv", "sentences": 1}
    assert [d | {"id": 0} for d in as2_json("documents", "list", "--search", "ulm")["documents"]] == [row | {"id": 0}]
    code, out, err = as2("documents", "--limit", "1")
    assert code == 0 and "a.txt" in out and "towns" not in out and "has 2 documents" in err
    assert "no document in 'documents' with 'paris'" in as2("documents", "--search", "paris")[1]


def test_documents_are_deleted_by_name_or_file_after_a_question(as2, as2_json, write, list_names, monkeypatch):
    rows = "id,text\n7,A row.\n8,Another row.\n"
    as2("ingest", write("docs", {"a.txt": "The alpha engine.", "b.txt": "The beta engine.", "t.csv": rows}))
    code, out, err = as2("documents", "delete", "a", "nosuch", "--yes")
    assert (code, out) == (1, "") and "no document 'nosuch' in 'documents'" in err
    answer(monkeypatch, "n\n")
    code, out, err = as2("documents", "delete", "a", "t.csv")
    assert (code, out) == (1, "") and "nothing was deleted (--yes does not ask)" in err
    assert "to be deleted from 'documents': a.txt, 7 (t.csv), 8 (t.csv)" in err
    assert list_names() == ["a", "b", "7", "8"]
    assert as2_json("documents", "delete", "a", "t.csv", "--yes")["deleted"] == ["a", "7", "8"]
    assert list_names() == ["b"]
    assert {c["text"] for c in as2_json("ask", "Which engine?")["candidates"]} == {"The beta engine."}
    assert [e["target"] for e in as2_json("audit", "--act", "delete a document")["events"]] == ["8", "7", "a"]


def test_what_becomes_of_labels_is_said_before_a_document_is_deleted(as2, tmp_path):
    labels = '{"qid": "q", "question": "What?", "candidates": [{"id": "x", "text": "A label.", "label": 1}]}\n'
    (tmp_path / "own.jsonl").write_text(labels)
    as2("labels", "import", tmp_path / "own.jsonl")
    err = as2("documents", "delete", "imported with labels", "--yes")[2]
    assert "their labels (1) stay, and count in retrains, comparisons and exports" in err
