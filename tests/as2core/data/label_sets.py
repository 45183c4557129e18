"""Labelled questions to write and read again, written out and drawn at random."""

from hypothesis import strategies as st

from as2core.types import Candidate, Question

QUESTION = Question(
    "q1",
    "how long is it ?",
    (
        Candidate("D1-0", "It is long .", 0, "A river"),
        Candidate("D1-1", 'It is 6,650 km "long" .', 1, "A river"),
        Candidate("D1-2", "Nobody knows — really…", None, "A river"),
    ),
)

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def question_lists(draw, ids=IDS, texts=TEXTS, labels=(0, 1, None), smallest=0, grades=(None,)):
    made = []
    for qid in draw(st.lists(ids, unique=True, max_size=4)):
        names = draw(st.lists(ids, unique=True, min_size=smallest, max_size=4))
        label, grade = st.sampled_from(labels), st.sampled_from(grades)
        candidates = tuple(Candidate(n, draw(texts), draw(label), draw(texts), draw(grade)) for n in names)
        made.append(Question(qid, draw(texts), candidates))
    return made


PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)
