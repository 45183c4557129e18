"""The grammar of ranker specs: settings, switches, and rankers inside rankers."""

import pytest

from as2core.errors import BadSetting, UnknownRanker
from as2core.rankers.catalog import CATALOG, check, get, split_spec, split_specs
from as2core.rankers.specs import Entry, Part, read_parts, read_settings, replace_rankers
from as2core.rankers.versions import save_version


def build_some(*, listwise=False, context="none", rate=0.5, depth=None, grades=(), ratio=0.3):
    """Never called: its parameters are the settings."""


def build_nothing(*, keep=1, stages="wo@3+rr"):
    """Never called either."""


SOME = Entry("some", "", "", build_some, several=("ratio",))
MADE = Entry("made", "", "", build_nothing, nested="stages")


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ("", {}),
        ("listwise", {"listwise": True}),
        ("listwise,context=birnn", {"listwise": True, "context": "birnn"}),
        ("listwise=false,depth=4", {"listwise": False, "depth": 4}),
        ("rate=.25", {"rate": 0.25}),
        ("ratio=.25,grades=3", {"ratio": 0.25, "grades": (3,)}),
        ("ratio=0.3/0.1,grades=2/3", {"ratio": (0.3, 0.1), "grades": (2, 3)}),
    ],
)
def test_a_bare_name_turns_a_switch_on_and_values_take_their_defaults_type(given, settings):
    assert read_settings(SOME, given) == settings


@pytest.mark.parametrize("given", ["context", "rate", "listwsie", "=1", "listwise=maybe", "rate=0.3/0.1", "grades=x"])
def test_a_bare_name_that_is_no_switch_is_refused(given):
    with pytest.raises(BadSetting, match="some"):
        read_settings(SOME, given)


def test_the_setting_that_holds_rankers_takes_the_rest_commas_and_all():
    given = "keep=2,stages=bm25:k1=1.5,b=0.6@10+cascade:drop_ratio=0.5"
    assert read_settings(MADE, given) == {"keep": 2, "stages": "bm25:k1=1.5,b=0.6@10+cascade:drop_ratio=0.5"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rr", [Part("rr", None)]),
        ("jaccard@100+wo@0.5+rr", [Part("jaccard", 100), Part("wo", 0.5), Part("rr", None)]),
        ("bm25:k1=1.5,b=0.6@10+rr", [Part("bm25:k1=1.5,b=0.6", 10), Part("rr", None)]),
        ("[fusion:rankers=wo+rr]@.5+rr", [Part("fusion:rankers=wo+rr", 0.5), Part("rr", None)]),
        ("[/models/a+b@2]@3", [Part("/models/a+b@2", 3)]),
        ("me@home", [Part("me@home", None)]),
    ],
)
def test_parts_are_joined_by_plus_and_an_at_says_how_many_stay(text, parts):
    assert read_parts(text) == parts
    assert [type(p.keep) for p in read_parts(text)] == [type(p.keep) for p in parts]


@pytest.mark.parametrize("text", ["", "rr+", "+rr", "[rr", "rr]"])
def test_a_list_of_rankers_with_a_hole_in_it_is_refused(text):
    with pytest.raises(BadSetting, match="no list of rankers"):
        read_parts(text)


def test_every_catalog_entry_tells_its_settings_with_their_defaults():
    for entry in CATALOG.values():
        assert entry.nested is None or entry.nested in entry.settings
        empty = [field for field in ("name", "description", "paper") if not getattr(entry, field)]
        assert not empty, f"{entry.name}: say its {' and '.join(empty)} in the catalog"


@pytest.mark.parametrize(
    ("spec", "now"),
    [
        ("/old/a", "/new/a"),
        ("fusion:method=rrf,rankers=/old/a+bm25", "fusion:method=rrf,rankers=/new/a+bm25"),
        ("sequential:stages=wo@9+[/old/a]@3+/old/a@2", "sequential:stages=wo@9+[/new/a]@3+/new/a@2"),
        ("[fusion:rankers=wo+/old/a]", "[fusion:rankers=wo+/new/a]"),
        ("/old/a b+/more/old/a+/old/a/c", "/old/a b+/more/old/a+/old/a/c"),
        ("wo+/old/a:drop_ratio=0.5", "wo+/new/a:drop_ratio=0.5"),
        ("a", "a"),
    ],
)
def test_a_directory_that_was_moved_is_found_in_a_spec_as_a_whole_part_alone(spec, now):
    assert replace_rankers(spec, {"/old/a": "/new/a"}) == now


def test_a_versions_spec_is_its_name_and_what_is_set(tmp_path):
    assert split_spec("spring") == ("spring", "")
    assert split_spec("/made/spring:keep=2,drop_ratio=0.3/0") == (
        "/made/spring",
        "keep=2,drop_ratio=0.3/0",
    )
    assert split_spec("C:spring") == ("C:spring", "")
    odd = tmp_path / "a:b=c"
    odd.mkdir()
    assert split_spec(str(odd)) == (str(odd), "")


def test_a_version_is_set_up_and_refuses_what_its_kind_has_not(tiny, tmp_path):
    save_version(get(f"cascade:backbone={tiny()}"), tmp_path / "spring", {})
    spring = get(
        "spring:drop_ratio=0.5,first=bm25,first_keep=7,engine=torch", versions=lambda: {"spring": tmp_path / "spring"}
    )
    assert (spring.drop_ratio, spring.keep, spring.first.keep) == (0.5, get(tmp_path / "spring").keep, 7)
    part = get("sequential:stages=wo@3+spring:drop_ratio=0.5", versions=lambda: {"spring": tmp_path / "spring"})
    assert part.stages[-1].ranker.drop_ratio == 0.5
    with pytest.raises(BadSetting, match=r"spring has no setting 'backbone=x'; known: drop_ratio, keep, engine, first"):
        get(f"{tmp_path / 'spring'}:backbone=x")
    with pytest.raises(BadSetting, match=r"drop ratio 2\.0"):
        get(f"{tmp_path / 'spring'}:drop_ratio=2")
    with pytest.raises(BadSetting, match=r"spring has no setting 'k1=2'"):
        check(f"{tmp_path / 'spring'}:k1=2")


@pytest.mark.parametrize("spec", ["./models/none", "~/models", "/nowhere/at-all"])
def test_a_path_that_is_not_there_is_told_of_without_the_names_of_the_catalog(spec):
    with pytest.raises(UnknownRanker, match="is not there: give the directory of a version or a checkpoint"):
        get(spec)


def test_a_file_of_no_known_kind_is_no_ranker(tmp_path):
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(UnknownRanker, match=r"x\.txt is a file of no known kind: give the directory"):
        get(tmp_path / "x.txt")


@pytest.mark.parametrize("name", ["BAAI/bge-reranker-base", "cross-encoder/ms-marco-MiniLM-L6-v2@0123abc"])
def test_a_name_of_the_hub_is_given_the_way_to_write_it(name):
    with pytest.raises(UnknownRanker, match=f"no directory {name}; .* write classifier:model={name}"):
        get(name)


@pytest.mark.parametrize("spec", ["0" * 300, f"first=[{'0' * 300}]", "a\0b"])
def test_a_name_that_no_system_takes_as_a_path_is_no_ranker(spec):
    with pytest.raises(UnknownRanker, match="no ranker"):
        get(f"cascade:{spec}" if "=" in spec else spec)


@pytest.mark.parametrize(
    "specs",
    [
        [],
        ["cascade"],
        ["starter-2", "bm25:k1=2,b=0.5", "cascade"],
        ["cosinet:listwise,context=birnn", "cosinet:context=birnn,listwise", "bm25"],
        [
            "cascade:first=[bm25:k1=1.5,b=0.6],first_keep=20",
            "sequential:stages=jaccard@100+bm25:k1=1.5,b=0.6@0.5+cascade",
        ],
        ["run:file=/a/b.run", "http:url=https://example.org/rerank,model=x", "active:drop_ratio=0.3/0.1"],
    ],
)
def test_specs_in_one_line_are_divided_where_no_setting_follows_the_comma(specs):
    assert split_specs(",".join(specs)) == specs
