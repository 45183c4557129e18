import numpy as np
import pytest

from as2core.rankers.catalog import get
from as2core.training.mining import VectorCache, add_far_negatives, add_hard_negatives, keep_nearest_negatives
from as2core.types import Candidate, Question


def make_question(qid: str, title: str, texts: list[str]) -> Question:
    return Question(qid, texts[0], tuple(Candidate(f"{qid}-{i}", t, int(i == 0), title) for i, t in enumerate(texts)))


QUESTIONS = [
    make_question("a", "Towers", ["the tower was built in 1889", "the iron is high"]),
    make_question("b", "Towers", ["the tower stands in the city", "bread in winter"]),
    make_question("c", "Rivers", ["the river is long", "water of the river"]),
]

TEXTS = list(dict.fromkeys(c.text for q in QUESTIONS for c in q.candidates))


@pytest.fixture
def vectors(tiny, tmp_path):
    cache = VectorCache(lambda: get(f"bi-encoder:backbone={tiny()}"), tmp_path, "w")
    cache.embed([t for q in QUESTIONS for t in (q.text, *(c.text for c in q.candidates))])
    return cache


def test_hard_negatives_come_from_the_same_article_and_one_from_anywhere(vectors):
    widened = add_hard_negatives(QUESTIONS, vectors, each=2)
    for q, w in zip(QUESTIONS, widened, strict=True):
        assert w.candidates[: len(q.candidates)] == q.candidates
        assert all(c.label == 0 for c in w.candidates[len(q.candidates) :])
    added = [c for c in widened[0].candidates[2:] if c.title == "Towers"]
    assert {c.text for c in added} <= {"the tower stands in the city", "bread in winter"}
    own = {c.text for c in QUESTIONS[0].candidates}
    assert not own & {c.text for c in widened[0].candidates[2:]}


def test_a_sentence_is_not_drawn_twice(vectors):
    widened = [w for seed in range(8) for w in add_hard_negatives(QUESTIONS, vectors, each=2, seed=seed)]
    assert all(len({c.text for c in w.candidates}) == len(w.candidates) for w in widened)


def test_the_nearest_sentence_is_taken_first_when_one_is_wanted(vectors):
    (first, *_) = add_hard_negatives(QUESTIONS, vectors, each=1, among=1)
    others = ["the tower stands in the city", "bread in winter"]
    nearest = others[int(np.argmax(vectors.get(others) @ vectors.get([first.text])[0]))]
    assert first.candidates[2].text == nearest


def test_far_negatives_are_near_the_question_and_of_no_article_of_its_candidates(vectors):
    widened = add_far_negatives(QUESTIONS, vectors, each=1, among=1)
    towers = [c.text for q in QUESTIONS[:2] for c in q.candidates]
    nearest = towers[int(np.argmax(vectors.get(towers) @ vectors.get([QUESTIONS[2].text])[0]))]
    (far,) = widened[2].candidates[2:]
    assert (far.text, far.label, far.title) == (nearest, 0, "Towers")
    assert [c.title for q in widened[:2] for c in q.candidates[2:]] == ["Rivers", "Rivers"]
    assert add_far_negatives(QUESTIONS, vectors, each=0) == QUESTIONS


def test_sentences_of_no_article_are_not_drawn(vectors):
    untitled = [q.drop_titles() for q in QUESTIONS]
    assert add_far_negatives(untitled, vectors) == untitled


def test_a_second_run_reads_vectors_back_and_embeds_only_what_is_new(tiny, tmp_path):
    encoder = get(f"bi-encoder:backbone={tiny()}")
    first = VectorCache(lambda: encoder, tmp_path, "w")
    first.embed(["the tower", "a river"])
    asked, embed = [], encoder.embed
    encoder.embed = lambda texts, on_progress=None: asked.extend(texts) or embed(texts)
    second = VectorCache(lambda: encoder, tmp_path, "w")
    second.embed(["a river", "winter bread", "the tower"])
    assert asked == ["winter bread"]
    np.testing.assert_array_equal(first.get(["a river"]), second.get(["a river"]))
    np.testing.assert_allclose(second.get(["winter bread"]), embed(["winter bread"]), atol=2e-3)


def test_what_could_not_be_embedded_is_not_known(tiny, tmp_path):
    cache = VectorCache(lambda: get(f"bi-encoder:backbone={tiny()}"), tmp_path, "w")
    cache.embed(["the tower"])

    def stop(_progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.embed(["a river"], stop)
    assert (cache.has_all(["the tower"]), cache.has_all(["a river"])) == (True, False)
    cache.embed(["a river"])
    assert cache.get(["a river"]).shape == (1, 32)


class Counting:
    """Remembers what it embedded."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts, on_progress=None):
        self.asked += texts
        return np.ones((len(texts), 2)) / 2**0.5


def test_vectors_of_other_weights_are_made_anew(tmp_path):
    encoder = Counting()
    VectorCache(lambda: encoder, tmp_path, "before").embed(["the tower", "a river"])
    cache = VectorCache(lambda: encoder, tmp_path, "after")
    assert not cache.has_all(["the tower"])
    cache.embed(["the tower"])
    assert encoder.asked == ["the tower", "a river", "the tower"]
    assert VectorCache(lambda: encoder, tmp_path, "after").has_all(["the tower"])
    assert not VectorCache(lambda: encoder, tmp_path, "after").has_all(["a river"])


def test_a_file_that_names_no_weights_is_made_anew(tmp_path):
    encoder = Counting()
    VectorCache(lambda: encoder, tmp_path, "w").embed(["the tower"])
    with np.load(tmp_path / "vectors.npz") as arrays:
        np.savez(tmp_path / "vectors.npz", keys=arrays["keys"], vectors=arrays["vectors"])  # as programs before did
    assert not VectorCache(lambda: encoder, tmp_path, "w").has_all(["the tower"])


@pytest.mark.parametrize("damage", ["nothing", "half", "text", "a byte"])
def test_a_damaged_file_costs_time_and_no_more(damage, tmp_path):
    encoder, file = Counting(), tmp_path / "vectors.npz"
    VectorCache(lambda: encoder, tmp_path, "w").embed(["the tower"])
    content = file.read_bytes()
    damaged = {"nothing": b"", "half": content[: len(content) // 2], "text": b"not a zip", "a byte": b"x" + content[1:]}
    file.write_bytes(damaged[damage])
    assert not VectorCache(lambda: encoder, tmp_path, "w").has_all(["the tower"])
    VectorCache(lambda: encoder, tmp_path, "w").embed(["the tower"])
    assert VectorCache(lambda: encoder, tmp_path, "w").has_all(["the tower"])


def test_a_write_that_failed_leaves_nothing_behind(tiny, tmp_path, monkeypatch):
    def full(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        VectorCache(lambda: get(f"bi-encoder:backbone={tiny()}"), tmp_path, "w").embed(["the tower"])
    assert not list(tmp_path.iterdir())


def test_the_hardest_are_kept_in_their_order_with_every_correct_one(vectors):
    kept = keep_nearest_negatives([QUESTIONS[0]], vectors, among=1)[0]
    assert [c.label for c in kept.candidates] == [1, 0]
    many = Question("m", "the river is long", tuple(Candidate(str(i), t, 0) for i, t in enumerate(TEXTS)))
    nearest = set(np.argsort(-vectors.cosines(many.text, TEXTS), kind="stable")[:2].tolist())
    assert [int(c.id) for c in keep_nearest_negatives([many], vectors, among=2)[0].candidates] == sorted(nearest)


def test_the_teacher_gives_cosines(vectors):
    cosines = vectors.cosines("the river is long", ["the river is long", "bread in winter"])
    assert cosines[0] == pytest.approx(1.0, abs=2e-3)
    assert cosines[1] < 1
