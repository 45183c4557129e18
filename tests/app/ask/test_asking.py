import numpy as np
import pytest
from fake_models import FakeCascade
from sql_statements import record_statements
from sqlalchemy import select
from tower_texts import TOWER

from app.ask import asking, questions
from app.corpora import corpora, ingestion
from app.jobs import queue
from app.jobs.attempt import run_queued
from app.labels import annotation, conflicts, leasing
from app.labels.seats import Seat
from app.ranking import retrieval, scoring
from app.ranking.first_stage import FirstStageRanker
from app.ranking.retrieval import EmptyCorpus, EmptyQuestion, choose_sentences
from app.versions import loading, promotion, registry
from app.workbench import audit_log, people
from app.worker import RUNNERS
from as2core.cascade.schedule import DropSchedule
from as2core.errors import BadSetting, DamagedModel
from as2core.types import Candidate, Hit
from db.models import Candidate as Stored
from db.models import Question, Run, Score
from db.repositories import questions as rows

QUESTION = "When was the Eiffel Tower finished?"
FOWLER = "Which tower or bridge was designed by Fowler?"


def rank_limits(wb, **limits):
    return scoring.RankLimits.from_settings(wb.settings, **limits)


def test_the_answer_is_on_top_in_its_context(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION)
    best = asked.candidates[asked.best]
    assert best.text == "The Eiffel Tower was finished on 31 March 1889."
    assert (best.title, best.before, best.after) == ("tower", "", "It stands in Paris.")
    assert asked.is_answered
    assert asked.version == "cascade"
    assert set(asked.seconds) == {"load", "retrieve", "rank", "store", "total"}


def test_a_slip_of_the_finger_is_mended_before_the_search_and_told(wb, towers):
    asked = asking.ask(wb, towers.id, "When was the Eifel Tower finihsed")
    assert (asked.question, asked.spelling_before) == (QUESTION, "When was the Eifel Tower finihsed")
    assert asked.candidates[asked.best].text == "The Eiffel Tower was finished on 31 March 1889."
    assert asked.question_id == asking.ask(wb, towers.id, QUESTION).question_id
    assert (
        asking.ask(wb, towers.id, "when was the tower finished").spelling_before == ""
    )  # a mark alone is not worth a word


def test_a_list_of_questions_is_stored_and_ranked_for_the_queues(wb, towers, ann):
    there = asking.ask(wb, towers.id, QUESTION).question_id
    lines = ["  Who baked   the bread? ", "", QUESTION, "Who baked the bread?", "How tall is the tower?"]
    report = questions.add_questions(wb, towers.id, lines, by=ann.id)
    assert (report.new_count, report.repeat_count, report.existing_questions) == (2, 1, (QUESTION,))
    with wb.read() as s:
        found = {q.text: (q.id, q.origin) for q in rows.list_questions(s, towers.id)}
    assert {text: origin for text, (_, origin) in found.items()} == {
        QUESTION: "asked", "Who baked the bread?": "listed", "How tall is the tower?": "listed"}  # fmt: skip
    assert found[QUESTION][0] == there
    run_queued(wb, RUNNERS)
    offered, passed = set(), []
    while item := leasing.find_next_item(wb, Seat(towers.id, ann.id, "unlabelled"), skips=passed):
        passed.append((item.question_id, item.sentence_id))
        offered.add(item.question)
    assert offered == set(found)


def test_a_question_of_a_list_is_not_added_again_for_its_case_punctuation_or_articles(wb, towers, ann):
    there = asking.ask(wb, towers.id, "Who baked the bread?").question_id
    lines = ["Where is the tower?", "who baked bread", "where is the tower", "Where is the bread?"]
    report = questions.add_questions(wb, towers.id, lines, by=ann.id)
    assert (report.new_count, report.repeat_count, report.existing_questions, report.queued_count) == (
        2,
        1,
        ("Who baked the bread?",),
        1,
    )
    details = [e.detail for e in audit_log.list_events(wb, by=None, act="add questions")]
    assert details == ["2 new, 1 earlier one put in the label queues"]
    with wb.read() as s:
        texts = [(q.text, q.queued) for q in rows.list_questions(s, towers.id)]
        assert s.get_one(Question, there).queued
    assert texts == [("Who baked the bread?", True), ("Where is the tower?", True), ("Where is the bread?", True)]


def test_a_list_of_questions_known_already_starts_no_job(wb, scored, ann):
    assert questions.add_questions(wb, scored.id, [QUESTION], by=ann.id).new_count == 0
    assert queue.find_newest(wb, "score", scored.id) is None


def test_a_list_of_questions_comes_in_whole_or_not_at_all(wb, towers, ann, bob):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    for lines, who, error, why in (
        (["", "  "], ann, EmptyQuestion, "one per line"),
        (["Who?", "w" * 20_001], ann, BadSetting, "line 2: the question has 20,001"),
        ([f"Who was number {i}?" for i in range(1001)], ann, BadSetting, "1,001 questions"),
        (["Who?"], bob, people.NotAllowed, "annotator"),
    ):
        with pytest.raises(error, match=why):
            questions.add_questions(wb, towers.id, lines, by=who.id)
    with pytest.raises(BadSetting, match="no sentences"):
        questions.add_questions(wb, corpora.create_corpus(wb, "empty").id, ["Who?"], by=ann.id)
    assert corpora.get_corpus(wb, towers.id).questions == 0


def test_a_question_is_read_as_typed_if_that_is_wanted_or_somebody_asked_it_so_before(wb, towers):
    typed = "When was the Eifel Tower finihsed"
    asked = asking.ask(wb, towers.id, typed, as_typed=True)
    assert (asked.question, asked.spelling_before) == (typed, "")
    assert asking.ask(wb, towers.id, typed).question == typed


def test_candidates_stand_in_document_order_with_their_retrieval_rank_beside(wb, towers):
    asked = asking.ask(wb, towers.id, "Which tower or bridge was designed by Fowler?")
    places = [(c.document_id, c.position) for c in asked.candidates]
    for document in {d for d, _ in places}:
        assert [p for d, p in places if d == document] == sorted(p for d, p in places if d == document)
    assert sorted(c.retrieval_rank for c in asked.candidates) == list(range(1, len(asked.candidates) + 1))
    assert asked.candidates[0].retrieval_rank <= 6  # the first document is the best-ranked one


def test_the_trace_is_complete_and_can_be_replayed(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION)
    n = len(asked.candidates)
    assert asked.trace.complete
    assert asked.probability.shape == (n,)
    expected = 1 / (1 + np.exp(-asked.trace.exits[-1].scores))
    assert asked.probability == pytest.approx(expected)
    replayed = asked.trace.replay(DropSchedule.constant(0.5, exits=5))
    assert len(replayed.exits[1].alive) == n - n // 2


def test_the_same_question_over_the_same_sentences_is_computed_once(monkeypatch):
    ranker, calls = FakeCascade(), []
    trace = ranker.trace
    monkeypatch.setattr(ranker, "trace", lambda *a, **k: calls.append(a[0]) or trace(*a, **k))
    chosen = loading.LoadedVersion(1, "cascade", ranker)
    candidates = [Candidate(str(i), t) for i, t in enumerate(("a tower", "a bridge", "a river"))]
    first = scoring.rank(chosen, QUESTION, candidates)
    assert scoring.rank(chosen, QUESTION, candidates).trace.scores().tolist() == first.trace.scores().tolist()
    scoring.rank(chosen, QUESTION, candidates[:2])
    other = scoring.rank(chosen, QUESTION, candidates, prior=np.array([0, 1, 0], dtype=np.float32))
    assert (other.trace.scores() - first.trace.scores()).tolist() == pytest.approx([0, 1, 0])
    scoring.rank(loading.LoadedVersion(2, "other", FakeCascade("other")), QUESTION, candidates)
    assert calls == [QUESTION] * 3


def test_beyond_the_limit_only_what_the_first_stage_keeps_is_read_and_stored(wb, towers):
    asked = asking.ask(wb, towers.id, FOWLER, limits=rank_limits(wb, first_keep=5))
    n, read = len(asked.candidates), asked.trace.entered.tolist()
    assert n > 5 == len(read) == asked.trace.first.survivors
    assert asked.trace.stages[0].title == "first stage"
    assert asked.trace.complete
    assert [i for i, c in enumerate(asked.candidates) if c.id is not None] == read
    assert asked.trace.ranking()[:5].tolist() == asked.trace.replay(DropSchedule((0.0,) * 4)).ranking()[:5].tolist()
    assert set(asked.trace.ranking()[:5].tolist()) == set(read)
    whole = asking.ask(wb, towers.id, FOWLER, limits=rank_limits(wb, first_keep=n))
    assert whole.trace.first is None
    assert whole.trace.exits[-1].scores[read] == pytest.approx(asked.trace.exits[-1].scores)
    scores = asking.score_generative(wb, asked)
    assert np.flatnonzero(np.isfinite(scores)).tolist() == read


def test_the_first_stage_fuses_words_search_and_meaning():
    def sentence(text, retrieved, vector_rank):
        return retrieval.RetrievedSentence(retrieved, text, "", 1, retrieved, "", "", retrieved, vector_rank)

    some = [sentence("a tower of iron", 3, 1), sentence("a bridge", 1, 3), sentence("iron towers", 2, 2)]
    stage = FirstStageRanker(some)
    scores = stage.score("the iron tower", [Candidate(str(i), f.text) for i, f in enumerate(some)])
    # by words the first comes first ("iron" and "tower"), then the third, then the second
    by_hand = [1 / 61 + 1 / 63 + 1 / 61, 1 / 63 + 1 / 61 + 1 / 63, 1 / 62 + 1 / 62 + 1 / 62]
    assert scores == pytest.approx(by_hand)


def test_measuring_runs_the_same_candidates_with_the_schedule_and_without(wb, towers, monkeypatch):
    asked = asking.ask(wb, towers.id, QUESTION, limits=rank_limits(wb, first_keep=6))
    schedules, sizes = [], []
    trace = FakeCascade.trace

    def watched(self, question, candidates, schedule):
        schedules.append(schedule.ratios)
        sizes.append(len(candidates))
        return trace(self, question, candidates, schedule)

    monkeypatch.setattr(FakeCascade, "trace", watched)
    measured = asking.measure_times(wb, asked, DropSchedule((0.5,) * 4), rounds=2)
    assert measured.full > 0 < measured.dropping
    assert schedules == [(0.0,) * 4, (0.5,) * 4] * 3
    assert set(sizes) == {6}


def exit_scores(s, candidate_id, version_id):
    of_it = select(Score).where(Score.candidate_id == candidate_id, Score.version_id == version_id)
    return s.scalars(of_it.order_by(Score.exit)).all()


def test_every_exit_of_every_candidate_is_kept(wb, towers):
    asked = asking.ask(wb, towers.id, QUESTION)
    scores = asking.score_generative(wb, asked)
    version = registry.get_active(wb).id
    generative = registry.get_active(wb, "generative").id
    with wb.read() as s:
        run = s.get(Run, asked.run.get()[0])
        assert (run.version_id, run.generative_id, run.last_exit) == (version, generative, 6)
        for position, c in enumerate(asked.candidates):
            kept = exit_scores(s, c.id, version)
            assert [x.exit for x in kept] == [2, 3, 4, 5, 6]
            assert kept[-1].value == pytest.approx(float(asked.trace.exits[-1].scores[position]))
            assert kept[-1].probability == pytest.approx(float(asked.probability[position]))
            [gen] = exit_scores(s, c.id, generative)
            assert (gen.exit, gen.value) == (0, pytest.approx(float(scores[position])))
        ranks = [exit_scores(s, c.id, version)[-1].rank for c in asked.candidates]
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    assert ranks[asked.best] == 1


@pytest.fixture
def bread_is_replaced_while_it_is_ranked(wb, towers, monkeypatch):
    def rank(*given, rank=scoring.rank, **settings):
        ingestion.ingest(wb, towers.id, [("bread.txt", b"Bread is baked from flour and water. Rye grows in Poland.")])
        return rank(*given, **settings)

    monkeypatch.setattr(scoring, "rank", rank)


@pytest.mark.usefixtures("bread_is_replaced_while_it_is_ranked")
def test_what_left_its_document_while_it_was_ranked_is_shown_and_not_kept(wb, towers):
    asked = asking.ask(wb, towers.id, "What is bread baked from, and what makes the dough rise?")
    kept = {c.text: c.id is not None for c in asked.candidates}
    assert kept["Bread is baked from flour and water."]
    assert not kept["Yeast makes the dough rise."]
    assert np.isfinite(asking.score_generative(wb, asked)).all()
    generative = registry.get_active(wb, "generative").id
    with wb.read() as s:
        assert s.get(Run, asked.run.get()[0]).generative_id == generative
        ordinals = s.scalars(select(Stored.ordinal).order_by(Stored.ordinal)).all()
        scored = [len(exit_scores(s, c.id, generative)) for c in asked.candidates if c.id is not None]
    assert ordinals == [*range(len(scored))]
    assert scored == [1] * len(scored)


@pytest.mark.usefixtures("bread_is_replaced_while_it_is_ranked")
def test_the_scoring_job_goes_on_past_a_document_that_is_replaced_meanwhile(wb, towers, ann):
    questions.add_questions(wb, towers.id, ["What makes the dough rise?"], by=ann.id)
    run_queued(wb, RUNNERS)
    [job] = queue.list_jobs(wb, "score")
    assert (job.state, job.error, job.result) == ("done", "", {"questions": 1})


def test_the_same_question_again_is_the_same_question(wb, towers):
    first = asking.ask(wb, towers.id, QUESTION)
    second = asking.ask(wb, towers.id, f"  {QUESTION.replace(' ', '  ')} ")
    assert first.question_id == second.question_id
    assert first.run.get()[0] != second.run.get()[0]
    assert [c.id for c in first.candidates] == [c.id for c in second.candidates]
    assert corpora.get_corpus(wb, towers.id).questions == 1


def test_labels_given_before_are_shown_with_the_candidates(wb, towers, ann, bob):
    asked = asking.ask(wb, towers.id, QUESTION)
    one, two, three = (c.sentence_id for c in asked.candidates[:3])
    said = [(one, ann, "correct"), (two, ann, "correct"), (two, bob, "incorrect"), (three, bob, "unsure")]
    for sentence, who, label in said:
        annotation.give_label(wb, question_id=asked.question_id, sentence_id=sentence, annotator_id=who.id, label=label)
    again = asking.ask(wb, towers.id, QUESTION)
    assert [c.label for c in again.candidates[:4]] == ["correct", None, "unsure", None]
    conflicts.adjudicate(wb, question_id=asked.question_id, sentence_id=two, annotator_id=ann.id, label="incorrect")
    assert [c.label for c in asking.ask(wb, towers.id, QUESTION).candidates[:2]] == ["correct", "incorrect"]


@pytest.mark.parametrize(
    "question",
    [
        '"Eiffel" AND NOT (tower* OR "',
        "Где находится башня Eiffel?",
        "🗼 Eiffel 🗼?",
        "Eiffel " * 2000,
        "Eiffel\x00\ud800 tower",
    ],
)
def test_any_text_can_be_asked(wb, towers, question):
    asked = asking.ask(wb, towers.id, question)
    assert "The Eiffel Tower was finished on 31 March 1889." in [c.text for c in asked.candidates]


def test_a_question_that_shares_no_word_finds_nothing_and_says_so(wb, towers):
    asked = asking.ask(wb, towers.id, "xylophone ¿?")
    assert asked.candidates == ()
    assert asked.best is None
    assert not asked.is_answered
    assert len(asking.score_generative(wb, asked)) == 0


@pytest.mark.parametrize("question", ["", "  \n ", "\x00"])
def test_an_empty_question_is_refused(wb, towers, question):
    with pytest.raises(EmptyQuestion, match="type one"):
        asking.ask(wb, towers.id, question)


def test_an_absurdly_long_question_is_refused_with_its_length(wb, towers):
    with pytest.raises(BadSetting, match="21,000 characters"):
        asking.ask(wb, towers.id, "a" * 21_000)


def test_a_corpus_without_documents_says_how_to_add_some(wb):
    empty = corpora.create_corpus(wb, "empty")
    with pytest.raises(EmptyCorpus, match="as2 ingest"):
        asking.ask(wb, empty.id, QUESTION)


def test_no_more_candidates_than_allowed_and_the_cut_is_told(wb, towers):
    asked = asking.ask(wb, towers.id, "tower bridge bread", limits=rank_limits(wb, candidates=4))
    assert len(asked.candidates) == 4
    assert "10 more sentences" in " ".join(asked.notes)


@pytest.mark.parametrize("limits", [{"documents": 0}, {"candidates": 0}])
def test_limits_below_one_are_refused(wb, towers, limits):
    with pytest.raises(BadSetting):
        asking.ask(wb, towers.id, QUESTION, limits=rank_limits(wb, **limits))


def test_vectors_find_what_words_do_not(wb, towers, models):
    def same_for_all(texts, on_progress=None):
        return np.ones((len(texts), 4), dtype=np.float32) / 2

    models.vectors.embed = same_for_all
    run_queued(wb, RUNNERS)  # the vectors' job
    assert corpora.get_corpus(wb, towers.id).vectors_done == towers.vectors_total
    assert len(asking.ask(wb, towers.id, "xylophone").candidates) == 14


def test_words_alone_serve_when_the_embedder_is_damaged(wb, towers, models):
    run_queued(wb, RUNNERS)

    def damaged():
        raise DamagedModel("the backbone is missing")

    models.embedder = damaged
    asked = asking.ask(wb, towers.id, QUESTION)
    assert asked.is_answered
    assert any("the backbone is missing" in n for n in asked.notes)


class Placed:
    def __init__(self, id: int, document_id: int, position: int) -> None:
        self.id, self.document_id, self.position = id, document_id, position


def two_documents(first: int, second: int) -> list[Placed]:
    return [Placed(i, 1, i) for i in range(first)] + [Placed(1000 + i, 2, i) for i in range(second)]


def test_hit_passages_of_a_document_go_before_its_rest_and_better_documents_before_others():
    hits = [Hit("1:8:x", "1", 1), Hit("2:0:x", "2", 2), Hit("1:0:x", "1", 3)]
    order = choose_sentences(two_documents(15, 6), hits, [1, 2], 100)
    by_place = sorted(order, key=order.get)
    assert by_place[:5] == [8, 9, 10, 11, 12]
    assert by_place[5:10] == [0, 1, 2, 3, 4]
    assert by_place[10:15] == [5, 6, 7, 13, 14]
    assert by_place[15:] == [1000, 1001, 1002, 1003, 1004, 1005]


def test_one_long_document_does_not_take_all_the_room():
    hits = [Hit("1:0:x", "1", 1), Hit("2:0:x", "2", 2)]
    kept = choose_sentences(two_documents(300, 6), hits, [1, 2], 60)
    assert sum(i >= 1000 for i in kept) == 6
    assert sum(i < 1000 for i in kept) == 54


def test_a_promoted_version_that_was_damaged_is_told_and_the_shipped_one_answers(wb, towers, tmp_path):
    from fake_models import write_version

    from db.repositories import versions as version_rows

    path = write_version(tmp_path / "home" / "versions" / "towers-1")
    with wb.write() as s:
        version_rows.add_version(s, "towers-1", kind="cascade", path=str(path), state="candidate", now=wb.clock())
    promotion.promote(wb, "towers-1")
    assert asking.ask(wb, towers.id, QUESTION).version == "towers-1"
    (path / "model.safetensors").unlink()
    asked = asking.ask(wb, towers.id, QUESTION)
    assert asked.version == "cascade"
    assert any("towers-1 cannot be used" in n for n in asked.notes)


def test_retrieval_looks_at_no_label(wb, towers):
    with record_statements() as statements:
        assert retrieval.retrieve(wb, towers.id, "Who built the tower?", documents=2, candidates=9).candidates
    assert any("sentence" in statement for statement in statements)
    assert not any("label" in statement for statement in statements)


def test_retrieval_counts_what_it_left_out(wb, towers):
    got = retrieval.retrieve(wb, towers.id, "tower", documents=30, candidates=2)
    assert (len(got.candidates), got.omitted_count) == (2, 4)
    assert FakeCascade().schedule.exits == 5


def test_few_vectors_among_many_passages_do_not_decide_what_is_found(wb, towers, models):
    before = [c.text for c in asking.ask(wb, towers.id, QUESTION).candidates]
    index = wb.index(towers.id)
    [first] = index.list_pending(1)
    index.set_vectors({first.id: models.vectors.embed([first.text])[0]})
    assert 0 < index.count_vectors() < index.count()
    embedded = models.vectors.texts
    assert [c.text for c in asking.ask(wb, towers.id, QUESTION).candidates] == before
    assert models.vectors.texts == embedded


def test_a_copy_of_a_document_takes_nothing_from_the_answer(wb, towers, monkeypatch):
    monkeypatch.setattr(FakeCascade, "answer_calibration", (1.0, 0.9))
    alone = asking.ask(wb, towers.id, QUESTION)
    ingestion.ingest(wb, towers.id, [("copy.txt", TOWER.replace(" ", "  ").encode())])
    twice = asking.ask(wb, towers.id, QUESTION)
    best = alone.candidates[alone.best].text.split()
    assert twice.trace.scores()[twice.best] == alone.trace.scores()[alone.best]
    assert twice.probability[twice.best] == pytest.approx(alone.probability[alone.best])
    assert [c.text.split() for c in twice.candidates].count(best) == 2
