"""The kinds of background jobs. A kind is stored as its value."""

from enum import StrEnum


class JobKind(StrEnum):
    RETRAIN = "retrain"
    COMPARE = "compare"
    DECIDE = "decide"
    PROMOTE = "promote"
    SECOND_LOOKS = "doubt"
    PROPOSE = "propose"
    SCORE = "score"
    EMBED = "embed"
    MEASURE = "measure"
