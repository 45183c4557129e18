"""What Ask shows before the first question: the cascade in words, and the tour that can be dismissed."""

from types import SimpleNamespace

from app_pages import open_page, texts

from app.exchange.starter import ensure_handbook, ensure_starter
from app.ui import page
from as2core.types import Progress


def links(at):
    return {p.label: p.query_string for p in (e.proto for e in at.get("page_link"))}


def tour_buttons(at):
    return [b.key for b in at.button if b.key and b.key.startswith("as2_tour")]


def test_the_landing_page_says_what_a_cascade_does_and_offers_three_steps(wb):
    at = open_page()
    assert at.title[0].value == "What would you like to know?"
    assert [h.value for h in at.header] == ["How a cascade finds an answer", "Three steps"]
    assert "drops the least likely ones" in texts(at)
    assert [m.value for m in at.markdown if m.value.startswith("**")] == ["**1. Ask**", "**2. Label**", "**3. Adapt**"]


def test_a_dismissed_tour_stays_away_for_this_name_and_comes_back_by_its_link(wb):
    at = open_page()
    assert tour_buttons(at) == ["as2_tour_dismiss"]
    at = at.button(key="as2_tour_dismiss").click().run()
    assert tour_buttons(at) == ["as2_tour_show"]
    assert "**1. Ask**" not in texts(at)
    at = at.text_input(key="as2_name").set_value("Somebody else").run()
    assert tour_buttons(at) == ["as2_tour_dismiss"]
    at = at.text_input(key="as2_name").set_value("me").run()
    assert tour_buttons(at) == ["as2_tour_show"]
    at = at.button(key="as2_tour_show").click().run()
    assert tour_buttons(at) == ["as2_tour_dismiss"]


def test_the_link_to_the_tour_leads_back_from_an_answer(wb):
    at = open_page()
    at.button(key="as2_tour_dismiss").click().run()
    at.text_input(key="as2_question_0").set_value("When was the tower finished?")
    at = next(b for b in at.button if b.label == "Ask").click().run()
    assert at.title[0].value == "Ask"
    at = at.button(key="as2_tour_show").click().run()
    assert at.title[0].value == "What would you like to know?"
    assert "q" not in at.query_params
    assert tour_buttons(at) == ["as2_tour_dismiss"]


def add_shipped(wb, name):
    folder = wb.settings.corpora_dir / name / "articles"
    folder.mkdir(parents=True)
    (folder / "tea.md").write_text("---\ntitle: Tea\nsplit: train\n---\n\nTea is a drink. It is hot.\n")


def test_the_way_to_the_handbook_opens_once_it_is_read_and_its_steps_are_its_own(wb):
    add_shipped(wb, "starter")
    add_shipped(wb, "handbook")
    ensure_starter(wb)
    way = open_page(query={"corpus": "starter"}).button(key="as2_tour_handbook")
    assert way.disabled and way.help == "The handbook is being read, which takes some seconds."
    ensure_handbook(wb)
    at = open_page(query={"corpus": "starter"})
    assert not at.button(key="as2_tour_handbook").disabled
    assert links(at)["Use my own documents"] == "view=corpora"
    assert links(at)["Go to Label"] == "corpus=handbook"  # in the starter corpus all is labelled
    assert "corpus" not in links(at)["Go to Adapt"]
    at = open_page(query={"corpus": "handbook"})
    assert "whale belly torque" in texts(at)
    assert links(at)["Fill in synonyms"] == "view=synonyms"
    assert "as2_tour_handbook" not in tour_buttons(at)


def test_while_the_starter_corpus_is_read_the_page_says_what_is_read_and_not_that_the_home_is_new(wb, monkeypatch):
    def read(wb, on_progress):
        on_progress(Progress(1, 2, "67 documents, reading tea.md"))

    shown = []
    bar = SimpleNamespace(progress=lambda value, text: shown.append(text))
    page._gate.clear()
    monkeypatch.setattr(page.starter, "ensure_starter", read)
    monkeypatch.setattr(page, "_preload", lambda wb, failures: None)
    monkeypatch.setattr(page.st, "progress", lambda value, text: shown.append(text) or bar)
    open_page()
    reading = "Reading the starter corpus, which comes with the program"
    assert shown == [f"{reading} …", f"{reading}: 67 documents, reading tea.md …"]
