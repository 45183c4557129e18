"""The pages over the real services, on a real home of their own: only the models are small fakes."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from functools import cache

import pytest
import streamlit as st
from fake_clock import Clock
from fake_models import FakeModels, write_version
from label_files import import_labels
from sqlalchemy import delete
from stored import QUESTIONS, THINGS, TOWERS, put_version
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import local_script_runner

from app import bootstrap
from app.ask import asking, stored_questions
from app.compare import comparison_job
from app.corpora import corpora, ingestion
from app.jobs.attempt import run_queued
from app.labels import progress, rules
from app.ui import page
from app.ui.ask import result
from app.workbench import people
from app.workbench.settings import Settings
from app.worker import RUNNERS
from as2core.data import jsonl
from as2core.types import Candidate, Question
from db.models import Job

HOSTILE = 'It cost $5 and $9, ![pixel](http://elsewhere.example/x.png) <img src=x onerror="alert(1)"> :red[no] **bold**'
TOWER = [
    "The tower was finished on 31 March 1889, after two years of work.",
    "It was built as the gate of the World's Fair.",
    HOSTILE,
    "Foundations were begun in January 1887.",
    "Its lifts were replaced in 1897.",
    "The structure weighs about 7,300 tonnes.",
]
BRIDGE = [
    "The Forth Bridge was opened on 4 March 1890.",
    "Sir John Fowler designed it with Benjamin Baker.",
    "Its steel weighs 53,000 tonnes.",
    "Trains cross the bridge every day.",
]


PARTS = (
    "beam rivet girder arch pier crane hammer furnace anvil chain bolt plate wheel shaft hinge truss rail spire".split()
)
HALL = [
    "The hall was finished in 1889.",
    "It was built for the World's Fair, and few people came to see it.",
    *(f"Every {thing} of the hall has a number of its own." for thing in PARTS),
]
MILL = [
    "The mill was finished on 31 March 1889, after two years of work of the finest smiths in the country.",
    "When the mill was finished, it rained.",
    *(f"Every {thing} of the mill has a number of its own." for thing in PARTS),
]
CORPORA = {
    "Towers": {"The_tower.txt": TOWER, "A_bridge.txt": BRIDGE},
    "Works": {"Iron_works.txt": HALL, "Other_iron_works.txt": MILL},
}


@pytest.fixture(scope="session", autouse=True)
def shared_bytecode():
    """A page is compiled once; every run of an AppTest would do it again, in a third of its time."""
    scripts = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "ScriptCache", lambda: scripts)
        yield


@pytest.fixture(scope="session", autouse=True)
def wait_by_joining():
    """An AppTest asks a thousand times a second whether its script has ended, and so takes from the script's time."""
    ask = local_script_runner.require_widgets_deltas

    def wait(runner, timeout):
        runner._script_thread.join(timeout)
        ask(runner, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_count_is_slow():
    """On a busy machine any count may take long enough to be cached; which is tested where it is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "SLOW_COUNT_SECONDS", float("inf"))
        yield


@pytest.fixture(scope="session", autouse=True)
def scan_once():
    """Every AppTest looks through all installed packages for components, half a second each time; once will do."""
    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory, migrated_file):
    """The home that every test gets a copy of: the corpora "Towers", with three ranked questions in its queues, and
    "Works", with forty sentences and none; the annotator "me", an admin; and two versions made from the shipped one."""
    folder = tmp_path_factory.mktemp("prepared")
    for name in ("cascade", "generative"):
        write_version(folder / "models" / name, name, metrics={"AP": 0.7})
    (folder / "home").mkdir()
    shutil.copy(migrated_file, folder / "home" / "as2.db")
    clock = Clock()
    clock.advance(days=-3)
    wb = bootstrap.open(settings_in(folder), FakeModels(), clock)
    me = people.sign_in(wb, "me")
    for name, files in CORPORA.items():
        corpus = corpora.create_corpus(wb, name)
        ingestion.ingest(wb, corpus.id, [(f, "\n\n".join(lines).encode()) for f, lines in files.items()])
        rules.set_rules(wb, corpus.id, by=me.id, control=0.0, blind=0.0)
    for question in QUESTIONS:
        view = asking.ask(wb, TOWERS, question, as_typed=True)
        asking.score_generative(wb, view)
        stored_questions.set_queued(wb, [view.question_id], queued=True, by=me.id)
    for name, state in (("starter-2", "former"), ("starter-3", "candidate")):
        clock.advance(days=1)
        put_version(wb, name, state=state, note="first labels", metrics={"AP": 0.72})
    with wb.write() as s:
        s.execute(delete(Job))  # what an ingest asks for: nobody is to run it here
    wb.close()
    return folder


def settings_in(folder, **more):
    of = {"home": folder / "home", "models_dir": folder / "models", "corpora_dir": folder / "corpora"}
    return Settings(**of, worker="external", **more)


def copy_home(template, folder):
    shutil.copytree(template, folder)
    with closing(sqlite3.connect(folder / "home" / "as2.db")) as database, database:  # paths are stored in full
        database.execute("UPDATE model_version SET path = replace(path, ?, ?)", (str(template), str(folder)))
    return folder


@pytest.fixture(scope="session")
def labelled(prepared, tmp_path_factory):
    """The prepared home with two label sets more: "things" by ann and bob, and "others" by cy."""
    folder = copy_home(prepared, tmp_path_factory.mktemp("labelled") / "as2")
    wb = bootstrap.open(settings_in(folder), FakeModels(), Clock())
    import_labels(wb, None, "things.jsonl", label_set(PARTS[:9]), annotator="ann")
    import_labels(wb, THINGS, "things.jsonl", label_set(PARTS[9:]), annotator="bob")
    import_labels(wb, None, "others.jsonl", label_set(["comet", "violin", *PARTS[:7]]), annotator="cy")
    with wb.write() as s:
        s.execute(delete(Job))
    wb.close()
    return folder


@pytest.fixture(scope="session")
def compared(labelled, tmp_path_factory):
    """The labelled home with two comparisons over "things": of four rankers, and of the cascade's drop ratios alone."""
    folder = copy_home(labelled, tmp_path_factory.mktemp("compared") / "as2")
    wb = bootstrap.open(settings_in(folder), FakeModels(), Clock())
    comparison_job.start_compare(wb, ["cascade:drop_ratio=0", "cascade:drop_ratio=0.5"], "labels:things")
    comparison_job.start_compare(wb, ["cascade", "starter-2", "bm25", "rr"], "labels:things")
    run_queued(wb, RUNNERS)
    wb.close()
    return folder


def label_set(things):
    """A question about each thing, with a correct sentence, two incorrect ones and one that nobody labelled."""
    questions = [
        Question(
            f"q-{thing}",
            f"What does a {thing} do in the {thing} house of town {number}?",
            (
                Candidate(f"{thing}-0", "It rained all day.", 0),
                Candidate(f"{thing}-1", f"The {thing} does what a {thing} has to do.", 1),
                Candidate(f"{thing}-2", f"Nobody saw the house of town {number}.", 0),
                Candidate(f"{thing}-3", f"A {thing}.", None),
            ),
        )
        for number, thing in enumerate(things)
    ]
    return jsonl.dumps(questions).encode()


@pytest.fixture
def template(prepared):
    """The home to copy; test modules that need more in it have their own."""
    return prepared


@pytest.fixture
def more_settings():
    """Settings of a test, to be parametrised."""
    return {}


@pytest.fixture
def wb(template, more_settings, tmp_path, clock, models, monkeypatch):
    """The workbench that the pages open, as `page.open_workbench_once` would in a process of its own."""
    folder = copy_home(template, tmp_path / "as2")
    opened = bootstrap.open(settings_in(folder, **more_settings), models, clock)
    st.cache_resource.clear()
    st.cache_data.clear()
    monkeypatch.setattr(page, "open_workbench", lambda: opened)
    monkeypatch.setattr(page, "_preload", lambda wb, failures: None)  # these models are there already
    monkeypatch.setattr(type(st.context), "cookies", {})  # AppTest has a mock for it
    yield opened
    result._pool().shutdown()  # it may still be at the generative scores of the last question
    opened.close()


@pytest.fixture
def me(wb):
    return people.sign_in(wb, "me")


@pytest.fixture
def ann(wb):
    return people.sign_in(wb, "ann")


@pytest.fixture
def hostile():
    """A sentence of Towers that is Markdown and HTML to whoever takes it for that."""
    return HOSTILE
