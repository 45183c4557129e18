"""The list of versions and their cards: names, notes, and which one is in use."""

from datetime import timedelta
from itertools import pairwise

import pytest
import stored
from adapt_pages import open_adapt
from app_pages import texts
from stored import SECOND, THIRD, change_version, put_job, put_version

from app.ui.adapt import versions as adapt_versions
from app.versions import promotion, registry
from app.versions.registry import VersionView


def test_the_versions_shown_are_those_of_the_kind_that_is_adapted(wb):
    stored.put_version(wb, "ear", kind="generative", parent=None)
    at = open_adapt()
    assert at.button_group(key="adapt_kind_shown").value == "cascade"
    at = at.selectbox(key="adapt_kind").set_value("generative").run()
    assert at.button_group(key="adapt_kind_shown").value == "generative"
    assert "**ear**" in texts(at) and "starter-2" not in texts(at)
    at = at.button_group(key="adapt_kind_shown").set_value("cascade").run()
    assert "starter-2" in texts(at) and at.button_group(key="adapt_kind_shown").value == "cascade"


def test_below_the_versions_stands_how_other_programs_ask_the_one_in_use(wb):
    stored.put_version(wb, "ear", kind="generative", parent=None)
    promotion.promote(wb, "ear")
    at = open_adapt()
    assert "`as2 serve` ranks with the version in use" in texts(at)
    assert "as2 serve" not in texts(at.selectbox(key="adapt_kind").set_value("generative").run())


@pytest.mark.parametrize(
    ("difference", "how"), [(0.041, "is better than"), (0.02, "makes no clear difference to"), (-0.04, None)]
)
def test_a_version_that_waits_is_told_in_the_words_of_its_verdict_unless_it_is_worse(wb, difference, how):
    change_version(wb, "starter-3", metrics={"AP": 0.75, "before AP": 0.7})
    result = stored.retrain_result(difference=difference)
    stored.change_card(wb, "starter-3", paired=result["paired"], before=result["before"], metrics=result["after"])
    if how is None:
        assert "It is waiting for your decision" not in texts(open_adapt())
        return
    at = open_adapt()
    assert "It is waiting for your decision" in texts(at)
    assert f"{how} the version in use on 35 questions (AP 0.700 → 0.750)" in texts(at)
    at = at.button(key="adapt_look").click().run()
    assert at.query_params["version"] == "starter-3"


def test_a_viewer_is_not_told_to_decide(wb):
    change_version(wb, "starter-3", metrics={"AP": 0.75, "before AP": 0.7})
    result = stored.retrain_result()
    stored.change_card(wb, "starter-3", paired=result["paired"], before=result["before"], metrics=result["after"])
    stored.set_role(wb, "viewer")
    assert "It is waiting for a decision" in texts(open_adapt())


def test_new_shipped_weights_are_a_reason_to_compare_the_version_in_use(wb):
    promotion.promote(wb, "starter-2", by=None)
    assert "An update brought" not in texts(open_adapt())
    change_version(wb, "cascade", created=wb.clock() - timedelta(hours=1))
    assert "An update brought new weights of cascade after starter-2 was trained." in texts(open_adapt())
    put_job(wb, "compare", "done", settings={"rankers": ["starter-2", "cascade"], "data": "x"})
    assert "An update brought" not in texts(open_adapt())


def test_a_version_is_renamed_noted_and_deleted(wb):
    at = open_adapt().button(key=f"adapt_edit_{THIRD}").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert registry.get_version(wb, "spring").note == "for the fair"
    at = at.button(key=f"adapt_edit_{THIRD}").click().run()
    at = at.button(key="adapt_edit_delete").click().run()
    assert registry.get_version(wb, "spring") and "It can't be undone" in texts(at)
    at.button(key="adapt_delete_confirm").click().run()
    assert [v.name for v in registry.list_versions(wb)] == ["starter-2", "cascade"]


def test_a_renamed_version_s_open_card_stays_open_and_its_note_is_kept(wb):
    at = open_adapt({"version": "starter-3"}).button(key=f"adapt_edit_{THIRD}").click().run()
    at.text_input(key="adapt_new_name").input("spring  labels")
    at.text_input(key="adapt_new_note").input("for the fair")
    at = at.button(key="adapt_edit_save").click().run()
    assert registry.get_version(wb, "spring labels").note == "for the fair"
    assert at.query_params["version"] == "spring labels"
    assert not at.error
    assert at.button(key="adapt_promote")


def test_renaming_another_version_leaves_the_open_card(wb):
    at = open_adapt({"version": "starter-3"}).button(key=f"adapt_edit_{SECOND}").click().run()
    at.text_input(key="adapt_new_name").input("spring")
    at = at.button(key="adapt_edit_save").click().run()
    assert at.query_params["version"] == "starter-3"


def test_versions_are_a_tree_with_what_was_made_from_each_below_it(clock):
    made = [
        VersionView(i, name, "cascade", parent, clock.now + timedelta(days=i), "", "candidate", {}, "")
        for i, (name, parent) in enumerate((("root", None), ("a", "root"), ("b", "root"), ("c", "a"), ("lone", "gone")))
    ]
    assert [(v.name, depth) for v, depth in adapt_versions.sort_as_tree(made)] == [
        ("lone", 0),
        ("root", 0),
        ("b", 1),
        ("a", 1),
        ("c", 2),
    ]


def test_a_long_chain_of_versions_leaves_room_for_their_names(wb):
    names = ["cascade", *(f"week-{n}" for n in range(1, 6))]
    for parent, name in pairwise(names):
        put_version(wb, name, parent=parent)
    lines = [m.value for m in open_adapt().markdown if "**week" in m.value]
    assert lines == [f"{'↳ ' * arrows}**week-{n}**" for n, arrows in enumerate((1, 2, 3, 3, 3), 1)]


def test_the_figures_in_the_list_say_on_how_many_questions_they_are(wb):
    paired = stored.retrain_result(wins=0, losses=0, difference=0.0)["paired"] | {"ties": 1}
    change_version(wb, "starter-3", metrics={"AP": 1.0, "RR": 1.0, "P@1": 1.0, "before AP": 1.0, "paired": paired})
    assert "1.000 on 1 question · first labels" in texts(open_adapt())


def test_a_version_that_nobody_measured_says_so_beside_its_promotion(wb):
    stored.put_version(wb, "brought", metrics={})
    at = open_adapt({"version": "brought"})
    assert "brought is not measured on this corpus. Promote **brought** instead?" in texts(at)
    assert "not measured on this corpus · " in texts(at)
    [version] = [v.id for v in registry.list_versions(wb) if v.name == "brought"]
    at = at.button(key=f"adapt_use_{version}").click().run()
    assert "brought is not measured on this corpus: **Compare** measures it." in texts(at)


def test_a_version_is_compared_with_what_it_was_made_from(wb):
    change_version(wb, "starter-3", parent="gone")
    promotion.promote(wb, "starter-2")
    links = {link.proto.query_string for link in open_adapt().get("page_link") if link.proto.query_string}
    assert links == {"rankers=starter-2%2Ccascade", "rankers=starter-3%2Cstarter-2", "rankers=cascade%2Cstarter-2"}


def test_a_viewer_looks_and_changes_no_version(wb):
    stored.set_role(wb, "viewer")
    at = open_adapt({"version": "starter-3"})
    changing = ("adapt_promote", "adapt_reject", "adapt_use_", "adapt_edit_", "adapt_import_start")
    buttons = [b for b in at.button if b.key.startswith(changing)]
    assert len(buttons) == 7 and all(b.disabled and "not change versions" in b.help for b in buttons)
    assert at.file_uploader(key="adapt_import_file_0").disabled
    start = at.button(key="adapt_start")
    assert start.disabled and "not retrain" in start.help
    assert all(t.disabled for t in at.toggle if t.key.startswith("adapt_auto_"))


def test_a_version_that_is_not_there_is_told_with_what_to_do(wb):
    at = open_adapt({"version": "starter-*9*"})
    [message] = [w.value.replace("\\", "") for w in at.warning if "starter" in w.value]
    assert message.startswith("There is no version called “starter-*9*” here: it was renamed or deleted")
    assert "under **Versions** below" in message and not at.error
    at = at.button(key="adapt_away").click().run()
    assert "version" not in at.query_params and "There is no version" not in texts(at)


def test_a_kind_that_no_page_answers_by_says_what_its_use_is(wb):
    stored.put_version(wb, "small", kind="cosinet", parent=None)
    promotion.promote(wb, "small")
    said = texts(open_adapt({"version": "small"}))
    assert "small is in use. The next retrain of its kind starts from it" in said


def test_a_version_s_card_is_shown_by_its_address(wb):
    at = open_adapt().button(key=f"adapt_card_{SECOND}").click().run()
    assert at.query_params["version"] == "starter-2"
    assert "it was not retrained here" in texts(at)
    at = at.button(key="adapt_away").click().run()
    assert "version" not in at.query_params
