"""What a retrain was asked to do. Made by the form or the command, stored with the job, read by the run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from pydantic import TypeAdapter

from app.adapt.label_selection import LabelSelection
from app.versions.registry import CASCADE, GENERATIVE
from as2core.errors import BadSetting
from as2core.rankers.catalog import rename_spec
from as2core.training.settings import TrainSettings
from as2core.types import Json
from db.models import Job

CALIBRATION, FUSION = "calibration", "fusion"
KINDS = {
    CASCADE: "Cascade: the ranker that answers",
    GENERATIVE: "Generative ranker: how likely the question is, given the sentence",
    "cross-encoder": "Cross-encoder: the last exit alone",
    "cosinet": "Cosinet: small and fast, on word vectors",
    "rel-cnn": "Rel-CNN: small and fast, on word vectors",
    "compare-aggregate": "Compare-Aggregate: small, on word vectors",
    FUSION: "Fusion: the weights of the rankers in use",
    CALIBRATION: "Calibration: probabilities and the no-answer threshold only",
}
FITTED = (FUSION, CALIBRATION)  # a few numbers, fitted at once: no epochs, and nothing is forgotten
REPLAY = 0.25  # share of the shipped training questions that is mixed in
MAX_EPOCHS, MAX_LEARNING_RATE = 100, 0.1
CHECKING = "checking the result on training questions"  # begins the message of a retrain while copies check it
COPIES = "copies"  # the event of a retrain whose version is trained and measured, and is now checked by copies


@dataclass(frozen=True, slots=True)
class RetrainSettings:
    """`kind`: of KINDS. `base`: a version, a catalog spec, or "active". `choice`: the labels. `replay`: share of the
    shipped questions mixed in, 0 to 1; always 0 for what is FITTED. `epochs`, `learning_rate`: None for the kind's
    default. `automatic`: nobody asked for it, and nobody looks at the result first. `copies`: where few questions are
    held out, copies judge training questions as well (app.adapt.cross_fitting). Raises BadSetting."""

    kind: str = CASCADE
    base: str = "active"
    choice: LabelSelection = field(default_factory=LabelSelection)
    replay: float = REPLAY
    epochs: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    note: str = ""
    automatic: bool = False
    copies: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadSetting(f"{self.kind!r} cannot be adapted; what can: {', '.join(KINDS)}")
        if self.is_fitted and (self.epochs, self.learning_rate) != (None, None):
            raise BadSetting(f"{self.kind} has no epochs and no learning rate: leave them out")
        if self.epochs is not None and not 1 <= self.epochs <= MAX_EPOCHS:
            raise BadSetting(f"epochs {self.epochs}: give a number from 1 to {MAX_EPOCHS}")
        if self.learning_rate is not None and not 0 < self.learning_rate < MAX_LEARNING_RATE:
            raise BadSetting(f"learning rate {self.learning_rate}: give a small positive number such as 3e-5")
        if not 0 <= self.replay <= 1:
            raise BadSetting(f"a replay of {self.replay}: give the share of the shipped questions to mix in, 0 to 1")
        if self.is_fitted:
            object.__setattr__(self, "replay", 0.0)
        TrainSettings(seed=self.seed)  # refuses a seed that no run can take

    @property
    def is_fitted(self) -> bool:
        return self.kind in FITTED

    @property
    def version_kind(self) -> str:
        """The kind of version that the retrain makes."""
        return CASCADE if self.kind == CALIBRATION else self.kind

    @classmethod
    def from_json(cls, record: Mapping[str, Json]) -> "RetrainSettings":
        """From a job's settings. Jobs of older programs have fewer keys, and mixed in nothing."""
        return _ADAPTER.validate_python({"replay": 0.0} | {k: v for k, v in record.items() if v is not None})

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def rename_version(job: Job, old: str, new: str) -> None:
    """In a retrain that may still run its base, in one that is done what it made and from what."""
    if job.state != "done":
        base = job.settings.get("base", "")
        if (renamed := rename_spec(base, old, new)) != base:
            job.settings = {**job.settings, "base": renamed}
    elif names := {key: new for key in ("version", "base") if job.result.get(key) == old}:
        job.result = {**job.result, **names}


_ADAPTER = TypeAdapter(RetrainSettings)
