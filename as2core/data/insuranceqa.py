"""InsuranceQA v2 (Feng et al., 2015): a pool of a search engine's answers for each question.

Three files of one folder, gzipped or not: `InsuranceQA.question.anslabel.token.<size>.pool.solr.<split>.encoded` with
the columns domain, question, correct answers, pool (the file without "pool" has the first three);
`InsuranceQA.label2answer.token.encoded` with an answer's number and its words; `vocabulary` with `idx_<n>` and its
word. ("raw" in place of "token" works as well.)

Candidates are the pool, in its order, that of the search engine. Where it misses every correct answer, none is correct
(the settings no-all-neg and clean drop such questions); without a pool only the correct answers are candidates.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from as2core.data.source import Report, parse_each, stream_lines
from as2core.errors import UnreadableFile
from as2core.sources.content import Source
from as2core.types import Candidate, Question

VOCABULARY = "vocabulary"
_NAME = re.compile(r"InsuranceQA\.question\.anslabel\.(token|raw)\.")


def stream(source: Source, report: Report) -> Iterator[Question]:
    """Questions of a question file; all answers are in memory. An id is the line's number, a kind the domain."""
    words, answers = _read_tables(source, report)

    def parse(line: str) -> tuple[str, tuple[Candidate, ...], str]:
        fields = line.split("\t")
        if len(fields) not in (3, 4):
            raise ValueError(f"{len(fields)} columns instead of 4 (domain, question, correct answers, pool)")
        domain, question, correct = fields[0], fields[1].split(), fields[2].split()
        pool = list(dict.fromkeys(fields[-1].split()))
        if unknown := [w for w in question if w not in words] or [a for a in (*correct, *pool) if a not in answers]:
            raise ValueError(f"no {unknown[0]!r} in the files beside it")
        if not question:
            raise ValueError("the question is empty")
        candidates = (Candidate(a, answers[a], int(a in correct)) for a in pool)
        return " ".join(words[w] for w in question), tuple(candidates), domain

    for number, (text, candidates, domain) in parse_each(stream_lines(source, report), parse, report):
        yield Question(str(number), text, candidates, kind=domain)


def _read_tables(source: Source, report: Report) -> tuple[dict[str, str], dict[str, str]]:
    """`{idx_n: word}` and `{answer number: text}`; their malformed lines are reported as the question file's are."""
    if isinstance(source, bytes):
        raise UnreadableFile("InsuranceQA's questions need the vocabulary and answers beside them: give a path")
    path = Path(source)
    name = _NAME.match(path.name)
    words = dict(_read_pairs(_find_beside(path, VOCABULARY), report))
    answers = _find_beside(path, f"InsuranceQA.label2answer.{name[1] if name else 'token'}.encoded")
    return words, {n: " ".join(words.get(w, w) for w in text.split()) for n, text in _read_pairs(answers, report)}


def _find_beside(path: Path, name: str) -> Path:
    for file in (path.with_name(name), path.with_name(f"{name}.gz")):
        if file.is_file():
            return file
    raise UnreadableFile(f"{path.name}: {name} is missing beside it")


def _read_pairs(path: Path, report: Report) -> Iterator[tuple[str, str]]:
    for number, line in stream_lines(path, report):
        key, tab, value = line.partition("\t")
        if tab:
            yield key.strip(), value
        else:
            report.add(number, f"of {path.name}: not two columns")
