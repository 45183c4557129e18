import krippendorff
import numpy as np
import pytest
from sqlalchemy import Engine, event

from app.adapt import readiness, second_looks
from app.adapt.label_noise import TooFewLabels, find_suspicious
from app.ask import asking
from app.corpora import corpora, ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import agreement, annotation, consensus, leasing, progress, rules
from app.labels import consensus as labels
from app.labels.agreement import AC1, compute_ac1, compute_alpha, compute_kappa, infer_question_kind
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.ranking import scoring
from app.ranking.synonyms import write_synonyms
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from db.repositories import labels as label_rows
from db.repositories import reviews


def units(a: str, b: str) -> list:
    return [(i, {"a": int(x), "b": int(y)}) for i, (x, y) in enumerate(zip(a, b, strict=True))]


def test_alpha_of_krippendorffs_two_observers_is_point_095():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example A
    assert compute_alpha(units("0100000010", "1110010000")) == pytest.approx(0.095, abs=5e-4)


def test_kappa_of_fifty_proposals_is_point_4():
    # 20 both yes, 15 both no, 5 and 10 mixed: observed 0.7, by chance 0.5
    left, right = "1" * 25 + "0" * 25, "1" * 20 + "0" * 5 + "1" * 10 + "0" * 15
    assert compute_kappa(units(left, right), "a", "b") == pytest.approx(0.4)


def test_ac1_stays_high_where_nearly_all_labels_are_the_same():
    # 118 both yes, 5 and 2 mixed: observed 118/125; yes 243/250, so by chance 2 (243/250) (7/250)
    lopsided = units("1" * 123 + "00", "1" * 118 + "0" * 5 + "11")
    chance = 2 * 243 / 250 * 7 / 250
    assert compute_ac1(lopsided) == pytest.approx((118 / 125 - chance) / (1 - chance)) == pytest.approx(0.941, abs=5e-4)
    assert compute_kappa(lopsided, "a", "b") < 0
    assert compute_ac1(units("111", "111")) == 1.0 and compute_ac1([]) is None


def test_ac1_of_three_people_who_need_not_all_label():
    # pairs that agree: 1 of 1, 1 of 3, 3 of 3; share of yes 1, 1/3, 0
    three = [(0, {"a": 1, "b": 1}), (1, {"a": 1, "b": 0, "c": 0}), (2, {"a": 0, "b": 0, "c": 0})]
    observed, yes = (1 + 1 / 3 + 1) / 3, (1 + 1 / 3) / 3
    chance = 2 * yes * (1 - yes)
    assert compute_ac1(three) == pytest.approx((observed - chance) / (1 - chance))
    sums = np.array([[sum(x) for x in zip(*(AC1.parts(votes) for _, votes in three), strict=True)]])
    assert AC1.of_sums(sums)[0] == pytest.approx(compute_ac1(three))


def test_agreement_is_undefined_where_everybody_always_says_the_same_one_thing():
    assert compute_alpha(units("111", "111")) is None
    assert compute_kappa(units("111", "111"), "a", "b") is None


def test_agreement_takes_the_pairs_that_two_judged_and_leaves_unsure_out(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-+-")
    give_signs(bob, "+-?")
    found = agreement.measure_agreement(wb, towers.id)
    assert (found.alpha.n, found.alpha.value, found.annotators) == (2, 1.0, ("ann", "bob"))
    [(a, b, estimate)] = found.kappas
    assert (a, b, estimate.value, estimate.low) == ("ann", "bob", 1.0, None)  # one question: nothing to resample


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the tower finished?", "when"),
        ("In which year was it, and why?", "which"),
        ("HOW  many came?", "how-many"),
        ("How much does it weigh?", "how-many"),
        ("How was it built?", "how"),
        ("To whom does it belong?", "who"),
        ("Name the somewhat whole builders.", "other"),
    ],
)
def test_a_question_without_a_kind_has_that_of_its_first_word_that_asks(question, kind):
    assert infer_question_kind(question) == kind


def test_agreement_on_an_asked_question_goes_by_how_it_asks(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-")
    give_signs(bob, "+-")
    assert [(kind, e.n) for kind, e in agreement.measure_agreement(wb, towers.id).per_kind] == [("when", 2)]


def test_a_few_questions_that_all_say_the_same_give_no_interval():
    def measure(questions: int):
        same = [(q, {"a": left, "b": right}) for q in range(questions) for left, right in ((0, 1), (1, 0), (0, 0))]
        return agreement._estimate(same, agreement.ALPHA)

    assert measure(5).value is not None and measure(5).low is measure(5).high is None
    assert measure(6).low == measure(6).high == pytest.approx(measure(6).value)


def test_agreement_over_time_goes_by_the_day_of_the_second_label(wb, towers, give_signs, clock, ann, bob):
    give_signs(ann, "+-+-")
    give_signs(bob, "+-")
    clock.advance(days=3)
    give_signs(bob, "  -+")
    over_time = dict(agreement.measure_agreement(wb, towers.id).over_time)
    assert {day: e.n for day, e in over_time.items()} == {"2024-05-01": 2, "2024-05-04": 2}
    assert over_time["2024-05-01"].value == 1.0
    assert over_time["2024-05-04"].value < 0


def test_unsure_beside_a_judgement_is_no_conflict(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+-+")
    give_signs(bob, "??-")
    [conflict] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert dict(conflict.labels) == {"ann": "correct", "bob": "incorrect"}


def test_a_sentence_that_is_gone_has_no_neighbours_in_the_new_version_of_its_document(wb, ann, bob, clock):
    club = corpora.create_corpus(wb, "club")
    ingestion.ingest(wb, club.id, [("rules.txt", b"Dues come first. The fee is 48 euros. It is due in May.")])
    asked = asking.ask(wb, club.id, "What is the fee?")
    fee = next(c.sentence_id for c in asked.candidates if c.text == "The fee is 48 euros.")
    for who, label in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, question_id=asked.question_id, sentence_id=fee, annotator_id=who.id, label=label)
    [conflict] = agreement.list_conflicts(wb, club.id, ann.id)
    assert not conflict.is_gone
    assert agreement.find_neighbours(wb, fee) == ("Dues come first.", "It is due in May.")
    clock.advance(minutes=1)
    ingestion.ingest(wb, club.id, [("rules.txt", b"Dues come first. The fee is 54 euros. It is due in May.")])
    [conflict] = agreement.list_conflicts(wb, club.id, ann.id)
    assert conflict.is_gone and agreement.find_neighbours(wb, fee) == ("", "")
    item = leasing.open_item(wb, asked.question_id, fee, ann.id)
    assert (item.text, item.before, item.after) == ("The fee is 48 euros.", "", "")


def test_the_same_verdict_again_is_no_other_one_unless_it_has_a_reason(wb, towers, give_signs, ann, bob):
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = agreement.list_conflicts(wb, towers.id, ann.id)
    key = {"question_id": conflict.question_id, "sentence_id": conflict.sentence_id, "annotator_id": ann.id}
    for _ in range(2):  # a double click
        agreement.adjudicate(wb, **key, label="incorrect")
    [settled] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (settled.verdict, settled.earlier) == ("incorrect", ())
    agreement.adjudicate(wb, **key, label="incorrect", note="of the opening")
    [settled] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (settled.note, len(settled.earlier)) == ("of the opening", 1)


def test_a_settled_conflict_counts_as_the_verdict_and_keeps_both_labels(wb, towers, asked, give_signs, ann, bob):
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (conflict.labels, conflict.verdict) == ((("ann", "correct"), ("bob", "incorrect")), "")
    assert consensus.read_labels(wb, asked.question_id) == {}
    key = {"question_id": conflict.question_id, "sentence_id": conflict.sentence_id, "annotator_id": ann.id}
    agreement.adjudicate(wb, **key, label="incorrect", note="the date is of the opening")
    [settled] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (settled.verdict, settled.by, settled.note) == ("incorrect", "ann", "the date is of the opening")
    assert settled.labels == conflict.labels
    assert consensus.read_labels(wb, asked.question_id) == {conflict.sentence_id: "incorrect"}
    assert progress.measure_progress(wb, towers.id, ann.id).per_label == {"correct": 0, "incorrect": 1, "unsure": 0}
    [question] = [x.question for x in labels.load_questions(wb, towers.id) if x.own]
    assert [c.label for c in question.candidates] == [0]
    agreement.adjudicate(wb, **key, label=None)
    assert progress.measure_progress(wb, towers.id, ann.id).per_label["disputed"] == 1


@pytest.fixture
def settled_pair(wb, towers, asked, give_signs, ann, bob):
    """A pair that ann and bob both call incorrect, settled as correct while they differed."""
    give_signs(ann, "+")
    give_signs(bob, "-")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    agreement.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    give_signs(ann, "-")
    return pair


def test_conflicts_and_counts_are_read_again_only_after_a_label_or_a_verdict(wb, towers, ann, bob, monkeypatch):
    asked = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    calls = []
    for module, name in ((reviews, "list_comparable_labels"), (label_rows, "count_outcomes")):
        read = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, name=name, read=read: calls.append(name) or read(*args))

    def look():
        """At the page Agreement and at the figures beside Label, two people, twice."""
        calls.clear()
        for who in (ann, bob) * 2:
            number = len([c for c in agreement.list_conflicts(wb, towers.id, who.id) if not c.verdict])
            progress.measure_progress(wb, towers.id, who.id)
            readiness.count_labels(wb, towers.id)
        return number, sorted(calls)

    once = ["count_outcomes", "list_comparable_labels"]
    assert [look(), look()] == [(0, once), (0, [])]
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    for who, label in ((ann, "correct"), (bob, "incorrect")):
        annotation.give_label(wb, **pair, annotator_id=who.id, label=label)
    assert [look(), look()] == [(1, once), (1, [])]
    agreement.adjudicate(wb, **pair, annotator_id=ann.id, label="correct")
    assert [look(), look()] == [(0, once), (0, [])]


def count_labels(wb, corpus, who):
    return {label: n for label, n in progress.measure_progress(wb, corpus.id, who.id).per_label.items() if n}


def test_a_verdict_can_be_taken_back_when_people_have_come_to_agree(wb, towers, settled_pair, ann, bob):
    for who in (ann, bob):
        [found] = agreement.list_conflicts(wb, towers.id, who.id)
        assert (found.verdict, dict(found.labels)) == ("correct", {"ann": "incorrect", "bob": "incorrect"})
    assert count_labels(wb, towers, ann) == {"correct": 1}
    agreement.adjudicate(wb, **settled_pair, annotator_id=ann.id, label=None)
    assert count_labels(wb, towers, ann) == {"incorrect": 1}
    assert agreement.list_conflicts(wb, towers.id, ann.id) == ()
    assert agreement.measure_agreement(wb, towers.id).alpha.n == 1


def test_a_verdict_on_what_nobody_labels_any_more_counts_nowhere_and_is_seen_when_somebody_does(
    wb, towers, settled_pair, ann, bob, monkeypatch
):
    for who in (ann, bob):
        annotation.withdraw(wb, **settled_pair, annotator_id=who.id)
    assert consensus.read_labels(wb, settled_pair["question_id"]) == count_labels(wb, towers, ann) == {}
    assert agreement.list_conflicts(wb, towers.id, ann.id) == ()
    learnt = []
    monkeypatch.setattr(
        second_looks, "find_suspicious", lambda features, labels, questions: learnt.append(labels) or []
    )
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert learnt == []
    annotation.give_label(wb, **settled_pair, annotator_id=bob.id, label="incorrect")
    assert consensus.read_labels(wb, settled_pair["question_id"]) == {settled_pair["sentence_id"]: "correct"}
    [found] = agreement.list_conflicts(wb, towers.id, ann.id)
    assert (found.verdict, found.labels) == ("correct", (("bob", "incorrect"),))


def test_only_an_admin_settles_and_others_see_the_conflicts_they_are_part_of(wb, towers, give_signs, ann, bob):
    carol = people.sign_in(wb, "carol")
    give_signs(ann, "+")
    give_signs(bob, "-")
    [conflict] = agreement.list_conflicts(wb, towers.id, bob.id)
    assert agreement.list_conflicts(wb, towers.id, carol.id) == ()
    with pytest.raises(NotAllowed, match="takes an admin"):
        agreement.adjudicate(
            wb,
            question_id=conflict.question_id,
            sentence_id=conflict.sentence_id,
            annotator_id=bob.id,
            label="correct",
        )


def test_anchoring_is_agreement_with_the_model_shown_less_blind(wb, towers, give_signs, ann, bob):
    give_signs(ann, "++-", arm="shown", model_says=True)  # two of three follow the model
    give_signs(bob, "+-", arm="blind", model_says=True)  # one of two
    give_signs(bob, "  +", model_says=True)  # chance did not decide on its scores
    found = agreement.measure_anchoring(wb, towers.id)
    assert (found.visible, found.blind) == (3, 2)
    assert (found.agree_visible, found.agree_blind) == pytest.approx((2 / 3, 1 / 2))
    assert found.shift.value == pytest.approx(1 / 6)


def make_units(questions: int = 12, pairs: int = 5, people: str = "abc") -> list:
    """Units of several a question, most of them agreed on; two people at least judge each."""
    draw = np.random.default_rng(5)
    found = []
    for i in range(questions * pairs):
        truth = draw.random() < 0.3
        said = {p: int(truth != (draw.random() < 0.15)) for p in people if p in "ab" or draw.random() < 0.5}
        found.append((i // pairs, said))
    return found


def resample(units, measure, seed=0):
    """The interval the long way: the measure itself on every resample."""
    by_question = {}
    for unit in units:
        by_question.setdefault(unit[0], []).append(unit)
    questions, draw, found = list(by_question.values()), np.random.default_rng(seed), []
    for _ in range(agreement.RESAMPLES):
        chosen = draw.integers(len(questions), size=len(questions))
        again = measure([unit for i in chosen for unit in questions[i]])
        if again is not None and np.isfinite(again):
            found.append(again)
    return np.quantile(found, [0.025, 0.975])


@pytest.mark.parametrize(
    ("units", "measure", "told"),
    [
        (make_units(), compute_alpha, agreement.ALPHA),
        (make_units(2, 2), compute_alpha, agreement.ALPHA),  # resamples in which it is undefined
        (make_units(), lambda us: compute_kappa(us, "a", "b"), agreement._kappa_of("a", "b")),
        (make_units(3, 2), lambda us: compute_kappa(us, "b", "a"), agreement._kappa_of("b", "a")),
        ([(q, (i % 2 == 0, q % 3 > 0)) for q in range(9) for i in range(q % 3 + 1)], agreement._shift, agreement.SHIFT),
    ],
    ids=["alpha", "alpha, few", "kappa", "kappa, few", "shift"],
)
def test_an_interval_from_sums_is_the_one_from_resampled_units(units, measure, told):
    found = agreement._estimate(units, told)
    sums = np.array([[told.parts(unit) for _, unit in units]]).sum(axis=1)
    assert told.of_sums(sums)[0] == pytest.approx(found.value, abs=1e-9)
    assert (found.value, found.n) == (measure(units), len(units))
    assert [found.low, found.high] == pytest.approx(resample(units, measure), abs=1e-9)


def test_the_libraries_are_asked_once_a_figure_however_many_resamples(monkeypatch):
    calls = []
    library = krippendorff.alpha
    monkeypatch.setattr(krippendorff, "alpha", lambda **k: calls.append(1) or library(**k))
    agreement._estimate_by(["May", "June"] * 30, make_units())
    assert len(calls) == 2


def test_conflicts_take_as_many_queries_however_many_they_are(request, wb, towers, asked, give_signs, ann, bob):
    asked_of = []
    listener = Engine, "before_cursor_execute", lambda *told: asked_of.append(told[2])
    event.listen(*listener)
    request.addfinalizer(lambda: event.remove(*listener))

    def queries():
        asked_of.clear()
        agreement.list_conflicts(wb, towers.id, ann.id)
        return len(asked_of)

    queries()  # from now on it looks for what came since
    give_signs(ann, "+")
    give_signs(bob, "-")
    one = queries()
    give_signs(ann, "++++")
    give_signs(bob, "----")
    settled = {"question_id": asked.question_id, "sentence_id": asked.candidates[2].sentence_id}
    agreement.adjudicate(wb, **settled, annotator_id=ann.id, label="correct")
    assert queries() == one
    assert [c.by for c in agreement.list_conflicts(wb, towers.id, ann.id)] == ["", "", "", "ann"]


def plant_errors(flipped: int = 8, questions: int = 30):
    """Features that tell the labels apart, some of which are turned round."""
    draw = np.random.default_rng(1)
    labels = np.array([int(i % 4 == 0) for i in range(4 * questions)])
    features = draw.normal(0, 0.5, (len(labels), 3)) + 3 * labels[:, None]
    wrong = draw.choice(len(labels), flipped, replace=False)
    given = labels.copy()
    given[wrong] = 1 - given[wrong]
    return features, given, [i // 4 for i in range(len(labels))], set(wrong.tolist())


def test_labels_that_were_turned_round_are_the_ones_doubted():
    features, given, questions, wrong = plant_errors()
    found = find_suspicious(features, given, questions)
    assert {i for i, _ in found[: len(wrong)]} == wrong
    assert all(0.5 < doubt <= 1 for _, doubt in found)


def test_doubting_takes_labels_of_both_kinds_on_several_questions():
    features, given, questions, _ = plant_errors(0, 5)
    with pytest.raises(TooFewLabels, match="10 correct and 10 incorrect"):
        find_suspicious(features, given, questions)


def test_second_looks_read_the_questions_with_the_corpus_s_synonyms(wb, towers, ann, monkeypatch):
    view = asking.ask(wb, towers.id, "When was the Eiffel Tower finished?")
    for c in view.candidates:
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label="correct"
        )
    write_synonyms(wb, towers.id, "finished => completed", by=ann.id)
    read, rank = [], scoring.rank
    monkeypatch.setattr(scoring, "rank", lambda *args: (read.append(args[1]), rank(*args))[1])
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, {"doubt": RUNNERS["doubt"]})
    assert read == ["When was the Eiffel Tower finished (completed)?"]


def test_a_doubted_label_comes_back_and_rests_once_looked_at(wb, towers, ann):
    asked = [asking.ask(wb, towers.id, f"When was the Eiffel Tower finished, says {i}?") for i in "abcdefghijkl"]
    for view in asked:
        for c in view.candidates:
            right = "finished" in c.text
            label = "correct" if right != (view is asked[0] and right) else "incorrect"
            annotation.give_label(
                wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label=label
            )
    job = second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert queue.load_job(wb, job.id).state == "done", queue.load_job(wb, job.id).error
    assert second_looks.count_second_looks(wb, towers.id) == queue.load_job(wb, job.id).result["doubted"] >= 1
    item = leasing.find_next_item(wb, Seat(towers.id, ann.id, "second"))
    assert (item.question_id, item.label) == (asked[0].question_id, "incorrect")
    assert "labelled incorrect" in item.why
    annotation.give_label(
        wb,
        question_id=item.question_id,
        sentence_id=item.sentence_id,
        annotator_id=ann.id,
        label="incorrect",
        presentation=Presentation(queue="second"),
    )
    left = second_looks.count_second_looks(wb, towers.id)
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert second_looks.count_second_looks(wb, towers.id) == left


def test_a_search_for_suspicious_labels_makes_room_for_a_ranking_and_keeps_what_it_has(wb, towers, ann, monkeypatch):
    for word in "abcdefghijkl":
        view = asking.ask(wb, towers.id, f"When was the Eiffel Tower finished, says {word}?")
        for c in view.candidates:
            label = "correct" if "finished" in c.text else "incorrect"
            annotation.give_label(
                wb, question_id=view.question_id, sentence_id=c.sentence_id, annotator_id=ann.id, label=label
            )
    order, rank = [], scoring.rank

    def rank_and_ask(*args):
        order.append("rank")
        if order.count("rank") == 5:
            queue.enqueue(wb, "score", {})
        return rank(*args)

    monkeypatch.setattr(scoring, "rank", rank_and_ask)
    job = second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, {"doubt": RUNNERS["doubt"], "score": lambda job: order.append("score")})
    done = queue.load_job(wb, job.id)
    assert (done.state, done.attempt) == ("done", 2), done.error
    assert order == 5 * ["rank"] + ["score"] + 7 * ["rank"]


def test_features_of_another_version_or_sentence_are_not_taken():
    keys = [("cascade", None, "Who?", "Me."), ("cascade", None, "Who?", "You."), ("cascade-2", None, "Who?", "Me.")]
    assert len({second_looks.make_key(*parts) for parts in [*keys, keys[0]]}) == 3


@pytest.fixture
def pair_and_verdict(wb, asked, give_signs, ann, bob):
    """A pair that ann and bob call correct and carol incorrect, and settle(label) for a verdict on it."""
    for who, sign in ((ann, "+"), (bob, "+"), (people.sign_in(wb, "carol"), "-")):
        give_signs(who, sign)
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    return tuple(pair.values()), lambda label: agreement.adjudicate(wb, **pair, annotator_id=ann.id, label=label)


def test_a_doubt_about_what_a_verdict_overruled_waits_for_nobody(wb, towers, pair_and_verdict, ann):
    pair, settle = pair_and_verdict
    with wb.write() as s:
        reviews.put_suspicions(s, towers.id, [(pair, "correct", 0.9)], wb.clock())
    for verdict, waiting in (("incorrect", 0), ("correct", 1), ("unsure", 0), (None, 1)):
        settle(verdict)
        assert second_looks.count_second_looks(wb, towers.id) == waiting
        item = leasing.find_next_item(wb, Seat(towers.id, ann.id, "second"))
        assert (item is not None) == bool(waiting)
    assert "labelled correct" in item.why


def test_what_a_label_looks_like_is_learnt_from_the_verdict_on_it(wb, towers, pair_and_verdict, monkeypatch):
    learnt = []
    monkeypatch.setattr(
        second_looks, "find_suspicious", lambda features, labels, questions: learnt.append(labels) or []
    )
    pair_and_verdict[1]("incorrect")
    second_looks.start_second_looks(wb, towers.id)
    run_queued(wb, RUNNERS)
    assert learnt == [[0]]
