"""Which questions a ranker was trained on: its figures on those are too high.

A version's card lists its questions and its ancestors', and apart from them those that validated the training. A
shipped model was trained on the starter corpus's train part as well, which its card does not repeat. Of a ranker made
of others all parts count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from as2core.data import jsonl
from as2core.data.catalog import find_shipped
from as2core.messages import join
from as2core.rankers.catalog import CATALOG, MODELS_DIR, find_shipped_model, list_parts, split_spec
from as2core.system.files import is_folder

CARDS = ("card.json", "as2_card.json")  # of a version, and of an export for another program
TRAINED_ON, VALIDATED_ON = "trained_on", "validated_on"  # lists of questions in a card
SHIPPED_TRAINING_SET = "starter-train"
_OVERLAP = re.compile(r"(.+) was (trained|validated) on ([\d,]+) of these ([\d,]+) questions[,:]")  # as below
_EFFECTS = {  # on the figures of several rankers
    "trained": ", so their figures here are too high, intervals and tests included. Their cards have figures on "
    "held-out questions (on Adapt, or by as2 versions show NAME).",
    "validated": ": these questions chose when training ended and how far the weights went, so the figures on them "
    "may be too high.",
}


def read_shipped_training() -> list[str]:
    """The starter corpus's train questions, [] where the corpus is not there."""
    file = find_shipped(SHIPPED_TRAINING_SET)
    return [q.text for q in jsonl.read(file)[0]] if file.is_file() else []


def list_trained_on(
    spec: str,
    find_folder: Callable[[str], Path],
    *,
    models_dir: Path = MODELS_DIR,
    read_shipped: Callable[[], Iterable[str]] = read_shipped_training,
) -> set[str]:
    """The questions that a ranker, or one it is made of, was trained on. `find_folder` gives the directory of a spec
    that is none of the catalog. Raises BadSetting for a spec that cannot be read."""

    def load_texts(folder: Path) -> list[str]:
        is_shipped = is_folder(folder) and folder.resolve().parent == models_dir.resolve()
        return [*_read_cards(folder, TRAINED_ON), *(read_shipped() if is_shipped else ())]

    return _gather(spec, find_folder, models_dir, load_texts)


def list_validated_on(spec: str, find_folder: Callable[[str], Path]) -> set[str]:
    """The questions that validated the training of a ranker, or of one it is made of; a shipped
    model lists none. `find_folder` as above. Raises BadSetting for a spec that cannot be read."""
    return _gather(spec, find_folder, MODELS_DIR, lambda folder: _read_cards(folder, VALIDATED_ON))


def _gather(
    spec: str, find_folder: Callable[[str], Path], models_dir: Path, load_texts: Callable[[Path], list[str]]
) -> set[str]:
    """What `load_texts` gives for the directories of a ranker and of those that it is made of."""

    def gather_part(part: str) -> set[str]:
        return _gather(part, find_folder, models_dir, load_texts)

    texts = set().union(*(gather_part(part.spec) for part in list_parts(spec)))
    if spec.partition(":")[0] in CATALOG:
        model = find_shipped_model(spec)
        if model is None:
            return texts
        folder = models_dir / model
    else:
        folder = find_folder(spec)
    return texts.union(load_texts(folder), *map(gather_part, read_saved_parts(folder)))


def describe_overlap(
    spec: str, trained_on: Collection[str], questions: Collection[str], *, validated_on: Collection[str] = ()
) -> list[str]:
    """What it means for the figures that a ranker was trained, or validated, on some of the questions; nothing if on
    none."""
    name, total, notes = drop_settings(spec), len(questions), []
    texts, validation_texts = set(trained_on), set(validated_on) - set(trained_on)
    if overlap := sum(text in texts for text in questions):
        notes.append(_describe_training(name, overlap, total))
    if overlap := sum(text in validation_texts for text in questions):
        notes.append(
            f"{name} was validated on {overlap:,} of these {total:,} questions: they chose when its training ended and "
            "how far its weights went, so its figures on them may be too high."
        )
    return notes


def _describe_training(name: str, overlap: int, total: int) -> str:
    return (
        f"{name} was trained on {overlap:,} of these {total:,} questions, so its figures here are too high, "
        "intervals and tests included. Its card has figures on held-out questions (on Adapt, or by as2 versions "
        f"show '{name}')."
    )


def count_trained_on(notes: Iterable[str], rankers: Collection[str]) -> dict[str, int]:
    """Ranker -> on how many of the questions it was trained, as `describe_overlap` says; without those on none."""
    counts = {}
    for match in filter(None, map(_OVERLAP.match, notes)):
        name, number = match[1], int(match[3].replace(",", ""))
        if match[2] == "trained":
            counts.update({r: number for r in rankers if r == name or r.startswith(f"{name}:")})
    return counts


def merge_overlaps(notes: Iterable[str]) -> list[str]:
    """The notes with one for all rankers that were trained, and one for all that were validated, on some of the
    questions, where the first of these stands."""
    matches = {note: _OVERLAP.match(note) for note in notes}
    merged: dict[str, str] = {}
    for note, match in matches.items():
        if match is None:
            merged[note] = note
        elif match[2] not in merged:
            alike = [m for m in matches.values() if m is not None and m[2] == match[2]]
            merged[match[2]] = note if len(alike) == 1 else _describe_several(alike)
    return list(merged.values())


def _describe_several(matches: Sequence[re.Match[str]]) -> str:
    """`a and b were trained on 9 of these 12 questions, c on 7 of them, so ...`"""
    names_by_number: dict[str, list[str]] = {}
    for match in matches:
        names_by_number.setdefault(match[3], []).append(match[1])
    (number, names), *others = names_by_number.items()
    verb, total = matches[0][2], matches[0][4]
    first = f"{join(names)} {'was' if len(names) == 1 else 'were'} {verb} on {number} of these {total} questions"
    return ", ".join([first, *(f"{join(names)} on {n} of them" for n, names in others)]) + _EFFECTS[verb]


def drop_settings(spec: str) -> str:
    """A ranker without its settings, which change nothing about what it learnt from; one made of others as it is."""
    if list_parts(spec):
        return spec
    name = spec.partition(":")[0]
    return name if name in CATALOG else split_spec(spec)[0]


def read_saved_parts(folder: Path) -> list[str]:
    """The rankers that a saved fusion is made of."""
    settings = _read(folder / "config.json").get("settings")
    parts = settings.get("rankers") if isinstance(settings, dict) else None
    return [str(part) for part in parts] if isinstance(parts, list) else []


def _read_cards(folder: Path, name: str) -> list[str]:
    """The list of texts of this name in the cards of a directory."""
    lists = (_read(folder / card).get(name) for card in CARDS)
    return [str(text) for texts in lists if isinstance(texts, list) for text in texts]


def _read(file: Path) -> dict[str, object]:
    """{} where it cannot be read: that is told where the ranker is loaded."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
