"""What documents bring without a label: training on the corpus itself, and labels on top of it.

    python benchmarks/own_documents.py                        half an hour on two cores; writes docs/label-efficiency.md
    python benchmarks/own_documents.py --sets handbook --examples 100     some minutes, to see it run; writes nothing
    python benchmarks/own_documents.py --cache results.jsonl   goes on from what an earlier run measured

Two ways to make training questions of a corpus. "Paragraphs": a sentence is the question, another one of its paragraph
the correct candidate, beside five of other paragraphs of the document and five of other documents (the objective SSP of
Di Liello et al., 2022, arXiv 2205.10455, by a loss over the list). "Questions": questions by rule, accepted where a
search by meaning finds their sentence among the first three of the corpus, beside ten that it finds, too. The shipped
cascade learns from them with the settings of a retrain before decision 111 (`strong-anchor` of `_recipes.py`); then
again with labels from lists read from the top until the answer is found.

MedQuAD's documents are its answers, by topic, those that are measured on included; the handbook's are its articles.
Both are measured on their test questions, whose labels nothing here reads, and on `starter-test`, which the shipped
cascade should not forget.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from _cells import Cells, Values, add_cache_options, average, describe, mean
from _cells_on_ray import measure_on_ray
from _recipes import STRONG, learn, retrain
from _scores import score_by_last_exit
from _simulated import list_answers, medquad, read_lists
from _texts import DATA, require_files

from as2core.data.catalog import load_questions
from as2core.documents.reading import read_documents
from as2core.experiments.base import write_section
from as2core.generation.questions import generate_questions, rule_writer
from as2core.metrics import measure_each, order
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.cascade import CascadeRanker
from as2core.rankers.catalog import get
from as2core.text import split_sentences
from as2core.types import Candidate, Question

ROOT = Path(__file__).resolve().parents[1]
PAGE, ARTICLES = ROOT / "docs" / "label-efficiency.md", ROOT / "corpora" / "handbook" / "articles"
NAMES = {"medquad": "MedQuAD", "handbook": "The handbook"}
WAYS = ("nothing", "paragraphs", "questions")
POOL, DEV, LABELS, EXAMPLES = 300, 150, 50, 300  # questions, labels, and training questions that are made
WORDS = 6, 60  # of a sentence that is read
RELATED, OTHERS, WITHIN = 5, 5, 3

Documents = list[list[list[str]]]  # of each its paragraphs, of each of these its sentences


@dataclass(frozen=True, slots=True)
class Corpus:
    """`pool` is labelled, `dev` measured on."""

    documents: Documents
    pool: Sequence[Question]
    dev: Sequence[Question]


def load_medquad() -> Corpus:
    require_files("medquad/qa.jsonl")
    file = DATA / "medquad" / "qa.jsonl"
    sets = medquad(file, POOL, DEV)
    candidates = {c.text for q in (*sets.questions, *sets.dev) for c in q.candidates}
    documents = [
        [_list_sentences(answer)[0] for answer, opening in answers if opening in candidates]
        for answers in list_answers(file).values()
    ]
    return Corpus([d for d in documents if d], sets.questions, sets.dev)


def load_handbook() -> Corpus:
    articles = [d for file in sorted(ARTICLES.iterdir()) for d in read_documents(file)]
    train, test = (load_questions(f"handbook-{part}").questions for part in ("train", "test"))
    return Corpus([_list_sentences(d.text, d.verbatim) for d in articles], train, [q for q in test if q.positives])


LOADERS = {"medquad": load_medquad, "handbook": load_handbook}


def _list_sentences(text: str, verbatim: Sequence[tuple[int, int]] = ()) -> list[list[str]]:
    """By paragraph, at least one."""
    paragraphs: dict[int, list[str]] = {}
    for s in split_sentences(text, verbatim):
        paragraphs.setdefault(s.paragraph, []).append(s.text)
    return list(paragraphs.values()) or [[]]


def is_readable(sentence: str) -> bool:
    return WORDS[0] <= len(sentence.split()) <= WORDS[1]


def ask_paragraphs(documents: Documents, n: int, seed: int) -> list[Question]:
    """Sentences as questions, one paragraph each."""
    rng = random.Random(seed)
    readable = [[[s for s in p if is_readable(s)] for p in d] for d in documents]
    every = [s for d in readable for p in d for s in p]
    places = [(d, p) for d, paragraphs in enumerate(readable) for p, s in enumerate(paragraphs) if len(s) > 1]
    questions = []
    for number, (d, p) in enumerate(rng.sample(places, min(n, len(places)))):
        text, correct = rng.sample(readable[d][p], 2)
        related = [s for other, sentences in enumerate(readable[d]) if other != p for s in sentences]
        wrong = [*rng.sample(related, min(RELATED, len(related))), *rng.sample(every, OTHERS)]
        wrong = [s for s in dict.fromkeys(wrong) if s not in readable[d][p]]
        questions.append(_make_question(f"p{number}", text, correct, wrong))
    return questions


def ask_by_rule(documents: Documents, n: int, seed: int) -> list[Question]:
    """Questions by rule that the bi-encoder answers with their sentence, or nearly so."""
    rng = random.Random(seed)
    sentences = list(dict.fromkeys(s for d in documents for p in d for s in p if is_readable(s)))
    rng.shuffle(sentences)
    ranker = Nearest(sentences)
    proposals = generate_questions(rule_writer(sentences), sentences[: 5 * n], ranker=ranker, within=WITHIN)
    questions = []
    for number, proposal in enumerate(proposals[:n]):
        text, source = proposal.text, sentences[proposal.source]
        nearest = [sentences[i] for i in order(ranker.compare(text)).tolist()[: RELATED + OTHERS + 1]]
        questions.append(_make_question(f"r{number}", text, source, [s for s in nearest if s != source]))
    return questions


def _make_question(qid: str, text: str, correct: str, wrong: Sequence[str]) -> Question:
    labelled = [(correct, 1), *((s, 0) for s in wrong)]
    return Question(qid, text, tuple(Candidate(f"{qid}-{i}", s, y) for i, (s, y) in enumerate(labelled)))


class Nearest:
    """The bi-encoder over a fixed set of texts, each embedded once."""

    def __init__(self, texts: Sequence[str]) -> None:
        bi_encoder = get("bi-encoder")
        assert isinstance(bi_encoder, BiEncoderRanker)
        self.embed = lru_cache(16)(lambda text: bi_encoder.embed([text])[0])
        self.places = {text: i for i, text in enumerate(texts)}
        self.vectors = bi_encoder.embed(list(texts))  # (n, hidden)

    def compare(self, text: str) -> np.ndarray:
        return self.vectors @ self.embed(text)

    def score(self, question: str, candidates: Sequence[Candidate]) -> np.ndarray:
        return self.compare(question)[[self.places[c.text] for c in candidates]]


MAKERS = {"paragraphs": ask_paragraphs, "questions": ask_by_rule}


class Bench:
    """`cells`: AP by question, for each set, way and seed without labels and with them, each on `starter-test` too."""

    def __init__(self, name: str, examples: int) -> None:
        self.name, self.examples, self.cells = name, examples, Cells()

    @cached_property
    def corpus(self) -> Corpus:
        return LOADERS[self.name]()

    @cached_property
    def frozen(self) -> list[Question]:
        return [q for q in load_questions("starter-test").questions if q.positives]

    @cached_property
    def base(self) -> CascadeRanker:
        return get("cascade:drop_ratio=0,engine=torch")

    def measure(self, way: str, labels: int, seed: int) -> list[Values]:
        """AP on the set and on `starter-test`."""
        key = f"own documents, {self.name}, {self.examples} {way}, {labels} labels, seed {seed}"

        def measure_now() -> list[Values]:
            ranker = self.train(way, labels, seed)
            return [
                measure_each(questions, score_by_last_exit(ranker, questions), ("AP",))["AP"]
                for questions in (self.corpus.dev, self.frozen)
            ]

        return self.cells.get_all([key, f"{key}, starter-test"], measure_now)

    def train(self, way: str, labels: int, seed: int) -> CascadeRanker:
        with tempfile.TemporaryDirectory() as folder:
            ranker = self.base
            if way in MAKERS:
                questions = MAKERS[way](self.corpus.documents, self.examples, seed)
                print(f"{self.name}: {len(questions)} {way}, such as {questions[0].text!r}", flush=True)
                ranker = learn(ranker, questions, Path(folder) / "documents", seed=seed, **STRONG)
            if labels:
                pool = self.corpus.pool
                lists = read_lists(pool, score_by_last_exit(ranker, pool), labels, seed)
                ranker = retrain(ranker, lists, "strong-anchor", seed, Path(folder) / "labels")
            return ranker


@dataclass
class Study:
    sets: Sequence[str]
    seeds: int
    examples: int

    def __call__(self, cells: Cells) -> Iterator[str]:
        for name in self.sets:
            bench = self._benches.setdefault(name, Bench(name, self.examples))
            bench.cells = cells
            yield from make_table(bench, self.seeds)

    def __post_init__(self) -> None:
        self._benches: dict[str, Bench] = {}


def make_table(bench: Bench, seeds: int) -> list[str]:
    """Differences are paired by question, with their 95 % intervals."""
    runs = {
        (labels, way): [bench.measure(way, labels, seed) for seed in range(seeds if way != WAYS[0] or labels else 1)]
        for labels in (0, LABELS)
        for way in WAYS
    }
    figures = {key: [average(side) for side in zip(*pairs, strict=True)] for key, pairs in runs.items()}
    first = figures[0, WAYS[0]]
    lines = [
        f"**{NAMES[bench.name]}**: {len(first[0])} questions, AP {mean(first[0]):.3f} before; starter-test "
        f"{mean(first[1]):.3f}.",
        "",
        "| labels | learnt before | AP | against nothing learnt before | starter-test, against the shipped cascade |",
        "|---|---|---|---|---|",
    ]
    for (labels, way), (here, there) in figures.items():
        against = "" if way == WAYS[0] else describe(here, figures[labels, WAYS[0]][0])
        change = "" if (labels, way) == (0, WAYS[0]) else describe(there, first[1])
        lines.append(f"| {labels} | {way} | {mean(here):.3f} | {against} | {change} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=tuple(NAMES), default=list(NAMES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="training questions made of the documents")
    add_cache_options(parser)
    arguments = parser.parse_args()
    cells, study = Cells(arguments.cache), Study(arguments.sets, arguments.seeds, arguments.examples)
    if arguments.ray:
        measure_on_ray(study, cells, arguments.ray)
    tables = list(study(cells))
    command = "python benchmarks/own_documents.py" + (f" --seeds {arguments.seeds}" if arguments.seeds != 1 else "")
    text = "\n".join([f"Printed and written by `{command}`. Seeds: {arguments.seeds}.", "", *tables])
    print(text)
    if (arguments.sets, arguments.examples) == (list(NAMES), EXAMPLES):
        write_section(PAGE, "own-documents", text)


if __name__ == "__main__":
    import own_documents  # by its name, as the workers of Ray import it

    own_documents.main()
