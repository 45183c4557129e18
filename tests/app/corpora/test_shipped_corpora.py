"""The corpora that come with the program."""

import json
import shutil

import pytest
from tower_texts import TOWER

from app.ask import asking
from app.ask.examples import list_examples
from app.cli import context
from app.corpora import batch_storage, corpora, documents, ingestion
from app.corpora.corpora import HANDBOOK, STARTER
from app.exchange import exports
from app.exchange import starter as starter_module
from app.exchange.starter import bring_back, ensure_handbook, ensure_shipped, ensure_starter
from app.labels import consensus
from as2core.documents.sections import SPLIT_RULES
from as2core.errors import As2Error


def test_a_shipped_corpus_keeps_its_name(wb, starter):
    starter = ensure_starter(wb)
    with pytest.raises(As2Error, match="'starter' comes with the program and keeps its name"):
        corpora.rename_corpus(wb, starter.id, "mine")


ARTICLE = "---\ntitle: Tea\nsplit: train\n---\nTea is a drink. It comes from China. The leaf is dried.\n"


@pytest.fixture
def starter(wb):
    folder = wb.settings.corpora_dir / "starter"
    (folder / "articles").mkdir(parents=True)
    (folder / "articles" / "tea.md").write_text(ARTICLE)
    labels = zip(["Tea is a drink.", "It comes from China.", "The leaf is dried."], [1, 0, 0], strict=True)
    candidates = [{"id": f"tea-{i}", "text": t, "label": y, "title": "Tea"} for i, (t, y) in enumerate(labels)]
    question = {"qid": "tea-1", "question": "What is tea?", "candidates": candidates, "kind": "definition"}
    (folder / "train.jsonl").write_text(json.dumps(question) + "\n")
    return folder


def test_the_starter_comes_with_labels_on_its_own_sentences(wb, starter):
    corpus = ensure_starter(wb)
    assert (corpus.name, corpus.documents, corpus.sentences, corpus.questions, corpus.labels) == ("starter", 1, 3, 1, 3)
    assert list_examples(wb, corpus.id).questions == ("What is tea?",)


def test_the_starter_is_brought_in_once_and_again_when_it_changed(wb, starter):
    first = ensure_starter(wb)
    assert ensure_starter(wb) == first
    relabelled = (starter / "train.jsonl").read_text().replace('"label": 0', '"label": 1', 1)
    (starter / "train.jsonl").write_text(relabelled)
    again = ensure_starter(wb)
    assert (again.documents, again.labels) == (1, 3)
    [question] = [a.question_id for a in [asking.ask(wb, again.id, "What is tea?")]]
    assert sorted(consensus.read_labels(wb, question).values()) == ["correct", "correct", "incorrect"]


def test_a_shipped_corpus_that_an_earlier_release_divided_is_divided_anew(wb, starter, monkeypatch):
    with monkeypatch.context() as earlier:
        earlier.setattr(batch_storage, "SPLIT_RULES", SPLIT_RULES - 1)
        earlier.setattr(starter_module, "SPLIT_RULES", SPLIT_RULES - 1)
        corpus = ensure_starter(wb)
    assert documents.count_divided_before(wb, corpus.id) == 1
    assert ensure_starter(wb).documents == 1
    assert documents.count_divided_before(wb, corpus.id) == 0


def test_a_starter_somebody_deleted_stays_away_until_asked_for(wb, starter):
    corpora.delete_corpus(wb, ensure_starter(wb).id)
    assert ensure_starter(wb) is None
    assert corpora.list_corpora(wb) == []
    assert bring_back(wb, STARTER).documents == 1


@pytest.fixture
def handbook(wb, starter):
    """With a dev question: those to train on come without labels."""
    folder = shutil.copytree(starter, starter.parent / "handbook")
    (folder / "train.jsonl").rename(folder / "dev.jsonl")


def test_the_handbook_comes_second_with_its_labels(wb, handbook):
    ensure_shipped(wb)
    assert [(c.name, c.documents, c.questions, c.labels) for c in corpora.list_corpora(wb)] == [
        ("starter", 1, 1, 3),
        ("handbook", 1, 1, 3),
    ]
    question = exports.load_labelled_questions(wb, corpora.find_corpus(wb, "handbook").id)[0]
    assert (question.text, question.kind) == ("What is tea?", "definition")


def test_a_handbook_of_ones_own_is_left_alone_and_its_deletion_keeps_the_shipped_one_away_no_longer(wb, handbook):
    own = corpora.create_corpus(wb, "handbook")
    ingestion.ingest(wb, own.id, [("tower.txt", TOWER.encode())])
    assert ensure_handbook(wb) is None
    assert corpora.get_corpus(wb, own.id).documents == 1
    corpora.delete_corpus(wb, own.id)
    assert ensure_handbook(wb).questions == 1


def test_a_handbook_somebody_deleted_stays_away_until_asked_for_and_the_starter_stays(wb, handbook):
    ensure_shipped(wb)
    corpora.delete_corpus(wb, corpora.find_corpus(wb, "handbook").id)
    ensure_shipped(wb)
    assert [c.name for c in corpora.list_corpora(wb)] == ["starter"]
    assert bring_back(wb, HANDBOOK).documents == 1


def test_a_handbook_whose_reading_was_interrupted_is_completed(wb, handbook, monkeypatch):
    def dies(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(starter_module, "store_questions", dies)
        with pytest.raises(KeyboardInterrupt):
            ensure_handbook(wb)
    assert corpora.find_corpus(wb, "handbook").labels == 0
    assert ensure_handbook(wb).labels == 3


def test_a_command_without_a_corpus_takes_ones_own_before_the_shipped_ones(wb, handbook):
    ensure_shipped(wb)
    assert context.find_corpus(wb, None).name == "starter"
    corpora.create_corpus(wb, "notes")
    assert context.find_corpus(wb, None).name == "notes"
