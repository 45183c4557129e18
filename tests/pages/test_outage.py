"""What a page shows while the database's server is away."""

import stored
from app_pages import MAIN, open_page, texts
from streamlit.testing.v1 import AppTest

from app.ui import page
from app.ui.landing.restart import RESTART_MESSAGE
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
