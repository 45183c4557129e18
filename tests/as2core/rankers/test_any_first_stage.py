"""Any ranker as a cascade's first stage: its spec inside the cascade's, what it keeps, costs and sends away."""

import copy

import numpy as np
import pytest
from fake_reranker import listening, rank_by_length
from tiny_onnx import make_onnx
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from as2core.commands.tune import _with_ratios
from as2core.data import qrels
from as2core.errors import BadSetting, UnknownRanker
from as2core.evaluation.rankers import evaluate
from as2core.metrics import order
from as2core.rankers.base import list_hosts, list_untrained
from as2core.rankers.catalog import check, get, list_destinations, list_parts, split_spec
from as2core.rankers.specs import replace_rankers
from as2core.rankers.versions import save_version
from as2core.types import Candidate, Question

QUESTION = "when was the tower built ?"
TEXTS = [
    "the tower",
    "it was completed in 1889 .",
    "iron",
    "the tower was built in 1889 , of iron",
    "who ?",
    "a bridge",
]
CANDIDATES = [Candidate(f"d{i}", t, label=int(i == 3)) for i, t in enumerate(TEXTS)]
SET = [Question("q1", QUESTION, tuple(CANDIDATES)), Question("q2", "of what ?", tuple(CANDIDATES[:2]))]
KEEP = 3


@pytest.fixture(scope="module")
def cascade(tiny):
    return f"cascade:backbone={tiny()},drop_ratio=0"


def write_run(folder):
    file = folder / "their.run"
    file.write_text("".join(qrels.run_to_lines(SET, {"q1": np.arange(6.0), "q2": np.arange(2.0)}, tag="t")))
    return file


def list_firsts(tiny, folder):
    """Each as (spec, whether its FLOPs are known)."""
    make_onnx(folder / "bag", tiny)
    save_version(get(f"cascade:backbone={tiny()}"), folder / "spring", {})
    AutoModelForSequenceClassification.from_pretrained(tiny(), num_labels=1).save_pretrained(folder / "theirs")
    AutoTokenizer.from_pretrained(tiny()).save_pretrained(folder / "theirs")
    return [
        ("jaccard", True),
        ("bm25:k1=1.5", True),
        ("[bm25:k1=1.5,b=0.6]", True),
        ("[sequential:stages=rr@5+[fusion:rankers=bm25+wo]]", True),
        (f"[cascade:backbone={tiny()},first=[bm25:k1=1.5,b=0.5],first_keep=4]", True),
        (f"cross-encoder:backbone={tiny()}", True),
        (str(folder / "spring"), True),
        (f"[{folder / 'spring'}:drop_ratio=0.5,keep=1]", True),
        (f"onnx:model={folder / 'bag'}", False),
        (str(folder / "bag"), False),
        (str(folder / "theirs"), False),
        (str(write_run(folder)), True),
    ]


def test_every_kind_of_ranker_passes_on_its_best_and_only_they_are_read(cascade, tiny, tmp_path):
    for spec, is_costed in list_firsts(tiny, tmp_path):
        text = f"{cascade},first={spec},first_keep={KEEP},keep=2"
        check(text)
        ranker, alone = get(text), get(spec[1:-1] if spec.startswith("[") else spec)
        result, own = evaluate(ranker, SET, setting="raw"), evaluate(alone, SET, setting="raw")
        trace = ranker.trace(QUESTION, CANDIDATES)
        expected = order(own.scores["q1"])[:KEEP]
        assert set(order(result.scores["q1"])[:KEEP]) == set(expected) == set(trace.entered), spec
        assert (trace.first.name, ranker.keep, result.relative_cost is not None) == (alone.name, 2, is_costed), spec
        assert ranker.trace("of what ?", CANDIDATES[:2]).first is None  # few enough without it


def test_a_reranker_behind_an_address_is_one_and_is_told_before(cascade):
    with listening(rank_by_length) as url:
        ranker = get(f"{cascade},first=[http:url={url},model=m],first_keep={KEEP}")
        longest = set(np.argsort([-len(t) for t in TEXTS])[:KEEP])
        assert set(ranker.trace(QUESTION, CANDIDATES).entered) == longest
        assert evaluate(ranker, SET, setting="raw").relative_cost is not None  # nothing is spent here
    far = "http:url=https://example.org/v2/rerank,model=m"
    for spec in (f"cascade:first=[{far}],keep=2", f"some version:keep=2,first=[{far}]", f"/a/b:first=[{far}]"):
        assert list_destinations(spec) == ("example.org",)
        assert list_destinations(f"fusion:rankers=bm25+[{spec}]") == ("example.org",)
    assert list_destinations("cascade:first=bi-encoder") == list_destinations("cascade:first=none") == ()
    assert list_hosts(get(f"{cascade},first=http:url=https://example.org/")) == ("example.org",)


def test_a_saved_fusion_holds_no_cascade_whose_first_stage_asks_another_machine(cascade, tmp_path):
    ranker = get(f"fusion:rankers=bm25+[{cascade},first=http:url=https://example.org/]")
    with pytest.raises(BadSetting, match=r"asks example\.org cannot be saved"):
        save_version(ranker, tmp_path / "mine", {})


def test_a_version_takes_one_too_also_by_a_versions_name(tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "spring", {})
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "autumn", {})
    names = {name: tmp_path / name for name in ("spring", "autumn")}
    spec = "spring:first=[autumn:drop_ratio=0.5,keep=1],first_keep=3,drop_ratio=0"
    spring = get(spec, versions=lambda: names)
    assert (spring.first.ranker.name, spring.first.ranker.drop_ratio, spring.drop_ratio) == ("autumn", 0.5, 0)
    assert spring.trace(QUESTION, CANDIDATES).first.survivors == 3
    check(f"{tmp_path / 'spring'}:first={tmp_path / 'autumn'}")
    assert split_spec(spec) == ("spring", spec.removeprefix("spring:"))
    assert split_spec("/a:b/spring:first=onnx:model=/x=1") == ("/a:b/spring", "first=onnx:model=/x=1")
    assert _with_ratios(spec, "0.1/0.2") == (
        "spring:first=[autumn:drop_ratio=0.5,keep=1],first_keep=3,drop_ratio=0.1/0.2"
    )


def test_what_can_be_none_says_why(cascade, tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "spring", {})
    wrong = [
        ("first=nothing", UnknownRanker, "no ranker 'nothing'; known: "),
        ("first=[bm25:k1=1.5,b=0.6", BadSetting, "has a bracket without its other half"),
        ("first=bm25:k1=1.5,b=0.6", BadSetting, "cascade has no setting 'b=0.6'|spring has no setting 'b=0.6'"),
        ("first=bm25:k2=1", BadSetting, "bm25 has no setting 'k2=1'"),
        ("first=[sequential:stages=nothing]", UnknownRanker, "no ranker 'nothing'"),
        ("first=http", BadSetting, "http needs url"),
        (f"first=run:file={tmp_path / 'none.run'}", BadSetting, "there is no such file"),
    ]
    for settings, error, message in wrong:
        for spec in (f"{cascade},{settings}", f"{tmp_path / 'spring'}:{settings}"):
            with pytest.raises(error, match=message):
                get(spec)
            if "none.run" not in spec:  # of a file, `check` reads the wording alone
                with pytest.raises(error, match=message):
                    check(spec)
    file = write_run(tmp_path)
    with pytest.raises(BadSetting, match="which ranks the questions of one set alone"):
        get(f"{cascade},first={file},first_keep=2").score("who ?", CANDIDATES)


def test_words_of_the_cascades_own_are_no_rankers_specs():
    assert list_parts("cascade:first=bi-encoder") == list_parts("cascade") == []
    assert [p.spec for p in list_parts("spring:first=[bm25:k1=2,b=0],keep=3")] == ["bm25:k1=2,b=0"]


def test_a_part_that_was_not_trained_and_a_moved_directory_are_found_in_it(tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "spring", {})
    assert list_untrained(get(f"{tmp_path / 'spring'}:first=cross-encoder:backbone={tiny()}")) == ("cross-encoder",)
    assert list_untrained(get(f"{tmp_path / 'spring'}:first=bm25")) == ()
    moved = replace_rankers("cascade:first=/old/a,first_keep=3", {"/old/a": "/new/a"})
    assert moved == "cascade:first=/new/a,first_keep=3"


def test_a_copy_to_train_keeps_it(cascade, tiny, tmp_path):
    make_onnx(tmp_path / "bag", tiny)
    ranker = get(f"{cascade},first=onnx:model={tmp_path / 'bag'},first_keep={KEEP}")
    twin = copy.deepcopy(ranker)
    assert (twin.score(QUESTION, CANDIDATES) == ranker.score(QUESTION, CANDIDATES)).all()


def test_a_stage_whose_first_stage_hides_its_cost_makes_no_saving_up(cascade, tiny):
    hidden = f"[{cascade},first=classifier:model={tiny()},first_keep={KEEP}]"
    for spec in (f"sequential:stages={hidden}@2+cross-encoder:backbone={tiny()}", f"sequential:stages=bm25@5+{hidden}"):
        assert evaluate(get(spec), SET, setting="raw").relative_cost is None
    open_ = f"[{cascade},first=bm25,first_keep={KEEP}]"
    assert evaluate(get(f"sequential:stages={open_}"), SET, setting="raw").relative_cost is not None
