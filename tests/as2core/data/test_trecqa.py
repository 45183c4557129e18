"""TREC-QA's pseudo-XML: the words, an order that tells nothing, and each way a block can be broken."""

import pytest

from as2core.data import trecqa
from as2core.data.source import read_all

TRECQA = """<QApairs id='7.1'>
<question>
Who\twrote\tit\t?
WP\tVBD\tPRP\t.
</question>
<positive>
``\tHart\twrote\tit\t''\t-LRB-\t1990\t-RRB-\t.
``\tNNP\tVBD\tPRP\t''\t-LRB-\tCD\t-RRB-\t.
</positive>
<positive>
Hart\tdid\t.
</positive>
<negative>
Nobody\tread\tit\t.
NN\tVBD\tPRP\t.
</negative>
</QApairs>
"""


def test_trecqa_gives_words_quotes_and_brackets_as_written():
    (question,), problems = read_all(trecqa.stream, TRECQA.encode())
    assert (question.qid, question.text, problems) == ("7.1", "Who wrote it ?", [])
    assert {(c.id, c.text, c.label) for c in question.candidates} == {
        ("7.1-0", '" Hart wrote it " ( 1990 ) .', 1),
        ("7.1-1", "Hart did .", 1),
        ("7.1-2", "Nobody read it .", 0),
    }


def test_trecqa_does_not_keep_the_positives_in_front():
    many = "".join(
        f"<QApairs id='{i}'>\n<question>\nWho\n</question>\n"
        + "<positive>\nyes\n</positive>\n<negative>\nno\n</negative>\n" * 1
        + "</QApairs>\n"
        for i in range(200)
    )
    questions, _ = read_all(trecqa.stream, many.encode())
    first = sum(q.candidates[0].label for q in questions)
    assert 70 < first < 130  # a fair coin's 200 throws, four standard deviations wide
    assert read_all(trecqa.stream, many.encode())[0] == questions


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("</QApairs>\n", "", 1, "question '7.1' is not closed"),
        ("</negative>\n", "", 13, "<negative> is not closed"),
        ("<question>\nWho\twrote\tit\t?\nWP\tVBD\tPRP\t.\n</question>\n", "", 1, "question '7.1' has no text"),
        ("<positive>\nHart\tdid\t.\n", "<positive>\n", 10, "<positive> has no words"),
        ("</QApairs>\n", "</QApairs>\nstray\n", 18, "outside any <QApairs>"),
        ("<negative>\n", "stray\n<negative>\n", 13, "outside any block"),
    ],
)
def test_a_broken_block_of_trecqa_is_told_by_number(old, new, line, reason):
    _, problems = read_all(trecqa.stream, TRECQA.replace(old, new, 1).encode())
    assert any(p.line == line and p.reason.startswith(reason) for p in problems)
