"""A ranker run over questions, against trec_eval's own code on the files we export."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import pytrec_eval

import as2core
from as2core.data import qrels
from as2core.data.catalog import QuestionSet
from as2core.errors import BadSetting
from as2core.evaluation.rankers import Cut, compute_intervals, count_cuts, evaluate
from as2core.metrics import order
from as2core.rankers.base import ChoosesEngine, KeepsTrace, rank
from as2core.rankers.catalog import get
from as2core.types import Candidate, Question


def question(qid, *labels):
    return Question(qid, f"what is {qid}", tuple(Candidate(f"{qid}-{i}", "x" * i, n) for i, n in enumerate(labels)))


QUESTIONS = [
    question("a", 0, 1, 0, 1, 0, 0),
    question("b", 1, 0),
    question("all wrong", 0, 0, 0),
    question("all right", 1, 1),
    question("partly judged", None, 1, 0, None),
    question("unjudged", None, None),
    question("empty"),
]


class Fake:
    """Scores drawn from the question's id; every third question ties."""

    name = "fake"

    def score(self, question, candidates):
        rng = np.random.default_rng(len(question))
        return rng.integers(0, 3, len(candidates)).astype(np.float32)


class Longest:
    name = "longest"

    def score(self, question, candidates):
        return np.array([len(c.text) for c in candidates], dtype=np.float32)


class Prepared(ChoosesEngine, Longest):
    """Scores nothing until somebody has waited for its engine."""

    preparing, engine, is_prepared = None, None, False

    def use(self, engine, **settings):
        raise NotImplementedError

    def wait_until_prepared(self, seconds):
        self.is_prepared = True

    def score(self, question, candidates):
        assert self.is_prepared
        return super().score(question, candidates)


def test_scores_that_differ_beyond_32_bits_keep_their_order():
    """A time stamp, as a ranker of one's own may give it: a 32-bit number has steps of 128 there."""
    times = SimpleNamespace(name="times", score=lambda question, candidates: [1.7e9 + len(c.text) for c in candidates])
    got, expected = evaluate(times, QUESTIONS, setting="raw"), evaluate(Longest(), QUESTIONS, setting="raw")
    assert got.per_question == expected.per_question
    assert {qid: order(s).tolist() for qid, s in got.scores.items()} == {
        qid: order(s).tolist() for qid, s in expected.scores.items()
    }


def test_all_questions_are_scored_by_the_engine_that_was_chosen():
    assert evaluate(Prepared(), QUESTIONS).questions == 3  # clean: a, b and the partly judged


def add_grades(question):
    """The same labels, made from grades 0 to 5."""
    rows = (replace(c, grade=c.label and 1 + i) for i, c in enumerate(question.candidates))
    return replace(question, candidates=tuple(rows))


@pytest.mark.parametrize("ranker", [Fake(), Longest()], ids=["ties", "no ties"])
@pytest.mark.parametrize("setting", ["raw", "no-all-neg", "clean"])
@pytest.mark.parametrize("asked", [QUESTIONS, [add_grades(q) for q in QUESTIONS]], ids=["labels", "grades"])
def test_the_figures_are_those_of_pytrec_eval_on_the_exported_files(tmp_path, ranker, setting, asked):
    found = evaluate(ranker, asked, setting=setting)
    kept = [q for q in asked if q.qid in found.scores]
    (tmp_path / "qrels").write_text("".join(qrels.to_lines(kept)))
    (tmp_path / "run").write_text("".join(qrels.run_to_lines(kept, found.scores, tag="t")))
    with (tmp_path / "qrels").open() as judged, (tmp_path / "run").open() as run:
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel(judged), {"map", "recip_rank", "P_1", "ndcg_cut_10"}
        )
        theirs = evaluator.evaluate(pytrec_eval.parse_run(run))
    for ours, name in {"AP": "map", "RR": "recip_rank", "P@1": "P_1", "nDCG@10": "ndcg_cut_10"}.items():
        assert found.metrics[ours] == pytest.approx(np.mean([v[name] for v in theirs.values()]), abs=1e-6)


@pytest.mark.parametrize(("setting", "count"), [("raw", 7), ("no-all-neg", 4), ("clean", 3)])
def test_a_setting_keeps_its_questions(setting, count):
    found = evaluate(Longest(), QUESTIONS, setting=setting)
    assert found.questions == len(found.scores) == count
    assert (found.ranker, found.setting, found.relative_cost) == ("longest", setting, None) and found.seconds > 0


def test_progress_is_told_question_by_question_and_can_stop_the_run():
    told = []
    evaluate(Longest(), QUESTIONS, on_progress=told.append)
    assert [(p.done, p.total) for p in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]

    def stop(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(Longest(), QUESTIONS, on_progress=stop)


class Traced(Longest, KeepsTrace):
    """A cascade's account: half the work on the first question, all of it on the others."""

    def trace(self, question, candidates):
        class Trace:
            flops = 50 if question.endswith(" a") else 100
            full_flops = 100
            stages = ()

            def scores(self):
                return Longest().score(question, candidates)

        return Trace()


def test_the_cost_is_the_work_of_all_questions_over_the_monolithic_models():
    assert evaluate(Traced(), QUESTIONS).relative_cost == pytest.approx(250 / 300)


def test_what_each_exit_dropped_is_counted_and_whose_last_correct_candidate_went():
    def stage(title, alive, dropped):
        return SimpleNamespace(title=title, alive=np.array(alive), dropped=np.array(dropped, dtype=int))

    one = Question("one", "?", tuple(Candidate(str(i), "t", label) for i, label in enumerate([1, 0, 1, 0, None])))
    two = Question("two", "?", tuple(Candidate(str(i), "t", label) for i, label in enumerate([0, 1, 0])))
    found = {}
    stages = [stage("exit 2", [0, 1, 2, 3, 4], [0, 4]), stage("exit 4", [1, 2, 3], [2]), stage("exit 6", [1, 3], [])]
    count_cuts(found, one, SimpleNamespace(stages=stages))
    count_cuts(found, two, SimpleNamespace(stages=[stage("exit 2", [0, 1, 2], [1]), stage("exit 4", [0, 2], [0])]))
    assert list(found.values()) == [
        Cut("exit 2", 8, 3, 2, ("two",)),
        Cut("exit 4", 5, 2, 1, ("one",)),
        Cut("exit 6", 2, 0, 0, ()),
    ]


def test_an_evaluation_tells_of_cuts_where_there_were_any(tiny):
    asked = QUESTIONS[:2]
    first, *_ = evaluate(get(f"cascade:backbone={tiny()},drop_ratio=0.5,keep=1"), asked).cuts
    assert first.entered == sum(len(q.candidates) for q in asked) and first.dropped > 0
    assert evaluate(get(f"cascade:backbone={tiny()},drop_ratio=0"), asked).cuts == ()


@pytest.mark.parametrize("given", [[1.0], [1.0, np.nan, 1, 1, 1, 1], [np.inf] * 6])
def test_a_ranker_that_breaks_the_protocol_is_named(given):
    class Broken:
        name = "broken"

        def score(self, question, candidates):
            return np.array(given)

    with pytest.raises(BadSetting, match=r"broken gave .* of question 'a'"):
        evaluate(Broken(), QUESTIONS[:1])


@pytest.mark.parametrize("given", ["bm25", None, object(), as2core.Reranker("bm25"), QUESTIONS])
def test_what_is_no_ranker_is_refused_with_where_to_get_one(given):
    with pytest.raises(BadSetting, match=r"is no ranker, .* as2core\.rankers\.catalog\.get"):
        evaluate(given, QUESTIONS)


def test_a_set_as_it_is_loaded_can_be_evaluated_and_its_name_cannot():
    loaded = QuestionSet(QUESTIONS, [])
    assert evaluate(Longest(), loaded).metrics == evaluate(Longest(), QUESTIONS).metrics
    with pytest.raises(BadSetting, match=r"'starter-dev' was given: give questions, those of .*load_questions"):
        evaluate(Longest(), "starter-dev")


def test_nothing_to_evaluate_and_a_repeated_id_are_refused():
    with pytest.raises(BadSetting, match="keeps no question"):
        evaluate(Longest(), QUESTIONS[2:3])
    with pytest.raises(BadSetting, match="two questions have the id 'a'"):
        evaluate(Longest(), [QUESTIONS[0], QUESTIONS[0]])
    with pytest.raises(BadSetting, match="no setting 'dirty'; known: raw, no-all-neg, clean"):
        evaluate(Longest(), QUESTIONS, setting="dirty")


def test_in_a_notebook_an_evaluation_is_its_means_and_not_the_numbers_of_each_question():
    shown = repr(evaluate(get("bm25"), [question("of its own", 1, 0)]))
    assert "'AP': 1.0" in shown and "of its own" not in shown


def test_intervals_hold_the_means():
    found = evaluate(Longest(), QUESTIONS, setting="raw")
    for name, (low, high) in compute_intervals(found.per_question).items():
        assert low <= found.metrics[name] <= high


def test_rank_gives_the_same_order_as_evaluation_uses():
    scores = Longest().score("q", QUESTIONS[0].candidates)
    assert [r["corpus_id"] for r in rank(Longest(), "q", QUESTIONS[0].candidates)] == order(scores).tolist()
