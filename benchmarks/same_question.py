"""How often does Ask take a question for another one that was labelled, and how often wrongly?

    python benchmarks/same_question.py               questions in corpora/ and, if it is there, ../shared/data
    python benchmarks/same_question.py --limit 500   a quick look
    python benchmarks/same_question.py --time        the cost of a look-up among 10,000 labelled questions

Each question is asked while all others of its set are labelled. Two questions are the same if a sentence answers both,
in MedQuAD if they have the same topic and kind ("Crohn disease" and "Crohn's Disease" are one topic). A match of two
that are not is false; many of these are the same to a reader, so the false share is an upper bound. Printed for each
threshold of the cosine: of 100 questions, how many are matched and how many falsely, by the cosine alone and by the
rule in use, which wants the same loose form and kind of question first (`as2core.questions.rewording`). Pairs of the
same exact form are matched in any case and left out. At the end are the false matches of the rule in use.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _texts import DATA

from as2core.questions.rewording import MIN_COSINE, find_exact_form, find_loose_form, may_ask_alike
from as2core.rankers.bi_encoder import BiEncoderRanker
from as2core.rankers.catalog import get
from as2core.text import STOP_WORDS, tokenize

ROOT = Path(__file__).resolve().parents[1]
THRESHOLDS = (0.85, 0.9, 0.93, MIN_COSINE, 0.97)
MAX_MEDQUAD, MAX_WAIT_SECONDS, QUESTIONS = 6_000, 120.0, 10_000


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """`answers`: what two questions share if they are the same."""

    text: str
    answers: frozenset[str]


def read_corpus(name: str) -> list[SetQuestion]:
    lines = (x for f in sorted((ROOT / "corpora" / name).glob("questions-*.jsonl")) for x in f.read_text().splitlines())
    rows = map(json.loads, lines)
    return [SetQuestion(r["question"], frozenset(a["text"] for a in r["answers"])) for r in rows]


def read_candidates(*files: Path) -> list[SetQuestion]:
    rows = (json.loads(line) for f in files if f.is_file() for line in f.read_text().splitlines())
    return [SetQuestion(r["question"], frozenset(c["text"] for c in r["candidates"] if c["label"])) for r in rows]


def read_medquad(file: Path) -> list[SetQuestion]:
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    random.Random(1).shuffle(rows)

    def name(row: dict[str, str]) -> str:
        words = (w.rstrip("s") for w in tokenize(row["focus"]) if w not in STOP_WORDS)
        return f"{' '.join(words)}|{row['type']}"

    return [SetQuestion(r["question"], frozenset((name(r),))) for r in rows[:MAX_MEDQUAD]]


def read_sets() -> dict[str, list[SetQuestion]]:
    wikiqa = sorted((DATA / "wikiqa").glob("*.jsonl"))
    sets = {name: read_corpus(name) for name in ("starter", "reworded", "asked")}
    sets["WikiQA"] = read_candidates(*wikiqa)
    sets["TREC-QA"] = read_candidates(DATA / "trecqa" / "train-all.jsonl")
    sets["MedQuAD"] = read_medquad(DATA / "medquad" / "qa.jsonl")
    return {name: questions for name, questions in sets.items() if questions}


def embed(texts: Sequence[str]) -> np.ndarray:
    """By the int8 engine that Ask uses, float32 (n, hidden)."""
    ranker = get("bi-encoder")
    assert isinstance(ranker, BiEncoderRanker)
    with tempfile.TemporaryDirectory() as folder:
        ranker.prepare_questions(Path(folder))
        engine = ranker.question_engine.wait(MAX_WAIT_SECONDS)
        if engine is None:
            raise SystemExit("the int8 engine was not ready in time: run it again")
        out = np.zeros((len(texts), ranker.backbone.hidden), dtype=np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for at in range(0, len(texts), 16):
            batch = by_length[at : at + 16]
            out[batch] = engine.embed([texts[i] for i in batch])
    return out


def is_alike(one: str, other: str) -> bool:
    return find_loose_form(one) == find_loose_form(other) != () and may_ask_alike(one, other)


def find_matches(
    questions: Sequence[SetQuestion], vectors: np.ndarray, *, by_words: bool
) -> list[tuple[float, int, int]]:
    """(cosine, question, the nearest other one), of those with one: of the same exact form is none."""
    exact = [find_exact_form(q.text) for q in questions]
    groups: dict[object, list[int]] = defaultdict(list)
    for i, q in enumerate(questions):
        groups[find_loose_form(q.text) if by_words else ""].append(i)
    matches = []
    for members in groups.values():
        for i in members:
            cosines = vectors[members] @ vectors[i]
            for place in np.argsort(-cosines)[:10]:
                j = members[int(place)]
                if exact[i] != exact[j] and (not by_words or is_alike(questions[i].text, questions[j].text)):
                    matches.append((float(cosines[place]), i, j))
                    break
    return matches


def measure_look_up() -> None:
    """Look-ups among so many labelled questions with three labels each, in a database of their own."""
    from sqlalchemy import insert

    from app import bootstrap
    from app.ask.same_question import find_same_questions
    from app.corpora import corpora, ingestion
    from app.workbench import people
    from app.workbench.models import LoadedModels
    from app.workbench.settings import Settings
    from db.models import LabelEvent, Question

    texts = list(dict.fromkeys(q.text for questions in read_sets().values() for q in questions))
    random.Random(2).shuffle(texts)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), corpora_dir=Path(folder) / "none", worker="external")
        wb = bootstrap.open(settings, LoadedModels.from_settings(settings))
        corpus, me = corpora.create_corpus(wb, "many"), people.sign_in(wb, "me")
        ingestion.ingest(wb, corpus.id, [("a.txt", b"One sentence. Another one. A third one.")])
        now = wb.clock()
        with wb.write() as s:
            rows = [{"corpus_id": corpus.id, "external_id": str(i), "text": t, "origin": "listed", "created": now}
                    for i, t in enumerate(texts[:QUESTIONS], 1)]  # fmt: skip
            s.execute(insert(Question), rows)
            events = [{"question_id": q, "sentence_id": n, "annotator_id": me.id, "label": "correct", "created": now}
                      for q in range(1, len(rows) + 1) for n in (1, 2, 3)]  # fmt: skip
            s.execute(insert(LabelEvent), events)
        started = time.perf_counter()
        find_same_questions(wb, corpus.id, texts[0])
        first = time.perf_counter() - started
        wb.models.embedder().embed_question("a first question")
        print("\n| look-up among 10,000 labelled questions | ms, p50 | p95 |\n|---|---|---|")
        print(f"| the first of a process | {1000 * first:.0f} | |")
        for name, questions in (
            ("another question", texts[QUESTIONS : QUESTIONS + 300]),
            ("the same words", [t.lower().rstrip("?") for t in texts[:300]]),
            ("nearly the same words", [f"{t.rstrip('? ')} called?" for t in texts[300:600]]),
        ):
            seconds = []
            for text in questions:
                wb.models.embedder().embed_question(text)  # as the search has done
                started = time.perf_counter()
                find_same_questions(wb, corpus.id, text)
                seconds.append(1000 * (time.perf_counter() - started))
            print(f"| {name} | {np.median(seconds):.1f} | {np.percentile(seconds, 95):.1f} |")
        wb.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="questions of a set")
    parser.add_argument("--time", action="store_true", help="measure the cost instead")
    options = parser.parse_args()
    if options.time:
        measure_look_up()
        return
    sets = {name: questions[: options.limit] for name, questions in read_sets().items()}
    heads = " | ".join(f"{t:.2f}" for t in THRESHOLDS)
    print(f"| set | questions | rule | {heads} |\n|---|---|---|{'---|' * len(THRESHOLDS)}")
    wrong: list[tuple[float, str, str]] = []
    for name, questions in sets.items():
        vectors = embed([q.text for q in questions])
        for by_words, rule in ((False, "cosine alone"), (True, "words and cosine")):
            matches = find_matches(questions, vectors, by_words=by_words)
            false = [m for m in matches if not questions[m[1]].answers & questions[m[2]].answers]
            cells = []
            for t in THRESHOLDS:
                shares = (100 * sum(m[0] >= t for m in those) / len(questions) for those in (matches, false))
                cells.append(" / ".join(f"{share:.2f}" for share in shares))
            print(f"| {name} | {len(questions):,} | {rule} | {' | '.join(cells)} |", flush=True)
            if by_words:
                wrong += [(m[0], questions[m[1]].text, questions[m[2]].text) for m in false if m[0] >= MIN_COSINE]
    print("\nEach cell: matched / falsely matched, of 100 questions. Called false by the rule in use:\n")
    for cosine, one, other in sorted({(round(c, 3), *sorted((a, b))) for c, a, b in wrong}, reverse=True):
        print(f"- {cosine:.3f} {one} | {other}")


if __name__ == "__main__":
    main()
