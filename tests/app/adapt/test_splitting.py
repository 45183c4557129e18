import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st

from app.adapt import splitting
from app.adapt.splitting import DEV_SHARE, HELD_OUT_SHARE, MIN_DEV, _hash_to_unit, group_near_duplicates, split
from app.labels.consensus import LabelledQuestion
from as2core.text import tokenize
from as2core.types import Candidate, Question

THINGS = (
    "tower bridge river bread violin comet glacier castle printing insulin volcano compass harbour lantern "
    "saddle cinema orchard telescope quarry parliament umbrella sextant windmill cathedral aqueduct barometer chimney "
    "dictionary elevator furnace gondola hammock igloo jigsaw kettle lighthouse monsoon notebook oracle"
).split()
ASKED = ["who built the {}", "when did the first {} appear", "how large is a {}", "why does the {} matter to people"]


def make_question(
    number: int, text: str, *, labels: str = "+-", given: str = "", origin: str = "asked"
) -> LabelledQuestion:
    known = {"+": 1, "-": 0, "?": None}
    candidates = tuple(Candidate(f"{number}-{i}", f"text {i}", known[x]) for i, x in enumerate(labels))
    return LabelledQuestion(
        number, Question(f"q{number}", text, candidates, split=given), origin, own=True, conflict_count=0, unsure=0
    )


def many(n: int, **more) -> list[LabelledQuestion]:
    texts = [a.format(t) for t in THINGS for a in ASKED]
    return [make_question(i, texts[i], **more) for i in range(n)]


def qids(questions) -> set[str]:
    return {q.qid for q in questions}


def test_a_question_is_in_one_part_only_and_none_is_lost():
    parts = split(many(150))
    train, dev, held = map(qids, (parts.train, parts.dev, parts.held_out))
    assert train | dev | held == {f"q{i}" for i in range(150)}
    assert len(train) + len(dev) + len(held) == 150
    assert 25 <= len(held) <= 50
    assert len(train) > len(held)
    assert len(dev) >= MIN_DEV


def test_too_few_questions_for_validation_are_trained_on_and_those_held_out_stay_so():
    few, many_ = split(many(80)), split(many(150))
    assert few.dev == ()
    assert qids(few.train) & qids(many_.dev)
    assert qids(few.held_out) <= qids(many_.held_out)


def test_only_validation_questions_that_can_be_ranked_count():
    texts = [a.format(t) for t in THINGS for a in ASKED]
    unranked = [make_question(i, texts[i], labels="--" if i % 4 else "+-") for i in range(150)]
    assert split(unranked).dev == ()


def test_of_few_questions_one_meant_for_validation_is_held_out_rather_than_none():
    places = [(_hash_to_unit(q), q) for q in many(150)]
    few = [q for place, q in places if HELD_OUT_SHARE <= place < HELD_OUT_SHARE + DEV_SHARE][:2]
    parts = split(few)
    assert (len(parts.train), len(parts.dev), len(parts.held_out)) == (1, 0, 1)


def test_what_is_held_out_stays_held_out_when_labels_are_added():
    before, after = split(many(30)), split(many(48))
    assert qids(before.held_out) <= qids(after.held_out)
    assert not qids(before.held_out) & qids(after.train)


@pytest.mark.parametrize("number", [100, 1000])
def test_what_is_held_out_stays_so_when_an_older_or_a_newer_near_duplicate_gets_a_label(number):
    ones = [replace(x, id=500 + x.id) for x in many(48)]
    before = split(ones)
    others = [make_question(number + i, f"{x.question.text} {x.question.text}") for i, x in enumerate(ones)]
    alone = qids(split(others).train)
    after = split([*ones, *others])
    assert sum(f"q{number + i}" in alone for i, x in enumerate(ones) if x.question.qid in qids(before.held_out)) > 3
    assert qids(before.held_out) <= qids(after.held_out)


def test_a_pair_is_held_out_where_either_of_the_two_would_be():
    pairs = [(x, make_question(1000 + x.id, f"{x.question.text} {x.question.text}")) for x in many(150)]
    both = qids(split([x for pair in pairs for x in pair]).held_out)
    alone = set().union(*(qids(split([pair[j] for pair in pairs]).held_out) for j in (0, 1)))
    assert both == {x.question.qid for pair in pairs for x in pair if {y.question.qid for y in pair} & alone}
    assert 2 * 150 * 0.35 < len(both) < 2 * 150 * 0.53  # 7 of 16


def test_the_order_of_the_questions_does_not_matter():
    shuffled = many(40)
    random.Random(1).shuffle(shuffled)
    assert split(shuffled) == split(many(40))


def test_near_duplicates_stay_on_one_side():
    tail = "exactly in those long gone days of old"
    ones = [make_question(100 + i, f"{q.question.text} {tail} then") for i, q in enumerate(many(20))]
    twins = [make_question(200 + i, f"{q.question.text} {tail} now") for i, q in enumerate(many(20))]
    parts = split(ones + twins)
    for i in range(20):
        both = {f"q{100 + i}", f"q{200 + i}"}
        assert sum(bool(both & qids(part)) for part in (parts.train, parts.dev, parts.held_out)) == 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_few_questions_still_give_one_to_judge_by_and_one_to_learn_from(n):
    parts = split(many(n))
    assert len(parts.held_out) >= 1
    assert len(parts.train) >= 1


def test_one_question_is_not_held_out():
    assert split(many(1)).held_out == ()


def test_held_out_questions_have_labels_of_both_kinds():
    mixed = many(24) + [make_question(100 + i, f"what is {t}", labels="++") for i, t in enumerate(THINGS)]
    parts = split(mixed)
    assert all(q.positives and q.negatives for q in parts.held_out)
    assert parts.incomplete and not any(x.question.negatives for x in parts.incomplete)
    assert len(parts.train) + len(parts.dev) + len(parts.held_out) + len(parts.incomplete) == len(mixed)
    assert any(not q.negatives for q in parts.train)


def test_only_labelled_candidates_take_part():
    parts = split([make_question(i, f"who made the {t}", labels="+?-?") for i, t in enumerate(THINGS)])
    for q in (*parts.train, *parts.dev, *parts.held_out):
        assert [c.label for c in q.candidates] == [1, 0]


def test_questions_without_any_label_are_left_out():
    assert split([make_question(0, "who knows", labels="??")]).train == ()


def test_a_given_division_is_kept_and_its_test_part_not_used_beside_questions_of_ones_own():
    texts = [a.format(t) for t in THINGS for a in ASKED]
    given = [make_question(i, texts[i], given=("train", "dev", "test")[i % 3], origin="starter") for i in range(24)]
    own = [make_question(100 + i, texts[30 + i]) for i in range(12)]
    parts = split(given + own)
    used = qids(parts.train) | qids(parts.dev) | qids(parts.held_out)
    assert not {f"q{i}" for i in range(24) if i % 3 == 2} & used
    assert {f"q{i}" for i in range(24) if i % 3 == 0} <= qids(parts.train)
    assert {f"q{i}" for i in range(24) if i % 3 == 1} == qids(parts.dev)
    assert {"q100"} <= used
    assert qids(parts.held_out) <= {f"q{100 + i}" for i in range(12)}
    assert not parts.borrowed_part


def test_without_questions_of_ones_own_the_given_dev_part_is_held_out():
    texts = [a.format(t) for t in THINGS for a in ASKED]
    given = [make_question(i, texts[i], given=("train", "dev")[i % 2], origin="starter") for i in range(24)]
    parts = split(given)
    assert parts.borrowed_part == "dev"
    assert qids(parts.held_out) == {f"q{i}" for i in range(24) if i % 2 == 1}
    assert qids(parts.train) | qids(parts.dev) == {f"q{i}" for i in range(24) if i % 2 == 0}


def test_without_questions_of_ones_own_the_given_test_part_is_held_out_before_the_dev_part():
    texts = [a.format(t) for t in THINGS for a in ASKED]
    given = [make_question(i, texts[i], given=("train", "dev", "test")[i % 3], origin="listed") for i in range(24)]
    parts = split(given)
    assert parts.borrowed_part == "test"
    assert [qids(part) for part in (parts.train, parts.dev, parts.held_out)] == [
        {f"q{i}" for i in range(24) if i % 3 == part} for part in range(3)
    ]


def test_the_frozen_benchmark_is_not_held_out_for_lack_of_others():
    texts = [a.format(t) for t in THINGS for a in ASKED]
    given = [make_question(i, texts[i], given=("train", "dev", "test")[i % 3], origin="starter") for i in range(24)]
    parts = split(given, benchmarks=[texts[i] for i in range(2, 24, 3)])
    assert parts.borrowed_part == "dev"
    assert qids(parts.held_out) == {f"q{i}" for i in range(24) if i % 3 == 1}


def test_a_question_close_to_the_frozen_benchmark_is_never_trained_on():
    benchmark = make_question(0, "when was the old stone bridge over the river built", given="test", origin="starter")
    close = make_question(1, "when was the old stone bridge over the river built then")
    parts = split([benchmark, close, *[make_question(10 + i, x.question.text) for i, x in enumerate(many(20))]])
    assert "q1" not in qids(parts.train) | qids(parts.dev)


def test_near_duplicates_are_found_as_brute_force_finds_them():
    rng = random.Random(7)
    vocabulary = [f"w{i}" for i in range(30)]
    texts = [" ".join(rng.sample(vocabulary, rng.randint(3, 10))) for _ in range(80)]
    texts += [f"{t} w0" for t in texts[:40]]
    near = {
        (i, j)
        for i, j in combinations(range(len(texts)), 2)
        if len(set(tokenize(texts[i])) & set(tokenize(texts[j])))
        >= 0.8 * len(set(tokenize(texts[i])) | set(tokenize(texts[j])))
    }
    group_of = {i: n for n, group in enumerate(group_near_duplicates(texts)) for i in group}
    assert len(near) > 20
    assert all(group_of[i] == group_of[j] for i, j in near)
    linked = {n: {i} for i, n in group_of.items()}
    for i, j in near:
        linked[group_of[i]] |= {i, j}
    for n in set(group_of.values()):  # nobody is in a group without a near neighbour in it
        members = [i for i in group_of if group_of[i] == n]
        assert len(members) == 1 or all(any((min(i, j), max(i, j)) in near for j in members if j != i) for i in members)


@pytest.mark.parametrize(
    ("template", "groups"), [("What is the price of item {} in this catalogue today?", 1), ("Who wrote book {}?", 2000)]
)
def test_of_thousands_that_are_nearly_the_same_each_is_compared_with_a_few(template, groups, monkeypatch):
    pairs, is_near = [], splitting._is_near
    monkeypatch.setattr(splitting, "_is_near", lambda a, b: pairs.append((a, b)) or is_near(a, b))
    texts = [template.format(i) for i in range(2000)]
    assert len(group_near_duplicates(texts)) == groups
    assert len(pairs) <= 2 * len(texts)  # of 1,999,000
    vectors = np.ones((len(texts), 1))
    assert group_near_duplicates(texts, vectors) == [[*range(2000)]]


def embedder(alike: dict[str, str]):
    """Every text a direction of its own; those of `alike` lie near the text they reword (cosine 0.92)."""

    def embed(texts):
        axes = {t: i for i, t in enumerate(sorted({*texts, *alike.values()}))}
        out = np.zeros((len(texts), len(axes)), dtype=np.float32)
        for row, t in enumerate(texts):
            out[row, axes[t]] = 1.0
            if t in alike:
                out[row] *= (1 - 0.92**2) ** 0.5
                out[row, axes[alike[t]]] = 0.92
        return out

    return embed


def sides_of(parts, names):
    return [bool(names & qids(part)) for part in (parts.train, parts.dev, parts.held_out)]


def test_a_question_reworded_stays_on_its_side_though_no_word_is_shared():
    asked = many(40)
    reworded = {f"by whom, say {i}": x.question.text for i, x in enumerate(asked)}
    twins = [make_question(100 + i, text) for i, text in enumerate(reworded)]
    parts = split(asked + twins, embed=embedder(reworded))
    for i in range(40):
        assert sum(sides_of(parts, {f"q{i}", f"q{100 + i}"})) == 1


def test_what_the_base_learnt_in_another_corpus_and_other_words_never_judges_it():
    before = split(many(40))
    met = [x for x in many(40) if x.question.qid in qids(before.held_out)]
    in_other_words = {f"put otherwise {x.question.qid}": x.question.text for x in met}
    parts = split(many(40), embed=embedder(in_other_words), trained_on=list(in_other_words))
    assert qids(met_q.question for met_q in met) <= qids(parts.train)
    assert not qids(met_q.question for met_q in met) & (qids(parts.held_out) | qids(parts.dev))


def test_what_nearly_repeats_the_frozen_benchmark_is_not_learnt_though_another_corpus_asks_it():
    first = many(1)[0].question.text
    again = {"the same thing put otherwise": first}
    parts = split(many(40), embed=embedder(again), benchmarks=list(again))
    assert "q0" not in qids(parts.train) | qids(parts.dev)


def test_what_is_learnt_and_frozen_at_once_takes_no_side():
    text = many(1)[0].question.text
    parts = split(many(40), trained_on=[text], benchmarks=[text])
    assert sides_of(parts, {"q0"}) == [False, False, False]


def test_questions_that_share_their_sentences_may_part():
    asked = [x.question.text for x in many(40)]
    same = tuple(Candidate(f"s{i}", f"the same sentence {i}", i % 2) for i in range(6))
    parts = split([LabelledQuestion(i, Question(f"q{i}", t, same), "asked", True, 0, 0) for i, t in enumerate(asked)])
    assert parts.train and parts.held_out


WORDS = "who when where built sold tower bridge bread old new oslo rome".split()


@settings(max_examples=60, deadline=None)
@for_any(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=25),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), max_size=4),
    st.lists(st.sampled_from(["", "", "", "train", "dev", "test"]), min_size=25, max_size=25),
)
def test_whatever_is_asked_no_near_duplicate_is_on_two_sides(asked, met, division):
    found = [make_question(i, " ".join(a), given=division[i]) for i, a in enumerate(asked)]
    seen = [" ".join(m) for m in met]
    parts = split(found, trained_on=seen)

    def near(a, b):
        return len(set(a.split()) & set(b.split())) >= 0.8 * len(set(a.split()) | set(b.split()))

    sides = [{q.text for q in part} for part in (parts.train, parts.dev, parts.held_out)]
    for one, other in combinations(range(3), 2):
        assert not any(near(a, b) for a in sides[one] for b in sides[other])
    assert not any(near(a, b) for a in seen for b in sides[2])
