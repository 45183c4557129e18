"""Which words carried a score, against the ranker's own score of the same sentence without them."""

import numpy as np
import pytest
import torch

from as2core.cascade.attribution import MAX_PARTS, attribute_by_occlusion, list_parts
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXT = "the tower, 300 metres high, was completed in 1889."


def make_cascade(backbone) -> CascadeRanker:
    """With heads that say something: they start at zero."""
    torch.manual_seed(3)
    ranker = CascadeRanker(backbone)
    for parameter in ranker.module.heads.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return ranker


def score_alone(ranker, text: str, title: str = "") -> float:
    return float(ranker.score(QUESTION, [Candidate("0", text, title=title)])[0])


@pytest.mark.parametrize("title", ["", "The bridge"])
def test_a_word_s_effect_is_what_the_score_loses_without_it(backbone, title):
    ranker = make_cascade(backbone)
    attribution = ranker.attribute(QUESTION, Candidate("0", TEXT, title=title))
    whole = score_alone(ranker, TEXT, title)
    assert attribution.score == pytest.approx(whole, abs=1e-5)
    effects = {TEXT[w.start : w.end]: w.effect for w in attribution.words}
    assert list(effects) == ["the", "tower", "300", "metres", "high", "was", "completed", "in", "1889"]
    for word, without in {
        "tower": "the , 300 metres high, was completed in 1889.",
        "high": "the tower, 300 metres , was completed in 1889.",
        "1889": "the tower, 300 metres high, was completed in .",
    }.items():
        assert effects[word] == pytest.approx(whole - score_alone(ranker, without, title), abs=1e-5)
    assert max(map(abs, effects.values())) > 0.01  # so that the comparison says something


def test_the_title_s_effect_is_what_the_score_loses_without_it(backbone):
    ranker = make_cascade(backbone)
    titled = ranker.attribute(QUESTION, Candidate("0", TEXT, title="The bridge"))
    expected = score_alone(ranker, f"The bridge: {TEXT}") - score_alone(ranker, TEXT)
    assert titled.title == pytest.approx(expected, abs=1e-5)
    assert ranker.attribute(QUESTION, Candidate("0", TEXT, title=" ")).title is None


def test_it_is_the_last_exit_s_score_also_where_most_candidates_would_be_dropped(backbone):
    """All variants go through to the end, at a drop ratio that would leave one of them."""
    ranker = make_cascade(backbone)
    free = ranker.attribute(QUESTION, Candidate("0", TEXT))
    ranker.drop_ratio, ranker.keep = 0.9, 1
    assert ranker.attribute(QUESTION, Candidate("0", TEXT)) == free


def test_effects_of_a_sum_over_words_are_its_terms():
    worth = {"gold": 2.0, "lead": -1.5}

    def score(texts):
        return np.array([sum(worth.get(w, 0.0) for w in t.replace(",", "").split()) for t in texts])

    attribution = attribute_by_occlusion(score, Candidate("0", "gold, lead and air"))
    assert [w.effect for w in attribution.words] == [2.0, -1.5, 0.0, 0.0]
    assert (attribution.score, attribution.title) == (0.5, None)


def test_a_text_without_words_has_no_parts():
    attribution = attribute_by_occlusion(lambda texts: np.zeros(len(texts)), Candidate("0", "..."))
    assert attribution.words == ()


def test_in_a_long_text_adjacent_words_go_together_so_that_the_passes_stay_few():
    text = " ".join(f"w{i}" for i in range(2 * MAX_PARTS + 1))
    parts = list_parts(text)
    assert [text[a:b] for a, b in parts[:2]] == ["w0 w1 w2", "w3 w4 w5"]
    assert len(parts) == 41 <= MAX_PARTS  # 121 words by three
    assert text[slice(*parts[-1])] == "w120"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "title", "text", "word"),
    [
        ("What are incunabula?", "Johannes Gutenberg",
         "Books printed in Europe before 1501 are called incunabula, from the Latin word for cradle.", "incunabula"),
        ('What do athletes mean when they talk about "the wall"?', "Marathon",
         'Runners speak of "hitting the wall" when these stores give out and they are overcome by fatigue.', "speak"),
    ],
)  # fmt: skip
def test_the_strongest_word_of_the_shipped_cascade_is_what_the_question_names_or_means(question, title, text, word):
    attribution = get("cascade:engine=torch").attribute(question, Candidate("0", text, title=title))
    strongest = max(attribution.words, key=lambda w: w.effect)
    assert text[strongest.start : strongest.end] == word
