"""What a screen reader is told without a move of the focus, and popovers by Tab alone."""

import pytest
from playwright.sync_api import expect

from app.ui.keys import SCRIPTS
from app.ui.scripts import load_script

pytestmark = pytest.mark.browser

LISTEN = """async (script) => {
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const parentElement = document.querySelector("#component");
  window.update = (changes) => {
    const data = { map: {}, page: "compare", ...changes };
    module.default({ parentElement, data, setTriggerValue: () => {} });
  };
  window.update({ doc: "1" });
}"""
PAGE = """<div id=component></div>
<button>Before</button>
<button data-testid=stPopoverButton onclick="const template = document.querySelector('template');
  template.replaceWith(template.content); this.setAttribute('aria-expanded', true)"><i>icon</i><p>Download</p></button>
<button>After</button>
<template><div data-testid=stPopoverBody role=dialog><button>Table</button><button>Report</button></div></template>"""


@pytest.fixture
def page(open_page):
    page = open_page()
    page.set_content(PAGE)
    page.evaluate(LISTEN, load_script(*SCRIPTS))
    return page


def test_tab_leads_through_a_popover_and_back_to_its_button(page):
    for name in ("Before", "Download"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name=name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Download")).to_be_focused()
    for key, name in (("Tab", "Table"), ("Tab", "Report"), ("Tab", "Download"), ("Tab", "After")):
        page.keyboard.press(key)
        expect(page.get_by_role("button", name=name)).to_be_focused()
    page.get_by_role("button", name="Table").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Download")).to_be_focused()


def test_a_popover_that_is_clicked_leaves_the_focus_at_its_button(page):
    page.get_by_role("button", name="Download").click()
    expect(page.get_by_role("dialog", name="Download")).to_be_visible()
    expect(page.get_by_role("button", name="Download")).to_be_focused()


def test_a_button_that_is_disabled_while_it_works_keeps_the_focus_of_the_key(page):
    page.evaluate("""() => document.querySelector("button").addEventListener("click", ({ target }) => {
      target.disabled = true;
      setTimeout(() => { target.disabled = false; target.textContent = "Done"; }, 250);
    })""")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Done")).to_be_focused()


SCROLL = """async (script) => {
  const module = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  document.body.insertAdjacentHTML("afterbegin", "<div class=card><h2>The card</h2><button>Promote</button></div>");
  window.scroll = (place) => module.default({
    parentElement: document.querySelector("#component"), data: { selector: ".card", place, block: "start" },
  });
}"""


def test_what_tab_and_enter_open_further_up_gets_the_focus_and_what_is_clicked_does_not(page):
    page.evaluate(SCROLL, load_script("scroll"))
    page.get_by_role("button", name="After").click()
    page.evaluate("window.scroll('first')")
    expect(page.get_by_role("button", name="After")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.evaluate("window.scroll('second')")
    expect(page.get_by_role("heading", name="The card")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Promote")).to_be_focused()


def test_a_field_s_name_has_no_backslash_of_markdown(page):
    page.evaluate("""document.body.insertAdjacentHTML("beforeend", '<input aria-label="Role of ada\\\\_b \\\\[x]">')""")
    expect(page.get_by_role("textbox", name="Role of ada_b [x]", exact=True)).to_be_visible()


def test_an_answer_is_read_out_once_and_not_again_when_it_gets_a_label(page):
    show = """(verdict) => {
      document.querySelector(".as2-answer")?.remove();
      document.body.insertAdjacentHTML("beforeend", `<section class=as2-answer aria-label=Answer>
        <p class=as2-verdict>${verdict}</p><p>Before. <mark class=as2-mark>It opened in 1889.</mark></p></section>`);
    }"""
    voice = page.get_by_test_id("as2-voice")
    page.evaluate(show, "Very likely the answer 83 %")
    expect(voice).to_have_text("Answer: Very likely the answer 83 %. It opened in 1889.")
    page.evaluate("document.querySelector('[data-testid=as2-voice]').textContent = ''")
    page.evaluate(show, "Very likely the answer 83 % · labelled correct by you")
    report = "<div class=st-key-data_report><p>1 added</p></div>"
    page.evaluate("(report) => document.body.insertAdjacentHTML('beforeend', report)", report)
    expect(voice).to_have_text("1 added")


def test_what_is_in_front_when_the_page_opens_is_read_out(page):
    page.evaluate("""window.update({ doc: "2", page: "", say: "Row 1 of 3: It opened in 1889." })""")
    expect(page.get_by_test_id("as2-voice")).to_have_text("Row 1 of 3: It opened in 1889.")
