import numpy as np

from as2core.training.teachers import correct_teacher, mean_teacher, original_teacher
from as2core.types import Candidate, Question


def test_the_mean_is_of_standardised_scores_by_their_weights():
    def far(_question: str, texts: list[str]) -> np.ndarray:
        return np.array([100.0 * len(t) for t in texts])

    def near(_question: str, texts: list[str]) -> np.ndarray:
        return np.array([-float(len(t)) for t in texts])

    texts = ["a", "bb", "ccc"]
    assert mean_teacher([far, near])("q", texts).tolist() == [0, 0, 0]  # opposites, whatever their scale
    both = mean_teacher([far, near], (3.0, 1.0))("q", texts)
    assert np.allclose(both, 0.5 * mean_teacher([far])("q", texts), atol=1e-6)


def test_what_was_changed_for_the_student_the_teacher_reads_as_it_was():
    asked = []

    def teach(question: str, texts: list[str]) -> np.ndarray:
        asked.append((question, texts))
        return np.zeros(len(texts))

    original_teacher(teach, {"whcih": "which?", "oak ( a )": "oak"})("whcih", ["oak ( a )", "ash"])
    assert asked == [("which?", ["oak", "ash"])]


def test_labels_correct_the_teacher_where_its_first_is_no_answer():
    said = {"ash": 3.0, "oak": 1.0, "elm": 2.0, "fir": 0.0}
    oaks = Question("q", "which?", tuple(Candidate(t, t, int(t in ("oak", "fir"))) for t in said))
    teach = correct_teacher(lambda _q, texts: np.array([said[t] for t in texts]), [oaks])
    assert teach("which?", list(said)).tolist() == [1.0, 3.0, 2.0, 0.0]  # ash and oak, the better answer of two
    assert teach("which?", ["elm", "oak"]).tolist() == [1.0, 2.0]
    assert teach("which?", ["fir", "ash"]).tolist() == [3.0, 0.0]
    assert teach("which?", ["ash", "elm"]).tolist() == [3.0, 2.0]  # none of these answers
    assert teach("another?", ["ash", "oak"]).tolist() == [3.0, 1.0]


def test_one_question_under_two_sets_of_texts_knows_the_answers_of_both():
    def make_question(text: str) -> Question:
        return Question("q", "which?", (Candidate("0", text, 1), Candidate("1", "ash", 0)))

    teach = correct_teacher(lambda _q, texts: np.arange(len(texts)), [make_question("oak"), make_question("an oak")])
    assert teach("which?", ["oak", "ash"]).tolist() == teach("which?", ["an oak", "ash"]).tolist() == [1, 0]
