"""The report of an import, line by line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from textwrap import shorten
from types import MappingProxyType

from as2core.messages import count, join

UNITS = {  # that are numbered, where not lines
    "selqa": "question",
    "label-studio": "record",
    "argilla": "record",
    "records": "record",
    "quepid": "rating",
}
OUTCOMES = ("same", "new", "conflicting", "malformed")  # from the best to the worst
MAX_TEXTS, MAX_TEXT_CHARS = 1000, 100  # of lines, and of a question or a sentence in them
Place = tuple[int, str]  # the line, and the file it is in where there are several, else ""
Lines = Mapping[tuple[str, str], Place]
Texts = Mapping[tuple[str, str], tuple[str, str]]  # question id, candidate id -> their texts


@dataclass(frozen=True, slots=True)
class ImportLine:
    """One line of a file: "new", "same", "conflicting" or "malformed" (the worst of its labels), and what it is about;
    line 0 where the format has no lines. `text`: the question and the sentence of its label, of several the first; ""
    where it has none, or after so many lines that nobody reads them."""

    line: int
    outcome: str
    what: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ImportView:
    """The result of an import. `conflicting`: labels that differ from an earlier one of the same annotator, or from a
    verdict; they are not stored. `malformed`: (line number, reason). `corpus_id`, `corpus`: the corpus and its name,
    None where no line could be read and no corpus was made. `is_new_corpus`: it was made for the file. `new_questions`,
    `new_documents`, `new_sentences`: what the corpus did not have. `verdicts`: how many were new. `lines`: the outcome
    of each line. `moved`: questions that were here in another split, as (split before or "", split now, how many).
    `textless`: candidates left out because they have no text. `notes`: what else the reader has to say. `signers`: who
    was taken for whom, and who was not known here before."""

    new: int
    same: int
    conflicting: int
    malformed: tuple[tuple[int, str], ...]
    questions: int
    corpus_id: int | None
    format: str
    conflicts: tuple[str, ...] = ()
    lines: tuple[ImportLine, ...] = ()
    verdicts: int = 0
    moved: tuple[tuple[str, str, int], ...] = ()
    textless: int = 0
    corpus: str | None = None
    is_new_corpus: bool = False
    new_questions: int = 0
    new_documents: int = 0
    new_sentences: int = 0
    notes: tuple[str, ...] = ()
    signers: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What the numbers of `malformed` and `lines` count."""
        return UNITS.get(self.format, "line")

    def describe_additions(self) -> str:
        """As in "9 new sentences, 2 new documents and 3 new questions"; empty where the corpus had them all."""
        counts = (self.new_sentences, "sentence"), (self.new_documents, "document"), (self.new_questions, "question")
        parts = [count(n, f"new {noun}") for n, noun in counts if n]
        return join(parts)

    def describe_textless(self) -> str:
        """As in "3 candidates without a text left out"; empty where there were none."""
        return f"{count(self.textless, 'candidate')} without a text left out" if self.textless else ""

    def describe_moved(self) -> str:
        """As in "moved from train to test: 3"; empty where none was."""
        return ", ".join(f"moved from {before or 'no split'} to {now}: {n:,}" for before, now, n in self.moved)


def report_lines(
    lines: Lines,
    outcomes: Iterable[tuple[str, str, str]],
    malformed: Sequence[tuple[int, str]],
    texts: Texts = MappingProxyType({}),
) -> tuple[ImportLine, ...]:
    """One entry a line. `outcomes`: (question id, candidate id, outcome) of every label that could be read. A line with
    several labels has the worst of their outcomes, and names the sentences with it."""
    by_place: dict[Place, list[tuple[str, str, str]]] = {}
    for qid, candidate, outcome in outcomes:
        by_place.setdefault(_find_place(lines, qid, candidate), []).append((qid, candidate, outcome))
    rows = [ImportLine(line, "malformed", reason) for line, reason in malformed]
    for place in sorted(by_place):
        worst = max((outcome for *_, outcome in by_place[place]), key=OUTCOMES.index)
        pairs = list(dict.fromkeys((qid, candidate) for qid, candidate, outcome in by_place[place] if outcome == worst))
        line, what = _name_file(place, ", ".join(starmap("{} {}".format, pairs)))
        quote = _quote(pairs, texts) if len(rows) < MAX_TEXTS else ""
        rows.append(ImportLine(line, worst, what, quote and _name_file(place, quote)[1]))
    return tuple(sorted(rows, key=lambda r: r.line))


def _quote(pairs: Sequence[tuple[str, str]], texts: Texts) -> str:
    """`How long is it? · It is long., and 2 more`."""
    parts = [shorten(text, MAX_TEXT_CHARS, placeholder=" …") for text in texts.get(pairs[0], ()) if text]
    more = f", and {len(pairs) - 1:,} more" if len(pairs) > 1 else ""
    return " · ".join(parts) + more if parts else ""


def locate_reason(lines: Lines, qid: str, candidate: str, reason: str) -> tuple[int, str]:
    """The line of the label that a reason is about, and the reason."""
    return _name_file(_find_place(lines, qid, candidate), reason)


def _find_place(lines: Lines, qid: str, candidate: str) -> Place:
    """The line of a label: its own, else its question's, else 0."""
    return lines.get((qid, candidate), lines.get((qid, ""), (0, "")))


def _name_file(place: Place, what: str) -> tuple[int, str]:
    line, file = place
    return line, f"in {file}: {what}" if file else what
