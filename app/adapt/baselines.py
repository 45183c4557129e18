"""What before and after are to be compared with: the candidates as retrieval ordered them, without any reranking, and
the shipped version. Both on the same held-out questions, and both at next to no cost.
"""

from collections.abc import Callable, Sequence

from app.adapt.report import Baseline, Metrics
from app.ranking import retrieval_order
from app.versions import evaluations
from app.workbench.workbench import Workbench
from as2core.types import Question
from db.repositories import versions as rows

SHIPPED = "shipped"  # beside RETRIEVAL and WORDS of `retrieval_order`


def measure_retrieval(wb: Workbench, corpus_id: int, questions: Sequence[Question]) -> Baseline:
    return Baseline(*retrieval_order.measure_retrieval(wb, corpus_id, questions, evaluations.SETTING))


def measure_shipped(
    wb: Workbench, kind: str, before: tuple[str, Metrics], measure: Callable[[str], Metrics]
) -> Baseline | None:
    """`before`: the base's name and its figures, which are those of the shipped version if it is the base. `measure`
    gives those of a version by its name. None where none of this kind is shipped."""
    with wb.read() as s:
        row = rows.find_shipped(s, kind)
        name = row.name if row else ""
    if not name:
        return None
    return Baseline(SHIPPED, before[1] if name == before[0] else measure(name))
