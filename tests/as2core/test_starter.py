"""The starter corpus: what is built from articles and questions, and that what is committed is up to date."""

import json
from pathlib import Path

import pytest

from as2core.data import jsonl, starter
from as2core.data.catalog import CORPORA, load_questions
from as2core.errors import As2Error, UnreadableFile
from as2core.types import SPLITS

ARTICLES = {
    "ant": ("test", "Ants live in large nests. A queen lays every egg. Workers carry leaves."),
    "bee": ("test", "Bees live in hives. A queen lays the eggs there. Dr. Frisch read their dance."),
    "cod": ("train", "Cod swim in cold seas. They eat smaller fish."),
    "dog": ("train", "Dogs bark at strangers. Wolves howl instead."),
}
QUESTION = {
    "qid": "ant-1",
    "article": "ant",
    "kind": "who",
    "question": "Who produces the eggs of a nest?",
    "answers": [{"article": "ant", "text": "A queen lays every egg."}],
}


@pytest.fixture
def write(tmp_path):
    """Write the corpus with these questions; returns its folder."""

    def build_sets(*questions, articles=ARTICLES):
        (tmp_path / "articles").mkdir()
        for slug, (split, text) in articles.items():
            front = f"title: {slug.title()}\nfield: animals\nsplit: {split}"
            (tmp_path / "articles" / f"{slug}.md").write_text(f"---\n{front}\n---\n{text}\n")
        (tmp_path / "questions-a.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
        return tmp_path

    return build_sets


def test_candidates_are_the_own_article_and_the_two_that_match_best_in_the_order_of_names(write):
    built = starter.build(write(QUESTION))
    assert [len(built[split]) for split in ("train", "dev", "test")] == [0, 0, 1]
    (question,) = built["test"]
    assert (question.qid, question.kind, question.text) == ("ant-1", "who", QUESTION["question"])
    own = [(c.id, c.text, c.label, c.title) for c in question.candidates if c.title == "Ant"]
    assert own == [
        ("ant-0", "Ants live in large nests.", 0, "Ant"),
        ("ant-1", "A queen lays every egg.", 1, "Ant"),
        ("ant-2", "Workers carry leaves.", 0, "Ant"),
    ]
    shown = list(dict.fromkeys(c.title for c in question.candidates))
    assert shown == sorted(shown) and "Bee" in shown and len(shown) <= 3 and question.positives == 1


def test_an_answer_in_a_second_article_is_correct_there_and_no_answer_means_no_positive(write):
    both = QUESTION | {"answers": [*QUESTION["answers"], {"article": "bee", "text": "A queen lays the eggs there."}]}
    nobody = QUESTION | {"qid": "ant-2", "question": "Who counted the eggs?", "answers": []}
    first, second = starter.build(write(both, nobody))["test"]
    assert [c.id for c in first.candidates if c.label] == ["ant-1", "bee-1"]
    assert second.positives == 0 and second.negatives == len(second.candidates)


BROKEN = {
    "part of a sentence": (QUESTION | {"answers": [{"article": "ant", "text": "A queen lays"}]}, "found 0 times"),
    "two sentences": (
        QUESTION | {"answers": [{"article": "ant", "text": "A queen lays every egg. Workers carry leaves."}]},
        "found 0 times",
    ),
    "no article": (QUESTION | {"article": "fox"}, "no article 'fox'"),
    "no kind": (QUESTION | {"kind": "whence"}, "kind 'whence' is not who, when"),
    "another split": (
        QUESTION | {"answers": [*QUESTION["answers"], {"article": "cod", "text": "Cod swim in cold seas."}]},
        "which is in another split",
    ),
    "elsewhere only": (
        QUESTION | {"answers": [{"article": "bee", "text": "Bees live in hives."}]},
        "no answer is in its own article",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_incoherent_question_is_told(write, name):
    question, reason = BROKEN[name]
    with pytest.raises(As2Error, match=f"questions-a.jsonl line 1: .*{reason}"):
        starter.build(write(question))


def test_all_problems_are_told_at_once(write):
    folder = write(
        QUESTION, QUESTION, QUESTION | {"qid": "x", "article": "fox"}, articles=ARTICLES | {"elk": ("best", "Elks.")}
    )
    with pytest.raises(As2Error) as told:
        starter.build(folder)
    text = str(told.value)
    assert "elk.md: split 'best' is not train, dev, test" in text and "no article 'fox'" in text
    assert text.count("qid 'ant-1' appears 2 times") == 2 and text.count("the question") == 3


def test_a_malformed_line_and_an_empty_folder_are_told(write, tmp_path):
    folder = write({"qid": "q"})
    with pytest.raises(UnreadableFile, match=r"questions-a\.jsonl: line 1: no 'answers'"):
        starter.build(folder)
    with pytest.raises(UnreadableFile, match=r"no articles/\*\.md"):
        starter.build(tmp_path / "articles")


@pytest.fixture(scope="module")
def sets():
    return starter.build(CORPORA / "starter")


@pytest.mark.parametrize("split", SPLITS)
def test_the_committed_sets_are_what_the_articles_give(sets, split):
    committed = Path(CORPORA, "starter", f"{split}.jsonl").read_text(encoding="utf-8")
    assert jsonl.dumps(sets[split]) == committed, "run python -m as2core.data.starter"
    assert load_questions(f"starter-{split}").questions == sets[split]


def test_the_corpus_is_as_large_and_varied_as_promised(sets):
    questions = [q for split in sets.values() for q in split]
    articles = starter.read_articles(CORPORA / "starter")
    assert len(articles) >= 60 and len({a.meta["field"] for a in articles.values()}) >= 12
    assert len(questions) >= 240 and {q.kind for q in questions} == set(starter.KINDS)
    assert sum(not q.positives for q in questions) >= 40
    assert all(300 <= len(a.text.split()) <= 620 for a in articles.values())


def test_no_answer_of_a_test_question_is_an_answer_in_training(sets):
    answers = {split: {c.id for q in sets[split] for c in q.candidates if c.label} for split in sets}
    assert not answers["test"] & (answers["train"] | answers["dev"])
