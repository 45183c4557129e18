"""Questions about cities, and their retrain."""

import random

from app.jobs import queue
from app.jobs.attempt import run_queued
from app.worker import RUNNERS
from as2core.types import Candidate, Question

CITIES = "oslo paris rome cairo lima quito delhi tokyo perth boston dakar seoul milan turin porto vienna".split()
THINGS = {"built": ("tower", "bridge", "wall"), "sold": ("bread", "fish", "salt"), "sung": ("song", "psalm", "hymn")}


def made_up(n: int, *, seed: int = 0, prefix: str = "q") -> list[Question]:
    """Questions whose answers share their city and verb; the other candidates share one or none."""
    rng = random.Random(seed)
    questions = []
    for i in range(n):
        city, other = rng.sample(CITIES, 2)
        verb, away = rng.sample(sorted(THINGS), 2)
        thing = rng.choice(THINGS[verb])
        texts = [
            (f"In {city} a {thing} was {verb} in 18{i:02d}.", 1),
            (f"In {other} a {rng.choice(THINGS[away])} was {away} in 17{i:02d}.", 0),
            (f"In {other} nobody was seen in 16{i:02d}.", 0),
            (f"In {city} rain fell in 15{i:02d}.", 0),
        ]
        rng.shuffle(texts)
        candidates = tuple(Candidate(f"{prefix}{i}-{j}", text, label, city) for j, (text, label) in enumerate(texts))
        questions.append(Question(f"{prefix}{i}", f"What was {verb} in {city} in the year 18{i:02d}?", candidates))
    return questions


def finish_retrain(wb, job_id, runner=RUNNERS["retrain"]):
    run_queued(wb, {**RUNNERS, "retrain": runner})
    job = queue.load_job(wb, job_id)
    assert job.state == "done", job.error
    return job
