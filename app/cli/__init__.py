"""The commands that need the database, mounted on `as2` through the entry points in pyproject.toml.

Importing this costs nothing: a command imports the services when it runs.
"""

from pathlib import Path

from typer import Typer

from app.cli import (
    adapt,
    ask,
    audit,
    context,
    document_management,
    documents,
    jobs,
    labels,
    people,
    processes,
    propose,
    synonyms,
    upkeep,
    versions,
)
from as2core.commands import keys
from as2core.types import Question


def register(cli: Typer) -> None:
    """Group `as2.commands`: add the workbench's commands to the library's."""
    for command in (
        documents.ingest,
        ask.ask,
        adapt.adapt,
        documents.reindex,
        synonyms.synonyms,
        processes.app,
        processes.worker,
        upkeep.check,
        upkeep.backup,
        upkeep.restore,
        audit.audit,
    ):
        cli.command(command.__name__)(command)
    cli.command("propose")(propose.propose)
    cli.add_typer(document_management.documents, name="documents")
    cli.add_typer(labels.labels, name="labels")
    cli.add_typer(versions.versions, name="versions")
    cli.add_typer(jobs.jobs, name="jobs")
    cli.add_typer(people.people, name="people")
    # in place of the library's own, which are the same without a record
    cli.add_typer(keys.keys, name="keys", context_settings={"obj": audit.record_key_act})


def labelled(corpus: str) -> list[Question]:
    """Group `as2.data`: `labels`, or `labels:<corpus>`; the questions with their current labels."""
    from app.exchange import exports

    with context.workbench() as wb:
        return list(exports.load_labelled_questions(wb, context.find_corpus(wb, corpus or None).id))


def version_directories() -> dict[str, Path]:
    """Group `as2.versions`: the versions made in this home that can be used, by name, and the active one, which says
    what is wrong with it when it is loaded."""
    from app.versions import registry as service

    with context.workbench(starter=False) as wb:
        all_versions = service.list_versions(wb, kind=None)
    directories = {v.name: Path(v.path) for v in all_versions if not v.problem and v.state != "shipped"}
    for answering in (v for v in all_versions if v.state == "active" and v.kind == service.CASCADE):
        directories["active"] = Path(answering.path)
    return directories
