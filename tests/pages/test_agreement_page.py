import pytest
import stored
from app_pages import button, markup, open_page, texts
from sqlalchemy import select
from stored import TOWERS, WORKS, put_job

from app.ask import asking
from app.corpora import documents
from app.labels import agreement, annotation, conflicts, guidelines, rules
from app.labels.agreement import Estimate
from app.labels.annotation import Presentation
from app.ui.agreement import figures
from app.ui.text import escape, format_number
from app.workbench import people
from db.models import Sentence
from db.repositories import labels as label_rows
from db.repositories import reviews

TOWER, COST = 1, 2  # questions, of the same six sentences


@pytest.fixture
def bob(wb, ann):
    return people.sign_in(wb, "bob")


def label(wb, who, question, sentence, kind, **shown):
    annotation.give_label(wb, question_id=question, sentence_id=sentence, annotator_id=who.id, label=kind,
                         presentation=Presentation(**shown) if shown else None)  # fmt: skip


def dispute(wb, ann, bob, *pairs):
    for pair in pairs:
        label(wb, ann, *pair, "correct")
        label(wb, bob, *pair, "incorrect")


def count_shown(at):
    return markup(at).count('data-testid="as2-conflict"')


def test_agreement_comes_with_its_interval_and_what_went_in(wb, ann, bob, clock):
    for day in range(2):
        for sentence in range(1, 7):
            said = "correct" if sentence % 2 else "incorrect"
            label(wb, ann, day + 1, sentence, said)
            label(wb, bob, day + 1, sentence, "correct" if day == 0 and sentence in (2, 4) else said)
        clock.advance(days=1)
    at = open_page("agreement")
    found = agreement.measure_agreement(wb, TOWERS).alpha
    assert 0.5 < found.value < 1
    between = f"95 % interval: {found.low:.2f} to {found.high:.2f}"
    assert f"<b>{found.value:.2f}</b> <small>{between}</small>" in markup(at)
    assert "12 pairs labelled by two or more people" in markup(at)
    assert "**10 of 12 pairs (83 %) have the same label from all who labelled them.**" in texts(at)
    at = at.button(key="agreement_to_conflicts").click().run()
    assert count_shown(at) == 2 and at.query_params["view"] == "conflicts"
    at = open_page("agreement")
    [people_of] = [d.value for d in at.dataframe if "Two people" in d.value]
    assert people_of["Two people"].tolist() == ["ann and bob"]
    [chart] = at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart")
    assert chart.proto.alt


def test_the_figures_count_a_label_that_was_given_a_moment_ago(wb, ann, bob):
    for sentence in (1, 2):
        label(wb, ann, TOWER, sentence, "correct")
    label(wb, bob, TOWER, 1, "correct")
    at = open_page("agreement")
    assert "**1 of 1 pair (100 %) have the same label" in texts(at)
    label(wb, bob, TOWER, 2, "incorrect")
    at = at.run()
    assert "**1 of 2 pairs (50 %) have the same label" in texts(at) and at.button(key="agreement_to_conflicts")


def test_a_run_of_the_page_reads_the_labels_of_the_figures_no_second_time(wb, monkeypatch):
    calls = []
    for name in ("list_labels_with_arm", "list_assigned_labels"):
        read = getattr(label_rows, name)
        monkeypatch.setattr(label_rows, name, lambda *args, name=name, read=read: calls.append(name) or read(*args))
    open_page("agreement").run()
    assert sorted(calls) == ["list_assigned_labels", "list_labels_with_arm"]


def test_what_seeing_the_scores_does_is_told_with_both_shares(wb, ann):
    for place, arm in enumerate(["blind", "shown"] * 6):
        said = "incorrect" if place in (2, 3, 6) else "correct"  # of six each, blind 4 agree and shown 5
        label(wb, ann, 1 + place // 6, 1 + place % 6, said, queue="random", arm=arm, model_says=True)
    assert "83 % of 6 labels with ranks agree with the ranker, 67 % of 6 without" in markup(open_page("agreement"))


def test_labels_that_wait_for_a_second_look_are_counted(wb, ann, clock):
    for sentence in (1, 2, 3):
        label(wb, ann, TOWER, sentence, "correct")
    with wb.write() as s:
        reviews.put_suspicions(s, TOWERS, [((TOWER, n), "correct", 0.9) for n in (1, 2, 3)], clock.now)
    assert "3 labels now" in texts(open_page("agreement"))


def test_the_share_of_correct_is_told_from_the_fair_sample_and_the_queues_is_called_biased(wb, ann):
    for place in range(1, 7):
        label(wb, ann, TOWER, place, "correct" if place < 3 else "incorrect", queue="random")
        label(wb, ann, COST, place, "correct" if place < 4 else "incorrect", queue="uncertain")
    at = open_page("agreement")
    assert "<b>0.33</b> <small>95 % interval: 0.10 to 0.70</small></span></div><p>6 pairs drawn" in markup(at)
    [table] = [d.value for d in at.dataframe if "Chosen by a queue (biased)" in d.value]
    assert table.to_numpy().tolist() == [["Uncertain", "0.50", "0.19 to 0.81", 6]]


def test_an_admin_settles_a_conflict_with_a_word_why(wb, ann, bob):
    dispute(wb, ann, bob, (COST, 3))
    at = open_page("agreement", {"view": "conflicts"})
    assert "&lt;img src=x" in markup(at) and "<img" not in markup(at)
    assert "ann: " in markup(at)
    at.text_input(key=f"agreement_note_{COST}_3").set_value("the price counts")
    at.button(key=f"agreement_{COST}_3_correct").click().run()
    [settled] = conflicts.list_conflicts(wb, TOWERS, ann.id)
    assert (settled.verdict, settled.by, settled.note) == ("correct", "me", "the price counts")


def test_a_word_why_stays_with_its_conflict_when_others_are_settled(wb, me, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1), (COST, 1))
    at = open_page("agreement", {"view": "conflicts"})
    assert markup(at).count('<h2 class="asked" dir="auto">') == 2  # a question may be written from right to left
    at.text_input(key=f"agreement_note_{COST}_1").set_value("the price of the day").run()
    conflicts.adjudicate(wb, question_id=TOWER, sentence_id=1, annotator_id=me.id, label="correct")
    at = at.run()  # what is settled goes to the end
    assert [t.value for t in at.text_input if t.key.startswith("agreement_note")] == ["the price of the day", ""]
    at.button(key=f"agreement_{COST}_1_incorrect").click().run()
    verdicts = {c.question_id: (c.verdict, c.note) for c in conflicts.list_conflicts(wb, TOWERS, me.id)}
    assert verdicts == {TOWER: ("correct", ""), COST: ("incorrect", "the price of the day")}


def test_a_settled_conflict_keeps_its_place_so_a_second_click_settles_no_other(wb, me, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1), (COST, 1))
    at = open_page("agreement", {"view": "conflicts"})
    buttons = [b.key for b in at.button if b.label.startswith("Correct")]
    at = at.button(key=buttons[0]).click().run()
    assert [b.key for b in at.button if b.label.startswith("Correct")] == buttons
    at.button(key=buttons[0]).click().run()
    verdicts = [c.verdict for c in conflicts.list_conflicts(wb, TOWERS, me.id)]
    assert sorted(verdicts) == ["", "correct"]


def test_each_conflicts_controls_have_names_of_their_own(wb, me, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1), (TOWER, 2), (COST, 1))
    conflicts.adjudicate(wb, question_id=TOWER, sentence_id=2, annotator_id=me.id, label="correct")
    at = open_page("agreement", {"view": "conflicts"})
    for number in (1, 2, 3):
        assert f"Conflict {number}" in markup(at)
    names = [b.label for b in at.button if "`conflict " in b.label]
    assert len(names) == len(set(names)) == 10 and "Reopen `conflict 3`" in names
    reasons = [t.label for t in at.text_input if t.label.startswith("Reason")]
    assert reasons == ["Reason, conflict 1", "Reason, conflict 2", "Reason, conflict 3"]


def test_every_settled_pair_can_be_opened_again_however_many_conflicts_there_are(wb, me, ann, bob):
    question = asking.ask(wb, WORKS, "When was the hall finished?").question_id
    other = asking.ask(wb, WORKS, "When was the mill finished?").question_id
    pairs = [(q, 11 + n) for q in (question, other) for n in range(40)][:70]
    dispute(wb, ann, bob, *pairs)
    for q, sentence in pairs[25:]:
        conflicts.adjudicate(wb, question_id=q, sentence_id=sentence, annotator_id=me.id, label="correct")
    at = open_page("agreement", {"corpus": "Works", "view": "conflicts"})
    assert "25 conflicts open, 45 settled" in texts(at)
    assert "5 more conflicts will follow when these are settled" in texts(at)
    for shown in (20, 40, 45):
        assert count_shown(at) == 20 + shown
        more = [b for b in at.button if b.key == "agreement_more"]
        at = more[0].click().run() if more else at
    assert not more
    [*_, last] = [b for b in at.button if b.label.startswith("Reopen")]
    last.click().run()
    verdicts = {(c.question_id, c.sentence_id): c.verdict for c in conflicts.list_conflicts(wb, WORKS, me.id)}
    assert verdicts[pairs[-1]] == "" and list(verdicts.values()).count("correct") == 44


def test_an_annotator_sees_conflicts_and_cannot_settle_them(wb, me, ann, bob):
    dispute(wb, me, bob, (TOWER, 1))
    stored.set_role(wb, "annotator")
    at = open_page("agreement", {"view": "conflicts"})
    assert count_shown(at) == 1 and "An admin settles them" in texts(at)
    assert not [b for b in at.button if b.key and b.key.endswith("_correct")]


def test_rules_and_guidelines_are_kept_when_sent(wb):
    at = open_page("agreement", {"view": "rules"})
    at.number_input[0].set_value(2)
    at = button(at, "Save").click().run()
    assert (rules.read_rules(wb, TOWERS).overlap, rules.read_rules(wb, TOWERS).target) == (2, None)
    at.text_area[0].set_value("- Dates count.").run()
    at.button(key="agreement_guidelines_save").click().run()
    now = guidelines.read_guidelines(wb, TOWERS)
    assert (now.version, now.text, now.by) == (1, "- Dates count.\n", "me")


def test_a_save_of_the_rules_leaves_what_another_admin_set_meanwhile_and_shows_it(wb, me):
    rules.set_rules(wb, TOWERS, by=me.id, control=0.125)  # shown as 12 %
    at = open_page("agreement", {"view": "rules"})
    at.number_input[0].set_value(3)
    rules.set_rules(wb, TOWERS, by=me.id, overlap=2, blind=0.2, target=400)
    at = button(at, "Save").click().run()
    assert rules.read_rules(wb, TOWERS) == rules.Rules(overlap=3, control=0.125, blind=0.2, target=400)
    assert [field.value for field in at.number_input] == [3, 12, 20, 400]
    at = button(at, "Save").click().run()
    assert rules.read_rules(wb, TOWERS) == rules.Rules(overlap=3, control=0.125, blind=0.2, target=400)


def test_who_must_follow_the_rules_reads_them_as_sentences(wb, me):
    rules.set_rules(wb, TOWERS, by=me.id, overlap=2, control=0.1, blind=0.5, target=400)
    stored.set_role(wb, "annotator")
    at = open_page("agreement", {"view": "rules"})
    assert not at.number_input and not [b for b in at.button if b.label == "Save"]
    for rule in ("2 people label each pair", "10 % is drawn at random", "50 % is shown without", "target is 400 pairs"):
        assert rule in texts(at)
    people.set_role(wb, me.id, "admin", by=None)
    rules.set_rules(wb, TOWERS, by=me.id, overlap=1, target=None)
    people.set_role(wb, me.id, "viewer", by=None)
    assert "One person labels each pair" in texts(at.run()) and "no target number" in texts(at)


def test_a_negative_figure_has_a_minus_sign_and_a_zero_none():
    assert [format_number(x) for x in (-0.3, 0.257, -0.001)] == ["−0.30", "0.26", "0.00"]
    assert figures._format_interval(Estimate(-0.3, -0.62, -0.08, 9)) == "−0.62 to −0.08"


def test_a_search_for_suspicious_labels_is_found_behind_many_of_another_corpus(wb):
    put_job(wb, "doubt")
    for _ in range(20):
        put_job(wb, "doubt", corpus_id=WORKS)
    assert open_page("agreement").button(key="agreement_doubt").disabled


def test_an_admin_gives_roles(wb, bob):
    at = open_page("agreement", {"view": "people"})
    at.selectbox(key=f"agreement_role_{bob.id}").set_value("viewer").run()
    assert people.sign_in(wb, "bob").role == "viewer"


def test_a_conflict_is_read_among_its_neighbours(wb, ann, bob):
    dispute(wb, ann, bob, (COST, 3))
    with wb.read() as s:
        sentence = s.get_one(Sentence, 3)
        rows = s.execute(select(Sentence.position, Sentence.text).where(Sentence.document_id == sentence.document_id))
        text_at = dict(rows.all())
    shown = markup(open_page("agreement", {"view": "conflicts"}))
    for step, mark in ((-1, '<span class="near">'), (0, "<mark>"), (1, '<span class="near">')):
        assert f"{mark}{escape(text_at[sentence.position + step])}<" in shown


def open_rules():
    return open_page("agreement", {"view": "rules"})


def save(at):
    return at.button(key="agreement_guidelines_save").click().run()


def test_whoever_may_not_change_the_rules_reads_whom_to_ask(wb, me):
    people.set_role(wb, people.sign_in(wb, "ann").id, "admin", by=None)
    people.sign_in(wb, "bob")
    at = open_rules()
    at = at.text_input(key="as2_name").set_value("bob").run()
    assert "Only an admin can change these: ann." in texts(at)  # and nobody's session, whom nobody can ask


def test_guidelines_written_beside_another_admins_wait_for_a_second_save_and_their_text_stays(wb, ann):
    people.set_role(wb, ann.id, "admin", by=None)
    at = open_rules()
    assert "Default version. Shown beside every item." in texts(at)
    at.text_area[0].set_value("- Dates count.").run()
    guidelines.write_guidelines(wb, TOWERS, "- Names count.", by=ann.id)
    at = save(at)
    assert "ann saved version 1 meanwhile, so nothing was saved" in texts(at)
    assert at.text_area[0].value == "- Dates count." and "- Names count." in texts(at)
    assert guidelines.read_guidelines(wb, TOWERS).version == 1
    at = save(at)
    now = guidelines.read_guidelines(wb, TOWERS)
    assert (now.version, now.text) == (2, "- Dates count.\n")
    assert [t.value for t in at.toast] == ["Saved as version 2."]


def test_typed_guidelines_outlive_another_view_and_another_admins_version(wb, ann):
    people.set_role(wb, ann.id, "admin", by=None)
    at = open_rules()
    at.text_area[0].set_value("- Dates count.").run()
    at.segmented_control(key="agreement_view").set_value("conflicts").run()
    guidelines.write_guidelines(wb, TOWERS, "- Names count.", by=ann.id)
    at = at.segmented_control(key="agreement_view").set_value("rules").run()
    assert at.text_area[0].value == "- Dates count."


def test_a_box_in_which_nobody_typed_follows_the_version_in_force(wb, ann):
    people.set_role(wb, ann.id, "admin", by=None)
    at = open_rules()
    guidelines.write_guidelines(wb, TOWERS, "- Names count.", by=ann.id)
    assert at.run().text_area[0].value == "- Names count.\n"


def test_a_verdict_upon_a_page_that_is_out_of_date_is_refused_and_the_one_that_stands_is_shown(wb, me, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1))
    at = open_page("agreement", {"view": "conflicts"})
    people.set_role(wb, ann.id, "admin", by=None)
    conflicts.adjudicate(
        wb, question_id=TOWER, sentence_id=1, annotator_id=ann.id, label="correct", note="the manual says so"
    )
    at.text_input(key=f"agreement_note_{TOWER}_1").set_value("it does not")
    at = at.button(key=f"agreement_{TOWER}_1_incorrect").click().run()
    assert [e.value for e in at.error] == ["The pair was settled as correct by ann meanwhile\\: nothing was recorded"]
    assert "Settled as correct by ann: the manual says so" in texts(at)
    assert at.text_input(key=f"agreement_note_{TOWER}_1").value == "it does not"
    at = at.button(key=f"agreement_{TOWER}_1_incorrect").click().run()
    assert "Settled as incorrect by me: it does not" in texts(at)
    assert "Earlier: correct by ann (the manual says so)." in markup(at)


def test_a_verdict_upon_labels_that_agree_by_now_is_refused(wb, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1))
    at = open_page("agreement", {"view": "conflicts"})
    label(wb, bob, TOWER, 1, "correct")
    at = at.button(key=f"agreement_{TOWER}_1_incorrect").click().run()
    assert "The labels of the pair were changed meanwhile" in at.error[0].value
    assert count_shown(at) == 0


def test_a_verdict_upon_a_conflict_that_was_opened_again_meanwhile_is_refused(wb, me, ann, bob):
    dispute(wb, ann, bob, (TOWER, 1))
    pair = {"question_id": TOWER, "sentence_id": 1, "annotator_id": me.id}
    conflicts.adjudicate(wb, **pair, label="correct")
    at = open_page("agreement", {"view": "conflicts"})
    conflicts.adjudicate(wb, **pair, label=None)
    at = at.button(key=f"agreement_{TOWER}_1_incorrect").click().run()
    assert "The pair was opened again meanwhile" in at.error[0].value
    assert "Earlier: correct by me; opened again by me." in markup(at)


def test_a_conflict_links_to_the_sentence_in_its_document(wb, ann, bob):
    dispute(wb, ann, bob, (COST, 3))
    with wb.read() as s:
        place = s.get_one(Sentence, 3).position + 1
    [link] = [x for x in open_page("agreement", {"view": "conflicts"}).get("page_link") if "document" in x.proto.label]
    assert f"sentence={place}" in link.proto.query_string


def test_a_conflict_on_a_sentence_that_is_gone_links_to_where_its_labels_are_moved(wb, ann, bob):
    dispute(wb, ann, bob, (COST, 3))
    with wb.read() as s:
        document_id = s.get_one(Sentence, 3).document_id
    documents.delete_document(wb, document_id)
    at = open_page("agreement", {"view": "conflicts"})
    assert "This sentence is in no document any more." in texts(at)
    [link] = [x.proto for x in at.get("page_link") if x.proto.label == "Move its labels"]
    assert "where=gone" in link.query_string
