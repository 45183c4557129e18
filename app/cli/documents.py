"""`as2 documents`: list the documents of a corpus, and delete some."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Context, Option, Typer

from app.cli.context import CorpusName, ask_to_confirm, find_corpus, workbench
from as2core.commands.options import JsonFlag
from as2core.errors import As2Error
from as2core.messages import count, name_some
from as2core.terminal import echo, print_json, print_note, print_table, show_progress

if TYPE_CHECKING:
    from app.corpora.corpora import CorpusView
    from app.corpora.documents import DocumentView
    from app.workbench.workbench import Workbench

REFUSAL = "nothing was deleted (--yes does not ask)"

Search = Annotated[str, Option(help="Only those with this in their title or name.")]
Limit = Annotated[int, Option(min=1, help="How many at most, oldest first.")]

documents = Typer(help="List the documents of a corpus, and delete some.", invoke_without_command=True)


class UnknownDocument(As2Error):
    """The corpus has no document of that name."""


@documents.callback()
def list_by_default(
    context: Context, corpus: CorpusName = None, search: Search = "", limit: Limit = 100, as_json: JsonFlag = False
) -> None:
    """List the documents, oldest first, unless a command follows."""
    if context.invoked_subcommand is None:
        list_(corpus, search, limit, as_json)


@documents.command("list")
def list_(corpus: CorpusName = None, search: Search = "", limit: Limit = 100, as_json: JsonFlag = False) -> None:
    """List the documents, oldest first."""
    from app.corpora.documents import list_documents

    with workbench() as wb:
        source = find_corpus(wb, corpus)
        views = list_documents(wb, source.id, search=search.strip(), limit=limit)
    if as_json:
        print_json({"corpus": source.name, "documents": views})
        return
    if not views:
        echo(f"no document in {source.name!r}" + (f" with {search!r} in its title or name" if search else ""))
        return
    rows = [{"name": v.external_id, "title": v.title, "file": v.source, "sentences": v.sentences} for v in views]
    print_table(rows, ["name", "title", "file", "sentences"])
    if len(views) == limit:
        print_note(f"{source.name!r} has {count(source.documents, 'document')}: --search and --limit find others")


@documents.command()
def delete(
    names: Annotated[
        list[str], Argument(metavar="NAME...", help="As `as2 documents` lists them, or a file: all of it.")
    ],
    corpus: CorpusName = None,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete documents of a corpus. Their labels stay, and count in retrains and exports."""
    with workbench() as wb:
        source = find_corpus(wb, corpus)
        views = find_by_names(wb, source, names)
        delete_confirmed(wb, source, views, yes=yes)
    deletions = [v.external_id for v in views]
    if as_json:
        print_json({"corpus": source.name, "deleted": deletions})
    else:
        echo(f"{source.name}: {count(len(deletions), 'document')} deleted")


def find_by_names(wb: "Workbench", corpus: "CorpusView", names: Sequence[str]) -> "list[DocumentView]":
    """The document of each name, or those of the file of that name. Raises UnknownDocument."""
    from app.corpora.documents import list_documents

    by_name: dict[str, DocumentView] = {}
    by_file: dict[str, list[DocumentView]] = {}
    for view in list_documents(wb, corpus.id, limit=None):
        by_name[view.external_id] = view
        by_file.setdefault(view.source, []).append(view)
    views: dict[int, DocumentView] = {}
    for name in names:
        matches = [by_name[name]] if name in by_name else by_file.get(name, []) if name else []
        if not matches:
            raise UnknownDocument(f"no document {name!r} in {corpus.name!r}; `as2 documents --search WORD` finds some")
        views |= {view.id: view for view in matches}
    return list(views.values())


def delete_confirmed(
    wb: "Workbench", corpus: "CorpusView", views: "Sequence[DocumentView]", *, yes: bool, refusal: str = REFUSAL
) -> None:
    """Delete the documents after saying which, and asking unless `yes`. Raises NotConfirmed with `refusal`."""
    from app.corpora.documents import count_labels, delete_documents

    labels = count_labels(wb, [view.id for view in views])
    names = name_some([describe(view) for view in views])
    print_note(f"to be deleted from {corpus.name!r}: {names}")
    if labels:
        print_note(f"their labels ({labels:,}) stay, and count in retrains, comparisons and exports")
    if not yes:
        ask_to_confirm(f"Delete {count(len(views), 'document')}?", refusal)
    with show_progress("deleting documents") as on_progress:
        delete_documents(wb, corpus.id, [view.id for view in views], on_progress=on_progress)


def describe(view: "DocumentView") -> str:
    """Its name, with its file where that does not follow from it."""
    return view.source if view.is_whole_file else f"{view.external_id} ({view.source or 'no file'})"
