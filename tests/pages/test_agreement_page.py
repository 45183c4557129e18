from dataclasses import replace

import fake_work

from app.services.label_views import ConflictView

CONFLICT = ConflictView(
    1, 100, "When was it finished?", "In 1889 <b>", "The tower", (("ann", "correct"), ("bob", "incorrect"))
)


def test_agreement_comes_with_its_interval_and_what_went_in(work):
    at = fake_work.page("agreement")
    html = fake_work.markup(at)
    assert "<b>0.61</b> <small>95 % interval: 0.42 to 0.78</small>" in html
    assert "40 pairs judged by two or more people" in html
    assert "90 % of 60 labels given with scores say what the model says, 70 % of 58 without" in html
    assert "3 labels now" in fake_work.texts(at)
    [chart] = at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart")
    assert chart.proto.alt


def test_the_share_of_correct_is_told_from_the_fair_sample_and_the_queues_is_called_biased(work):
    at = fake_work.page("agreement")
    assert "<b>0.25</b> <small>95 % interval: 0.13 to 0.42</small></span></div><p>32 pairs" in fake_work.markup(at)
    [table] = [d.value for d in at.dataframe if "Chosen by a queue (biased)" in d.value]
    assert table.to_numpy().tolist() == [["uncertain", "0.50", "0.40 to 0.60", 96]]


def test_an_admin_settles_a_conflict_with_a_word_why(work):
    work.conflicts = [CONFLICT]
    at = fake_work.page("agreement", {"view": "conflicts"})
    html = fake_work.markup(at)
    assert "In 1889 &lt;b&gt;" in html
    assert "ann: " in html
    at.text_input(key="agreement_note_1_100").set_value("the year counts")
    at.button(key="agreement_0_correct").click().run()
    assert work.settled == [(1, 100, "correct", "the year counts")]


def test_a_word_why_stays_with_its_conflict_when_others_are_settled(work):
    other = replace(CONFLICT, question_id=2, text="For $5")
    work.conflicts = [CONFLICT, other]
    at = fake_work.page("agreement", {"view": "conflicts"})
    at.text_input(key="agreement_note_2_100").set_value("the price of the day").run()
    at.button(key="agreement_0_correct").click()
    work.conflicts = [other, replace(CONFLICT, verdict="correct")]  # what is settled goes to the end
    at = at.run()
    assert [t.value for t in at.text_input if t.key.startswith("agreement_note")] == ["the price of the day", ""]
    at.button(key="agreement_0_incorrect").click().run()
    assert work.settled[1] == (2, 100, "incorrect", "the price of the day")


def test_every_settled_pair_can_be_opened_again_however_many_conflicts_there_are(work):
    open_ = [replace(CONFLICT, question_id=i) for i in range(25)]
    settled = [replace(CONFLICT, question_id=i, verdict="correct", by="ann") for i in range(100, 145)]
    work.conflicts = [*open_, *settled]
    at = fake_work.page("agreement", {"view": "conflicts"})
    assert "25 conflicts open, 45 settled" in fake_work.texts(at)
    assert "5 more conflicts will follow when these are settled" in fake_work.texts(at)
    for shown in (20, 40, 45):
        opened = [b for b in at.button if b.label == "Open it again"]
        assert len(opened) == shown
        at = opened[-1].click().run()
        assert work.settled[-1] == (99 + shown, 100, None, "")
        more = [b for b in at.button if b.key == "agreement_more"]
        at = more[0].click().run() if more else at
    assert not more


def test_an_annotator_sees_conflicts_and_cannot_settle_them(work):
    work.role, work.conflicts = "annotator", [CONFLICT]
    at = fake_work.page("agreement", {"view": "conflicts"})
    assert "an admin settles them" in fake_work.texts(at)
    assert not [b for b in at.button if b.key and b.key.startswith("agreement_0")]


def test_rules_and_guidelines_are_kept_when_sent(work):
    at = fake_work.page("agreement", {"view": "rules"})
    at.number_input[0].set_value(2)
    [keep] = [b for b in at.button if b.label == "Keep these"]
    at = keep.click().run()
    assert (work.rules.overlap, work.rules.target) == (2, None)
    at.text_area[0].set_value("- Dates count.").run()
    at.button(key="agreement_guidelines_save").click().run()
    assert work.guidelines[-1] == "- Dates count."


def test_a_search_for_suspicious_labels_is_found_behind_many_of_another_corpus(work):
    work.jobs[1] = fake_work.a_job(1, kind="doubt")
    work.jobs |= {i: fake_work.a_job(i, kind="doubt", corpus_id=2) for i in range(20, 40)}
    assert fake_work.page("agreement").button(key="agreement_doubt").disabled


def test_an_admin_gives_roles(work):
    at = fake_work.page("agreement", {"view": "people"})
    at.selectbox(key="agreement_role_2_annotator").set_value("viewer").run()
    assert work.settled == [(2, "viewer")]
