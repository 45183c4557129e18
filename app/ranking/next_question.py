"""The question that Label lists next where none is ranked yet: ranked when its turn comes, as Ask ranks a typed one."""

from app.labels.queues import Seat
from app.labels.rules import find_rules
from app.ranking import scoring
from app.ranking.turns import QUESTIONS
from app.versions import loading, registry
from app.workbench.workbench import Workbench
from db.repositories import questions as rows
from db.repositories.queues import select_with_labels


def rank_next_question(wb: Workbench, seat: Seat) -> bool:
    """Rank a question that still needs a label of this annotator and that the active version has not ranked; False
    where there is none. Raises EmptyCorpus, DamagedModel."""
    version = registry.get_active(wb)
    with wb.read() as s:
        with_labels = select_with_labels(seat.corpus_id, seat.annotator_id, find_rules(s, seat.corpus_id).overlap)
        questions = rows.list_unranked_questions(s, seat.corpus_id, version.id, 1, only=seat.questions, but=with_labels)
    if not questions:
        return False
    with QUESTIONS.take():
        model = loading.load_version(wb)
        result = scoring.rank_question(wb, seat.corpus_id, questions[0].text, model)
        scoring.store_ranking(wb, questions[0].id, model, result, by="label", annotator_id=seat.annotator_id)
    return True
