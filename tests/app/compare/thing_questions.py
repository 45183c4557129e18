"""Questions with a correct candidate, two incorrect ones and one that nobody labelled."""

from as2core.types import Candidate, Question

QUESTIONS = [
    Question(
        f"q{i}",
        f"What does the {thing} do?",
        (
            Candidate(f"{thing}-0", "It rained all day.", 0),
            Candidate(f"{thing}-1", f"The {thing} does what a {thing} has to do.", 1),
            Candidate(f"{thing}-2", "Nobody saw it.", 0),
            Candidate(f"{thing}-3", f"A {thing}.", None),
        ),
    )
    for i, thing in enumerate("tower bridge river violin comet castle".split())
]
