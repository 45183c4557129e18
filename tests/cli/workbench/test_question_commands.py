"""Questions of a file come into a corpus, and are listed."""

from __future__ import annotations


def test_questions_of_a_file_are_added_once_and_listed(as2, as2_json, articles, tmp_path):
    as2("ingest", articles)
    table = tmp_path / "log.csv"
    table.write_text("date,query\n1.1.,Who baked the bread?\n2.1.,who baked bread\n3.1.,How tall is the tower?\n")
    assert as2("questions", "add", table)[:2] == (0, "2 questions added to 'documents'; 1 repeated line skipped\n")
    again = as2_json("questions", "add", table)["result"]
    assert (again["new_count"], len(again["existing_questions"])) == (0, 2)
    listed = as2_json("questions", "--search", "tower")
    assert (listed["corpus"], listed["total"]) == ("documents", 1)
    assert [(q["text"], q["origin"], q["queued"]) for q in listed["questions"]] == [
        ("How tall is the tower?", "listed", True)
    ]
    code, out, err = as2("questions", "list", "--limit", 1)
    assert code == 0 and len(out.splitlines()) == 2 and "'documents' has 2 questions: --search and --limit" in err
    assert as2("questions", "--search", "kiln")[1] == "no question in 'documents' with 'kiln'\n"
    assert "command line  add questions" in as2("audit")[1]


def test_a_file_that_has_no_questions_adds_nothing(as2, articles, tmp_path):
    as2("ingest", articles)
    (tmp_path / "ages.csv").write_text("name,age\nAnn,2\n")
    code, out, err = as2("questions", "add", tmp_path / "ages.csv")
    assert (code, out) == (1, "") and "ages.csv: the first line must name a column question or query" in err
    code, _, err = as2("questions", "add", tmp_path / "nowhere.txt")
    assert code == 1 and "nowhere.txt" in err
    assert as2("questions")[1] == "no question in 'documents'\n"
