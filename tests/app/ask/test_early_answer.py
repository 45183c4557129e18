"""The answer is shown before the trace behind the picture is complete."""

from app.ask import asking
from app.ask.asking import EarlyAnswer
from app.ranking import scoring
from app.ranking.precedence import PRECEDENCE
from app.ranking.scoring import EarlyRun
from app.versions import loading
from as2core.cascade.schedule import DropSchedule
from as2core.types import Candidate

QUESTION = "When was the Eiffel Tower finished?"


def make_schedule(exits):
    return DropSchedule.constant(0.5, exits=exits, keep=1)


def test_the_early_answer_is_that_of_the_complete_trace_under_the_same_schedule(wb, towers):
    answers = []
    view = asking.ask(wb, towers.id, QUESTION, early=EarlyAnswer(make_schedule, answers.append))
    [answer] = answers
    assert len(answer.trace.exits[-1].alive) < len(view.trace.exits[-1].alive)
    replay = view.trace.replay(make_schedule(len(view.trace.exits)))
    assert answer.best == replay.ranking()[0]
    assert answer.candidates[answer.best].text == "The Eiffel Tower was finished on 31 March 1889."
    assert answer.probability[answer.best] == view.probability[answer.best]
    assert (answer.question, answer.hints, answer.spelling_before) == (
        view.question,
        view.hints,
        view.spelling_before,
    )


def test_a_cached_trace_has_no_early_run(wb, towers):
    model, runs = loading.load_version(wb), []
    early, candidates = EarlyRun(make_schedule(5), runs.append), [Candidate("a", "Towers rise."), Candidate("b", "No.")]
    first = scoring.rank(model, QUESTION, candidates, early=early)
    again = scoring.rank(model, QUESTION, candidates, early=early)
    assert len(runs) == 1
    assert again.trace.scores().tolist() == first.trace.scores().tolist()


def test_the_completion_waits_for_no_answer_of_its_own(wb, towers):
    shown = []
    early = EarlyAnswer(make_schedule, lambda answer: shown.append(not PRECEDENCE.wait(0.0)))
    asking.ask(wb, towers.id, QUESTION, early=early)
    assert shown == [True]
    assert PRECEDENCE.wait(0.0)
