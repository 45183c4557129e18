"""A question whose run is stored after its answer is shown."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, event, select

from app.ask import asking, stored_questions
from app.corpora import corpora
from app.labels import annotation
from app.workbench.workbench import DatabaseTrouble
from db.models import Candidate, LabelEvent, Question, Run, Score

QUESTION = "When was the Eiffel Tower finished?"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def later(wb):
    """A workbench that stores nothing until somebody needs it."""
    wb.later.delay = 3600.0
    return wb


def list_rows(wb, table):
    with wb.read() as s:
        return s.scalars(select(table)).all()


def test_the_answer_is_there_before_the_run_is(later, towers):
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    assert view.candidates[view.best].text == "The Eiffel Tower was finished on 31 March 1889."
    assert [q.text for q in list_rows(later, Question)] == [QUESTION]
    assert list_rows(later, Run) == list_rows(later, Candidate) == []
    assert list_rows(later, Run) == []
    run, _ = view.run.get()
    assert [r.id for r in list_rows(later, Run)] == [run]
    assert len(list_rows(later, Score)) == 5 * len(view.candidates)


def test_a_run_stored_later_is_the_run_stored_at_once(later, towers):
    def read_columns(question):
        with later.read() as s:
            stored = s.scalars(select(Candidate).join(Question).where(Question.text == question)).all()
            scores = [
                s.scalars(select(Score).where(Score.candidate_id == c.id).order_by(Score.exit)).all() for c in stored
            ]
            texts = [(c.sentence_id, c.ordinal, c.retrieval_rank, c.origin, c.cut_layer, c.cut_margin) for c in stored]
        return texts, [[(x.exit, x.rank) for x in of] for of in scores]

    asking.ask(later, towers.id, QUESTION)
    at_once = read_columns(QUESTION)
    with later.write() as s:
        s.execute(delete(Question))
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    later.later.finish()
    assert read_columns(QUESTION) == at_once
    assert [c.id for c in view.run.get()[1]] == [c.id for c in list_rows(later, Candidate)]


def test_a_label_given_at_once_finds_the_candidate_of_its_run(later, towers, ann):
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    sentence = view.candidates[view.best].sentence_id
    pair = {"question_id": view.question_id, "sentence_id": sentence, "annotator_id": ann.id}
    annotation.give_label(later, **pair, label="correct")
    with later.read() as s:
        candidate = s.scalars(select(Candidate).where(Candidate.sentence_id == sentence)).one()
    assert (candidate.origin, candidate.run_id) == ("retrieved", view.run.get()[0])
    assert [e.label for e in list_rows(later, LabelEvent)] == ["correct"]


def test_a_question_deleted_at_once_leaves_nothing_of_its_run(later, towers, ann, caplog):
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    stored_questions.delete_question(later, view.question_id, labels=0, by=ann.id)
    later.later.finish()
    assert list_rows(later, Question) == list_rows(later, Run) == list_rows(later, Candidate) == []
    assert "failed" not in caplog.text


def test_generative_scores_are_stored_beside_a_run_that_was_not_stored_yet(later, towers):
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    scores = asking.score_generative(later, view)
    assert np.isfinite(scores).all()
    [run] = list_rows(later, Run)
    assert run.generative_id is not None
    assert len([x for x in list_rows(later, Score) if x.exit == 0]) == len(view.candidates)


def test_closing_the_workbench_stores_what_is_due(later, towers):
    asking.ask(later, towers.id, QUESTION, store_later=True)
    stored = []
    event.listen(later.database.engine, "commit", lambda connection: stored.append(connection))
    later.close()
    assert len(stored) == 1


KILLED = """
import os, sys
sys.path[:0] = ["tests"]
from pathlib import Path
from fake_models import FakeModels
from app import bootstrap
from app.ask import asking, stored_questions
from app.corpora import corpora
from app.workbench.settings import Settings
home, models, database, question = sys.argv[1:]
settings = Settings(home=Path(home), models_dir=Path(models), database_url=database, worker="external")
wb = bootstrap.open(settings, FakeModels())
wb.later.delay = 3600.0
view = asking.ask(wb, corpora.list_corpora(wb)[0].id, question, store_later=True)
assert view.is_answered
os._exit(9)  # as kill -9 does: nothing is written any more
"""


def test_a_process_that_dies_before_it_stores_leaves_a_question_that_can_be_asked_again(wb, towers):
    arguments = [str(wb.settings.home), str(wb.settings.models_dir), wb.settings.database_url, QUESTION]
    command = [sys.executable, "-c", KILLED, *arguments]
    died = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert died.returncode == 9, died.stderr
    assert list_rows(wb, Run) == []
    [question] = list_rows(wb, Question)
    assert asking.ask(wb, towers.id, QUESTION).question_id == question.id
    assert len(list_rows(wb, Run)) == 1


def test_what_could_not_be_stored_says_so_to_who_needs_it(later, towers, monkeypatch):
    view = asking.ask(later, towers.id, QUESTION, store_later=True)
    with later.write() as s:
        s.execute(delete(Question))
    with pytest.raises(DatabaseTrouble):
        view.run.get()
    assert list_rows(later, Run) == []


def test_labels_are_counted_again_only_when_one_changed(wb, towers, ann, bob, monkeypatch):
    from db.repositories import corpora as corpus_rows

    counted = []
    count_labels = corpus_rows.count_labels
    monkeypatch.setattr(corpus_rows, "count_labels", lambda *a: counted.append(1) or count_labels(*a))
    view = asking.ask(wb, towers.id, QUESTION)
    one, two = (c.sentence_id for c in view.candidates[:2])

    def read_count():
        return corpora.get_corpus(wb, towers.id).labels

    assert (read_count(), read_count(), read_count()) == (0, 0, 0)
    assert len(counted) == 1
    for sentence, who in ((one, ann), (one, bob), (two, ann)):  # two pairs
        ids = {"question_id": view.question_id, "sentence_id": sentence, "annotator_id": who.id}
        annotation.give_label(wb, **ids, label="correct")
    assert (read_count(), read_count()) == (2, 2)
    annotation.withdraw(wb, question_id=view.question_id, sentence_id=two, annotator_id=ann.id)
    assert (read_count(), read_count()) == (1, 1)
    with wb.write() as s:
        s.execute(delete(Question).where(Question.id == view.question_id))
    assert (read_count(), read_count()) == (0, 0)
    assert len(counted) == 4


def test_texts_are_read_of_the_candidates_and_their_neighbours_only(wb, towers):
    from app.ranking import retrieval
    from db.repositories import sentences as sentence_rows

    texts = []
    load_texts = sentence_rows.load_texts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_rows, "load_texts", lambda s, ids: texts.extend(ids) or load_texts(s, ids))
        found = retrieval.retrieve(wb, towers.id, "Eiffel tower", documents=9, candidates=1)
    [c] = found.candidates
    assert c.sentence_id in texts
    assert len(texts) == 1 + bool(c.before) + bool(c.after)
    whole = retrieval.retrieve(wb, towers.id, "Eiffel tower", documents=9, candidates=999)
    assert found.omitted_count == len(whole.candidates) - 1
    [same] = [w for w in whole.candidates if w.sentence_id == c.sentence_id]
    assert (same.text, same.before, same.after) == (c.text, c.before, c.after)


def test_preloading_puts_a_question_to_the_models_and_stores_nothing(wb, towers, models, monkeypatch):
    from fake_models import FakeCascade

    questions = []
    trace = FakeCascade.trace
    monkeypatch.setattr(
        FakeCascade, "trace", lambda self, q, *rest, **k: questions.append(q) or trace(self, q, *rest, **k)
    )
    asking.preload(wb)
    assert set(models.loaded) == {"cascade", "generative"}
    assert questions == ["tower"]  # the title of the first document
    assert list_rows(wb, Question) == list_rows(wb, Run) == []
