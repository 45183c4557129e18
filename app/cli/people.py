"""`as2 people`: the people, their roles, and whose the labels of an imported name are."""

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Context, Option, Typer

from app.cli.context import ask_to_confirm, workbench
from as2core.commands.options import JsonFlag
from as2core.messages import count
from as2core.terminal import echo, format_table, print_json

people = Typer(help="List annotators and assign roles.", invoke_without_command=True)


@people.callback()
def list_people(context: Context, as_json: JsonFlag = False) -> None:
    """List the people in the order they came, unless a command follows."""
    from app.workbench import people as service
    from app.workbench import sessions

    if context.invoked_subcommand is not None:
        return
    with workbench(starter=False) as wb:
        views, accounts = service.list_people(wb), sessions.list_accounts(wb, by=None)
    if as_json:
        print_json({"people": [{**asdict(p), "account": accounts.get(p.id)} for p in views]})
        return
    rows = [
        {
            "name": p.name,
            "role": p.role,
            "signs in": "without a name" if p.name == service.NOBODY else "by name" if p.local else "logs in",
            "account": accounts.get(p.id, ""),
        }
        for p in views
    ]
    echo(format_table(rows, ["name", "role", "signs in", "account"]) if rows else "nobody has signed in yet")


@people.command()
def role(
    name: Annotated[str, Argument(metavar="NAME", help="As `as2 people` lists it.")],
    to: Annotated[str, Argument(metavar="ROLE", help="admin, annotator, viewer or blocked.")],
    as_json: JsonFlag = False,
) -> None:
    """Assign a role."""
    from app.workbench import people as service

    with workbench(starter=False) as wb:
        service.set_role(wb, service.find_person(wb, name).id, to, by=None)
        person = service.find_person(wb, name)
    print_json(person) if as_json else echo(f"{person.name} is {person.role} now")


@people.command("end-sessions")
def end_sessions(
    name: Annotated[str, Argument(metavar="NAME", help="As `as2 people` lists it.")], as_json: JsonFlag = False
) -> None:
    """End a person's sessions in all browsers; they can log in again unless blocked."""
    from app.workbench import people as service
    from app.workbench import sessions

    with workbench(starter=False) as wb:
        person = service.find_person(wb, name)
        sessions.end_sessions(wb, person.id, by=None)
    print_json(person) if as_json else echo(f"{person.name} has to log in again")


@people.command("hand-over")
def give_labels_to(
    name: Annotated[
        str, Argument(metavar="NAME", help="Who does not log in, as a name from an import, or is blocked.")
    ],
    to: Annotated[str, Argument(metavar="TO", help="Whose the labels are.")],
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make the labels of a name another person's, in all corpora."""
    from app.labels import label_list
    from app.workbench import people as service

    with workbench(starter=False) as wb:
        giver, heir = service.find_person(wb, name), service.find_person(wb, to)
        if not yes:
            labels = count(label_list.count_labels_to_give(wb, giver.id, by=None), "label")
            question = f"Make the {labels} of {giver.name}, in all corpora, those of {heir.name}? It cannot be undone."
            ask_to_confirm(question, "nothing was handed over (--yes does not ask)")
        view = label_list.give_labels_to(wb, giver.id, heir.id, by=None)
    print_json(view) if as_json else echo(f"{giver.name} to {heir.name}: {view.describe()}")
