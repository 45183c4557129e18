"""What a parser makes of a document: its paragraphs in order, and which are headings, programs or rows of tables."""

from collections.abc import Container, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from as2core.types import Definition, Heading, Span

BLOCK_END = "\n\n"


class BlockKind(Enum):
    PROSE, HEADING, PROGRAM, ROW = range(4)


class Block(NamedTuple):
    """`level` is a heading's, 1 for the highest. `term`: of what it is in the definition."""

    text: str
    kind: BlockKind = BlockKind.PROSE
    level: int = 0
    term: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind in (BlockKind.PROSE, BlockKind.ROW)


def drop_title(
    title: str, blocks: Sequence[Block], kinds: Container[BlockKind] = frozenset([BlockKind.HEADING])
) -> list[Block]:
    """Without the block that they begin with if it is of one of these kinds and says the title once more, and others
    follow it."""
    repeats_title = len(blocks) > 1 and blocks[0].text == title and blocks[0].kind in kinds
    return list(blocks[1:] if repeats_title else blocks)


def join_blocks(blocks: Sequence[Block]) -> str:
    return BLOCK_END.join(block.text for block in blocks)


def locate_blocks(blocks: Sequence[Block], kind: BlockKind) -> tuple[Span, ...]:
    """Where those of a kind stand in the text that `join_blocks` makes of all."""
    return tuple(span for block, span in _locate(blocks) if block.kind is kind)


def locate_headings(blocks: Sequence[Block]) -> tuple[Heading, ...]:
    """Where they stand in the text that `join_blocks` makes of all."""
    return tuple(Heading(*span, block.level) for block, span in _locate(blocks) if block.kind is BlockKind.HEADING)


def locate_definitions(blocks: Sequence[Block]) -> tuple[Definition, ...]:
    """Where they stand in the text that `join_blocks` makes of all, a piece for each block."""
    return tuple(Definition(*span, block.term) for block, span in _locate(blocks) if block.term)


def _locate(blocks: Sequence[Block]) -> Iterator[tuple[Block, Span]]:
    start = 0
    for block in blocks:
        end = start + len(block.text)
        yield block, (start, end)
        start = end + len(BLOCK_END)
