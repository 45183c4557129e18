"""Gates that a version has to pass before it is promoted."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_models import write_version
from label_files import import_labels

from app.compare import gates
from app.versions import evaluations, promotion, registry
from app.versions.promotion import NeedsReason
from app.workbench import people
from app.workbench.people import NotAllowed
from as2core.data import jsonl
from as2core.errors import BadSetting, UnknownData, UnknownRanker, UnreadableFile
from as2core.evaluation.gate import GateFailed, Requirement, check_gate
from as2core.types import Candidate, Question
from db.repositories import versions as rows

QUESTIONS = [
    Question(f"q{i}", f"What does the {thing} do?", (
        Candidate(f"{thing}-0", "It rained all day.", 0),
        Candidate(f"{thing}-1", f"The {thing} does what a {thing} has to do.", 1),
    ))
    for i, thing in enumerate(["tower", "bridge", "river"])
]  # fmt: skip
QUESTIONS.append(  # which no ranker gets right, so that P@1 is 0.75
    Question(
        "q3", "What is up?", (Candidate("up-0", "What is up is up.", 0), Candidate("up-1", "It rained all day.", 1))
    )
)
OPEN = 'data = "labels:things"\n[[require]]\nmeasure = "P@1"\nat_least = 0.0\n'
SHUT = 'data = "labels:things"\n[[require]]\nmeasure = "P@1"\nat_least = 1.0\n'


@pytest.fixture
def candidate(wb):
    """A version that may be promoted, and labelled questions."""
    import_labels(wb, None, "things.jsonl", jsonl.dumps(QUESTIONS).encode())
    add(wb, "spring")
    return "spring"


def add(wb, name, kind="cascade", state="candidate"):
    path = write_version(wb.settings.versions_dir / name, kind, parent="cascade")
    with wb.write() as s:
        rows.add_version(s, name, kind=kind, path=str(path), state=state, parent="cascade", now=wb.clock(), metrics={})


def put_gate(wb, text, name="release"):
    wb.settings.gates_dir.mkdir(parents=True, exist_ok=True)
    (wb.settings.gates_dir / f"{name}.toml").write_text(text)


def test_without_gates_or_with_open_ones_a_version_is_promoted(wb, candidate):
    assert gates.check_version_gates(wb, candidate) == []
    put_gate(wb, OPEN)
    [result] = gates.check_version_gates(wb, candidate)
    assert (result.name, result.data, result.is_passed, result.misses) == ("release", "labels:things", True, "")
    assert gates.promote(wb, candidate).state == "active"


def test_one_that_misses_a_gate_is_promoted_only_when_that_is_chosen_and_said_why(wb, candidate):
    put_gate(wb, OPEN, "first")
    put_gate(wb, SHUT, "second")
    with pytest.raises(
        GateFailed, match=r"spring is not promoted\. The gate second on labels:things is missed: P@1 of"
    ):
        gates.promote(wb, candidate, "a reason alone is no choice")
    with pytest.raises(NeedsReason, match="Give a reason to promote spring all the same"):
        gates.promote(wb, candidate, "  ", ignores_gates=True)
    assert registry.get_active(wb).name == "cascade"
    [promoted] = gates.promote(wb, candidate, "we need it today", ignores_gates=True).promotions
    assert promoted.words.startswith("we need it today (The gate second on labels:things is missed: P@1 of spring at")


def test_a_gate_compares_with_the_version_in_use_with_others_and_with_no_reranking(wb, candidate):
    others = ("active", "rr", "no reranking")
    conditions = (f'[[require]]\nmeasure = "AP"\nagainst = "{name}"\nmax_loss = 1.0\n' for name in others)
    put_gate(wb, 'data = "labels:things"\nsetting = "raw"\n' + "".join(conditions))
    [result] = gates.check_version_gates(wb, candidate)
    assert [c.requirement for c in result.checks] == [f"AP of spring minus {name} at least -1" for name in others]
    rr, unranked = result.checks[1:]
    assert rr.value == pytest.approx(unranked.value)  # rr is the order in the data


def test_going_back_to_what_was_in_use_passes_no_gate_and_other_kinds_have_their_own(wb, candidate):
    gates.promote(wb, candidate)
    put_gate(wb, SHUT)
    assert gates.promote(wb, "cascade").name == "cascade"
    assert gates.promote(wb, candidate).state == "active"
    add(wb, "small", kind="generative")
    assert gates.check_version_gates(wb, "small") == []
    put_gate(wb, f'kind = "generative"\n{SHUT}', "generative")
    with pytest.raises(GateFailed, match="The gate generative on"):
        gates.promote(wb, "small")


def test_what_was_measured_is_not_measured_again(wb, candidate, monkeypatch):
    put_gate(wb, SHUT)
    gates.check_version_gates(wb, candidate)
    monkeypatch.setattr(evaluations, "evaluate", None)
    assert not gates.check_version_gates(wb, candidate)[0].is_passed


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('[[require]]\nmeasure = "AP"\nat_least = 0.1', BadSetting, "does not say on which questions"),
        ("data = ", UnreadableFile, "not TOML"),
        (
            'data = "labels:things"\nrequires = 1\n[[require]]\nmeasure = "AP"\nat_least = 0.1',
            BadSetting,
            "has requires",
        ),
        ('data = "nowhere"\n[[require]]\nmeasure = "AP"\nat_least = 0.1', UnknownData, "nowhere"),
        ('data = 5\n[[require]]\nmeasure = "AP"\nat_least = 0.1', BadSetting, "are texts"),
        (
            'data = "labels:things"\nsetting = "x"\n[[require]]\nmeasure = "AP"\nat_least = 0.1',
            BadSetting,
            "no setting",
        ),
        ('data = "labels:things"\n[[require]]\nmeasure = "AP"\nagainst = "bm52"', UnknownRanker, "bm52"),
        ('data = "labels:things"\nrequire = [1]', BadSetting, "is no table"),
    ],
)
def test_a_gate_with_a_mistake_is_not_open(wb, candidate, text, error, message):
    put_gate(wb, text)
    with pytest.raises(error, match=message):
        gates.promote(wb, candidate)
    assert registry.get_active(wb).name == "cascade"


def test_whoever_may_not_promote_has_nothing_measured(wb, candidate, monkeypatch):
    put_gate(wb, OPEN)
    ann, bob = people.sign_in(wb, "ann"), people.sign_in(wb, "bob")
    people.set_role(wb, bob.id, people.VIEWER, by=ann.id)
    monkeypatch.setattr(evaluations, "evaluate", None)
    with pytest.raises(NotAllowed):
        gates.promote(wb, candidate, by=bob.id)


def test_nothing_in_the_app_promotes_past_the_gates():
    root = Path(promotion.__file__).resolve().parents[1]
    callers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "promote" and ast.unparse(node.value) == "promotion"
    }
    assert callers == {"compare/gates.py"}


def test_rankers_that_are_the_same_on_all_questions_seen_may_differ_by_so_much_on_others():
    values = {"P@1": {str(i): 1.0 for i in range(10)}}
    results = {name: SimpleNamespace(per_question=values) for name in ("new", "old")}
    [check] = check_gate([Requirement("P@1", 0.0, "old", True)], results, {})
    share = 1.96**2 / (10 + 1.96**2)  # the upper end of Wilson's interval of 0 of 10
    assert check.value == pytest.approx(-share, abs=1e-4) and not check.is_met
