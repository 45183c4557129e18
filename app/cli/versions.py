"""`as2 versions`: list model versions, and change which one is active."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Context, Exit, Option, Typer

from app.cli.context import workbench
from as2core.commands.options import JsonFlag
from as2core.commands.outputs import refuse_dash
from as2core.terminal import echo, print_json, print_note, print_table, show_progress
from as2core.types import Progress

if TYPE_CHECKING:
    from app.compare.gates import Report

versions = Typer(help="List versions, and change the active one.", invoke_without_command=True)
ExportFormat = Literal["hf", "cross-encoder", "onnx", "onnx-int8", "as2"]
Name = Annotated[str, Argument(metavar="NAME", help="The version's name.")]


@versions.callback()
def list_by_default(context: Context, as_json: JsonFlag = False) -> None:
    """List the versions, newest first, unless a command follows."""
    if context.invoked_subcommand is None:
        list_(as_json)


@versions.command("list")
def list_(as_json: JsonFlag = False) -> None:
    """List the versions, newest first."""
    from app.versions import registry

    with workbench(starter=False) as wb:
        views = registry.list_versions(wb, kind=None)
    if as_json:
        print_json({"versions": views})
        return
    rows = [
        {
            "name": v.name,
            "kind": v.kind,
            "state": f"rejected: {v.objection}" if v.state == "rejected" and v.objection else v.state,
            "outcome": f"{v.change.outcome}{', claimed' if v.is_imported else ''}" if v.change else "",
            "parent": v.parent,
            "created": f"{v.created:%Y-%m-%d %H:%M}",
            "note": v.problem or v.note,
        }
        for v in views
    ]
    print_table(rows, ["name", "kind", "state", "outcome", "parent", "created", "note"])


@versions.command()
def show(name: Name, as_json: JsonFlag = False) -> None:
    """Show a version's card, always as JSON: its parent, data, settings, metrics, and promotions."""
    from app.versions import registry

    with workbench(starter=False) as wb:
        card, promotions = registry.load_card(wb, name), registry.get_version(wb, name).promotions
    print_json({**card, "promotions": promotions})


@contextmanager
def _show_measuring() -> Iterator["Report"]:
    """A bar over the gates that are measured."""
    with show_progress("gates") as on_progress:
        yield lambda share, message: on_progress(Progress(round(100 * share), 100, message))


@versions.command()
def check(name: Name, as_json: JsonFlag = False) -> None:
    """Check the gates that a version has to pass before it is promoted; exit code 3 if it misses one."""
    from app.compare import gates

    with workbench(starter=False) as wb, _show_measuring() as report:
        results = gates.check_version_gates(wb, name, report)
    if as_json:
        print_json({"version": name, "gates": [{**asdict(r), "is_passed": r.is_passed} for r in results]})
    for result in results if not as_json else ():
        for line in result.checks:
            echo(f"{result.name}: {line.requirement}: {line.value:.3f}, {line.describe()}")
        for note in result.notes:
            print_note(note)
    if not results and not as_json:
        echo("no gate is set for its kind")
    if not all(r.is_passed for r in results):
        raise Exit(3)


@versions.command()
def promote(
    name: Name,
    reason: Annotated[str, Option(help="Why; stored with the version.")] = "",
    ignore_gates: Annotated[bool, Option("--ignore-gates", help="Also if it misses a gate; takes a reason.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a version the active one of its kind, if it passes the gates."""
    from app.compare import gates

    with workbench(starter=False) as wb, _show_measuring() as report:
        view = gates.promote(wb, name, reason, ignores_gates=ignore_gates, report=report)
    print_json(view) if as_json else echo(f"{view.name} is active now")


@versions.command()
def reject(name: Name, as_json: JsonFlag = False) -> None:
    """Reject a version."""
    from app.versions import promotion

    with workbench(starter=False) as wb:
        view = promotion.reject(wb, name)
    print_json(view) if as_json else echo(f"{view.name} is {view.state}")


@versions.command("roll-back")
def roll_back(
    kind: Annotated[str, Option(help="The kind of version: cascade, generative or another.")] = "cascade",
    as_json: JsonFlag = False,
) -> None:
    """Undo the last promotion of a kind: the version before it is active again."""
    from app.versions import promotion

    with workbench(starter=False) as wb:
        view = promotion.roll_back(wb, kind)
    print_json(view) if as_json else echo(f"{view.name} is active again")


@versions.command()
def rename(
    name: Name, new: Annotated[str, Argument(metavar="NEW", help="Its new name.")], as_json: JsonFlag = False
) -> None:
    """Rename a version."""
    from app.versions import management

    with workbench(starter=False) as wb:
        view = management.rename(wb, name, new)
    print_json(view) if as_json else echo(f"{name} is now {view.name}")


@versions.command()
def delete(name: Name, as_json: JsonFlag = False) -> None:
    """Delete a version that is not in use and that is no other version's parent."""
    from app.versions import management

    with workbench(starter=False) as wb:
        management.delete(wb, name)
    print_json({"deleted": name}) if as_json else echo(f"{name} is deleted")


@versions.command()
def export(
    name: Name,
    folder: Annotated[Path, Argument(metavar="DIR", help="A new folder.")],
    to: Annotated[ExportFormat, Option(help="The format.")] = "hf",
    depth: Annotated[
        int | None, Option("--exit", metavar="LAYER", help="The exit that a cascade ends at; the last by default.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a version for other programs."""
    from app.versions import management

    refuse_dash(folder)
    with workbench(starter=False) as wb:
        files = management.export(wb, name, to, folder, depth=depth)
    print_json({"files": [str(f) for f in files]}) if as_json else echo(
        f"{name} as {to}: {len(files)} files in {folder}"
    )


@versions.command("import")
def import_(
    folder: Annotated[Path, Argument(metavar="DIR", help="A version's directory, or an export.")],
    name: Annotated[str | None, Option(help="Its name here; the folder's if not given.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Import a version, without promoting it."""
    from app.versions import management

    with workbench(starter=False) as wb:
        view = management.import_version(wb, folder, name=name)
    print_json(view) if as_json else echo(f"{view.name}, a {view.kind}, is imported and not promoted")
