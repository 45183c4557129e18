"""What the Data page shows of proposed questions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProposalView:
    """`place` is the rank of the sentence it was made for when the corpus was asked, from 1."""

    id: int
    text: str
    sentence: str
    title: str
    document_id: int
    place: int


@dataclass(frozen=True, slots=True)
class ProposalsView:
    """The oldest that wait, and how many there are of each kind in all."""

    shown: tuple[ProposalView, ...]
    waiting: int
    accepted: int
    rejected: int
