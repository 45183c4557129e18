"""`as2 train`: learn a ranker from labelled questions, and write it as a version that every command takes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Literal, get_args, get_type_hints

import typer

from as2core.commands.options import JsonFlag, Titles
from as2core.commands.outputs import refuse_dash
from as2core.errors import BadSetting
from as2core.lookup import load_ranker, open_questions, read_questions
from as2core.messages import count
from as2core.metrics import MEASURES
from as2core.terminal import echo, print_json, print_note, print_table, show_progress, show_training
from as2core.types import Question

if TYPE_CHECKING:
    import numpy as np

    from as2core.rankers.base import HasWeights
    from as2core.rankers.specs import Setting
    from as2core.rankers.versions import Card
    from as2core.training.learners import Teacher
    from as2core.training.settings import TrainSettings


FOR_TRAINED = ("hard_negatives", "match_prior", "anchor")  # settings that an untrained ranker has no use for
MAX_TITLE_QUESTIONS = 1000  # that are looked at for titles


def train(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="The ranker to train, as cosinet:listwise.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The training questions.")],
    out: Annotated[Path, typer.Option(help="The version's directory; it appears whole, or not at all.")],
    dev: Annotated[
        str | None, typer.Option(help="Labelled questions to measure on; the best state on them is kept.")
    ] = None,
    setting: Annotated[
        Literal["raw", "no-all-neg", "clean"], typer.Option(help="Which questions of DATA to train on.")
    ] = "no-all-neg",
    titles: Titles = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over DATA.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The highest rate of the schedule.")] = None,
    batch_questions: Annotated[int | None, typer.Option(min=1, help="Questions per mini-batch.")] = None,
    loss: Annotated[str | None, typer.Option(help="pointwise, pairwise, listwise, mle, lul or rll.")] = None,
    dtype: Annotated[
        Literal["auto", "bfloat16", "float32"],
        typer.Option(help="The encoder's products; auto: the ranker's own, bfloat16 only where the device has it."),
    ] = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of initial weights and order; 0 by default.")] = None,
    teacher: Annotated[
        str | None, typer.Option(metavar="RANKER", help="A ranker whose scores a cascade or cross-encoder learns, too.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME=VALUE", help="Another training setting, as noise=0.1; may be repeated."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a ranker on labelled questions."""
    refuse_dash(out)
    if out.exists():
        raise BadSetting(f"{out} exists already: choose another name for the version")
    changes: dict[str, Setting] = {"epochs": epochs, "learning_rate": learning_rate, "loss": loss, "seed": seed}
    changes["batch_questions"], changes["bf16"] = batch_questions, _read_dtype(dtype)
    card = _train(TrainingData(data, setting, limit, dev, titles, teacher), ranker, out, changes, others or ())
    if card is None:
        return
    if as_json:
        print_json({"path": out, "card": card})
        return
    seconds = 60 * card["minutes"]
    echo(f"{out}: {ranker} trained on {count(card['questions'], 'question')} of {data} in {seconds:.0f} s")
    if metrics := card["metrics"]:
        print_table([{"measure": n, metrics["data"]: metrics[n]} for n in MEASURES], ["measure", metrics["data"]])


def _read_dtype(name: str) -> bool | None:
    """The setting `bf16`; None leaves it to the ranker. Raises BadSetting where the device has no bfloat16."""
    import torch

    from as2core.nn.precision import require_dtype

    require_dtype(name, "cuda" if torch.cuda.is_available() else "cpu")
    return None if name == "auto" else name == "bfloat16"


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Where labelled questions are read from, `data` to train on, `dev` to measure on; and the `teacher`, a spec."""

    data: str
    setting: str
    limit: int | None
    dev: str | None
    titles: bool = True
    teacher: str | None = None

    def read(self) -> tuple[Sequence[Question], list[Question]]:
        """The questions to train on, which stay in a large file, and those to measure on."""
        from as2core.data.catalog import apply_setting, matches_setting
        from as2core.data.lazy_questions import filter_questions

        whole = open_questions(self.data, titles=self.titles)
        questions = filter_questions(whole, lambda q: matches_setting(q, self.setting))[: self.limit]
        dev = apply_setting(read_questions(self.dev, titles=self.titles), "clean") if self.dev else []
        if self.dev and not dev:
            raise BadSetting(
                f"{self.dev} has no question with a correct and an incorrect candidate: nothing to measure on"
            )
        return questions, dev


def _note_titles(data: TrainingData, questions: Sequence[Question], dev: Sequence[Question]) -> None:
    """Say where one part has titles and the other has none: what is learned on one is then measured on the other."""
    in_train, in_dev = (any(q.has_titles for q in part[:MAX_TITLE_QUESTIONS]) for part in (questions, dev))
    if dev and in_train != in_dev:
        titled, bare = (data.data, data.dev) if in_train else (data.dev, data.data)
        print_note(f"as2: {titled} has titles and {bare} has none: --no-titles reads both without")


def _load_teacher(
    spec: str | None, base: HasWeights, settings: TrainSettings, questions: Sequence[Question]
) -> Teacher | None:
    """The scores of a ranker for these questions, as training takes them. Raises BadSetting for a ranker that learns
    from none."""
    from as2core.rankers.base import bind_questions, needs_questions
    from as2core.rankers.cascade import CascadeRanker
    from as2core.types import Candidate

    if spec is None:
        return None
    if not isinstance(base, CascadeRanker):
        raise BadSetting(f"{base.name} learns from no teacher: leave --teacher out, or train a cascade")
    if not settings.distill:
        raise BadSetting("say how much the teacher counts beside the labels: --with distill=1 --with temperature=1")
    ranker = load_ranker(spec)
    ids: dict[tuple[str, str], str] = {}  # of candidates, which is all that a run knows of them
    if needs_questions(ranker):
        bind_questions(ranker, questions)
        ids = {(q.text, c.titled_text): c.id for q in questions for c in q.candidates}

    def teach(question: str, texts: list[str]) -> np.ndarray:
        return ranker.score(question, [Candidate(ids.get((question, t), str(i)), t) for i, t in enumerate(texts)])

    return teach


def _merge_settings(changes: Mapping[str, Setting], others: Sequence[str]) -> dict[str, Setting]:
    """As `_train` takes them. Raises BadSetting for one that is given by both."""
    from as2core.rankers.specs import read_pairs
    from as2core.training.settings import TrainSettings

    fields = read_pairs("training", others, asdict(TrainSettings()), optional=_list_optional(TrainSettings))
    options = {name: value for name, value in changes.items() if value is not None}
    for name in sorted(set(fields) & set(options)):
        flag = "--dtype" if name == "bf16" else f"--{name.replace('_', '-')}"
        raise BadSetting(f"{flag} and --with {name}= set the same: give one of them")
    return {**fields, **options}


def _list_optional(settings: type) -> dict[str, type]:
    """The type of each field that may also be None."""
    kinds = {name: get_args(hint) for name, hint in get_type_hints(settings).items()}
    return {name: next(t for t in some if t is not NoneType) for name, some in kinds.items() if NoneType in some}


def _measure(ranker: HasWeights, dev: Sequence[Question], name: str) -> dict[str, str | float]:
    from as2core.evaluation.rankers import evaluate

    with show_progress(f"measuring on {name}") as on_progress:
        return {"data": name, **evaluate(ranker, dev, on_progress=on_progress).metrics}


def _choose_settings(base: HasWeights, values: Mapping[str, Setting]) -> TrainSettings:
    """Those the ranker is trained with by default, with some values changed. Raises BadSetting."""
    from as2core.training.learners import suggest_settings
    from as2core.training.settings import TrainSettings

    if ignored := [name for name in FOR_TRAINED if values.get(name) and not base.is_trained]:
        raise BadSetting(
            f"{', '.join(ignored)}: only for a ranker that is trained already; leave it out, or name a version"
        )
    return TrainSettings(**{**asdict(suggest_settings(base)), **values})


def _train(
    data: TrainingData, spec: str, out: Path, changes: Mapping[str, Setting], others: Sequence[str]
) -> Card | None:
    """Train, measure and save; returns the version's card. Of several processes (`torchrun`, `accelerate launch`) all
    train, the first measures and saves; the others get None. `changes` and `others` (`NAME=VALUE`) are settings that
    differ from those the ranker is trained with by default; None leaves one as it is."""
    import torch

    from as2core.data.lazy_questions import digest_questions
    from as2core.rankers.versions import read_card, save_version
    from as2core.rankers.word_ranker import WordRanker
    from as2core.training.fine_tune import describe_run, fine_tune, is_first_process, override
    from as2core.training.learners import require_weights
    from as2core.training.loop import RunControl
    from as2core.training.settings import TrainSettings

    values = {"seed": 0, **_merge_settings(changes, others)}
    questions, dev = data.read()
    seed = override(TrainSettings(), seed=values["seed"]).seed
    torch.manual_seed(seed)
    base = require_weights(load_ranker(spec))
    if not isinstance(base, WordRanker):  # those read the sentence alone
        _note_titles(data, questions, dev)
    settings = _choose_settings(base, values)
    digest = digest_questions(questions)
    teacher = _load_teacher(data.teacher, base, settings, questions)
    run = json.dumps([spec, describe_run(settings, base, questions, dev), *filter(None, [data.teacher])])
    # named by all that makes the run: the same command resumes it after a stop, and another starts its own, as does the
    # same with other questions in its files or other weights behind its base
    work = out.with_name(f".{out.name}.{hashlib.sha256(run.encode()).hexdigest()[:12]}.work")
    with show_training() as on_event:
        control = RunControl(on_event)
        try:
            result = fine_tune(base, questions, dev, settings, workdir=work, teacher=teacher, control=control)
        except KeyboardInterrupt:
            print_note("the same command goes on from the last checkpoint, or from the start if there is none yet")
            raise
        except BadSetting:  # a training that diverged is not to be resumed
            shutil.rmtree(work, ignore_errors=True)
            raise
    if not is_first_process():
        return None
    card = {
        "ranker": spec,
        "parent": spec,
        "data": [{"name": data.data, "setting": data.setting, "titles": data.titles, "sha256": digest}],
        "questions": len(questions),
        "settings": {"train": asdict(settings)},
        **({"teacher": data.teacher} if data.teacher else {}),
        "seed": seed,
        "minutes": round(result.seconds / 60, 2),
        "metrics": _measure(result.ranker, dev, str(data.dev)) if dev else None,
    }
    save_version(result.ranker, out, card)
    shutil.rmtree(work, ignore_errors=True)
    return read_card(out)
