"""Agreement by keyboard: what has the focus still has it after the act."""

import contextlib

import pytest
from conftest import watch_page
from keyboard import wait_until_idle
from label_files import import_labels
from playwright.sync_api import expect
from serving import serving
from sqlalchemy import func, select

from app import bootstrap
from app.corpora import corpora
from app.labels import annotation
from app.workbench import people
from app.workbench.settings import Settings
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Candidate as CandidateRow
from db.models import Question as QuestionRow

pytestmark = pytest.mark.browser

QUESTIONS = ("Where is the filter?", "Where is the pump?")


@pytest.fixture(scope="module")
def disputes(environment, tmp_path_factory):
    """The address of a server over a home of its own, with a conflict about each question and one admin."""
    home = tmp_path_factory.mktemp("disputes")
    fill(home)
    own = {"AS2_HOME": str(home), "AS2_CORPORA_DIR": str(home / "no-corpora")}
    with serving(home, {**environment, **own}) as url:
        yield f"{url}/agreement?corpus=Disputes"


@pytest.fixture
def quiet_page(open_page, disputes):
    with watch_page(open_page(), disputes.partition("/agreement")[0]) as page:
        yield page


def fill(home):
    settings = Settings(home=home, worker="external")
    candidates = (Candidate("a", "It is below the cover.", None), Candidate("b", "It is red.", None))
    lines = jsonl.dumps([Question(f"q{n}", text, candidates) for n, text in enumerate(QUESTIONS)])
    with contextlib.closing(bootstrap.open(settings)) as wb:
        people.sign_in(wb, people.NOBODY)  # an admin who does not count as one
        corpus = corpora.create_corpus(wb, "Disputes")
        import_labels(wb, corpus.id, "disputes.jsonl", lines.encode(), annotator="ann")
        with wb.read() as s:
            first = select(CandidateRow.question_id, func.min(CandidateRow.sentence_id)).join(QuestionRow)
            pairs = s.execute(first.where(QuestionRow.corpus_id == corpus.id).group_by(CandidateRow.question_id)).all()
        for name, label in (("Focus 1", "correct"), ("Focus 2", "incorrect")):
            person = people.sign_in(wb, name)
            for question, sentence in pairs:
                annotation.give_label(
                    wb, question_id=question, sentence_id=sentence, annotator_id=person.id, label=label
                )


def read_focus(page):
    """The name of what has the focus."""
    name = page.evaluate("() => document.activeElement.ariaLabel || document.activeElement.innerText")
    return " ".join(name.split())


def test_the_focus_stays_at_a_verdict(quiet_page, disputes):
    page = quiet_page
    page.goto(f"{disputes}&view=conflicts")
    page.get_by_role("textbox", name="Reason, conflict 1").focus()
    wait_until_idle(page)
    for act, verdict in (("Correct", "Settled as correct"), ("Incorrect", "Settled as incorrect")):
        page.keyboard.press("Tab")
        assert read_focus(page).endswith(f" {act} conflict 1")
        page.keyboard.press("Enter")
        expect(page.get_by_text(verdict)).to_be_visible()
        wait_until_idle(page)
        assert read_focus(page).endswith(f" {act} conflict 1")
    for _ in ("Unsure", "Reopen"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Settled as")).to_have_count(0)
    wait_until_idle(page)
    page.keyboard.press("Shift+Tab")
    assert read_focus(page).endswith(" Unsure conflict 1")


def choose_role(page, name, *, steps):
    """By the keyboard alone."""
    page.get_by_role("combobox", name=f"Role of {name}").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert read_focus(page).endswith(f"Role of {name}")
    for _ in range(steps):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def test_the_focus_stays_at_a_role(quiet_page, disputes):
    page = quiet_page
    page.goto(f"{disputes}&view=people")
    expect(page.get_by_role("combobox", name="Role of Focus 2")).to_be_visible()
    wait_until_idle(page)
    choose_role(page, "Focus 2", steps=1)
    expect(page.get_by_text("Focus 2 is a viewer now.")).to_be_visible()
    wait_until_idle(page)
    assert read_focus(page).endswith("Role of Focus 2")


def test_a_role_that_was_refused_is_shown_no_more(quiet_page, disputes):
    page = quiet_page
    page.goto(f"{disputes}&view=people")
    box = page.get_by_role("combobox", name="Role of Focus 1")
    expect(box).to_have_value("admin")
    wait_until_idle(page)
    choose_role(page, "Focus 1", steps=2)
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text("Focus 1 is the only admin")
    wait_until_idle(page)
    expect(box).to_have_value("admin")
