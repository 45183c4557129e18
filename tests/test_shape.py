"""How large a folder and a function may be, how many parameters a function may have, and what a name may be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ("app", "as2core", "db", "pages")
MAX_MODULES_PER_FOLDER = 15
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8
MAX_EXCEPTIONS = 5
EXCEPTIONS = {  # "path:function" -> why it may be larger
    "app/cli/adapt.py:adapt": "a parameter is an option of `as2 adapt`, and there is one for each choice of the form",
    "app/cli/ask.py:ask": "a parameter is an option of `as2 ask`",
    "as2core/commands/train.py:train": "a parameter is an option of `as2 train`",
    "as2core/commands/tune.py:tune": "a parameter is an option of `as2 tune`",
}
PARTICIPLES = frozenset(
    "accepted added adjusted answered asked begun borrowed bought brought built chosen come compared costed "
    "counted declared disputed done drawn elapsed embedded entered excluded existing familiar felt forgotten "
    "found given gone got grown heard held imported judged kept known labelled left linked listed lost made meant "
    "measured met named opened overlooked passed picked presumed projected proposed ranked read refused rejected "
    "repeated retrieved said scored seen sent shown skipped sought spent spoken stored submitted swept taken "
    "thought thrown told tried typed unretrieved untried varied wanted won written".split()
)
VERBS = frozenset(["read"])  # may name a function, which reads, but no value
QUESTION_WORDS = ("is", "was", "are", "were", "has")  # a flag may be `is_known`
PARTICIPLES_ALLOWED = {  # "path:name", or the name alone where it is allowed everywhere -> why
    "done": "how many, beside `total`, as in `Progress`",
    "left": "the opposite of right",
    "LEFT": "the opposite of right",
    "app/cli/__init__.py:labelled": "an entry point of `as2.labels`; another package could offer it by that name",
    "app/corpora/corpora.py:vectors_done": "beside `vectors_total`",
    "app/adapt/label_selection.py:presumed": "a stored setting",
    "app/adapt/readiness.py:familiar": "a key of the JSON of `as2 adapt --dry-run`",
    "app/adapt/readiness.py:presumed": "a key of the JSON of `as2 adapt --dry-run`",
    "app/adapt/report.py:left_out": "a key of a job's stored result",
    "app/adapt/report.py:presumed": "a key of a job's stored result",
    "app/cli/adapt.py:presumed": "an option of `as2 adapt`",
    "app/compare/findings.py:ANSWERED": "a constant is named by its value",
    "app/corpora/ingest_report.py:added": "a key of the JSON of `as2 documents add`",
    "app/jobs/retrain_rule.py:refused": "a stored setting",
    "app/workbench/audit.py:REFUSED": "a constant is named by the value that is stored",
    "app/workbench/people.py:Gone": "an error is named by the state it reports",
    "as2core/cascade/trace.py:entered": "beside `alive` and `dropped` of the library's traces",
    "as2core/data/statistics.py:answered": "a key of the JSON of `as2 data stats`",
    "as2core/evaluation/rankers.py:entered": "a key of the JSON of `as2 eval`",
    "as2core/experiments/base.py:measured": "a key of the stored records of `as2 reproduce`",
    "as2core/generation/questions.py:existing": "a parameter of a documented function",
    "as2core/nn/bilstm_compare_aggregate.py:read": "a part of the names of stored weights",
    "as2core/evaluation/rankers.py:lost": "a key of the JSON of `as2 eval`",
    "as2core/serving/connections.py:connection_made": "a method of asyncio.Protocol",
    "as2core/serving/connections.py:connection_lost": "a method of asyncio.Protocol",
    "as2core/training/recipes.py:written": "a key of the cards of shipped models",
    "db/models.py:ASKED": "a constant is named by the value that is stored",
    "db/models.py:imported": "a column",
    "db/models.py:cut_kept": "a column",
    "db/repositories/proposals.py:ACCEPTED": "a constant is named by the value that is stored",
    "db/repositories/proposals.py:REJECTED": "a constant is named by the value that is stored",
    "db/repositories/questions.py:LISTED": "a constant is named by the value that is stored",
    "db/repositories/candidates.py:RETRIEVED": "a constant is named by the value that is stored",
    "db/repositories/questions.py:PROPOSED": "a constant is named by the value that is stored",
    "db/repositories/questions.py:IMPORTED": "a constant is named by the value that is stored",
    "db/repositories/candidates.py:kept": "the end of the name of a column, `cut_kept`",
}
FUNCTION_VERBS = frozenset(
    "accept add adjudicate adjust admit allow announce apply appoint arrange ask attend attribute await back "
    "bound bring build calibrate cancel capitalize catch check choose close compare compose compute count create "
    "cross delete describe dismiss divide draw drop embed empty end enqueue ensure estimate explain export "
    "extract fill filter find finish flatten fold follow forget format freeze get give group guard handle hash hold "
    "import index infer ingest keep leave list listen load locate lock make map mark measure name normalise "
    "note offer open order parse pause plan preload prepare presume preview promote propose prune put raise rank "
    "rate read reap record register reindex reject remember rename render renew reopen report request require "
    "rescore resolve restore resume retrieve retry roll round run sample score scroll search select set shift "
    "shorten show sign sort split spread start store submit suggest sum thin tidy time trace train translate undo "
    "update use wait wake weigh withdraw write".split()
)
FUNCTION_QUESTIONS = frozenset(["can", "fits", "goes", "has", "is", "may", "needs"])
CONVERSIONS = frozenset(["as", "from", "to"])
FUNCTIONS_ALLOWED = {  # name -> why it is no verb
    "fragment": "as `st.fragment`",
    "main": "the entry point of a process",
    "on_script_error": "what Streamlit calls then",
    "plain": "in nearly every text with a name from outside",
    "utc_now": "a clock",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def functions() -> list[tuple[str, Function]]:
    """`("path:function", its source)`."""
    return [
        (f"{path.relative_to(ROOT)}:{node.name}", node)
        for package in OURS
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(parse(path))
        if isinstance(node, Function)
    ]


@cache
def names() -> frozenset[str]:
    """`"path:name"` of all functions, classes, parameters, variables and attributes that are defined here."""
    return frozenset(
        f"{path.relative_to(ROOT)}:{name}"
        for package in OURS
        for path in (ROOT / package).rglob("*.py")
        for name in defined_names(parse(path))
    )


def public_functions(path: Path) -> list[str]:
    """Those of a module, without methods and those that a decorator makes something else."""
    body = parse(path).body
    return [node.name for node in body if isinstance(node, Function) and not node.name.startswith("_")]


def defined_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, decorator_list=how) if name.strip("_") in VERBS and not is_property(how):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.alias(asname=str(name)):
                yield name


def is_property(decorators: list[ast.expr]) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in decorators)


def is_participle(name: str) -> bool:
    """Whether its last word is one, or its last two are "left out", and the first asks no question. No value is what is
    done "as typed", or what there is "to read"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).strip("_").lower().split("_")
    if words[0] in QUESTION_WORDS or words[-2:-1] in (["as"], ["to"]):
        return False
    return words[-1] in PARTICIPLES or words[-2:] == ["left", "out"]


def lines(function: Function) -> int:
    """From `def` to the last line, without decorators."""
    return (function.end_lineno or 0) - function.lineno + 1


def parameters(function: Function) -> int:
    """Keyword-only and starred ones included, `self` and `cls` not."""
    a = function.args
    named = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg not in ("self", "cls")]
    return len(named) + bool(a.vararg) + bool(a.kwarg)


def test_no_folder_of_the_app_has_more_modules_than_a_reader_surveys():
    folders = {p.parent for p in (ROOT / "app").rglob("*.py")}
    sizes = {str(f.relative_to(ROOT)): sum(p.name != "__init__.py" for p in f.glob("*.py")) for f in folders}
    assert {name: n for name, n in sizes.items() if n > MAX_MODULES_PER_FOLDER} == {}


def test_no_function_is_longer_than_a_page():
    long = {name: lines(f) for name, f in functions() if lines(f) > MAX_FUNCTION_LINES}
    assert {name: n for name, n in long.items() if name not in EXCEPTIONS} == {}


def test_no_function_has_more_parameters_than_a_caller_remembers():
    many = {name: parameters(f) for name, f in functions() if parameters(f) > MAX_PARAMETERS}
    assert {name: n for name, n in many.items() if name not in EXCEPTIONS} == {}


def test_the_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS and all(EXCEPTIONS.values())
    large = {name for name, f in functions() if lines(f) > MAX_FUNCTION_LINES or parameters(f) > MAX_PARAMETERS}
    assert EXCEPTIONS.keys() <= large


def test_no_name_is_a_participle():
    """A value is named by what it is, a flag asks a question: `rows`, not `found`; `is_known`, not `known`."""
    found = {name for name in names() if is_participle(name.partition(":")[2])}
    assert sorted(n for n in found if not {n, n.partition(":")[2]} & PARTICIPLES_ALLOWED.keys()) == []
    assert all(PARTICIPLES_ALLOWED.values())
    assert PARTICIPLES_ALLOWED.keys() <= found | {n.partition(":")[2] for n in found}  # none is allowed without need


def test_a_participle_is_told_from_a_question_and_from_a_word_that_contains_one():
    tree = ast.parse(
        "class Gone: pass\ndef _draw_lost(taken, *, is_known, seed):\n    self._kept = found = remaining = 1"
    )
    told = {name: is_participle(name) for name in defined_names(tree)}
    assert {name for name, is_one in told.items() if is_one} == {"Gone", "_draw_lost", "taken", "_kept", "found"}
    assert {name for name, is_one in told.items() if not is_one} == {"is_known", "seed", "remaining"}


def test_a_function_reads_but_no_value_is_read_or_left_out():
    tree = ast.parse(
        "def _read(left_out, as_typed, to_read, excluded_labels):\n    read = 1\n@property\ndef read(): ..."
    )
    told = [name for name in defined_names(tree) if is_participle(name)]
    assert sorted(told) == ["left_out", "read", "read"]


def test_a_public_function_of_the_app_is_a_verb_or_a_question():
    """`build_chart`, not `chart`. A new verb is added to the list; a command is named by what follows `as2`."""
    modules = [
        p for folder in ("app", "pages") for p in (ROOT / folder).rglob("*.py") if p.parent != ROOT / "app" / "cli"
    ]
    names = {name for path in modules for name in public_functions(path)}
    words = {name: name.split("_")[0] for name in names - FUNCTIONS_ALLOWED.keys()}
    assert sorted(n for n, w in words.items() if w not in FUNCTION_VERBS | FUNCTION_QUESTIONS | CONVERSIONS) == []
    assert set(words.values()) >= FUNCTION_VERBS | FUNCTION_QUESTIONS | CONVERSIONS  # none is listed without need
    assert FUNCTIONS_ALLOWED.keys() <= names


def test_lines_and_parameters_are_counted_as_a_reader_does():
    function = ast.parse("@decorated\ndef f(self, a, /, b, *rest, c=1, **options):\n    pass\n").body[0]
    assert isinstance(function, Function)
    assert (lines(function), parameters(function)) == (2, 5)
