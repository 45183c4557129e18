"""A corpus's synonyms: with them its questions are searched for, ranked, trained on and compared. What is stored and
shown is the question as it was asked."""

from app.corpora.corpora import lock_corpus
from app.corpora.synonyms import find_synonyms
from app.jobs import queue
from app.jobs.kinds import JobKind
from app.versions.promotion import MAX_RESCORED_QUESTIONS
from app.workbench import audit, people
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import BadSetting
from as2core.questions.synonyms import Synonyms
from db.models import Corpus
from db.repositories.versions import list_open_questions

CHANGE = "change the synonyms"  # in the audit log


def write_synonyms(
    wb: Workbench, corpus_id: int, text: str, *, by: int | None, before: Synonyms | None = None
) -> Synonyms:
    """Replace the corpus's synonyms by these lines (`as2core.questions.synonyms`); `by` None is the command line.
    `before`: those that the writer saw. Questions of the queues that are read otherwise now are ranked again in the
    background. Raises BadSetting, which names the line, or says that somebody changed them meanwhile, NotAllowed for a
    viewer, UnknownCorpus."""
    synonyms = Synonyms.parse(make_storable(text))
    with wb.write() as s:
        people.allow(s, by, CHANGE)
        lock_corpus(s, corpus_id)
        old = find_synonyms(s, corpus_id)
        if before not in (None, old):
            raise BadSetting(
                "somebody else changed the synonyms meanwhile: copy your lines, reload the page, and add them there"
            )
        corpus = s.get_one(Corpus, corpus_id)
        corpus.synonyms = str(synonyms)
        if synonyms != old:
            audit.record(s, wb.clock(), by, CHANGE, corpus.name, _describe_changes(old, synonyms))
        texts = {q.id: q.text for q in list_open_questions(s, corpus_id)}
    if changed := [i for i, text in texts.items() if old.expand(text) != synonyms.expand(text)]:
        settings = {"questions": changed[:MAX_RESCORED_QUESTIONS], "again": True}
        queue.enqueue(wb, JobKind.SCORE, settings, corpus_id=corpus_id, by=by)
    return synonyms


def _describe_changes(before: Synonyms, after: Synonyms) -> str:
    """`added NYC => New York; removed LA => Los Angeles`"""
    old, new = str(before).splitlines(), str(after).splitlines()
    changes = {"added": [line for line in new if line not in old], "removed": [line for line in old if line not in new]}
    return "; ".join(f"{change} {', '.join(lines)}" for change, lines in changes.items() if lines)


def describe_synonyms(synonyms: Synonyms) -> list[str]:
    """A sentence for the reader of figures, if there are any."""
    words = len(synonyms.words)
    return [f"Questions are read with the corpus's {words:,} synonym{'s' * (words != 1)}."] if words else []
