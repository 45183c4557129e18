"""`as2 jobs`: what runs in the background; pausing, stopping and repeating it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, Typer

from app.cli.context import workbench
from as2core.commands.options import JsonFlag
from as2core.errors import As2Error
from as2core.terminal import echo, format_table, print_json

if TYPE_CHECKING:
    from app.jobs.queue import JobView
    from app.workbench.workbench import Workbench

jobs = Typer(help="List background jobs; pause, cancel or retry one.", invoke_without_command=True)
Number = Annotated[int, Argument(metavar="ID", help="The job's number.")]


@jobs.callback()
def list_jobs(
    context: Context,
    limit: Annotated[int, Option(min=1, help="How many, newest first.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the jobs, newest first, unless a command follows."""
    from app.jobs import queue

    if context.invoked_subcommand is not None:
        return
    with workbench(starter=False) as wb:
        views = queue.list_jobs(wb, limit=limit)
    if as_json:
        print_json({"jobs": views})
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
        for j in views
    ]
    echo(format_table(rows, ["id", "kind", "state", "done", "created", "message"]) if rows else "no jobs")


@jobs.command()
def show(job: Number, as_json: JsonFlag = False) -> None:
    """Show all details of a job, as JSON with or without the flag."""
    from app.jobs import queue

    with workbench(starter=False) as wb:
        print_json(queue.load_job(wb, job))


@jobs.command()
def cancel(job: Number, as_json: JsonFlag = False) -> None:
    """Cancel a job; partial results remain."""
    from app.jobs import queue

    _apply(queue.cancel, job, as_json, wants_active=True)


@jobs.command()
def retry(job: Number, as_json: JsonFlag = False) -> None:
    """Queue a job again that failed, was cancelled or was lost."""
    from app.jobs import queue

    _apply(queue.retry, job, as_json)


@jobs.command()
def pause(job: Number, as_json: JsonFlag = False) -> None:
    """Pause a job."""
    from app.jobs import queue

    _apply(queue.pause, job, as_json, wants_active=True)


@jobs.command()
def resume(job: Number, as_json: JsonFlag = False) -> None:
    """Resume a paused job."""
    from app.jobs import queue

    _apply(queue.resume, job, as_json, wants_active=True)


def _apply(
    change: Callable[["Workbench", int], "JobView"], job: int, as_json: bool, *, wants_active: bool = False
) -> None:
    """`wants_active`: of a job that is over there is nothing to change. Raises As2Error then."""
    from app.jobs import queue

    with workbench(starter=False) as wb:
        if wants_active:
            _require_active(queue.load_job(wb, job))
        view = change(wb, job)
    if wants_active and view.state != "cancelled":
        _require_active(view)  # it may have ended in the meantime
    state = "stopping" if view.is_active and view.cancelling else "paused" if view.paused else view.state
    print_json(view) if as_json else echo(f"job {view.id}: {state}")


def _require_active(view: "JobView") -> None:
    if not view.is_active:
        end = f"{view.state}: {view.error}" if view.error else view.message or view.state
        raise As2Error(f"job {view.id} is over already: {end}")
