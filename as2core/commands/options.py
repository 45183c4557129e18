"""Options that several commands share, and a way to hand a command many of them as one record."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal, get_type_hints

import typer

RANKING, TRAINING = "Ranking and serving", "Training and data sets"  # headings of `as2 --help`
RANKER_HELP = (
    "A ranker of `as2 rankers`, with settings as in cascade:drop_ratio=0.5; the name or directory of a version, or "
    "active; the directory of a checkpoint; an ONNX file (onnx:model=DIR); a run (FILE.run, .json, .csv); a reranker "
    "behind an address (http:url=URL)."
)
DATA_HELP = (
    "A file of labelled questions; starter-train|dev|test or handbook-train|dev|test; labels, or labels:NAME for those "
    "of another corpus."
)
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
SettingName = Literal["raw", "no-all-neg", "clean"]
Setting = Annotated[
    SettingName,
    typer.Option(
        help="Which questions count. raw: all; no-all-neg: those with a correct candidate; "
        "clean: those with a correct and an incorrect one."
    ),
]

Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]

RAY_FORMS = (
    "local (all cores of this machine), auto or HOST:PORT (the cluster this machine is part of), ray://HOST:PORT "
    "(another one)."
)
RayAddress = Annotated[str | None, typer.Option(metavar="ADDRESS", help=f"Compute on Ray: {RAY_FORMS}")]

Titles = Annotated[
    bool,
    typer.Option(
        "--titles/--no-titles", help="Read a sentence after its document's title, where DATA has one, or without it."
    ),
]


def bundle_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command for typer to register: each parameter that is a dataclass becomes one option for each of its fields
    (`Annotated` with `typer.Option`, defaults included), and the command gets them as that record."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, type] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        assert isinstance(kind, type)
        bundles[name] = kind
        field_hints = get_type_hints(kind, include_extras=True)
        for option in inspect.signature(kind).parameters.values():
            parameters.append(option.replace(annotation=field_hints[option.name]))

    def run(**values: object) -> None:
        records = {n: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for n, kind in bundles.items()}
        command(**values, **records)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in ordered}
    return run


def hide_flag_types(command: Any) -> None:
    """In the help of a command and those below it: `--json <bool>` would look as if it took a value."""
    help_option = command.get_help_option(command.context_class(command))
    for parameter in [*command.params, *([help_option] if help_option else [])]:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        hide_flag_types(inner)
