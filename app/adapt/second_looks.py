"""The background job that fills the queue of second looks: labels that a model of them would not give (`label_noise`).

Reading the features of a corpus's labels takes longest, so they are kept by question in the job's folder: a run that
made room for another job, or was killed, goes on from there.
"""

import hashlib
import json
from contextlib import closing
from itertools import groupby

import numpy as np

from app.adapt.label_noise import TooFewLabels, extract_features, find_suspicious
from app.corpora.synonyms import read_synonyms
from app.jobs import queue
from app.jobs.attempt import JobRun
from app.jobs.kinds import JobKind
from app.labels.consensus import BINARY, find_outcomes
from app.ranking import scoring
from app.versions import loading, registry
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.system.disk_cache import DiskCache
from as2core.types import Candidate, Json
from db.repositories import candidates as candidate_rows
from db.repositories import reviews
from db.repositories.pairs import Pair, read_pair

FEATURES_FILE, MAX_FEATURES_BYTES = "features.db", 256 << 20  # in the job's folder


def start_second_looks(wb: Workbench, corpus_id: int, *, by: int | None = None) -> queue.JobView:
    """Look for labels that look wrong in the background; they fill the queue of second looks. `by`: who asks for it."""
    return queue.enqueue(wb, JobKind.SECOND_LOOKS, {}, corpus_id=corpus_id, by=by, once=True)


def count_second_looks(wb: Workbench, corpus_id: int) -> int:
    """How many labels are in the queue of second looks."""
    with wb.read() as s:
        return reviews.count_suspicions(s, corpus_id)


def run_second_looks(job: JobRun) -> dict[str, Json]:
    """The background job. Raises TooFewLabels."""
    wb, corpus_id = job.wb, job.corpus_id
    if corpus_id is None:
        return {"doubted": 0}
    file = job.folder / FEATURES_FILE
    with closing(DiskCache(file, max_bytes=MAX_FEATURES_BYTES, content="features of labels")) as cache:
        pairs, labels, features = _read_pairs(job, corpus_id, cache)
    if not pairs:
        raise TooFewLabels("nothing is labelled in this corpus yet")
    suspicious = find_suspicious(np.array(features), [BINARY[x] for x in labels], [question for question, _ in pairs])
    with wb.write() as s:
        suspicions = [(pairs[i], labels[i], probability) for i, probability in suspicious]
        count = reviews.put_suspicions(s, corpus_id, suspicions, wb.clock())
    file.unlink(missing_ok=True)
    return {"labels": len(labels), "doubted": count}


def _read_pairs(job: JobRun, corpus_id: int, cache: DiskCache) -> tuple[list[Pair], list[str], list[np.ndarray]]:
    """(question, sentence) ids, labels, and features of each labelled pair. `cache` has the features of the questions
    that the job read before it made room for another."""
    wb = job.wb
    with wb.read() as s:
        candidates = candidate_rows.list_candidate_rows(s, corpus_id, with_unlabelled=False)
        outcomes = find_outcomes(s, corpus_id=corpus_id)
    label_of = {pair: label for pair, label in outcomes.items() if label in BINARY}
    usable = [r for r in candidates if read_pair(r) in label_of]
    cascade, generative, embedder = loading.load_version(wb), _load_generative(job), wb.models.embedder()
    models = [cascade.name, None if generative is None else generative.name, wb.models.embedder_weights()]
    synonyms = read_synonyms(wb, corpus_id)
    features: list[np.ndarray] = []
    for _, group in groupby(usable, key=lambda r: r.question_id):
        job.step_back()
        job.progress(len(features) / len(usable), f"{len(features)} labels read")
        rows = list(group)
        question = synonyms.expand(rows[0].question)
        texts = [Candidate(str(r.sentence_id), r.text, title=r.title) for r in rows]
        key = make_key(*models, question, *(c.titled_text for c in texts))
        if (entry := cache.get_bytes([key]).get(key)) is not None:
            values = np.frombuffer(entry).reshape(len(texts), -1)
        else:
            vectors = embedder.embed([question, *(c.titled_text for c in texts)])
            scores = [] if generative is None else [np.asarray(generative.ranker.score(question, texts))]
            trace = scoring.rank(cascade, question, texts).trace
            values = extract_features(trace, *scores, vectors[1:] @ vectors[0])
            cache.put_bytes({key: values.astype(float).tobytes()})
        features += list(values)
    pairs = [read_pair(r) for r in usable]
    return pairs, [label_of[pair] for pair in pairs], features


def make_key(*parts: str | None) -> bytes:
    """What features depend on, as a key: the versions, the question, and its sentences."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def _load_generative(job: JobRun) -> loading.LoadedVersion | None:
    """The active generative version; None where it cannot be loaded."""
    try:
        return loading.load_version(job.wb, kind=registry.GENERATIVE)
    except DamagedModel as e:
        job.event({"kind": "note", "message": f"without generative scores: {e}"})
        return None
