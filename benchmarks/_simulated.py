"""A person simulated: two pools whose labels are known, and somebody who answers what the workbench's queues ask.

The queues are the workbench's own. A pool goes into a corpus of a temporary home, the shipped models' scores are stored
as a scoring job stores them, and then `leasing.find_next_item` asks and `annotation.give_label` takes the answer: with
the random share of the adaptive queues, and without near-duplicates in a row. What is learnt from is what a retrain
reads.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from app import bootstrap
from app.adapt import label_selection
from app.adapt.label_selection import PRESUMED_COUNT
from app.corpora import corpora
from app.exchange import storage
from app.labels import annotation, leasing
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.ranking import scoring
from app.ranking.retrieval import RetrievedSentence
from app.ranking.scoring import RankedQuestion, Ranking, RankLimits
from app.versions import loading, registry
from app.workbench import people
from app.workbench.settings import Settings
from app.workbench.workbench import Workbench
from as2core.data.catalog import apply_setting, load_questions
from as2core.metrics import order
from as2core.retrieval.passages import split_passages
from as2core.retrieval.ranks import top_documents
from as2core.retrieval.sqlite import SqliteIndex
from as2core.text import split_sentences
from as2core.types import Candidate, Question
from db.repositories import candidates as candidate_rows

OPENING_SENTENCES, MAX_ANSWER_CHARS = 3, 2000  # sentences of an answer, and the characters they are looked for in
SAME_TOPIC, CANDIDATES = 5, 10
MAX_READ = 3  # sentences of a list
PADDING = ("these resources address",)  # what many of MedQuAD's answers open with, whatever was asked


@dataclass(frozen=True, slots=True)
class Pool:
    """`questions` carry the labels the person will give; `dev` is measured on, and no near-relative of them."""

    name: str
    questions: tuple[Question, ...]
    dev: tuple[Question, ...]


def wikiqa(folder: Path, size: int | None, dev: int | None, *, seed: int = 0) -> Pool:
    """The train part, questions without an answer included; dev in the clean setting."""
    train = [q for q in load_questions(str(folder / "WikiQA-train.tsv")).questions if q.candidates]
    judges = apply_setting(load_questions(str(folder / "WikiQA-dev.tsv")).questions, "clean")[:dev]
    return Pool("WikiQA", tuple(random.Random(seed).sample(train, size) if size else train), tuple(judges))


def medquad(file: Path, size: int | None, dev: int | None, *, seed: int = 0) -> Pool:
    """MedQuAD answers a question with a text, not a sentence, so the candidates are openings: the first sentences of
    answers. Correct is the opening of a question's own answer, incorrect are those of answers to other questions about
    the same topic, and of what a search by words finds elsewhere. Topics are in the pool or in dev, not in both.
    """
    topics = _read_topics(file)
    able = sorted(t for t, records in topics.items() if len({r["opening"] for r in records}) >= 3)
    random.Random(seed).shuffle(able)
    dev_topics = max(1, len(able) // 4)
    return Pool(
        "MedQuAD",
        tuple(_make_questions([r for t in able[dev_topics:] for r in topics[t]], size, seed)),
        tuple(_make_questions([r for t in able[:dev_topics] for r in topics[t]], dev, seed)),
    )


def list_answers(file: Path) -> dict[str, list[tuple[str, str]]]:
    """By topic, each answer with its opening."""
    return {t: [(r["answer"], r["opening"]) for r in records] for t, records in _read_topics(file).items()}


def _read_topics(file: Path) -> dict[str, list[dict]]:
    """The records with an opening, by topic."""
    topics: dict[str, list[dict]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        opening = _opening(record["answer"])
        if opening:
            topics[record["focus"].casefold()].append({**record, "opening": opening})
    return topics


def _opening(answer: str) -> str:
    """Headings that repeat a question say nothing; [] where nothing is left."""
    openings_text = [s.text for s in split_sentences(answer[:MAX_ANSWER_CHARS]) if not s.text.endswith("?")]
    text = " ".join(openings_text[:OPENING_SENTENCES])
    return "" if text.casefold().startswith(PADDING) else text


def _make_questions(records: Sequence[dict], size: int | None, seed: int) -> Iterator[Question]:
    """One question of each wording, with all the openings that answer it among its candidates."""
    rng = random.Random(seed)
    correct: dict[str, set[str]] = defaultdict(set)
    about: dict[str, str] = {}
    openings: dict[str, list[str]] = defaultdict(list)
    for r in records:
        topic = r["focus"].casefold()
        correct[r["question"]].add(r["opening"])
        about[r["question"]] = topic
        openings[topic].append(r["opening"])
    texts = sorted({r["opening"] for r in records})
    with TemporaryDirectory() as scratch:
        index = SqliteIndex(Path(scratch) / "openings.db")
        index.upsert_docs([(str(i), split_passages(str(i), [t])) for i, t in enumerate(texts)])
        everything = sorted(correct)
        for number, text in enumerate(rng.sample(everything, min(size or len(everything), len(everything)))):
            right = correct[text]
            related = [t for t in dict.fromkeys(openings[about[text]]) if t not in right]
            wrong = rng.sample(related, min(SAME_TOPIC, len(related)))
            hits = (texts[int(d)] for d in top_documents(index.search_words(text, 100), 50))
            wrong += [t for t in hits if t not in right and t not in related][: CANDIDATES - len(right) - len(wrong)]
            listed = [*((t, 1) for t in sorted(right)), *((t, 0) for t in wrong)]
            rng.shuffle(listed)
            yield Question(
                f"m{number}", text, tuple(Candidate(f"m{number}-{i}", t, y) for i, (t, y) in enumerate(listed))
            )
        index.close()


def read_lists(
    pool: Sequence[Question], scores: Mapping[str, np.ndarray], labels: int, seed: int, *, closest: bool = False
) -> list[Question]:
    """Questions read one after another until there are so many labels, with these labels alone: in the seed's order, or
    those first whose two best candidates are `closest` in their scores `(n,)`, by question id."""
    pool = random.Random(seed).sample(pool, len(pool))
    if closest:
        pool.sort(key=lambda q: np.diff(np.sort(scores[q.qid])[-2:]).sum() if len(q.candidates) > 1 else np.inf)
    questions: list[Question] = []
    count = 0
    for q in pool:
        if count >= labels:
            break
        places = choose_places(q, scores[q.qid])
        count += len(places)
        candidates = (c if i in places else replace(c, label=None) for i, c in enumerate(q.candidates))
        questions.append(replace(q, candidates=tuple(candidates)))
    return questions


def choose_places(question: Question, scores: np.ndarray) -> set[int]:
    """The candidates that get a label where somebody looks for the answer: from the top of the list up to the first
    correct one; where MAX_READ do not answer, the first correct one below, if there is one."""
    places: set[int] = set()
    for i in order(scores)[:MAX_READ].tolist():
        places.add(i)
        if question.candidates[i].label == 1:
            return places
    correct = [i for i, c in enumerate(question.candidates) if c.label == 1]
    return places | set(correct[:1])


class Desk:
    """A workbench with a pool in it, unlabelled and scored by the shipped models. Use it with `with`."""

    def __init__(
        self, pool: Pool, *, seed: int = 0, known: dict[str, tuple[Ranking, np.ndarray]] | None = None
    ) -> None:
        """The seed says in which order the questions come, and chance in the queues goes by that. `known` are scores by
        question, made once: another desk over the same pool takes them over."""
        self.known = {} if known is None else known
        self._questions = random.Random(seed).sample(pool.questions, len(pool.questions))
        self._folder = TemporaryDirectory()
        self._right = {(q.qid, c.id): c.label == 1 for q in pool.questions for c in q.candidates}

    def __enter__(self) -> Desk:
        self._scored = Path(self._folder.name) / "scored"
        wb = self._open(self._scored)
        self.corpus = corpora.create_corpus(wb, "pool").id
        blank = [replace(q, candidates=tuple(replace(c, label=None) for c in q.candidates)) for q in self._questions]
        storage.store_questions(wb, self.corpus, blank, storage.ImportOptions(people.sign_in(wb, "nobody").id))
        self._score(wb)
        wb.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def _open(self, home: Path) -> Workbench:
        return bootstrap.open(Settings(home=home, corpora_dir=home, worker="external", engine="torch"))

    def _score(self, wb: Workbench) -> None:
        cascade, generative = loading.load_version(wb), loading.load_version(wb, kind=registry.GENERATIVE)
        with wb.read() as s:
            hits = candidate_rows.list_candidate_rows(s, self.corpus)
        limits = RankLimits.from_settings(wb.settings)
        listed: dict[int, list] = defaultdict(list)
        for r in hits:
            listed[r.question_id].append(r)
        for question_id, of_one in listed.items():
            sentences = tuple(
                RetrievedSentence(r.sentence_id, r.text, r.title or "", 0, i, "", "", i + 1)
                for i, r in enumerate(of_one)
            )
            candidates = scoring.as_candidates(sentences)
            qid, text = of_one[0].qid, of_one[0].question
            if qid not in self.known:
                generative_scores = np.asarray(generative.ranker.score(text, candidates))
                self.known[qid] = scoring.rank(cascade, text, candidates), generative_scores
            run, generative_scores = self.known[qid]
            ranked = RankedQuestion(text, text, sentences, 0, run.trace, limits, {}, (), wb.clock())
            run_id, stored = scoring.store_ranking(wb, question_id, cascade, ranked, by="benchmark")
            scoring.store_generative(wb, run_id, generative.id, stored, generative_scores)

    def sitting(self, queue: str, budgets: Sequence[int], presumed: int = PRESUMED_COUNT) -> Iterator[list[Question]]:
        """What there is to learn from after each budget of labels, asked by one queue; by chance where it is empty.
        `presumed`: as in a retrain."""
        home = Path(self._folder.name) / queue
        shutil.copytree(self._scored, home)
        wb = self._open(home)
        names = {}
        with wb.read() as s:
            for r in candidate_rows.list_candidate_rows(s, self.corpus):
                names[r.question_id, r.sentence_id] = r.qid, r.candidate
        me, labels_given = people.sign_in(wb, "person").id, 0
        try:
            for budget in budgets:
                while labels_given < budget:
                    item = leasing.find_next_item(wb, Seat(self.corpus, me, queue)) or leasing.find_next_item(
                        wb, Seat(self.corpus, me, "random")
                    )
                    if item is None:
                        break
                    pair = item.question_id, item.sentence_id
                    annotation.give_label(
                        wb,
                        question_id=pair[0],
                        sentence_id=pair[1],
                        annotator_id=me,
                        label="correct" if self._right[names[pair]] else "incorrect",
                        presentation=Presentation(
                            item.version,
                            item.rank,
                            queue=item.assignment.queue,
                            control=item.assignment.control,
                            arm=item.assignment.arm,
                        ),
                    )
                    labels_given += 1
                questions = (
                    label_selection.presume_incorrect(x.question, presumed)
                    for x in label_selection.load(wb, self.corpus, label_selection.LabelSelection())
                )
                yield [q for q in questions if q.candidates]
        finally:
            wb.close()
            shutil.rmtree(home)
