"""`as2 people`: who works here, and what each may do."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.opened import workbench
from as2core.cli import Json
from as2core.terminal import say, say_json, table

people = typer.Typer(help="List who labels here, and give roles.", invoke_without_command=True)


@people.callback()
def listed(context: typer.Context, as_json: Json = False) -> None:
    """List the people in the order they came, unless a command follows."""
    from app.services import people as service

    if context.invoked_subcommand is not None:
        return
    with workbench(starter=False) as wb:
        found = service.everybody(wb)
    if as_json:
        say_json({"people": found})
        return
    rows = [{"name": p.name, "role": p.role, "signs in": "by name" if p.local else "logs in"} for p in found]
    say(table(rows, ["name", "role", "signs in"]) if rows else "nobody has signed in yet")


@people.command()
def role(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `as2 people` lists it.")],
    to: Annotated[str, typer.Argument(metavar="ROLE", help="admin, annotator or viewer.")],
    as_json: Json = False,
) -> None:
    """Give somebody a role."""
    from app.services import people as service

    with workbench(starter=False) as wb:
        service.set_role(wb, service.named(wb, name).id, to, by=None)
        person = service.named(wb, name)
    say_json(person) if as_json else say(f"{person.name} is {person.role} now")
