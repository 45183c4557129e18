"""How a search index of many passages does: how near to exact, how long a question waits, how much memory.

    python benchmarks/large_index.py                     200,000 and 1,000,000 passages, into docs/scale.md
    python benchmarks/large_index.py --passages 50000    another size; writes nothing
    python benchmarks/large_index.py --quick             a little; writes nothing

A passage is five sentences drawn from the labelled sets at hand, so its words are as frequent as in real text. A
million real vectors would take hours here: some sentences and questions are really embedded, and a passage's vector
lies around one of them, with noise of the covariance that the real ones have. The index is the workbench's
(`SqliteIndex`), filled through its own methods. It is searched by a process of its own, one question after another;
its memory is read from /proc at the end. Left out: the question is not embedded here, and no sentence read from the
database. Where other programs share the cores, the clock says more than the search
needs, so the processor's time is given, too.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from as2core.retrieval.ranks import fuse_ranks
from as2core.retrieval.sqlite import SqliteIndex
from as2core.retrieval.stored_vectors import list_files
from as2core.types import Passage

SIZES = (200_000, 1_000_000)
DOCUMENT = 4  # passages a document
BLOCK = 20_000  # passages written at a time
NOISE = 0.7  # of a vector, in units of the real ones' deviation
K = 150  # hits of each search, as for a question on the Ask page
RECALL = 100
WORD_BEST = 50  # hits by all words, that are looked for among K of the shorter search
DOCUMENTS = 30


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--passages", type=int, action="append")
    options.add_argument("--quick", action="store_true")
    options.add_argument("--search", metavar="INDEX", help=argparse.SUPPRESS)
    options.add_argument("--exact", action="store_true", help=argparse.SUPPRESS)
    parsed = options.parse_args(arguments)
    if parsed.search:
        print(json.dumps(search(Path(parsed.search), parsed.exact)))
        return
    sizes = parsed.passages or ([3000] if parsed.quick else list(SIZES))
    lines = [
        "| passages | search | recall@100 by meaning | of the best 50 by words | by meaning, ms | by words, ms "
        "| whole retrieval, ms | whole, processor, ms | first, s | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    material = Material(100 if parsed.quick else 1500, 20 if parsed.quick else 200)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index.db"
            filling = fill(index, size, material)
            exact = run_search(index, "--exact")
            notes += [f"{size:,} passages: {filling}, {put_in_order(index)}.", ""]
            lines.append(make_row(size, "exact, vectors in memory", exact, exact))
            lines.append(make_row(size, "clusters, shorter search", run_search(index), exact))
            print(lines[-2], lines[-1], notes[-2], sep="\n", file=sys.stderr, flush=True)
    text = "\n".join([*lines, "", *notes])
    print(text, flush=True)
    if not parsed.quick and not parsed.passages:
        from as2core.experiments.base import write_section
        from as2core.system.cores import count_cores

        intro = f"Printed and written by `python benchmarks/large_index.py`, on {count_cores()} cores."
        write_section(ROOT / "docs" / "scale.md", "index", f"{intro}\n\n{text}")


class Material:
    """Real sentences and questions, vectors of some, and how they vary."""

    def __init__(self, centres: int, questions: int) -> None:
        # here, so that a process that searches does not hold them
        from _texts import DATA, SENTENCES, sentences

        from app.workbench.models import LoadedModels
        from app.workbench.settings import Settings
        from as2core.data.catalog import load_questions

        self.sentences = sentences(30_000)
        files = [str(DATA / f) for f in SENTENCES if f.startswith(("wikiqa", "trecqa")) and (DATA / f).exists()]
        texts = dict.fromkeys(q.text for f in files or ["starter-test"] for q in load_questions(f).questions)
        self.questions = random.Random(0).sample(list(texts), min(questions, len(texts)))
        if not self.sentences:
            self.sentences = list({c.text for q in load_questions("starter-test").questions for c in q.candidates})
        with tempfile.TemporaryDirectory() as home:
            embed = LoadedModels.from_settings(Settings(home=Path(home), engine="torch")).embedder().embed
            self.centres = embed(random.Random(1).sample(self.sentences, min(centres, len(self.sentences))))
            self.queries = embed(self.questions)
        covariance = np.cov(self.centres.T)
        values, axes = np.linalg.eigh(covariance)
        self._spread = (axes * np.sqrt(np.maximum(values, 0))).T.astype(np.float32)

    def draw(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Unit vectors, float32 (rows, d)."""
        noise = rng.standard_normal((rows, self.centres.shape[1]), dtype=np.float32) @ self._spread
        vectors = self.centres[rng.integers(len(self.centres), size=rows)] + NOISE * noise
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def write(self, passages: int) -> Iterator[str]:
        draw = random.Random(2)
        for _ in range(passages):
            yield " ".join(draw.choices(self.sentences, k=5))


def fill(path: Path, size: int, material: Material) -> str:
    """Write the passages and their vectors, and say how long each part took."""
    rng, texts = np.random.default_rng(0), material.write(size)
    index = SqliteIndex(path)
    seconds = {"words": 0.0, "vectors": 0.0}
    for first in range(0, size, BLOCK):
        some = [Passage(f"{i // DOCUMENT}:{i % DOCUMENT * DOCUMENT}:x{i}", str(i // DOCUMENT), next(texts), 0, 4)
                for i in range(first, min(size, first + BLOCK))]  # fmt: skip
        by_document: dict[str, list[Passage]] = {}
        for p in some:
            by_document.setdefault(p.doc_id, []).append(p)
        began = time.perf_counter()
        index.upsert_docs(list(by_document.items()))
        written = time.perf_counter()
        index.set_vectors(dict(zip([p.id for p in some], material.draw(len(some), rng), strict=True)))
        seconds["words"] += written - began
        seconds["vectors"] += time.perf_counter() - written
        print(f"{first + len(some):,} of {size:,} passages", file=sys.stderr, flush=True)
    index.close()
    (path.parent / "questions.json").write_text(json.dumps(material.questions))
    np.save(path.parent / "queries.npy", material.queries)
    return (
        f"{seconds['words']:,.0f} s to store texts and words, {seconds['vectors']:,.0f} s for the vectors "
        f"({path.stat().st_size / 1e6:,.0f} MB)"
    )


def put_in_order(path: Path) -> str:
    index = SqliteIndex(path, exact_limit=0)
    began = time.perf_counter()
    index.optimize()
    seconds = time.perf_counter() - began
    index.close()
    [file] = list_files(path)
    return f"{seconds:,.0f} s to put the vectors into clusters ({file.stat().st_size / 1e6:,.0f} MB)"


def run_search(path: Path, *flags: str) -> dict:
    command = [sys.executable, __file__, "--search", str(path), *flags]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"the search ended: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def search(path: Path, is_exact: bool) -> dict:
    """What each question found and how long its parts took, in this process; and the memory that it holds then."""
    questions = json.loads((path.parent / "questions.json").read_text())
    queries = np.load(path.parent / "queries.npy")
    index = SqliteIndex(path, exact_limit=10**9 if is_exact else 0)
    began = time.perf_counter()
    index.search_vectors(queries[0], K)
    result: dict = {"first": time.perf_counter() - began, "meaning": [], "words": [], "all": [], "cpu": []}
    result |= {"ids": [], "word ids": []}
    for question, vector in zip(questions, queries, strict=True):
        began, cpu = time.perf_counter(), time.process_time()
        by_vector = index.search_vectors(vector, K)
        middle = time.perf_counter()
        by_words = index.search_words(question, K)
        end = time.perf_counter()
        hits = fuse_ranks([by_words, by_vector], K)
        documents = list(dict.fromkeys(h.doc_id for h in hits))[:DOCUMENTS]
        index.search_vectors(vector, 10**6, documents)
        result["all"].append(time.perf_counter() - began)
        result["cpu"].append(time.process_time() - cpu)
        result["meaning"].append(middle - began)
        result["words"].append(end - middle)
        result["ids"].append([h.passage_id for h in by_vector[:RECALL]])
        result["word ids"].append([h.passage_id for h in by_words])
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    result["memory"] = int(status["VmRSS"].split()[0]) / 1000
    index.close()
    return result


def make_row(size: int, name: str, result: dict, exact: dict) -> str:
    """p50 and p95 of the times."""
    pairs = zip(result["ids"], exact["ids"], strict=True)
    recall = np.mean([len({*found} & {*best}) / len(best) for found, best in pairs])
    by_words = [(set(a), set(b[:WORD_BEST])) for a, b in zip(result["word ids"], exact["word ids"], strict=True) if b]
    word_recall = np.mean([len(hits & best) / len(best) for hits, best in by_words])
    cells = [f"{size:,}", name, f"{recall:.3f}", f"{word_recall:.3f}"]
    for part in ("meaning", "words", "all", "cpu"):
        p50, p95 = np.percentile(1000 * np.array(result[part]), [50, 95])
        cells.append(f"{p50:,.0f}, {p95:,.0f}")
    cells += [f"{result['first']:.1f}", f"{result['memory']:,.0f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
