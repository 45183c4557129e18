"""Rankers that are files or directories, by the last part of their path: pictures and sentences have no room for more.
What is sent elsewhere or downloaded has the names in full.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from app.compare.comparison import ComparisonView
from app.compare.pairs import PairedResult

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_PATH = re.compile(r"(?<![\w:/.~-])(?:~|\.{1,2})?(?:/[^/:,+@\[\]\s]+)+/?")


def shorten_paths(names: Sequence[str]) -> dict[str, str]:
    """Name -> a short one, of those that have paths in them; without one that another has, too."""
    short_names = {name: _PATH.sub(lambda m: m[0].rstrip("/").rpartition("/")[2], name) for name in names}
    numbers = Counter(short_names.values())
    return {name: short for name, short in short_names.items() if short != name and numbers[short] == 1}


def shorten_view(view: ComparisonView) -> ComparisonView:
    """The same with short names for its rankers, and in `full_names` what they stand for."""
    names = shorten_paths([r.ranker for r in view.results])
    if not names:
        return view

    def shorten(name: str) -> str:
        return names.get(name, name)

    def rename_pairs(pairs: Sequence[PairedResult]) -> Sequence[PairedResult]:
        return tuple(replace(p, a=shorten(p.a), b=shorten(p.b)) for p in pairs)

    def rename_columns(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.rename(columns=names)

    return replace(
        view,
        results=tuple(replace(r, ranker=shorten(r.ranker)) for r in view.results),
        paired=_Changed(view.paired, rename_pairs),
        per_question=view.per_question.assign(ranker=view.per_question["ranker"].map(shorten)),
        ranks=_Changed(view.ranks, rename_columns),
        twins={shorten(twin): shorten(name) for twin, name in view.twins.items()},
        trained_on={shorten(name): number for name, number in view.trained_on.items()},
        full_names={short: name for name, short in names.items()},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Changed(Mapping[str, T], Generic[T]):
    """A mapping whose values are changed as they are read."""

    source: Mapping[str, T]
    change: Callable[[T], T]

    def __getitem__(self, key: str) -> T:
        return self.change(self.source[key])

    def __contains__(self, key: object) -> bool:
        return key in self.source

    def __iter__(self) -> Iterator[str]:
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)
