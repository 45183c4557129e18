"""Which labelled questions of a corpus ask the same as a new one, in the same or nearly the same words.

The questions that people labelled are in memory, by their forms (`as2core.questions.rewording`), and follow the
database by the newest label event. A question of the same loose form is compared by its vector, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.questions.rewording import MIN_COSINE, LooseForm, find_exact_form, find_loose_form, may_ask_alike
from db.repositories import labels as rows
from db.repositories import questions as question_rows

MAX_COMPARED_QUESTIONS = 3  # questions of the same loose form, newest first
KEEP_SECONDS = 86_400.0  # then a corpus's memory goes: it may be deleted
MAX_AGE_SECONDS = 600.0  # then all is read again: on PostgreSQL an event may be visible after one with a higher id


@dataclass(frozen=True, slots=True)
class EarlierQuestion:
    id: int
    text: str


@dataclass(slots=True)
class _Memory:
    """Of one corpus. Questions are never removed: one that was deleted has no labels to be read."""

    newest_event: int = 0
    read_at: float = -math.inf
    texts: dict[int, str] = field(default_factory=dict)
    exact: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    loose: dict[LooseForm, list[int]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def add(self, question_id: int, text: str) -> None:
        if question_id in self.texts:
            return
        self.texts[question_id] = text
        self.exact.setdefault(find_exact_form(text), []).append(question_id)
        self.loose.setdefault(find_loose_form(text), []).append(question_id)


def find_same_questions(
    wb: Workbench, corpus_id: int, text: str, *, by_meaning: bool = True
) -> tuple[EarlierQuestion, ...]:
    """First the stored one of this very wording. Then, of those that a person labelled at some time, those of the same
    exact form, and those of the same loose form with nearly the same vector, the nearest first. `by_meaning` False
    leaves the last out, for a corpus without vectors."""
    memory = _follow(wb, corpus_id)
    with wb.read() as s:
        own = question_rows.find_question(s, corpus_id, text)
    own_ids = [] if own is None else [own.id]
    ids = [i for i in reversed(memory.exact.get(find_exact_form(text), ())) if i not in own_ids]
    if by_meaning:
        ids += _find_near(wb, memory, text, exclude=[*own_ids, *ids])
    return (*(EarlierQuestion(i, text) for i in own_ids), *(EarlierQuestion(i, memory.texts[i]) for i in ids))


def _follow(wb: Workbench, corpus_id: int) -> _Memory:
    """The corpus's memory, brought up to date."""
    memory = wb.same_questions.get(corpus_id)
    if memory is None:
        memory = _Memory()
        wb.same_questions.put(corpus_id, memory, KEEP_SECONDS)
    with memory.lock, wb.read() as s:
        newest, now = rows.find_newest_event_id(s), time.monotonic()
        if newest != memory.newest_event:
            is_old = now - memory.read_at > MAX_AGE_SECONDS
            for row in rows.list_questions_labelled_since(s, corpus_id, 0 if is_old else memory.newest_event):
                memory.add(row.id, row.text)
            memory.newest_event, memory.read_at = newest, now if is_old else memory.read_at
    return memory


def _find_near(wb: Workbench, memory: _Memory, text: str, *, exclude: Sequence[int]) -> list[int]:
    form = find_loose_form(text)
    alike = [i for i in memory.loose.get(form, ()) if i not in exclude and may_ask_alike(text, memory.texts[i])]
    if not form or not alike:
        return []
    try:
        embed = wb.models.embedder().embed_question  # the search has embedded the question already
        vector = embed(text)
        cosines = {i: float(embed(memory.texts[i]) @ vector) for i in alike[-MAX_COMPARED_QUESTIONS:]}
    except DamagedModel:
        return []  # the search says so
    return sorted((i for i, cosine in cosines.items() if cosine >= MIN_COSINE), key=lambda i: -cosines[i])
