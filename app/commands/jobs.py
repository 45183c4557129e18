"""`as2 jobs`: what runs in the background, and stopping or repeating it."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.opened import workbench
from as2core.cli import Json
from as2core.terminal import say, say_json, table

jobs = typer.Typer(help="List background jobs; cancel or repeat one.", invoke_without_command=True)
Number = Annotated[int, typer.Argument(metavar="ID", help="The job's number.")]


@jobs.callback()
def listed(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: Json = False,
) -> None:
    """List the jobs, newest first, unless a command follows."""
    from app.services import adapting

    if context.invoked_subcommand is not None:
        return
    with workbench(starter=False) as wb:
        found = adapting.jobs(wb, limit=limit)
    if as_json:
        say_json({"jobs": found})
        return
    rows = [
        {
            "id": j.id,
            "kind": j.kind,
            "state": j.state,
            "done": f"{j.progress:.0%}",
            "created": f"{j.created:%Y-%m-%d %H:%M}",
            "message": j.error or j.message,
        }
        for j in found
    ]
    say(table(rows, ["id", "kind", "state", "done", "created", "message"]) if rows else "no jobs")


@jobs.command()
def show(job: Number, as_json: Json = False) -> None:
    """Show everything known of a job, as JSON with or without the flag."""
    from app.services import adapting

    with workbench(starter=False) as wb:
        say_json(adapting.job(wb, job))


@jobs.command()
def cancel(job: Number, as_json: Json = False) -> None:
    """Ask a job to stop; what it has done so far is kept."""
    from app.services import adapting

    with workbench(starter=False) as wb:
        view = adapting.cancel(wb, job)
    say_json(view) if as_json else say(f"job {view.id}: {'stopping' if view.active else view.state}")


@jobs.command()
def retry(job: Number, as_json: Json = False) -> None:
    """Queue a job again that failed, was cancelled or was lost."""
    from app.services import adapting

    with workbench(starter=False) as wb:
        view = adapting.retry(wb, job)
    say_json(view) if as_json else say(f"job {view.id}: {view.state}")


@jobs.command()
def pause(job: Number, as_json: Json = False) -> None:
    """Let a job wait, for somebody who needs the machine."""
    from app.services import adapting

    with workbench(starter=False) as wb:
        view = adapting.pause(wb, job)
    say_json(view) if as_json else say(f"job {view.id}: {'paused' if view.paused else view.state}")


@jobs.command()
def resume(job: Number, as_json: Json = False) -> None:
    """Let a paused job go on where it waits."""
    from app.services import adapting

    with workbench(starter=False) as wb:
        view = adapting.resume(wb, job)
    say_json(view) if as_json else say(f"job {view.id}: {view.state}")
