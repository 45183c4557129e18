"""`as2 keys`: who may ask `as2 serve`.

The context's `obj`, if whoever mounts these commands gives one, is called with each act and the key's name: the
workbench records them in its audit log.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from as2core.commands.options import JsonFlag
from as2core.terminal import echo, print_json, print_note, print_table

MAX_DAYS = 3650  # ten years

KeysDir = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        envvar="AS2_KEYS",
        help="The folder of the keys; by default `keys` in AS2_HOME, else in the user's configuration folder.",
        show_default=False,
    ),
]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Who or what uses it.")]

keys = typer.Typer(help="Make, list and revoke the API keys of `as2 serve`.", invoke_without_command=True)


@keys.callback()
def list_keys(context: typer.Context, folder: KeysDir = None, as_json: JsonFlag = False) -> None:
    """List the keys, unless a command follows."""
    from as2core.serving.keys import read_keys

    if context.invoked_subcommand is not None:
        return
    rows = [
        {"name": k.name, "created": k.created, "expires": k.expires or None, "revoked": k.revoked or None}
        for k in read_keys(_find(folder)).values()
    ]
    if as_json:
        print_json({"keys": rows})
    elif rows:
        print_table(rows, ["name", "created", "expires", "revoked"])
    else:
        echo(f"no keys in {_find(folder)}: `as2 serve` answers everybody who reaches it")


@keys.command()
def add(
    context: typer.Context,
    name: KeyName,
    days: Annotated[
        int | None, typer.Option(min=1, max=MAX_DAYS, help="It expires after so many days.", show_default="never")
    ] = None,
    folder: KeysDir = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key and print it, once. From the first key on, every request needs one."""
    from as2core.serving.keys import add_key

    token = add_key(_find(folder), name, datetime.now(UTC), days=days)
    if as_json:
        print_json({"name": name, "key": token})
    else:
        echo(token)
        print_note("This is the only time it is shown.")
    _report(context, "make an API key", name)


@keys.command()
def revoke(context: typer.Context, name: KeyName, folder: KeysDir = None, as_json: JsonFlag = False) -> None:
    """Revoke a key; a running server refuses it at once."""
    from as2core.serving.keys import read_keys, revoke_key

    before = read_keys(_find(folder)).get(name)
    is_repeated = before is not None and bool(before.revoked)
    key = revoke_key(_find(folder), name, datetime.now(UTC))
    if as_json:
        print_json({"name": key.name, "revoked": key.revoked})
    else:
        echo(f"{name} was revoked already, {key.revoked}" if is_repeated else f"{name} is revoked")
    if is_repeated:
        return
    _report(context, "revoke an API key", name)


def _find(folder: Path | None) -> Path:
    from as2core.serving.keys import default_keys_dir

    return folder or default_keys_dir()


def _report(context: typer.Context, act: str, name: str) -> None:
    """At the end: a key is shown, and a revoked one refused, also where the record fails."""
    if context.obj is not None:
        context.obj(act, name)
