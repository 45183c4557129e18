"""Training pairs and triplets for sentence-transformers."""

import json

from label_sets import QUESTION

from as2core.data import pairs


def test_pairs_and_triplets_hold_the_judged_sentences():
    labelled = [json.loads(row) for row in "".join(pairs.to_pair_lines([QUESTION])).splitlines()]
    assert labelled[1] == {"sentence1": "how long is it ?", "sentence2": 'It is 6,650 km "long" .', "label": 1}
    assert len(labelled) == 2
    assert [json.loads(row) for row in "".join(pairs.to_triplet_lines([QUESTION])).splitlines()] == [
        {"anchor": "how long is it ?", "positive": 'It is 6,650 km "long" .', "negative": "It is long ."}
    ]


def read(stream, *records):
    from as2core.data.source import read_all

    return read_all(stream, "".join(json.dumps(r) + "\n" for r in records).encode())


def test_a_sentence_that_stands_twice_keeps_both_labels_in_pairs():
    pair = {"sentence1": "how high?", "sentence2": "330 metres.", "label": 1}
    [question], problems = read(pairs.stream_pairs, pair, {**pair, "label": 0})
    assert [(c.text, c.label) for c in question.candidates] == [("330 metres.", 1), ("330 metres.", 0)]
    assert len({c.id for c in question.candidates}) == 2
    assert problems == []


def test_lines_that_are_no_pair_or_contradict_themselves_are_told():
    _, problems = read(
        pairs.stream_pairs, {"sentence1": "a", "label": 1}, {"sentence1": "a", "sentence2": "b", "label": "x"}
    )
    assert [p.line for p in problems] == [1, 2]
    triplet = {"anchor": "how high?", "positive": "330 metres.", "negative": "In Paris."}
    [question], problems = read(
        pairs.stream_triplets,
        triplet,
        {**triplet, "positive": "In Paris.", "negative": "It is."},
        {**triplet, "negative": 7},
    )
    assert [(c.text, c.label) for c in question.candidates] == [("330 metres.", 1), ("In Paris.", 0)]
    assert [p.line for p in problems] == [2, 3]


def test_half_a_character_in_a_question_is_read_as_it_is():
    record = '{"sentence1": "who \\ud800", "sentence2": "me", "label": 1}\n'
    from as2core.data.source import read_all

    (question,), _ = read_all(pairs.stream_pairs, record.encode())
    assert question.text == "who \ud800" and question.qid.startswith("q-")
