"""What a parser makes of a document: its paragraphs in order, and which of them are headings or programs."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from as2core.types import Span

BLOCK_END = "\n\n"


class BlockKind(Enum):
    PROSE, HEADING, PROGRAM = range(3)


class Block(NamedTuple):
    text: str
    kind: BlockKind = BlockKind.PROSE


def join_blocks(blocks: Sequence[Block]) -> str:
    return BLOCK_END.join(block.text for block in blocks)


def locate_blocks(blocks: Sequence[Block], kind: BlockKind) -> tuple[Span, ...]:
    """Where the blocks of that kind stand in the text that `join_blocks` makes of all."""
    spans, start = [], 0
    for block in blocks:
        end = start + len(block.text)
        if block.kind is kind:
            spans.append((start, end))
        start = end + len(BLOCK_END)
    return tuple(spans)
