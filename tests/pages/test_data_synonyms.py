"""Synonyms on the Data page, and those that labels suggest."""

from types import SimpleNamespace

import streamlit as st
from app_pages import button, open_page, texts
from data_page import open_data
from label_files import import_labels
from stored import TOWERS

from app.corpora import corpora
from app.corpora.synonyms import read_synonyms
from app.ranking.synonyms import write_synonyms
from as2core.data import jsonl
from as2core.types import Candidate, Question


def test_synonyms_are_kept_and_a_line_that_cannot_be_read_is_named_and_stays(wb):
    at = open_data({"view": "synonyms", "corpus": "Towers"})
    key = f"data_synonyms_{TOWERS}"
    at.text_area(key=key).input("iron lady = Eiffel Tower")
    at = at.button(key="data_synonyms_save").click().run()
    assert "- Line 1" in texts(at) and at.text_area(key=key).value == "iron lady = Eiffel Tower"
    at.text_area(key=key).input("iron lady = Eiffel Tower\nlady => tower\nEiffel")
    at = at.button(key="data_synonyms_save").click().run()
    [error] = at.error
    assert error.value.count("\n- Line") == 2 and "- Line 3" in error.value
    assert not open_data({"view": "synonyms", "corpus": "Towers"}).error
    at.text_area(key=key).input("iron lady   => Eiffel Tower")
    at = at.button(key="data_synonyms_save").click().run()
    assert at.text_area(key=key).value == "iron lady => Eiffel Tower\n"
    assert not at.error
    assert read_synonyms(wb, TOWERS).words == ["iron lady"]


def switch_view(at, view):
    return at.segmented_control(key="data_view").set_value(view).run()


def test_synonyms_that_are_not_saved_outlast_another_view(wb):
    key, line = f"data_synonyms_{TOWERS}", "iron lady => Eiffel Tower\n"
    at = open_data({"view": "synonyms", "corpus": "Towers"})
    at.text_area(key=key).input(line)
    at = switch_view(switch_view(at, "questions"), "synonyms")
    assert at.text_area(key=key).value == line and not read_synonyms(wb, TOWERS)
    at = at.button(key="data_synonyms_save").click().run()
    write_synonyms(wb, TOWERS, "lady => tower", by=None)  # what is saved elsewhere is shown where nothing waits
    at = switch_view(switch_view(at, "questions"), "synonyms")
    assert at.text_area(key=key).value == "lady => tower\n"


def import_machines(wb):
    """Labels whose answers are about a VX-90 where the question has a whale."""
    questions = [
        Question(f"{word} {part}", f"which {part} has the {word}", (Candidate(f"{kind} {part}", f"{kind} {part}.", 1),))
        for word, kind in (("whale", "VX-90"), ("clerk", "VX-60"), ("toaster", "DR-12"))
        for part in ("belt", "pump", "fan", "valve")
    ]
    import_labels(wb, None, "machines.jsonl", jsonl.dumps(questions).encode())


def select_rows(draw, rows):
    """A table that a person has chosen these rows of; AppTest has no way of its own."""

    def draw_with_selection(*args, **kwargs):
        draw(*args, **kwargs)
        return SimpleNamespace(selection=SimpleNamespace(rows=rows))

    return draw_with_selection


def test_what_the_labels_suggest_is_added_to_the_synonyms_and_saved_by_hand(wb, monkeypatch):
    import_machines(wb)
    at = open_data({"view": "synonyms", "corpus": "machines"})
    assert sorted(at.dataframe[0].value["meaning"]) == ["DR-12", "VX-60", "VX-90"]
    assert at.button(key="data_synonyms_add").disabled  # a person chooses
    monkeypatch.setattr(st, "dataframe", select_rows(st.dataframe, [0, 1, 2]))
    at = button(at.run(), "Add the 3 selected").click().run()
    corpus = next(c for c in corpora.list_corpora(wb) if c.name == "machines")
    assert "whale => VX-90\n" in at.text_area(key=f"data_synonyms_{corpus.id}").value
    assert not at.dataframe and not read_synonyms(wb, corpus.id)
    at.button(key="data_synonyms_save").click().run()
    assert sorted(read_synonyms(wb, corpus.id).words) == ["clerk", "toaster", "whale"]


def test_a_suggestion_that_is_wrong_is_dismissed_for_good(wb, monkeypatch):
    import_machines(wb)
    address = {"view": "synonyms", "corpus": "machines"}
    first = open_data(address).dataframe[0].value["word"].iloc[0]
    assert open_data(address).button(key="data_synonyms_dismiss").disabled

    monkeypatch.setattr(st, "dataframe", select_rows(st.dataframe, [0]))
    button(open_data(address), "Dismiss the 1 selected").click().run()
    words = list(open_data(address).dataframe[0].value["word"])
    assert len(words) == 2 and first not in words


def test_adapt_leads_to_the_synonyms_that_the_labels_suggest(wb):
    import_machines(wb)
    hint = "The labels suggest 3 synonyms: these work at once, without a retrain"

    def list_links(corpus):
        return [link.proto.label for link in open_page("adapt", {"corpus": corpus}).get("page_link")]

    assert hint in list_links("machines")
    assert hint not in list_links("Works")
