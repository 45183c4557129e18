"""`as2 check`, `as2 backup` and `as2 restore`: whether the home is sound, and a copy of it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from app.cli.context import ask_to_confirm, workbench
from as2core.commands.options import JsonFlag
from as2core.commands.outputs import refuse_dash
from as2core.errors import As2Error, BadSetting
from as2core.terminal import echo, print_json, print_note, print_table, show_progress


def check(as_json: JsonFlag = False) -> None:
    """Check the database, the search indexes, the versions and the job queue, and say what to do."""
    from app.upkeep import check as upkeep
    from app.workbench.settings import get_settings

    try:
        with workbench(starter=False) as wb, show_progress("checking"):
            findings = upkeep.check_home(wb)
    except As2Error as e:
        findings = upkeep.check_closed(get_settings(), e)
    problems = [f for f in findings if f.problem]
    if as_json:
        print_json({"sound": not problems, "findings": findings})
    elif problems:
        print_table([asdict(f) for f in problems], ["part", "problem", "remedy"])
    else:
        echo(f"{get_settings().home}: {len(findings)} parts checked, all sound")
    if problems:
        raise Exit(1)


def backup(
    file: Annotated[Path, Argument(metavar="FILE", help="A new file, such as as2-monday.tar.")],
    as_json: JsonFlag = False,
) -> None:
    """Write the database, the versions and the jobs' folders to one file; the app may run meanwhile."""
    from app.upkeep.backup import back_up
    from app.workbench.settings import get_settings

    refuse_dash(file)
    settings = get_settings()
    if settings.database_file is not None and not settings.database_file.exists():
        raise BadSetting(f"{settings.database_file} is not there, so nothing was backed up: name the home in AS2_HOME")
    with workbench(starter=False) as wb, show_progress("backup") as on_progress:
        view = back_up(wb, file, on_progress)
    print_json(view) if as_json else echo(
        f"{view.file}: the database and {view.files:,} other files, {Path(view.file).stat().st_size / 1e6:,.1f} MB"
    )


def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="What `as2 backup` wrote.")],
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Put the home back as it was in a backup, or into an empty PostgreSQL database. A present SQLite database is kept
    beside it."""
    from app.upkeep.backup import check_restore
    from app.upkeep.backup import restore as restore_home
    from app.workbench.settings import get_settings

    settings = get_settings()
    is_in_use = settings.home.is_dir() and any(settings.home.iterdir())  # a new folder has nothing to replace
    check_restore(settings, file)
    if is_in_use and not yes:
        question = f"Replace the database of {settings.home} by the backup's?"
        if settings.database_file is None:
            question = f"Fill the empty database on PostgreSQL, and put the backup's files into {settings.home}?"
        ask_to_confirm(question, "nothing was restored (--yes does not ask)")
    with show_progress("restore") as on_progress:
        view = restore_home(settings, file, on_progress)
    print_json(view) if as_json else echo(f"{settings.home} is as it was on {view.created:%Y-%m-%d %H:%M} UTC")
    print_note("Search indexes are built anew by the next question. Restart the app if it runs.")
