"""Twelve questions without labels. BM25 puts the right sentence first, document order the other."""

from as2core.types import Candidate, Question

THINGS = "tower bridge river violin comet castle harbour lantern meadow orchard glacier canyon".split()
QUESTIONS = [
    Question(
        f"q{i}",
        f"What does the {thing} do?",
        (Candidate(f"{thing}-0", "It rained."), Candidate(f"{thing}-1", f"The {thing} does what a {thing} has to do.")),
    )
    for i, thing in enumerate(THINGS)
]
