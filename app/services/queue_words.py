"""The queues by name, and why an item is in one: a sentence with its numbers, or without the model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

QUEUES = {
    "uncertain": "Where the model's probability is nearest to its threshold: a label here teaches it most.",
    "disagree": "Where the cascade and the generative model rank a sentence furthest apart: one of them is wrong.",
    "early": "Where the first exit and the last rank a sentence furthest apart: what an early exit gets wrong.",
    "dropped": "Nearest to a cut: where a small error of an early exit loses an answer or keeps a dud.",
    "tops": "The highest-ranked without a label: what a reader sees first, and what a fair evaluation needs.",
    "unlabelled": "Questions without any label, the best candidate first.",
    "flagged": "What somebody flagged, with their note; a label here clears the flag.",
    "second": "Labels that a model of all the other labels doubts: say again, and it rests.",
    "own": "Your own labels, the newest first, to look at them again.",
    "random": "A random share: keeps the other queues honest.",
}
CONTROL = "A random pick, the share that keeps this queue honest"
DRAWN = "The first row is the one drawn; the others come along."
BLIND = "Shown without scores, to learn how much seeing them sways people."


def why(
    row: Any,
    queue: str,
    scored: int,
    *,
    control: bool = False,
    blind: bool = False,
    flags: Sequence[tuple[str, str]] = (),
    own: str | None = None,
    doubted: Any = None,
    told: bool = True,
    scores: bool = True,
) -> str:
    """Why this pair is asked; nothing of what a blind item hides, nor of what others say of it unless `told`, nor what
    models made of it without `scores`."""
    if blind:
        return f"A random pick. {BLIND}"
    if queue == "flagged" and flags:
        return "Flagged by " + "; by ".join(
            name + (f": {note}" if note else ", without a note") for name, note in flags
        )
    if queue == "second" and doubted is not None and not told:
        return f"A model of the other labels doubts its label by {doubted.doubt:.2f}; you see it once yours is in."
    if queue == "second" and doubted is not None:
        return f"It is labelled {doubted.label}, which a model of the other labels doubts by {doubted.doubt:.2f}."
    if queue == "own" and own:
        return f"You labelled it {own}."
    if row.rank is None:
        random = control or queue == "random"
        return "A random pick, not ranked by any model yet." if random else "No model has ranked it yet."
    if not scores:
        return f"{CONTROL}." if control else QUEUES.get(queue, "Shown again.")
    if control:
        return f"{CONTROL}, ranked {row.rank} of {scored}."
    if queue == "uncertain":
        distance = abs(row.probability - row.threshold)
        near = "right at the threshold" if distance <= 0.03 else f"{distance:.2f} from the threshold"
        return f"Layer {row.last_exit} gives {row.probability:.2f}: {near} of {row.threshold:.2f}."
    if queue == "disagree":
        return f"Of {scored}, the cascade ranks it {row.rank} and the generative model {row.generative_rank}."
    if queue == "early":
        return f"Of {scored}, layer {row.early_exit} ranks it {row.early_rank} and layer {row.last_exit} {row.rank}."
    if queue == "dropped":
        return _at_the_cut(row)
    if queue == "tops":
        return f"Ranked {row.rank} of {scored}, the highest without a label."
    if queue == "unlabelled":
        return f"Nobody labelled anything of this question yet; ranked {row.rank} of {scored}."
    if queue == "random":
        return f"A random pick, ranked {row.rank} of {scored}."
    return f"Ranked {row.rank} of {scored}, probability {row.probability:.2f}."


def why_question(rows: Sequence[Any], queue: str, *, control: bool, blind: bool, drawn: bool = False) -> str:
    """Why this question with its list is asked; `drawn`: chance chose its first row."""
    which = f" {DRAWN}" if drawn else ""
    if blind:
        return f"A random question. {BLIND} The order is random too.{which}"
    if control:
        return f"A random question, the share that keeps this queue honest.{which}"
    return f"{QUEUES.get(queue, '')} {len(rows)} candidates.{which}".strip()


def _at_the_cut(row: Any) -> str:
    inside = row.cut_rank <= row.cut_kept
    steps = row.cut_kept - row.cut_rank + 1 if inside else row.cut_rank - row.cut_kept
    places = "1 place" if steps == 1 else f"{steps} places"
    side = f"{places} from being dropped" if inside else f"dropped by {places}"
    return f"After layer {row.cut_layer} the best {row.cut_kept} stay, and it stands at {row.cut_rank}: {side}."
