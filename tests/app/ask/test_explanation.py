"""The words that carried a score, and those of the question that a sentence explains, through the real services."""

import math
from functools import cache

import pytest
from fake_models import FakeCascade, FakeGenerative, overlap

from app.ask import asking, explanation
from as2core.text import tokenize

QUESTION = "When was the tower finished?"


@pytest.fixture(autouse=True)
def loaded_once(models, monkeypatch):
    """As the real provider does."""
    monkeypatch.setattr(models, "version", cache(models.version))


def ask(wb, towers):
    return asking.ask(wb, towers.id, QUESTION)


def read_text(view, position):
    candidate = view.candidates[position]
    return f"{candidate.title}: {candidate.text}"


def count_calls(monkeypatch, kind, name):
    calls, original = [], getattr(kind, name)

    def counted(self, *args):
        calls.append(args)
        return original(self, *args)

    monkeypatch.setattr(kind, name, counted)
    return calls


def test_a_word_s_effect_is_the_score_s_loss_without_it(wb, towers):
    view = ask(wb, towers)
    best = view.best
    attribution = explanation.attribute_score(wb, view, best)
    text, whole = view.candidates[best].text, read_text(view, best)
    assert attribution.score == pytest.approx(6 * overlap(QUESTION, whole) - 3)
    effects = {text[w.start : w.end]: w.effect for w in attribution.words}
    assert effects["finished"] == pytest.approx(3.0)  # one of the two words asked for
    assert sum(map(abs, effects.values())) == pytest.approx(3.0)  # "tower" is its title too


def test_a_sentence_is_attributed_once_and_another_question_s_anew(wb, towers, monkeypatch):
    calls = count_calls(monkeypatch, FakeCascade, "attribute")
    view = ask(wb, towers)
    first = explanation.attribute_score(wb, view, view.best)
    assert explanation.attribute_score(wb, ask(wb, towers), view.best) is first
    assert len(calls) == 1
    other = asking.ask(wb, towers.id, "When was the bridge opened?")
    explanation.attribute_score(wb, other, other.best)
    explanation.attribute_score(wb, view, (view.best + 1) % len(view.candidates))
    assert len(calls) == 3


def test_a_word_s_gain_is_its_log_p_less_the_mean_over_the_candidates(wb, towers):
    view = ask(wb, towers)
    gains = explanation.compare_words(wb, view, view.best)
    assert [g.word for g in gains] == ["When", "was", "the", "tower", "finished"]  # no "?", no end
    by_hand = {}
    for word in ("when", "was", "tower", "finished"):
        log_p = [-0.1 if word in tokenize(read_text(view, i)) else -5.0 for i in range(len(view.candidates))]
        by_hand[word] = log_p[view.best] - math.fsum(log_p) / len(log_p)
    assert {g.word.lower(): g.gain for g in gains if g.word != "the"} == pytest.approx(by_hand, abs=1e-5)
    assert by_hand["finished"] > 1


def test_the_mean_is_over_those_that_the_cascade_read_and_others_are_compared_with_it(wb, towers, monkeypatch):
    calls = count_calls(monkeypatch, FakeGenerative, "explain")
    limits = asking.RankLimits.from_settings(wb.settings, first_keep=5)
    view = asking.ask(wb, towers.id, QUESTION, limits=limits)
    entered = view.trace.entered.tolist()
    assert len(entered) == 5 < len(view.candidates)
    outside = next(i for i in range(len(view.candidates)) if i not in entered)
    [finished] = [g.gain for g in explanation.compare_words(wb, view, outside) if g.word == "finished"]
    log_p = {i: -0.1 if "finished" in tokenize(read_text(view, i)) else -5.0 for i in [*entered, outside]}
    assert finished == pytest.approx(log_p[outside] - sum(log_p[i] for i in entered) / 5, abs=1e-5)
    explanation.compare_words(wb, view, entered[0])
    explanation.compare_words(wb, view, outside)
    assert [len(texts) for _, texts in calls] == [5, 1]  # each once
