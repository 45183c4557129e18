"""Updates of a component that Streamlit calls out of order, as it does on a busy machine."""

from pathlib import Path

import pytest

from app.ui import scripts
from app.ui.keys import SCRIPTS
from app.ui.scripts import load_script

pytestmark = pytest.mark.browser

TAKEOVER = (Path(scripts.__file__).parent / "takeover.js").read_text()

STAGE = "const shown = []; const calls = []; const at = document.body.appendChild(document.createElement('div'));"


@pytest.fixture
def run(open_page):
    """What a script leaves in `shown`."""
    page = open_page()
    return lambda steps: page.evaluate(f"() => {{ {TAKEOVER} {STAGE} {steps} return shown; }}")


def test_an_older_update_called_last_gives_way_to_the_newer(run):
    shown = run("""
      newest(calls, { at, said: "new" }, (c) => shown.push(c.said), () => shown.push("none"));
      newest(calls, { at, said: "old" }, (c) => shown.push(c.said), () => shown.push("none"))();
    """)
    assert shown == ["new", "old", "new"]


def test_the_last_one_s_cleanup_ends_it_though_earlier_ones_were_never_cleaned_up(run):
    shown = run("""
      const use = (c) => shown.push(c.said), none = () => shown.push("none");
      newest(calls, { at, said: 1 }, use, none);
      const end = newest(calls, { at, said: 2 }, use, none);
      at.remove();
      end();
    """)
    assert shown == [1, 2, "none"]


def test_a_component_that_goes_leaves_the_one_that_came_before_it_went(run):
    shown = run("""
      const use = (c) => shown.push(c.said), none = () => shown.push("none");
      const end = newest(calls, { at, said: "going" }, use, none);
      newest(calls, { at: document.body, said: "coming" }, use, none);
      at.remove();
      end();
    """)
    assert shown == ["going", "coming", "coming"]


def test_keys_are_heard_whichever_update_was_called_last_until_the_page_is_left(open_page):
    page = open_page()
    sent = """async (script) => {
      const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
      const sent = [];
      const at = document.body.appendChild(document.createElement("div"));
      const update = (doc) => module.default({
        parentElement: at,
        data: { map: { a: "correct" }, doc },
        setTriggerValue: (_, value) => sent.push(value.doc),
      });
      const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
      const overtaken = update("first");
      update("second");
      overtaken();
      press();
      update("third");
      update("too late")();
      press();
      const last = update("last");
      at.remove();
      last();
      press();
      return sent;
    }"""
    assert page.evaluate(sent, load_script(*SCRIPTS)) == ["second", "third"]
