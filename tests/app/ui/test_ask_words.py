"""The words of a sentence and of a question as they are marked."""

import math
import re

import pytest

from app.ask.explanation import WordGain
from app.ui.ask.score_words import render_summary, render_words, select_words
from app.ui.ask.word_scores import compute_strength, describe_gain, render_word_scores
from as2core.cascade.attribution import Attribution, WordEffect

TEXT = "It <is> made of iron."


def attribute(effects, title=None):
    """Effects by word of TEXT."""
    words = tuple(WordEffect(TEXT.index(w), TEXT.index(w) + len(w), e) for w, e in effects.items())
    return Attribution(1.0, words, title)


def test_words_that_raise_and_lower_the_score_are_marked_in_different_ways_and_the_text_stays_the_same():
    html = render_words(TEXT, attribute({"made": -0.5, "of": 0.02, "iron": 1.0}))
    assert re.sub("<[^>]*>", "", html) == "It &lt;is&gt; made of iron."
    assert '<span class="as2-for" style="--as2-heat:100%" title="Without “iron” the score would be 1.00 lower">' in html
    assert '"as2-against" style="--as2-heat:50%" title="Without “made” the score would be 0.50 higher"' in html
    assert html.count("<span") == 2


def test_every_marked_word_is_listed_with_its_number_strongest_first():
    html = render_summary(TEXT, "R&D", attribute({"It": 0.3, "made": -0.5, "iron": 1.0}, title=0.4))
    text = re.sub("<[^>]*>", "", html).replace("&nbsp;", " ")
    assert "Raise the score iron +1.00, It +0.30. Lower the score made −0.50. The title “R&amp;D” +0.40." in text
    assert "Each word was left out in turn" in text


def test_effects_that_are_small_in_themselves_or_beside_the_strongest_are_not_marked():
    assert [w.effect for w in select_words(attribute({"It": 0.2, "made": 0.5, "iron": -3.0}))] == [0.5, -3.0]
    small = attribute({"It": 0.09, "iron": -0.09}, title=0.05)
    assert select_words(small) == []
    assert "No single word carried the score" in render_summary(TEXT, "Iron", small)
    assert "title" not in render_summary(TEXT, "Iron", small)


def test_weak_words_alone_do_not_get_the_strongest_background():
    assert "--as2-heat:50%" in render_words(TEXT, attribute({"iron": 0.15}))


def test_a_ratio_reads_as_a_sentence():
    end = "from this sentence than from the average candidate"
    assert describe_gain("chocolate", math.log(5.2)) == f"“chocolate” is 5.2 times likelier {end}"
    assert describe_gain("iron", -math.log(12)) == f"“iron” is 12 times less likely {end}"
    assert "about as likely" in describe_gain("the", -0.01)


def test_the_background_grows_with_the_ratio_up_to_eight_times():
    ratios = [math.log(r) for r in (1.0, 1.2, math.sqrt(8), 8, 100)]
    assert [compute_strength(g) for g in ratios] == pytest.approx([0, 0, 0.5, 1, 1])
    assert [compute_strength(-g) for g in ratios] == pytest.approx([0, 0, 0.5, 1, 1])


def test_every_word_carries_its_ratio_and_is_escaped():
    html = render_word_scores([WordGain("<b>", math.log(3)), WordGain("tower", -math.log(2)), WordGain("a", -0.01)])
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert re.findall("<small>(.*?)</small>", html) == ["× 3.0", "÷ 2.0", "× 1.0"]
    assert html.count("as2-word-less") == 1


def test_the_sentence_names_a_word_with_meaning_before_one_without():
    gains = [WordGain("do", math.log(9)), WordGain("wall", math.log(2)), WordGain("made", math.log(1.5))]
    assert "“wall” is 2.0 times likelier" in render_word_scores(gains)
    assert "“do” is 9.0 times likelier" in render_word_scores(gains[:1])[-120:]
    assert "No word is clearly likelier" in render_word_scores([WordGain("wall", -1.0)])
    assert "No word is clearly likelier" in render_word_scores([])
