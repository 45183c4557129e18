from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from types import SimpleNamespace

import pytest
from label_files import import_labels

from app.adapt import label_selection, readiness, retrain_job, snapshot, splitting
from app.adapt.label_selection import LabelSelection, presume_incorrect
from app.adapt.readiness import Narrowing
from app.adapt.settings import RetrainSettings
from app.ask import asking
from app.corpora import corpora, ingestion
from app.labels import annotation, label_list
from app.labels.consensus import resolve_label
from app.labels.items import Presentation
from app.labels.label_list import LabelSearch
from as2core.data import jsonl
from as2core.errors import BadSetting, NotEnoughLabels
from as2core.types import Candidate, Question


def votes(*labels, verdict=None, imported=()):
    return [
        SimpleNamespace(label=label, imported=i in imported, verdict=verdict, annotator=str(i))
        for i, label in enumerate(labels)
    ]


C, N, U = "correct", "incorrect", "unsure"


@pytest.mark.parametrize(
    ("given", "majority", "latest", "adjudicated", "leave_out"),
    [
        (votes(C), C, C, C, C),
        (votes(C, C, N), C, N, None, None),
        (votes(C, N), None, N, None, None),
        (votes(C, N, verdict=C), C, C, C, None),
        (votes(C, C, verdict=N), N, N, N, C),
        (votes(N, C, imported=(0,)), C, C, C, C),
        (votes(C, N, imported=(0, 1)), None, N, None, None),
        (votes(U, C), C, C, C, C),
        (votes(U), U, U, U, U),
        (votes(U, verdict=N), N, N, N, N),
    ],
)
def test_conflicts_are_settled_the_way_that_was_chosen(given, majority, latest, adjudicated, leave_out):
    ways = ("majority", "latest", "adjudicated", "leave-out")
    assert [resolve_label(given, given[0].verdict, way) for way in ways] == [majority, latest, adjudicated, leave_out]


@pytest.mark.parametrize(
    "bad", [{"conflicts": "dice"}, {"kinds": ()}, {"kinds": ("heard",)}, {"presumed": -1}, {"since": "soon"}]
)
def test_a_choice_that_cannot_be_is_refused(bad):
    with pytest.raises(BadSetting):
        LabelSelection(**bad)


def test_a_choice_comes_back_from_where_it_is_kept():
    choice = LabelSelection(annotators=("ann",), since="2024-05-01", conflicts="latest", presumed=3, questions=(4, 9))
    assert LabelSelection.from_json(choice.to_json()) == choice


def test_a_selection_of_an_older_program_presumes_nothing():
    assert LabelSelection.from_json({"conflicts": "latest"}).presumed == 0


def test_presumed_negatives_are_drawn_once_and_only_beside_a_correct_sentence():
    q = Question("q", "who", tuple(Candidate(str(i), f"t{i}", {0: 1, 1: 0}.get(i)) for i in range(10)))
    made = presume_incorrect(q, 3, seed=1)
    assert (made.positives, made.negatives) == (1, 4)
    assert made == presume_incorrect(q, 3, seed=1)
    assert presume_incorrect(q, 0).negatives == 1
    without = Question("q", "who", q.candidates[1:])
    assert presume_incorrect(without, 3).negatives == 1


QUESTIONS = [
    Question(
        f"q{i}",
        f"what is the {thing} of number {i}",
        tuple(Candidate(f"q{i}-{j}", f"sentence {j} of {thing} {i}", int(j == 0)) for j in range(3)),
    )
    for i, thing in enumerate("height length colour weight price age depth speed".split())
]


@pytest.fixture
def corpus_id(wb):
    content = jsonl.dumps(QUESTIONS).encode()
    return import_labels(wb, None, "things.jsonl", content, annotator="import").corpus_id


def split_ids(wb, corpus_id, questions=()):
    """The ids of the training, the validation and the held-out questions."""
    settings = RetrainSettings(choice=LabelSelection(questions=questions))
    composition = snapshot.compose(wb, corpus_id, settings, preview=True)
    ids = {x.question.qid: x.id for x in composition.questions}
    parts = composition.parts
    return tuple({ids[q.qid] for q in part} for part in (parts.train, parts.dev, parts.held_out))


def test_chosen_questions_narrow_the_training_and_nothing_else(wb, corpus_id, monkeypatch):
    monkeypatch.setattr(splitting, "MIN_DEV", 1)
    unlabelled = asking.ask(wb, corpus_id, "who was first?").question_id
    train, dev, held_out = split_ids(wb, corpus_id)
    assert len(train) > 2 and dev and held_out
    some = tuple({*sorted(train)[:2], *dev, *held_out, unlabelled})
    assert split_ids(wb, corpus_id, some) == (set(sorted(train)[:2]), dev, held_out)
    view = readiness.check_readiness(wb, corpus_id, RetrainSettings(choice=LabelSelection(questions=some)))
    assert (view.train_questions, view.dev_questions, view.heldout_questions) == (2, len(dev), len(held_out))
    assert view.narrowing == Narrowing(len(some), 2, len(dev), len(held_out), unlabelled=1)
    assert view.narrowing.unused == 0 and view.is_ready
    assert readiness.check_readiness(wb, corpus_id).narrowing is None


def test_chosen_questions_without_one_to_train_on_block_the_start(wb, corpus_id):
    choice = LabelSelection(questions=tuple(split_ids(wb, corpus_id)[2]))
    with pytest.raises(NotEnoughLabels, match="None of the chosen questions can be trained on"):
        retrain_job.start_retrain(wb, corpus_id, RetrainSettings(choice=choice))


def test_questions_are_chosen_by_their_wording_and_one_of_another_corpus_is_named(wb, corpus_id):
    [a, b] = label_selection.find_questions(wb, corpus_id, [QUESTIONS[3].text, QUESTIONS[1].text, QUESTIONS[3].text])
    texts = {x.id: x.question.text for x in label_selection.load(wb, corpus_id, LabelSelection())}
    assert [texts[a], texts[b]] == [QUESTIONS[1].text, QUESTIONS[3].text]
    with pytest.raises(BadSetting, match="1 of 2 questions are not in this corpus, the first is 'where\\?'"):
        label_selection.find_questions(wb, corpus_id, ["where?", QUESTIONS[1].text])


def label_one(wb, corpus_id, annotator, question, label):
    asked = asking.ask(wb, corpus_id, question.text)
    found = {c.text: c.sentence_id for c in asked.candidates}
    return annotation.give_label(
        wb,
        question_id=asked.question_id,
        sentence_id=found[question.candidates[0].text],
        annotator_id=annotator.id,
        label=label,
    )


def counts(found):
    return sum(x.question.positives for x in found), sum(x.question.negatives for x in found)


def test_annotators_kinds_and_days_narrow_what_goes_in(wb, corpus_id, ann, bob, clock):
    label_one(wb, corpus_id, ann, QUESTIONS[0], "incorrect")
    clock.advance(days=3)
    label_one(wb, corpus_id, bob, QUESTIONS[1], "correct")
    today = f"{clock():%Y-%m-%d}"
    assert counts(label_selection.load(wb, corpus_id, LabelSelection())) == (7, 17)
    assert counts(label_selection.load(wb, corpus_id, LabelSelection(annotators=("ann",)))) == (0, 1)
    assert counts(label_selection.load(wb, corpus_id, LabelSelection(kinds=("people",)))) == (1, 1)
    assert counts(label_selection.load(wb, corpus_id, LabelSelection(kinds=("imported",)))) == (8, 16)
    assert counts(label_selection.load(wb, corpus_id, LabelSelection(since=today))) == (1, 0)
    later = f"{clock() + timedelta(days=1):%Y-%m-%d}"
    assert counts(label_selection.load(wb, corpus_id, LabelSelection(since=later))) == (0, 0)


def test_a_retrain_reads_only_the_unlabelled_sentences_that_it_presumes_incorrect(wb, corpus_id, ann):
    asked = [
        asking.ask(wb, corpus_id, text)
        for text in (QUESTIONS[0].text, "what sentence of height is it?", "what sentence of depth is it?")
    ]
    for question, label in zip(asked[1:], ("correct", "incorrect"), strict=True):
        pair = {"question_id": question.question_id, "sentence_id": question.candidates[3].sentence_id}
        annotation.give_label(wb, **pair, annotator_id=ann.id, label=label)
    for choice in (LabelSelection(presumed=3), LabelSelection(presumed=0)):
        every, sample = (
            {x.id: x.question for x in label_selection.load(wb, corpus_id, choice, seed=seed)} for seed in (None, 7)
        )
        for question_id, whole in every.items():
            part = presume_incorrect(sample[question_id], choice.presumed, seed=7)
            assert part == presume_incorrect(whole, choice.presumed, seed=7)
            assert {c.id for c in part.candidates} == {c.id for c in sample[question_id].candidates}
        assert any(len(whole.candidates) > 10 for whole in every.values())


def test_what_somebody_labelled_is_never_presumed_wrong_though_their_labels_were_left_out(wb, corpus_id, ann):
    label_one(wb, corpus_id, ann, QUESTIONS[0], "unsure")
    found = label_selection.load(wb, corpus_id, LabelSelection(annotators=("nobody",)))
    for q, x in zip(QUESTIONS, found, strict=True):
        assert not {c.id for c in q.candidates} & {c.id for c in x.question.candidates}


FEE, NEW_FEE, BOARD = "The fee is 48 euros a year.", "The fee is 54 euros a year.", "The board sets the fee."


@pytest.fixture
def fee(wb, ann):
    """A question on the fee, whose answer is labelled correct and stands in two documents; the id of their corpus."""
    club = corpora.create_corpus(wb, "club")
    ingestion.ingest(wb, club.id, [("rules.txt", f"{FEE} {BOARD}".encode()), ("copy.txt", f"{FEE} Bye.".encode())])
    asked = asking.ask(wb, club.id, "What is the fee a year?")
    right = next(c.sentence_id for c in asked.candidates if c.text == FEE and c.title == "rules")
    annotation.give_label(wb, question_id=asked.question_id, sentence_id=right, annotator_id=ann.id, label="correct")
    return club.id


def list_presumed(wb, corpus_id):
    [found] = label_selection.load(wb, corpus_id, LabelSelection(presumed=50), seed=1)
    question = presume_incorrect(found.question, 50, seed=1)
    return {c.text for c in question.candidates if c.label == 0}


def test_a_copy_of_the_answer_in_another_document_is_not_presumed_incorrect(wb, fee):
    assert list_presumed(wb, fee) == {BOARD, "Bye."}


def test_the_new_wording_of_an_answer_is_not_presumed_incorrect_beside_the_old_one(wb, fee):
    ingestion.ingest(wb, fee, [("rules.txt", f"{NEW_FEE} {BOARD}".encode()), ("copy.txt", b"Bye.")])
    asking.ask(wb, fee, "What is the fee a year?")
    assert list_presumed(wb, fee) == {BOARD, "Bye."}


def test_a_list_that_has_the_answer_as_one_of_its_items_is_not_presumed_incorrect(wb, fee):
    """As after an upgrade: earlier releases stored each item of a list alone."""
    lead_in = "Note what all members and guests of this club have to know before their first visit:"
    items = "\n- ".join([lead_in, "Guests pay twice as much.", FEE, "Sign below."])
    ingestion.ingest(wb, fee, [("rules.txt", f"{BOARD}\n\n{items}".encode()), ("copy.txt", b"Bye.")])
    whole = next(c.text for c in asking.ask(wb, fee, "What is the fee a year?").candidates if FEE in c.text)
    assert whole != FEE and whole not in list_presumed(wb, fee)


def test_an_old_wording_whose_label_was_moved_to_the_new_one_is_not_presumed_incorrect(wb, fee, ann):
    corpus_id = fee
    ingestion.ingest(wb, corpus_id, [("rules.txt", f"{NEW_FEE} {BOARD}".encode()), ("copy.txt", b"Bye.")])
    asked = asking.ask(wb, corpus_id, "What is the fee a year?")
    new = next(c.sentence_id for c in asked.candidates if c.text == NEW_FEE)
    [record] = label_list.list_labels(wb, corpus_id, by=ann.id, which=LabelSearch(is_gone=True), limit=9).page
    display = Presentation(queue="own")
    label_list.shift_labels(wb, corpus_id, [record], {record.sentence_id: new}, by=ann.id, presentation=display)
    assert list_presumed(wb, corpus_id) == {BOARD, "Bye."}


def test_the_preview_counts_what_is_presumed(wb, corpus_id, ann):
    for q in QUESTIONS:
        asking.ask(wb, corpus_id, q.text)  # retrieval brings candidates nobody labelled
    plain = readiness.check_readiness(wb, corpus_id, RetrainSettings(choice=LabelSelection(presumed=0)))
    ready = readiness.check_readiness(wb, corpus_id)
    assert plain.presumed == 0
    assert ready.presumed > 0
    assert ready.train_incorrect == plain.train_incorrect + ready.presumed


@pytest.mark.parametrize(
    ("label", "remedy"),
    [(1, "Label an incorrect sentence of one more question that has a correct one."),
     (0, "Label one more, with both kinds of labels.")],
)  # fmt: skip
def test_where_none_can_be_held_out_what_is_missing_is_asked_for(wb, corpus_id, monkeypatch, label, remedy):
    """As where unlabelled sentences count as incorrect in training, and not in measuring."""
    full = snapshot.compose(wb, corpus_id, RetrainSettings(), preview=True)
    parts = replace(full.parts, train=(*full.parts.train, *full.parts.dev, *full.parts.held_out), dev=(), held_out=())
    first = full.questions[0]
    one_sided = replace(first.question, candidates=tuple(c for c in first.question.candidates if c.label == label))
    composition = replace(full, parts=parts, questions=(replace(first, question=one_sided), *full.questions[1:]))
    monkeypatch.setattr(snapshot, "compose", lambda *_, **__: composition)
    assert readiness.check_readiness(wb, corpus_id).problems[0].endswith(remedy)


@pytest.mark.parametrize(("origins", "is_warned"), [(["starter"], False), (["starter", "asked"], True)])
def test_that_no_own_question_is_held_out_is_said_where_there_is_one(wb, corpus_id, monkeypatch, origins, is_warned):
    full = snapshot.compose(wb, corpus_id, RetrainSettings(), preview=True)
    questions = tuple(replace(x, origin=o) for x, o in zip(full.questions, cycle(origins), strict=False))
    asked = replace(full.questions[0], origin="asked", question=Question("new", "Who paid for it?", ()))
    composition = replace(full, parts=replace(full.parts, borrowed_part="dev"), questions=(*questions, asked))
    monkeypatch.setattr(snapshot, "compose", lambda *_, **__: composition)
    warnings = readiness.check_readiness(wb, corpus_id).warnings
    assert any(w.startswith("None of your own questions is held out") for w in warnings) == is_warned


def test_labels_are_counted_by_who_gave_them(wb, corpus_id):
    assert readiness.check_readiness(wb, corpus_id).by_annotator == {"import": 24}
