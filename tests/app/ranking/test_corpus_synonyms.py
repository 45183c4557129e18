from collections import Counter
from pathlib import Path

import pytest
from label_files import import_labels
from sqlalchemy import select

from app.ask import asking, pair
from app.ask.stored_questions import set_queued
from app.compare import comparison, comparison_job, deciding
from app.corpora.synonyms import read_prepared, read_synonyms
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.ranking.synonyms import write_synonyms
from app.workbench import people
from app.workbench.people import NotAllowed
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.errors import BadSetting
from as2core.questions.synonyms import Synonyms
from as2core.types import Candidate, Question
from db.models import Run
from db.repositories import questions as rows

HOUSE = "iron lady => Eiffel Tower"
ASKED, READ = "When was the iron lady finished?", "When was the iron lady (Eiffel Tower) finished?"


def test_a_question_is_searched_for_and_ranked_with_its_meaning_and_stored_as_asked(wb, towers, ann):
    write_synonyms(wb, towers.id, HOUSE, by=ann.id)
    view = asking.ask(wb, towers.id, ASKED)
    assert (view.question, view.expanded_question) == (ASKED, READ)
    assert view.candidates[view.best].text == "The Eiffel Tower was finished on 31 March 1889."
    same = asking.ask(wb, towers.id, READ)  # what is in the question already is not added
    assert same.expanded_question == READ
    assert view.probability == pytest.approx(same.probability)
    assert asking.score_generative(wb, view) == pytest.approx(asking.score_generative(wb, same), nan_ok=True)
    assert pair.rank_side(wb, view, "cascade").view.probability == pytest.approx(view.probability)
    with wb.read() as s:
        assert [q.text for q in rows.list_questions(s, towers.id)] == [ASKED, READ]


def test_a_word_with_a_meaning_is_no_slip_of_the_finger(wb, towers, ann):
    write_synonyms(wb, towers.id, "towwer => Eiffel Tower", by=ann.id)
    view = asking.ask(wb, towers.id, "When was the towwer finihsed?")
    assert view.question == "When was the towwer finished?"
    assert view.expanded_question == "When was the towwer (Eiffel Tower) finished?"


def test_a_corpus_has_its_own_synonyms(wb, towers, ann):
    assert not read_synonyms(wb, towers.id)
    assert asking.ask(wb, towers.id, ASKED).expanded_question == ASKED
    write_synonyms(wb, towers.id, HOUSE, by=ann.id)
    assert read_synonyms(wb, towers.id) == Synonyms((("iron lady", "Eiffel Tower"),))
    assert not read_synonyms(wb, towers.id + 1)


def test_waiting_questions_that_are_read_otherwise_now_are_ranked_again(wb, towers, ann):
    other, typed = "Who built the tower?", "Is the iron lady old?"
    asked = {text: asking.ask(wb, towers.id, text) for text in (ASKED, other, typed)}
    set_queued(wb, [asked[text].question_id for text in (ASKED, other)], queued=True, by=ann.id)
    write_synonyms(wb, towers.id, HOUSE, by=ann.id)
    [job] = [j for j in queue.list_jobs(wb, "score") if j.settings.get("again")]
    assert job.settings["questions"] == [asked[ASKED].question_id]
    while run_queued(wb, RUNNERS):
        pass
    assert queue.load_job(wb, job.id).result == {"questions": 1}
    wb.later.finish()
    with wb.read() as s:
        runs = Counter(s.scalars(select(Run.question_id)))
    assert [runs[asked[text].question_id] for text in (ASKED, other, typed)] == [2, 1, 1]


def test_a_viewer_changes_none_and_nobody_overwrites_what_another_has_written(wb, towers, ann, bob):
    people.set_role(wb, bob.id, people.VIEWER, by=None)
    with pytest.raises(NotAllowed):
        write_synonyms(wb, towers.id, "x => y", by=bob.id)
    seen = read_synonyms(wb, towers.id)
    write_synonyms(wb, towers.id, HOUSE, by=ann.id, before=seen)
    with pytest.raises(BadSetting, match="somebody else changed the synonyms meanwhile"):
        write_synonyms(wb, towers.id, "x => y", by=ann.id, before=seen)
    assert str(read_synonyms(wb, towers.id)) == HOUSE + "\n"


def test_lines_that_cannot_be_read_change_nothing(wb, towers, ann):
    write_synonyms(wb, towers.id, HOUSE, by=ann.id)
    with pytest.raises(BadSetting, match="line 1"):
        write_synonyms(wb, towers.id, "iron lady", by=ann.id)
    assert str(read_synonyms(wb, towers.id)) == HOUSE + "\n"


@pytest.fixture
def whales(wb):
    """A corpus of imported questions that BM25 can only answer by what a whale is."""
    questions = [
        Question(
            f"q{i}",
            f"which {part} has a whale",
            (Candidate(f"{i}-0", f"The whale leaks at the {part}.", 0), Candidate(f"{i}-1", f"VX-90 VX-90 {part}", 1)),
        )
        for i, part in enumerate(("belt", "pump", "fan", "valve"))
    ]
    report = import_labels(wb, None, "whales.jsonl", jsonl.dumps(questions).encode())
    return report.corpus_id


def finish(wb, job):
    run_queued(wb, RUNNERS)
    done = queue.load_job(wb, job.id)
    assert done.state == "done", done.error
    return done


def test_a_comparison_reads_a_corpus_s_questions_with_its_synonyms_and_says_so(wb, whales, ann):
    def compare():
        job = finish(wb, comparison_job.start_compare(wb, ["bm25"], "labels:whales"))
        return comparison.load_comparison(wb, job.id)

    before = compare()
    write_synonyms(wb, whales, "whale => VX-90", by=ann.id)
    after = compare()
    assert (before.results[0].figures["AP"].value, after.results[0].figures["AP"].value) == (0.5, 1.0)
    note = "Questions are read with the corpus's 1 synonym."
    assert note in after.notes and note not in before.notes
    assert [q.text for q in after.by_id.values()] == [q.text for q in before.by_id.values()]


def test_a_decision_reads_them_too(wb, whales, ann):
    write_synonyms(wb, whales, "whale => VX-90", by=ann.id)
    job = finish(wb, deciding.start_decision(wb, whales, deciding.DecisionRequest("bm25", "rr"), by=ann.id))
    assert "Questions are read with the corpus's 1 synonym." in job.result["notes"]


def test_a_shipped_corpus_may_have_some_prepared_and_another_has_none(wb, towers, settings):
    for name in ("handbook", "towers"):
        (settings.corpora_dir / name).mkdir(parents=True)
        (settings.corpora_dir / name / "synonyms.txt").write_text("whale => VX-90\n")
    assert read_prepared(wb, "handbook").words == ["whale"]
    assert not read_prepared(wb, "towers") and not read_prepared(wb, "starter")


def test_the_handbook_s_own_are_terms_that_its_articles_use():
    folder = Path(__file__).parents[3] / "corpora" / "handbook"
    articles = " ".join(file.read_text().casefold() for file in (folder / "articles").glob("*.md"))
    synonyms = Synonyms.read(folder / "synonyms.txt")
    assert len(synonyms.words) == 39
    unknown = [m for _, m in synonyms.meanings if not all(w in articles for w in m.casefold().split())]
    assert unknown == []
