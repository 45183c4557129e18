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
    documents,
    ingestion,
    jobs,
    labels,
    people,
    processes,
    propose,
    questions,
    synonyms,
    upkeep,
    versions,
)
from as2core.commands import keys
from as2core.commands.options import RANKING
from as2core.types import Question

# headings of `as2 --help`, beside the library's
DOCUMENTS, LABELS, RUNNING = "Documents and questions", "Labels, retrains and versions", "Running the workbench"


def register(cli: Typer) -> None:
    """Group `as2.commands`: add the workbench's commands to the library's."""
    maintenance = (upkeep.check, upkeep.backup, upkeep.restore)
    panels = {
        DOCUMENTS: (ingestion.ingest, ask.ask, synonyms.synonyms, propose.propose, ingestion.reindex),
        LABELS: (adapt.adapt,),
        RUNNING: (processes.app, processes.worker, *maintenance, audit.audit),
    }
    for panel, commands in panels.items():
        for command in commands:
            cli.command(command.__name__, rich_help_panel=panel)(command)
    cli.add_typer(documents.documents, name="documents", rich_help_panel=DOCUMENTS)
    cli.add_typer(questions.questions, name="questions", rich_help_panel=DOCUMENTS)
    cli.add_typer(labels.labels, name="labels", rich_help_panel=LABELS)
    cli.add_typer(versions.versions, name="versions", rich_help_panel=LABELS)
    cli.add_typer(jobs.jobs, name="jobs", rich_help_panel=RUNNING)
    cli.add_typer(people.people, name="people", rich_help_panel=RUNNING)
    # in place of the library's own, which are the same without a record
    cli.add_typer(keys.keys, name="keys", rich_help_panel=RANKING, context_settings={"obj": audit.record_key_act})


def labelled(corpus: str) -> list[Question]:
    """Group `as2.data`: `labels`, or `labels:<corpus>`; the questions with their current labels."""
    from app.exchange import exports

    with context.workbench() as wb:
        return list(exports.load_labelled_questions(wb, context.find_corpus(wb, corpus or None).id))


def version_directories() -> dict[str, Path]:
    """Group `as2.versions`: the versions made in this home that can be used, by name, and the active one, which says
    what is wrong with it when it is loaded. Without a home the shipped one is active, and none is made."""
    from app.versions import registry as service
    from app.workbench.settings import get_settings

    settings = get_settings()
    if not settings.has_database:
        return {"active": settings.models_dir / service.CASCADE}
    with context.workbench(starter=False) as wb:
        all_versions = service.list_versions(wb, kind=None)
    directories = {v.name: Path(v.path) for v in all_versions if not v.problem and v.state != "shipped"}
    for answering in (v for v in all_versions if v.state == "active" and v.kind == service.CASCADE):
        directories["active"] = Path(answering.path)
    return directories
