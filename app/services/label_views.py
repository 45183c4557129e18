"""What the pages Label and Agreement get from the services, beyond `views`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Rules:
    """How a corpus is labelled. `overlap`: people a pair. `control`: share of an adaptive queue drawn at random.
    `blind`: share of what is drawn at random that is shown without scores. `target`: pairs wanted, None for no end."""

    overlap: int = 1
    control: float = 0.1
    blind: float = 0.5
    target: int | None = None


@dataclass(frozen=True, slots=True)
class GuidelineView:
    """One version of the guidelines; 0 is the text that comes with the program, by nobody."""

    version: int
    text: str
    by: str = ""
    created: datetime | None = None


@dataclass(frozen=True, slots=True)
class ActView:
    """One act that could be undone. `pairs`: how many it was about; the first is shown. `label` may be "withdrawn"."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    label: str
    pairs: int = 1


@dataclass(frozen=True, slots=True)
class Dealt:
    """How an item came to somebody: it keeps this when it is shown again. `control` and `arm` as in `Shown`.
    `drawn`: of a list that chance brought, the sentence it drew; the others came along."""

    queue: str = ""
    control: bool = False
    arm: str = ""
    drawn: int | None = None


@dataclass(frozen=True, slots=True)
class ListRow:
    """A candidate in its question's list. `free`: this annotator may label it now (a viewer: could as an annotator);
    others are looking at the rest, or enough people labelled it. `model_says`: whether its probability reaches the
    threshold. `why`: what the queue asks of this row, `why_unscored` for those who hide the scores; empty for those
    that come along with their question."""

    sentence_id: int
    text: str
    title: str
    rank: int | None
    probability: float | None
    generative_rank: int | None
    model_says: bool | None
    label: str | None
    free: bool
    why: str = ""
    why_unscored: str = ""


@dataclass(frozen=True, slots=True)
class QuestionItem:
    """A question with its whole list; `arm` as in `Shown`: rows of a blind one come without scores, in random order.
    `drawn` as in `Dealt`: its row is the first, since labels go down the list, and not all to its end."""

    question_id: int
    question: str
    rows: tuple[ListRow, ...]
    why: str
    queue: str
    version: str
    token: str
    control: bool
    arm: str
    drawn: int | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval (of coefficients by bootstrap over questions); all None where it cannot be
    computed. `n`: pairs of question and sentence that went in."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class AgreementView:
    """`alpha`: Krippendorff's, nominal, over everyone. `kappas`: (name, name) -> Cohen's. `over_time`: (day the second
    label came, alpha). `per_kind`: question kind -> alpha. `annotators`: everybody with a label that somebody else's
    stands beside."""

    alpha: Estimate
    kappas: tuple[tuple[str, str, Estimate], ...]
    over_time: tuple[tuple[str, Estimate], ...]
    per_kind: tuple[tuple[str, Estimate], ...]
    annotators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SharesView:
    """Share of correct pairs. `fair`: among those drawn at random; `chosen`: adaptive queue -> among those it chose,
    which says nothing about the others."""

    fair: Estimate
    chosen: tuple[tuple[str, Estimate], ...]


@dataclass(frozen=True, slots=True)
class ConflictView:
    """A pair that people label differently, or did before it was settled. `verdict`, `by`, `note` are empty until then;
    the labels stay."""

    question_id: int
    sentence_id: int
    question: str
    text: str
    title: str
    labels: tuple[tuple[str, str], ...]
    verdict: str = ""
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class AnchoringView:
    """Labels on pairs where chance decided whether the scores were on the screen. `agree_*`: share of labels that say
    what the model said; `shift`: shown minus blind, what seeing the score adds."""

    shown: int
    blind: int
    agree_shown: float | None
    agree_blind: float | None
    shift: Estimate


@dataclass(frozen=True, slots=True)
class ImportLine:
    """What became of one line of a file: "new", "same", "conflicting" or "malformed" (the worst of its labels), with a
    word on it; line 0 where the format has no lines."""

    line: int
    outcome: str
    what: str
