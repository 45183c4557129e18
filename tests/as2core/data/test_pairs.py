"""Training pairs and triplets for sentence-transformers."""

import json

from label_sets import QUESTION

from as2core.data import pairs


def test_pairs_and_triplets_hold_the_judged_sentences():
    labelled = [json.loads(row) for row in pairs.dumps_pairs([QUESTION]).splitlines()]
    assert labelled[1] == {"sentence1": "how long is it ?", "sentence2": 'It is 6,650 km "long" .', "label": 1}
    assert len(labelled) == 2
    assert [json.loads(row) for row in pairs.dumps_triplets([QUESTION]).splitlines()] == [
        {"anchor": "how long is it ?", "positive": 'It is 6,650 km "long" .', "negative": "It is long ."}
    ]
