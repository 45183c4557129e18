"""The synonyms of a corpus, as they are stored; `app.ranking.synonyms` changes them."""

from sqlalchemy.orm import Session

from app.corpora.corpora import SHIPPED_CORPORA
from app.workbench.workbench import Workbench
from as2core.questions.synonyms import Synonyms
from db.models import Corpus


def read_synonyms(wb: Workbench, corpus_id: int) -> Synonyms:
    """None of a corpus that is gone."""
    with wb.read() as s:
        return find_synonyms(s, corpus_id)


def find_synonyms(s: Session, corpus_id: int) -> Synonyms:
    """`read_synonyms` within a session."""
    corpus = s.get(Corpus, corpus_id)
    return Synonyms.parse(corpus.synonyms if corpus else "")


def read_prepared(wb: Workbench, corpus_name: str) -> Synonyms:
    """Those that come with a shipped corpus, which is not filled with them; none of another."""
    file = wb.settings.corpora_dir / corpus_name / "synonyms.txt"
    return Synonyms.read(file) if corpus_name in SHIPPED_CORPORA and file.is_file() else Synonyms()
