"""What a retrain needs, and what it warns of, before its start."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from city_questions import finish_retrain, made_up
from label_files import import_labels
from sqlalchemy import update

from app.adapt import advice, readiness, retrain_job
from app.adapt import snapshot as snapshots
from app.adapt.label_selection import LabelSelection
from app.adapt.settings import RetrainSettings
from app.ask import asking
from app.corpora import corpora
from app.labels import annotation, consensus
from as2core.data import jsonl
from as2core.errors import NotEnoughLabels
from as2core.types import Candidate, Question
from db.models import ASKED
from db.models import Question as QuestionRow
from db.repositories.candidates import list_candidate_rows


@pytest.mark.parametrize(
    ("shipped", "share"),
    [(24, "learnt from all training questions"), (14, r"learnt from 1\d of the 1\d training"), (3, None)],
)
def test_questions_the_shipped_model_has_learnt_from_are_named_before_the_start(wb, corpus_id, shipped, share):
    jsonl.write(made_up(24)[:shipped], wb.settings.starter_dir / "train.jsonl")
    expectation = readiness.check_readiness(wb, corpus_id).expectation
    assert expectation == "" if share is None else re.search(share, expectation)
    assert readiness.check_readiness(wb, corpus_id, RetrainSettings("cosinet", "cosinet")).expectation == ""


def test_where_the_answers_are_first_already_little_gain_is_to_be_expected(wb, towers, ann):
    for question in (
        "When was the tower finished?",
        "Who designed the bridge?",
        "What is bread?",
        "Who painted the tower?",
    ):
        view = asking.ask(wb, towers.id, question)
        label_ranked(wb, view, 0, "correct", ann)
        label_ranked(wb, view, 1, "incorrect", ann)
    expectation = readiness.check_readiness(wb, towers.id).expectation
    assert "ranks a correct sentence first on all 4 labelled questions it was asked" in expectation
    label_ranked(wb, view, 0, "incorrect", ann)
    label_ranked(wb, view, 1, "correct", ann)
    assert readiness.check_readiness(wb, towers.id).expectation == ""  # one of four is to be gained


def label_ranked(wb, view, rank, label, who):
    sentence_id = view.candidates[view.trace.ranking()[rank]].sentence_id
    annotation.give_label(wb, question_id=view.question_id, sentence_id=sentence_id, annotator_id=who.id, label=label)


def readiness_of(wb, questions, split=""):
    content = jsonl.dumps(questions).encode()
    corpus = import_labels(wb, None, "some.jsonl", content, annotator="ann", split=split).corpus_id
    return corpus, readiness.check_readiness(wb, corpus)


def relabel(questions, label):
    return [
        Question(q.qid, q.text, tuple(Candidate(c.id, c.text, label, c.title) for c in q.candidates)) for q in questions
    ]


def test_nothing_labelled_is_said_with_what_is_needed(wb):
    corpus = corpora.create_corpus(wb, "empty")
    ready = readiness.check_readiness(wb, corpus.id)
    assert not ready.is_ready
    assert "4 questions" in ready.problems[0]
    with pytest.raises(NotEnoughLabels, match="Nothing is labelled"):
        retrain_job.start_retrain(wb, corpus.id)


def test_too_few_questions_are_counted(wb):
    corpus, ready = readiness_of(wb, made_up(3))
    [problem] = ready.problems
    assert problem.startswith("A retrain needs 4 questions to train on and to measure on, and has 3. To train on")
    settings = RetrainSettings(choice=LabelSelection(presumed=0))
    [problem] = readiness.check_readiness(wb, corpus, settings).problems
    assert problem.endswith("and has 3. Each needs a correct and an incorrect label.")


NEW_CORPUS = "or import the set into a new corpus without a split"


@pytest.mark.parametrize(
    ("split", "use", "problem"),
    [("dev", "validation", "No training question is labelled"), ("train", "training", "No question can be held out")],
)
def test_questions_that_came_with_one_split_alone_are_named_as_the_reason(wb, split, use, problem):
    _, ready = readiness_of(wb, made_up(8), split)
    [text] = ready.problems
    assert text.startswith(problem)
    assert f"8 are for {use} (the split “{split}”)" in text and NEW_CORPUS in text


@pytest.mark.parametrize(
    ("name", "problem"), [("", "No training question is labelled"), ("17", "No question can be held out")]
)
def test_questions_of_nearly_the_same_words_are_named_as_the_reason(wb, name, problem):
    alike = [
        replace(q, text=f"What is the highest allowed temperature in degrees of the machine {name}{i}?")
        for i, q in enumerate(made_up(8))
    ]
    _, ready = readiness_of(wb, alike)
    [text] = ready.problems
    assert text.startswith(problem)
    assert "All 8 labelled questions have nearly the same words, and such questions stay in one part." in text
    assert "4 or more questions that are worded otherwise" in text


@pytest.mark.parametrize("split", ["", "dev"])
def test_questions_of_a_frozen_benchmark_are_named_as_the_reason(wb, split, monkeypatch):
    monkeypatch.setattr(snapshots, "load_benchmarks", lambda wb: {"frozen": made_up(8)})
    _, ready = readiness_of(wb, made_up(8), split)
    [text] = ready.problems
    assert "8 are in a frozen benchmark, which no ranker is trained on" in text
    assert "Label correct and incorrect sentences of 4 or more questions of your own." in text
    assert NEW_CORPUS not in text


@pytest.mark.parametrize(("label", "missing"), [(1, "incorrect"), (0, "correct")])
def test_one_class_alone_is_refused(wb, label, missing):
    _, ready = readiness_of(wb, relabel(made_up(8), label))
    assert ready.problems[0].startswith(f"No sentence is labelled {missing}")
    assert not any("training labels only" in warning for warning in ready.warnings)  # one box for one fact


def test_four_questions_are_enough_and_that_few_are_held_out_is_told(wb):
    corpus, ready = readiness_of(wb, made_up(4))
    assert ready.is_ready
    assert (ready.questions, ready.labels, ready.correct, ready.incorrect) == (4, 16, 4, 12)
    assert ready.train_questions + ready.dev_questions + ready.heldout_questions == 4
    assert "Only 1 question is held out: before and after will be uncertain." in ready.warnings  # no folds here
    assert retrain_job.start_retrain(wb, corpus).state == "queued"


def test_after_enough_correct_labels_the_held_out_questions_lack_incorrect_ones(wb, ann):
    questions = made_up(8)
    unlabelled = [
        replace(q, candidates=tuple(replace(c, label=c.label or None) for c in q.candidates)) for q in questions
    ]
    corpus = import_labels(wb, None, "some.jsonl", jsonl.dumps(unlabelled).encode()).corpus_id
    distance = readiness.measure_distance(wb, corpus)
    assert (distance.labels, distance.missing, distance.is_enough) == (8, 0, False)
    assert distance.incomplete_ids == readiness.check_readiness(wb, corpus).incomplete_ids
    question_id = distance.incomplete_ids[0]
    labels = consensus.read_corpus_labels(wb, question_id)
    with wb.read() as s:
        rows = [r for r in list_candidate_rows(s, corpus) if r.question_id == question_id]
    sentence_id = next(r.sentence_id for r in rows if r.sentence_id not in labels)
    annotation.give_label(wb, question_id=question_id, sentence_id=sentence_id, annotator_id=ann.id, label="incorrect")
    assert readiness.measure_distance(wb, corpus) == readiness.Distance(9, 0, is_enough=True)
    assert readiness.check_readiness(wb, corpus).is_ready


def test_questions_with_correct_sentences_only_are_warned_of(wb):
    only = relabel(made_up(2, seed=9, prefix="only"), 1)
    _, ready = readiness_of(wb, made_up(8) + only)
    assert ready.is_ready
    [warning] = [w for w in ready.warnings if w.startswith("2 questions are labelled with correct sentences only")]
    assert "no other was ranked that could count as incorrect" in warning and "sentences only (“" in warning
    assert all(f"“{q.text}”" in warning for q in only)  # or nobody could tell which to ask


def test_questions_with_incorrect_sentences_only_have_one_figure_wherever_it_stands(wb):
    corpus = import_labels(wb, None, "m.jsonl", jsonl.dumps(made_up(8)).encode()).corpus_id
    only = [
        replace(q, split=split)
        for q, split in zip(relabel(made_up(3, seed=9, prefix="only"), 0), ("", "", "dev"), strict=True)
    ]
    import_labels(wb, corpus, "only.jsonl", jsonl.dumps(only).encode())
    with wb.write() as s:
        s.execute(update(QuestionRow).where(QuestionRow.text.in_([q.text for q in only])).values(origin=ASKED))
    ready = readiness.check_readiness(wb, corpus)
    assert ready.only_incorrect == 2
    assert any(w.startswith("2 questions are labelled with incorrect sentences only:") for w in ready.warnings)


def test_held_out_questions_that_lack_a_kind_of_label_are_told_with_what_to_do(wb):
    one_sided = relabel(made_up(8, seed=9, prefix="only"), 1) + relabel(made_up(8, seed=8, prefix="never"), 0)
    _, ready = readiness_of(wb, made_up(8) + one_sided)
    held_out, used = len(ready.incomplete_ids), ready.train_questions + ready.dev_questions + ready.heldout_questions
    assert held_out > 1 and used + held_out == ready.questions == 24
    [warning] = [w for w in ready.warnings if w.startswith(f"{held_out} more questions are held out (")]
    assert "with correct labels only and" in warning
    assert warning.endswith("nothing can be measured on them until they have labels of both kinds.")


def test_where_no_held_out_question_has_both_kinds_of_labels_the_two_texts_agree(wb):
    corpus, _ = readiness_of(wb, made_up(8) + relabel(made_up(8, seed=9, prefix="only"), 1))
    settings = RetrainSettings()
    composition = snapshots.compose(wb, corpus, settings, preview=True)
    train = composition.parts.train + composition.parts.held_out
    parts = replace(composition.parts, train=train, held_out=(), benchmark=0, familiar_count=0)
    composition, counts = replace(composition, parts=parts), {"correct": 9, "incorrect": 9}
    problem = advice.find_problem(composition, settings, counts, has_prepared=False)
    assert problem.startswith("Before and after cannot be compared yet: none of the held-out questions has both")
    warnings = advice.find_warnings(composition, settings, (), free_bytes=10**12)
    assert any(w.startswith(f"{len(parts.incomplete)} questions are held out (") for w in warnings)


@pytest.mark.parametrize(
    ("choice", "filters"),
    [
        ({"since": "2099-01-01"}, "from 2099-01-01 on"),
        ({"annotators": ("ann",), "kinds": ("imported",)}, "by ann, imported from a file"),
    ],
)
def test_where_the_chosen_labels_are_none_the_choice_is_named(wb, corpus_id, choice, filters):
    settings = RetrainSettings(choice=LabelSelection(**choice))
    [problem] = readiness.check_readiness(wb, corpus_id, settings).problems
    assert problem == f"No sentence has a correct or incorrect label {filters}: choose more of the labels."


def test_a_disk_without_room_for_the_checkpoints_is_told_before_the_start(wb, monkeypatch):
    corpus, ready = readiness_of(wb, made_up(8))
    assert not any("The disk has" in w for w in ready.warnings)
    monkeypatch.setattr(readiness, "disk_usage", lambda _: SimpleNamespace(free=1_100_000_000))
    assert not any("The disk has" in w for w in readiness.check_readiness(wb, corpus).warnings)
    monkeypatch.setattr(advice, "plan_folds", lambda *_, **__: ("a copy", "a copy", "a copy"))
    [warning] = [w for w in readiness.check_readiness(wb, corpus).warnings if "The disk has" in w]
    assert warning.startswith("The disk has 1.1 GB free, and a retrain writes up to 1.6 GB until it ends. Free some")
    fitted = readiness.check_readiness(wb, corpus, RetrainSettings("fusion"))
    assert not any("The disk has" in w for w in fitted.warnings)  # a few numbers, without checkpoints


def test_how_many_of_the_questions_with_incorrect_sentences_only_were_not_imported_is_told(wb):
    only = relabel(made_up(3, seed=9, prefix="only"), 0)
    corpus, ready = readiness_of(wb, made_up(8) + only)
    assert not any("incorrect sentences only" in w for w in ready.warnings)  # imported so, as a benchmark is
    with wb.write() as s:
        s.execute(update(QuestionRow).where(QuestionRow.text == only[0].text).values(origin=ASKED))
    warnings = readiness.check_readiness(wb, corpus).warnings
    told = "2 questions are labelled with incorrect sentences only, 1 of them typed or from a list: a cascade"
    assert any(w.startswith(told) for w in warnings)  # the third is for validation


def test_questions_with_incorrect_sentences_only_are_counted_for_a_cascade(wb):
    corpus, ready = readiness_of(wb, made_up(8) + relabel(made_up(2, seed=9, prefix="only"), 0))
    assert (ready.only_correct, ready.only_incorrect) == (0, 2)
    other = readiness.check_readiness(wb, corpus, RetrainSettings("generative"))
    assert other.only_incorrect == 0


def test_a_card_tells_the_questions_that_taught_a_cascade_nothing_from_those_it_was_trained_on(wb):
    corpus, ready = readiness_of(wb, made_up(8) + relabel(made_up(2, seed=9, prefix="only"), 0))
    labels = finish_retrain(wb, retrain_job.start_retrain(wb, corpus).id).result["labels"]
    assert (labels["questions"], labels["skipped_questions"]) == (ready.train_questions, 2)
    assert ready.useful_questions == ready.train_questions - 2


def test_pairs_in_dispute_are_left_out_and_told(wb):
    corpus, _ = readiness_of(wb, made_up(8))
    others = relabel(made_up(1), 0)
    import_labels(wb, corpus, "other.jsonl", jsonl.dumps(others).encode(), annotator="bob")
    ready = readiness.check_readiness(wb, corpus)
    assert "1 pair is in conflict between annotators and left out." in ready.warnings
    assert (ready.correct, ready.incorrect) == (7, 24)
    assert (ready.labels, ready.conflict_count) == (32, 1)
