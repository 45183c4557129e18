"""`as2 audit`: who did what."""

from datetime import UTC, datetime
from typing import Annotated

from typer import Option

from app.cli.context import workbench
from as2core.commands.options import JsonFlag
from as2core.errors import BadSetting
from as2core.terminal import echo, format_table, print_json


def audit(
    who: Annotated[str, Option(help="Only what this person did.")] = "",
    act: Annotated[str, Option(help="Only acts that hold these words, as delete.")] = "",
    since: Annotated[str, Option(help="Only from this day on, as 2024-05-01 (UTC).")] = "",
    limit: Annotated[int, Option(min=1, help="How many, newest first.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """List who did what: promotions, roles, deletions, log-ins, exports, refusals."""
    from app.workbench import audit_log

    with workbench(starter=False) as wb:
        events = audit_log.list_events(wb, by=None, actor=who, act=act, since=_read_day(since), limit=limit)
    if as_json:
        print_json({"events": events})
        return
    rows = [
        {
            "when": f"{e.created:%Y-%m-%d %H:%M:%S}",
            "who": e.actor,
            "what": e.what,
            "on what": e.target,
            "detail": e.detail,
        }
        for e in events
    ]
    echo(format_table(rows, ["when", "who", "what", "on what", "detail"]) if rows else "nothing is recorded")


def record_key_act(act: str, name: str) -> None:
    """What `as2 keys` did, where there is a home with a database; a server of rankers alone has none."""
    from app.workbench import audit as service
    from app.workbench.settings import get_settings

    if get_settings().has_database:
        with workbench(starter=False) as wb:
            service.write(wb, None, act, name)


def _read_day(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError as e:
        raise BadSetting(f"--since {text}: give a day as 2024-05-01") from e
