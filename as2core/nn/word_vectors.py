"""Static word vectors: one vector a word wherever it stands, never trained.

Two sources. A word2vec-text file (Numberbatch, GloVe, word2vec; plain or gzip), of which only the requested words are
parsed: one pass records where each word's line begins. Or the backbone's input embeddings: a word's vector is the mean
of its word pieces' embeddings, less the mean of the whole table, since what all pieces share makes every cosine high
(Mu and Viswanath, 2018).
"""

import math
import os
import re
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Self

import numpy as np

from as2core.errors import BadSetting, UnreadableFile
from as2core.sources.unpacking import GZIP_MAGIC, Quota, TooLarge, open_gzip

MAX_CACHED_WORDS = 50_000  # whose vectors are held in memory


class WordVectors:
    """`table(words)` gives float32 `(n, size)`, zeros for an unknown word. `origin` are the arguments of
    `word_vectors` for the same table.

    Copies of a ranker share one table: it never changes.
    """

    def __init__(self, find: Callable[[list[str]], np.ndarray], size: int, origin: dict[str, str]) -> None:
        self.size, self.origin = size, origin
        self._find = find
        self._cache: dict[str, np.ndarray] = {}

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        cache = self._cache
        new = [w for w in dict.fromkeys(words) if w not in cache]
        if new:
            if len(cache) + len(new) > MAX_CACHED_WORDS:
                cache = self._cache = {}
                new = list(dict.fromkeys(words))
            cache.update(zip(new, self._find(new), strict=True))
        return np.stack([cache[w] for w in words]) if len(words) else np.zeros((0, self.size), dtype=np.float32)

    def __deepcopy__(self, memo: dict) -> Self:
        return self


def word_vectors(*, backbone: str | None = None, path: str | Path | None = None) -> WordVectors:
    """The table of a file, or of a backbone (None: the default one). Raises BadSetting for both at once, and what
    `text_vectors` and `backbone_vectors` raise."""
    if path and backbone:
        raise BadSetting("word vectors come from a file or from a backbone: give vectors or backbone, not both")
    return text_vectors(path) if path else backbone_vectors(backbone)


def text_vectors(path: str | Path) -> WordVectors:
    """The table of a word2vec-text file: `word number number ...` a line, with or without a first line `count size`.

    Reads Numberbatch's notation: `/c/en/word` for an English word, `#` for a digit. Raises UnreadableFile with the
    number of a line that is too short (when the file is opened) or holds no numbers (when its word is looked up).
    """
    file = _TextFile(Path(path))
    return WordVectors(file.find, file.size, {"vectors": str(Path(path).resolve())})


class _TextFile:
    """The position of each word in a text file. A gzip file, which has no positions, is unpacked to a temporary one."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self._file: IO[bytes] = path.open("rb")
            if self._file.read(2) == GZIP_MAGIC:
                self._file.seek(0)
                with self._file as raw, open_gzip(raw, Quota()) as packed:
                    self._file = tempfile.TemporaryFile()  # noqa: SIM115 (read as long as the table lives)
                    shutil.copyfileobj(packed, self._file)
            self._file.seek(0)
        except (OSError, EOFError, zlib.error, TooLarge) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFile(
                f"the word vectors {path} cannot be read ({reason}): give a word2vec-text file, plain or gzip"
            ) from error
        self._lines = array("q", [0])  # where line i + 1 begins
        self._line_of: dict[str, int] = {}  # counted from 1
        self.size = 0
        for number, line in enumerate(self._file, 1):
            self._lines.append(self._lines[-1] + len(line))
            self._index_line(line.rstrip(), number)
        if not self._line_of:
            raise UnreadableFile(f"{self.name} holds no word vectors: give a file in word2vec's text format")

    def _index_line(self, line: bytes, number: int) -> None:
        if not line:
            return
        if number == 1:
            fields = line.split()
            header = len(fields) == 2 and all(f.isdigit() for f in fields)
            self.size = int(fields[1]) if header else len(fields) - 1
            if header:
                return
        if self.size < 1 or line.count(b" ") < self.size:
            count = len(line.split()) - 1
            raise UnreadableFile(f"{self.name}: line {number}: {count} numbers instead of {max(1, self.size)}")
        word = line.partition(b" ")[0] if line.count(b" ") == self.size else line.rsplit(b" ", self.size)[0]
        if word.startswith(b"/c/"):
            if not word.startswith(b"/c/en/"):
                return
            word = word.removeprefix(b"/c/en/")
        self._line_of.setdefault(word.decode("utf-8", "replace"), number)

    def find(self, words: list[str]) -> np.ndarray:
        out = np.zeros((len(words), self.size), dtype=np.float32)
        for i, word in enumerate(words):
            number = self._line_of.get(word) or self._line_of.get(_mask_digits(word))
            if number:
                out[i] = self._numbers(number)
        return out

    def _numbers(self, number: int) -> list[float]:
        start, end = self._lines[number - 1], self._lines[number]
        fields = os.pread(self._file.fileno(), end - start, start).rstrip().rsplit(b" ", self.size)[1:]
        try:
            numbers = [float(f) for f in fields]
        except ValueError:
            numbers = [math.nan]
        if not all(map(math.isfinite, numbers)):
            raise UnreadableFile(f"{self.name}: line {number}: not all of its values are finite numbers")
        return numbers


def _mask_digits(word: str) -> str:
    """Numberbatch's form of a word with two digits together: "1889" is "####"."""
    return re.sub(r"[0-9]", "#", word) if re.search(r"[0-9][0-9]", word) else word


def backbone_vectors(name: str | None = None) -> WordVectors:
    """The table of a backbone's input embeddings. Raises what `load_backbone` raises."""
    from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone

    backbone = load_backbone(name or DEFAULT_BACKBONE)
    tokenizer = backbone.tokenizer
    pieces = backbone.embeddings.word_embeddings.weight.detach().numpy()  # (vocabulary, size)
    pieces = pieces - pieces.mean(0)

    def find(words: list[str]) -> np.ndarray:
        out = np.zeros((len(words), pieces.shape[1]), dtype=np.float32)
        ids = tokenizer([f" {w}" for w in words], add_special_tokens=False)["input_ids"]
        for i, row in enumerate(ids):
            row = [piece for piece in row if piece != tokenizer.unk_token_id]
            if row:
                out[i] = pieces[row].mean(0)
        return out

    return WordVectors(find, pieces.shape[1], {"backbone": backbone.name})
