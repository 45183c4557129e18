"""What a page shows while the database's server is away."""

import stored
from app_pages import MAIN, open_page, texts
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.testing.v1 import AppTest

from app.ask import asking
from app.corpora.synonyms import read_synonyms
from app.ranking.synonyms import write_synonyms
from app.ui import page
from app.ui.session.restart import RESTART_MESSAGE
from app.ui.uploads import LOST_MESSAGE
from app.workbench.workbench import DatabaseTrouble
from db.errors import DatabaseUnreachable

TEXT = "The database is unavailable at the moment"


def test_every_page_offers_to_try_again_and_the_log_says_once_where_the_database_is(wb, outage, caplog):
    outage.set()
    for name in ("ask", "adapt", "data"):
        at = open_page(name)
        assert [e.value for e in at.error] == [TEXT]
        assert "db.example" not in texts(at)
        assert at.button(key="as2_try_again")
    assert [r.message for r in caplog.records if r.levelname == "ERROR"] == [
        "cannot reach the database postgresql://as2:***@db.example/as2"
    ]
    assert "Traceback" not in caplog.text


def test_a_workbench_that_cannot_be_opened_shows_no_address_either(wb, monkeypatch, caplog):
    def fail():
        cause = DatabaseUnreachable("cannot reach the database postgresql://as2:***@db.example/as2")
        raise DatabaseTrouble(str(cause)) from cause

    monkeypatch.setattr(page, "open_workbench", fail)
    at = open_page("ask")
    assert [e.value for e in at.error] == [TEXT]
    assert "db.example" in caplog.text


def run_fragment():
    """What reruns without its page, such as Ask's list: a button whose act is lost, among reads that may fail."""
    import streamlit as st

    from app.ui import errors
    from app.workbench.workbench import OUTAGE_TEXT, DatabaseOutage

    def fail():
        raise DatabaseOutage(OUTAGE_TEXT)

    def read(name):
        if st.toggle(name):
            with errors.catch_errors():
                fail()

    read("before")
    errors.show_pending()
    st.button("Label", on_click=errors.guard(fail))
    read("after")


def test_every_act_that_is_lost_in_an_outage_is_told_where_only_a_part_of_the_page_reruns():
    lost = f"{TEXT}. Nothing was recorded."
    at = AppTest.from_function(run_fragment).run()
    for _ in range(2):
        assert [e.value for e in at.button[0].click().run().error] == [lost]
    at.toggle[1].set_value(True)
    assert [e.value for e in at.button[0].click().run().error] == [lost]  # and not the same twice
    at.toggle[0].set_value(True)
    assert [e.value for e in at.button[0].click().run().error] == [TEXT, lost]


def test_the_first_click_after_a_restart_of_the_server_is_said_to_be_lost(wb):
    at = open_page("label", {"mode": "one"})
    assert RESTART_MESSAGE not in texts(at)
    at.button(key="label_correct").click()
    fresh = AppTest.from_file(str(MAIN), default_timeout=120).switch_page("../pages/label.py")
    fresh.query_params["mode"] = "one"
    fresh._run(at._tree.get_widget_states())  # the browser sends its click to a session that has drawn nothing
    assert RESTART_MESSAGE in texts(fresh) and not stored.label_events(wb)
    assert RESTART_MESSAGE not in texts(fresh.run())
    fresh.button(key="label_correct").click().run()
    assert RESTART_MESSAGE not in texts(fresh) and len(stored.label_events(wb)) == 1


def restart(states, page, query):
    """The page's next click, which the browser sends to a server that has drawn nothing yet."""
    fresh = AppTest.from_file(str(MAIN), default_timeout=120)
    if page != "ask":
        fresh.switch_page(f"../pages/{page}.py")
    fresh.query_params.update(query)
    return fresh._run(states)


def test_what_was_typed_before_a_restart_of_the_server_is_still_in_its_field(wb):
    query = {"view": "synonyms", "corpus": "Towers"}
    write_synonyms(wb, stored.TOWERS, "lady => tower", by=None)
    key, text = f"data_synonyms_{stored.TOWERS}", "lady => tower\niron lady => Eiffel Tower"
    at = open_page("data", query)
    at.text_area(key=key).set_value(text)
    at.button(key="data_synonyms_save").click()
    fresh = restart(at._tree.get_widget_states(), "data", query)
    assert RESTART_MESSAGE in texts(fresh) and fresh.text_area(key=key).value == text
    fresh.button(key="data_synonyms_save").click().run()
    assert read_synonyms(wb, stored.TOWERS).words == ["lady", "iron lady"]

    query = {"view": "questions", "corpus": "Towers"}
    at = open_page("data", query)
    at.text_area(key=f"data_typed_{stored.TOWERS}").set_value("Who paid?")
    at.button(key="data_typed_add").click()
    fresh = restart(at._tree.get_widget_states(), "data", query)
    assert fresh.text_area(key=f"data_typed_{stored.TOWERS}").value == "Who paid?"


def test_a_question_typed_in_a_field_that_was_renewed_is_still_in_it_after_a_restart(wb, me):
    asking.ask(wb, stored.TOWERS, "Why so tall?", as_typed=True, by=me.id)
    at = open_page("ask", {"corpus": "Towers"}).button(key="as2_recent_0").click().run()
    [field] = [t for t in at.text_input if (t.key or "").startswith("as2_question_")]
    assert field.key == "as2_question_1"
    ask = next(b for b in at.button if b.label == "Ask")
    typed, click = WidgetState(id=field.id, string_value="Who paid for it?"), WidgetState(id=ask.id, trigger_value=True)
    fresh = restart(WidgetStates(widgets=[typed, click]), "ask", {"corpus": "Towers"})
    assert fresh.text_input(key="as2_question_1").value == "Who paid for it?" and RESTART_MESSAGE in texts(fresh)


def test_a_note_in_a_dialog_that_a_restart_has_closed_is_shown_to_be_copied(wb):
    at = open_page("label", {"mode": "one", "corpus": "Towers"}).button(key="label_flag").click().run()
    at.text_input(key="label_flag_note").set_value("Is a year enough?")
    next(b for b in at.button if b.label == "Flag" and b.key != "label_flag").click()
    fresh = restart(at._tree.get_widget_states(), "label", {"mode": "one", "corpus": "Towers"})
    assert RESTART_MESSAGE in texts(fresh) and [c.value for c in fresh.code] == ["Is a year enough?"]
    assert not fresh.run().code
    states = [w for w in at._tree.get_widget_states().widgets if w.WhichOneof("value") != "trigger_value"]
    fresh = restart(WidgetStates(widgets=states), "label", {"mode": "one", "corpus": "Towers"})  # it was dismissed
    assert RESTART_MESSAGE in texts(fresh) and [c.value for c in fresh.code] == ["Is a year enough?"]


def test_files_that_a_restart_of_the_server_lost_are_asked_for_again(wb):
    at = open_page("data")
    note = ("note.txt", b"A note about the bell.", "text/plain")
    at.file_uploader(key="data_files_0").set_value([note]).run()
    assert LOST_MESSAGE not in texts(at)
    fresh = AppTest.from_file(str(MAIN), default_timeout=120).switch_page("../pages/data.py")
    fresh._run(at._tree.get_widget_states())  # the browser names the files to a session that has none
    assert texts(fresh).count(LOST_MESSAGE) == 1 and LOST_MESSAGE in texts(fresh.run())
    uploader = next(u for u in fresh.file_uploader if "data_files_" in u.key)
    assert uploader.key != "data_files_0"  # or the browser would go on showing files there
    assert LOST_MESSAGE not in texts(uploader.set_value([note]).run()) and LOST_MESSAGE not in texts(fresh.run())
