"""`as2 versions`: which model versions there are, which one answers, and moving between them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.opened import workbench
from as2core.cli import Json
from as2core.terminal import say, say_json, table

versions = typer.Typer(help="List model versions, and choose the one that answers.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The version's name.")]


@versions.callback()
def listed(context: typer.Context, as_json: Json = False) -> None:
    """List the versions, newest first, unless a command follows."""
    if context.invoked_subcommand is None:
        list_(as_json)


@versions.command("list")
def list_(as_json: Json = False) -> None:
    """List the versions, newest first."""
    from app.services import versions as service

    with workbench(starter=False) as wb:
        found = service.list_versions(wb, kind=None)
    if as_json:
        say_json({"versions": found})
        return
    rows = [
        {
            "name": v.name,
            "kind": v.kind,
            "state": v.state,
            "parent": v.parent,
            "created": f"{v.created:%Y-%m-%d %H:%M}",
            "note": v.problem or v.note,
        }
        for v in found
    ]
    say(table(rows, ["name", "kind", "state", "parent", "created", "note"]))


@versions.command()
def show(name: Name, as_json: Json = False) -> None:
    """Show a version's card, as JSON with or without the flag: its parent, data, settings, numbers, and why it was
    promoted."""
    from app.services import versions as service

    with workbench(starter=False) as wb:
        card, promotions = service.card(wb, name), service.get_version(wb, name).promotions
    say_json({**card, "promotions": promotions})


@versions.command()
def promote(
    name: Name, reason: Annotated[str, typer.Option(help="Why, for the record.")] = "", as_json: Json = False
) -> None:
    """Make a version the one that answers."""
    from app.services import versions as service

    with workbench(starter=False) as wb:
        view = service.promote(wb, name, reason)
    say_json(view) if as_json else say(f"{view.name} answers now")


@versions.command()
def reject(name: Name, as_json: Json = False) -> None:
    """Put a version aside."""
    from app.services import versions as service

    with workbench(starter=False) as wb:
        view = service.reject(wb, name)
    say_json(view) if as_json else say(f"{view.name} is {view.state}")


@versions.command("roll-back")
def roll_back(
    kind: Annotated[str, typer.Option(help="The kind of version: cascade, generative or another.")] = "cascade",
    as_json: Json = False,
) -> None:
    """Let the version of a kind answer that did before the last promotion."""
    from app.services import versions as service

    with workbench(starter=False) as wb:
        view = service.roll_back(wb, kind)
    say_json(view) if as_json else say(f"{view.name} answers again")


@versions.command()
def rename(name: Name, new: Annotated[str, typer.Argument(help="Its new name.")], as_json: Json = False) -> None:
    """Give a version another name."""
    from app.services import version_care

    with workbench(starter=False) as wb:
        view = version_care.rename(wb, name, new)
    say_json(view) if as_json else say(f"{name} is called {view.name} now")


@versions.command()
def delete(name: Name, as_json: Json = False) -> None:
    """Delete a version that is not in use and that no other was made from."""
    from app.services import version_care

    with workbench(starter=False) as wb:
        version_care.delete(wb, name)
    say_json({"deleted": name}) if as_json else say(f"{name} is deleted")


@versions.command()
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    to: Annotated[str, typer.Option(help="hf, cross-encoder, onnx or as2.")] = "hf",
    as_json: Json = False,
) -> None:
    """Write a version for other programs."""
    from app.services import version_care

    with workbench(starter=False) as wb:
        files = version_care.export(wb, name, to, folder)
    say_json({"files": [str(f) for f in files]}) if as_json else say(f"{name} as {to}: {len(files)} files in {folder}")


@versions.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A version's directory, or one that was exported.")],
    name: Annotated[str | None, typer.Option(help="Its name here; the folder's if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Bring a version in, as a candidate."""
    from app.services import version_care

    with workbench(starter=False) as wb:
        view = version_care.bring_in(wb, folder, name=name)
    say_json(view) if as_json else say(f"{view.name}, a {view.kind}, is a candidate now")
