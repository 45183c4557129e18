"""One table for all rankers: what DESIGN.md promises of every one of them."""

import dataclasses
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from as2core.errors import BadSetting, DamagedModel, UnknownRanker, UnsupportedBackbone
from as2core.nn.backbone import Backbone
from as2core.rankers.base import TracesTogether, list_untrained, rank, rank_many
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import CATALOG, get, load_version
from as2core.rankers.versions import save_version
from as2core.types import Candidate

QUESTION = "when was the tower built ?"
TEXTS = [
    "the tower was completed in 1889 .",
    "iron",
    "the bridge is 300 metres long and the water is high in winter .",
    "",
    "一座塔 🙂",
    "the tower was completed in 1889 .",
]
CANDIDATES = [Candidate(str(i), t) for i, t in enumerate(TEXTS)]
# How catalog entries are built from tiny parts, "{tiny}" is a tiny encoder's folder; the others need no parts. What
# needs a file or a server has tests of its own.
SPECS = {name: name for name, entry in CATALOG.items() if entry.required is None} | {
    "rel-cnn": "rel-cnn:context=bilstm,backbone={tiny}",
    "cosinet": "cosinet:listwise,context=birnn,backbone={tiny}",
    "compare-aggregate": "compare-aggregate:hidden=16,backbone={tiny}",
    "bi-encoder": "bi-encoder:backbone={tiny}",
    "cross-encoder": "cross-encoder:depth=3,backbone={tiny}",
    "sequential": "sequential:stages=bi-encoder:backbone={tiny}@4+wo@0.5+cross-encoder:backbone={tiny}",
    "cascade": "cascade:keep=1,backbone={tiny}",
    "classifier": "classifier:model={tiny}",
    "generative": "generative:backbone={tiny}",
    "fusion": "fusion:method=zscore,rankers=bm25+bi-encoder:backbone={tiny}+generative:backbone={tiny}",
}
# Those whose score for a candidate depends on nothing but the question and it, so neither on order nor on neighbours.
POINTWISE = {
    "wo": "wo",
    "jaccard": "jaccard",
    "rel-cnn": "rel-cnn:backbone={tiny}",
    "cosinet": "cosinet:backbone={tiny}",
    "compare-aggregate": SPECS["compare-aggregate"],
    "bi-encoder": SPECS["bi-encoder"],
    "cross-encoder": SPECS["cross-encoder"],
    "cascade": "cascade:drop_ratio=0,backbone={tiny}",
    "classifier": SPECS["classifier"],
    "generative": SPECS["generative"],
}
# Those that compare the candidates of a question, but do not care about their order as long as no scores tie.
READING = ("bi-encoder", "cascade", "classifier", "cross-encoder", "generative")  # more than shared words
UNORDERED = {"bm25": "bm25", "fusion": SPECS["fusion"]}


@pytest.fixture(params=SPECS)
def ranker(request, tiny):
    return get(SPECS[request.param].format(tiny=tiny()))


def test_a_ranker_gives_one_finite_float_a_candidate(ranker):
    scores = ranker.score(QUESTION, CANDIDATES)
    assert ranker.name
    assert scores.shape == (len(CANDIDATES),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()


def test_a_ranker_takes_an_empty_list(ranker):
    assert ranker.score(QUESTION, []).shape == (0,)


@pytest.mark.parametrize("question", ["", "   ", "?", "tower " * 2000, "塔はいつ建てられたか 🙂"])
def test_a_ranker_takes_any_question(ranker, question):
    assert np.isfinite(ranker.score(question, CANDIDATES)).all()


def test_scores_do_not_look_at_labels(ranker):
    labelled = [dataclasses.replace(c, label=i % 2) for i, c in enumerate(CANDIDATES)]
    np.testing.assert_array_equal(ranker.score(QUESTION, CANDIDATES), ranker.score(QUESTION, labelled))


@pytest.mark.parametrize("name", SPECS)
def test_what_reads_text_reads_the_title_before_it_and_what_counts_words_does_not(name, tiny):
    ranker = get(SPECS[name].format(tiny=tiny()))
    titled = [dataclasses.replace(c, title="The water  of winter") for c in CANDIDATES]
    as_text = [dataclasses.replace(c, text=f"The water of winter: {c.text}") for c in CANDIDATES]
    if name in READING:
        np.testing.assert_allclose(ranker.score(QUESTION, titled), ranker.score(QUESTION, as_text), atol=1e-5)
    elif name not in ("fusion", "sequential"):  # which have both kinds
        np.testing.assert_array_equal(ranker.score(QUESTION, titled), ranker.score(QUESTION, CANDIDATES))


def test_a_long_title_leaves_room_for_its_sentence():
    candidate = Candidate("0", "It is iron.", title=" ".join("abcdefghijklmnop"))
    assert candidate.titled_text == "a b c d e f g h i j k l: It is iron."


def test_one_candidate_alone_is_scored(ranker):
    for candidate in CANDIDATES:
        scores = ranker.score(QUESTION, [candidate])
        assert scores.shape == (1,) and np.isfinite(scores).all()


def test_candidates_that_are_all_the_same_or_all_empty_are_scored(ranker):
    for text in ("the tower stands", ""):
        scores = ranker.score(QUESTION, [Candidate(str(i), text) for i in range(7)])
        assert scores.shape == (7,) and np.isfinite(scores).all()


def test_asked_again_it_says_the_same(ranker):
    first = ranker.score(QUESTION, CANDIDATES)
    ranker.score("another question", CANDIDATES[:2])
    np.testing.assert_array_equal(first, ranker.score(QUESTION, CANDIDATES))


def test_a_ranker_leaves_its_candidates_alone(ranker):
    given = list(CANDIDATES)
    ranker.score(QUESTION, given)
    assert given == CANDIDATES


@pytest.mark.parametrize("spec", POINTWISE.values(), ids=POINTWISE)
def test_a_candidate_s_score_does_not_depend_on_its_neighbours(spec, tiny):
    ranker = get(spec.format(tiny=tiny()))
    together = ranker.score(QUESTION, CANDIDATES)
    alone = np.concatenate([ranker.score(QUESTION, [c]) for c in CANDIDATES])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together[0] == pytest.approx(together[5], abs=1e-5)  # the same text twice


@pytest.mark.parametrize("spec", [*POINTWISE.values(), *UNORDERED.values()], ids=[*POINTWISE, *UNORDERED])
def test_a_ranker_that_does_not_look_at_the_order_does_not_care_about_it(spec, tiny):
    ranker, without_ties = get(spec.format(tiny=tiny())), CANDIDATES[:5]
    backwards = ranker.score(QUESTION, without_ties[::-1])[::-1]
    np.testing.assert_allclose(ranker.score(QUESTION, without_ties), backwards, atol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
@pytest.mark.parametrize("depth", [1, 4, 6])
def test_a_monolithic_model_is_the_first_layers_of_any_encoder(kind, depth, tiny):
    shallow = get(f"cross-encoder:depth={depth},backbone={tiny(kind)}")
    full = get(f"cascade:drop_ratio=0,backbone={tiny(kind)}")
    trace = shallow.trace(QUESTION, CANDIDATES)
    assert (shallow.depth, len(trace.exits)) == (depth, 1)
    assert trace.relative_cost == 1.0
    if depth in full.exits:  # the same layers, and heads that start alike
        exit_scores = full.trace(QUESTION, CANDIDATES).exits[full.exits.index(depth)].scores
        np.testing.assert_allclose(trace.scores(), exit_scores, atol=1e-5)


@pytest.mark.parametrize("depth", [0, 7, "two", 2.5])
def test_a_depth_the_encoder_does_not_have_is_refused(depth, tiny):
    with pytest.raises(BadSetting, match="between 1 and 6"):
        get(f"cross-encoder:depth={depth},backbone={tiny()}")


def test_exits_that_are_no_layers_are_refused(backbone):
    for exits in (("2", "4"), (2.5, 4), (0, 4), (4, 2)):
        with pytest.raises(BadSetting, match="ascending layers between 1 and 6"):
            CascadeRanker(backbone, exits=exits)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_any_bert_roberta_or_electra_becomes_a_cascade(kind, tiny):
    ranker = get(f"cascade:backbone={tiny(kind)}")
    assert ranker.exits == (2, 3, 4, 5, 6)
    assert np.isfinite(ranker.score(QUESTION, CANDIDATES)).all()


def test_a_twelve_layer_encoder_has_the_paper_s_exits(tiny):
    assert get(f"cascade:backbone={tiny('bert', 12)}").exits == (4, 6, 8, 10, 12)


def test_an_architecture_that_cannot_be_walked_is_refused_with_those_that_can(tiny):
    with pytest.raises(UnsupportedBackbone, match=r"gpt2.*bert, roberta, electra"):
        get(f"cascade:backbone={tiny('gpt2')}")


def test_ties_go_to_the_earlier_candidate():
    ranked = rank(get("jaccard"), "tower", ["a tower", "no", "the tower"])
    assert [r["corpus_id"] for r in ranked] == [0, 2, 1]
    assert ranked[0] == {"corpus_id": 0, "score": 0.5, "text": "a tower"}


def test_questions_ranked_together_are_ranked_as_each_alone(ranker):
    asked = [(QUESTION, TEXTS[:5]), ("why ?", []), ("how many metres ?", CANDIDATES[:3])]
    together = rank_many(ranker, asked, top_n=2)
    for (question, texts), ranked in zip(asked, together, strict=True):
        alone = rank(ranker, question, texts, top_n=2)
        assert [(r["corpus_id"], r["text"]) for r in ranked] == [(r["corpus_id"], r["text"]) for r in alone]
        np.testing.assert_allclose([r["score"] for r in ranked], [r["score"] for r in alone], atol=1e-4)


def test_a_ranker_that_can_score_questions_together_is_asked_once():
    class Together(TracesTogether):
        name, asked, schedule, trace = "together", [], None, None

        def trace_many(self, queries, schedule=None):
            self.asked.append([question for question, _ in queries])
            return [SimpleNamespace(scores=partial(np.arange, len(c), dtype=np.float32)) for _, c in queries]

    ranked = rank_many(Together(), [("a", ["x", "y"]), ("b", ["z"])])
    assert Together.asked == [["a", "b"]]
    assert [[r["text"] for r in best_first] for best_first in ranked] == [["y", "x"], ["z"]]


def test_word_overlap_counts_unique_shared_words_and_wo_rr_breaks_its_ties():
    cands = [Candidate(str(i), t) for i, t in enumerate(["a tower, a tower", "the tall tower", "tower tall"])]
    np.testing.assert_array_equal(np.floor(get("wo").score("the tall tower", cands)), [1, 3, 2])
    np.testing.assert_allclose(get("wo-rr").score("tower", cands), [1.5, 1.25, 1 + 1 / 6], rtol=1e-6)


def test_reciprocal_rank_and_jaccard_by_hand():
    cands = [Candidate("0", "iron tower"), Candidate("1", "iron bridge")]
    np.testing.assert_allclose(get("rr").score("x", cands), [1, 0.5])
    np.testing.assert_allclose(get("jaccard").score("tall iron tower", cands), [2 / 3, 1 / 4], rtol=1e-6)


def test_bm25_by_hand():
    # N = 2, mean length 2.5; "iron" in one of two: idf = log(1 + 1.5 / 1.5) = log 2
    cands = [Candidate("0", "iron iron"), Candidate("1", "the red bridge")]
    norm = 1.2 * (0.25 + 0.75 * 2 / 2.5)
    expected = np.log(2) * 2 * 2.2 / (2 + norm)
    np.testing.assert_allclose(get("bm25").score("iron", cands), [expected, 0], rtol=1e-6)


def test_the_bi_encoder_s_cosine_is_sentence_transformers_s():
    from sentence_transformers import SentenceTransformer

    from as2core.nn.backbone import DEFAULT_BACKBONE, locate_weights

    ours = get("bi-encoder").score(QUESTION, CANDIDATES[:3])
    theirs = SentenceTransformer(locate_weights(DEFAULT_BACKBONE), device="cpu").encode(
        [QUESTION, *TEXTS[:3]], normalize_embeddings=True
    )
    np.testing.assert_allclose(ours, theirs[1:] @ theirs[0], atol=1e-5)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("cascdae", "known: bi-encoder, bm25"),
        ("bm25:k9=1", "known: k1, b"),
        ("bm25:k1", "setting=value"),
        ("bm25:k1=much", "is not a float"),
        ("cascade:drop_ratio=1.5", "1.5"),
        ("cascade:drop_ratio=.1/.2/.3", "3 drop ratios for 4 exits that drop: give one, or 4 divided by /"),
    ],
)
def test_a_wrong_spec_says_what_would_be_right(spec, says, tiny):
    spec = spec.replace("cascade:", f"cascade:backbone={tiny()},")
    with pytest.raises((UnknownRanker, BadSetting), match=says):
        get(spec)


def test_a_name_that_is_a_version_s_too_is_told_once():
    with pytest.raises(UnknownRanker, match=r"known: bi-encoder, .*, wo-rr, towers-1, or the directory"):
        get("cascdae", versions=lambda: {"cascade": Path("cascade"), "towers-1": Path("towers-1")})


def test_a_missing_shipped_model_says_how_to_get_it_back(tmp_path):
    with pytest.raises(DamagedModel, match="git checkout"):
        get("cascade", models_dir=tmp_path)


@pytest.mark.parametrize("spec", ["bm25:k1=0,b=1", "bm25:k1=0", "bm25:b=1"])
def test_bm25_s_extremes_score_an_empty_candidate_nought(spec):
    scores = get(spec).score("iron tower", [Candidate("0", "iron"), Candidate("1", "")])
    assert np.isfinite(scores).all() and scores[0] > scores[1] == 0


@pytest.mark.parametrize("settings", ["k1=-1", "k1=nan", "k1=inf", "b=-0.1", "b=1.5", "b=nan"])
def test_bm25_s_settings_have_bounds(settings):
    with pytest.raises(BadSetting, match=r"b between 0 and 1"):
        get(f"bm25:{settings}")


@pytest.mark.parametrize("kind", ["bert", "roberta"])  # RoBERTa's positions begin behind the padding's
def test_the_bi_encoder_reads_no_more_tokens_than_its_backbone_has_positions(kind, tiny, monkeypatch):
    long = [Candidate("0", "tower " * 400)]
    assert np.isfinite(get(f"bi-encoder:backbone={tiny(kind)},max_length=256").score("iron " * 400, long)).all()
    with pytest.raises(BadSetting, match="reads 3 to 256 tokens"):
        get(f"bi-encoder:backbone={tiny(kind)},max_length=257")
    with pytest.raises(BadSetting, match="max_length=long"):
        get(f"bi-encoder:backbone={tiny(kind)},max_length=long")
    monkeypatch.setattr(Backbone, "positions", 100)
    assert get(f"bi-encoder:backbone={tiny(kind)}").max_length == 100


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("cascade:backbone={tiny}", "bert"),
        ("cross-encoder:backbone={tiny}", "bert"),
        ("cross-encoder:pool=cls,backbone={tiny}", "bert"),
        ("cross-encoder:backbone={tiny}", "bart"),
        ("generative:backbone={tiny}", "bert"),
        ("generative:backbone={tiny}", "gpt2"),
        ("cosinet:hidden=4,backbone={tiny}", "bert"),
    ],
)
def test_a_ranker_counts_as_untrained_until_a_version_of_it_is_loaded(spec, kind, tiny, tmp_path):
    ranker = get(spec.format(tiny=tiny(kind)))
    assert list_untrained(ranker) == (ranker.name,)
    save_version(ranker, tmp_path / "mine", {})
    assert list_untrained(load_version(tmp_path / "mine")) == ()
