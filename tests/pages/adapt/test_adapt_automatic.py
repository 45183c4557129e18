"""Automatic retraining."""

from adapt_pages import label, open_adapt
from app_pages import texts
from stored import TOWERS

from app.adapt import schedule
from app.jobs import retrain_rule
from db.repositories import jobs as job_rows


def test_a_retrain_by_itself_is_off_until_it_is_wanted(wb):
    label(wb, 1, 1, "correct")
    at = open_adapt({"corpus": "Towers"})
    assert "1 new label since the last retrain" in texts(at)
    at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(40)
    at.toggle(key=f"adapt_auto_on_{TOWERS}").set_value(True).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=40, at_night=False)


def test_the_app_counts_as_what_has_to_run_at_night(wb):
    assert "between 1 and 5 o'clock, while the app or `as2 worker` runs" in texts(open_adapt({"corpus": "Towers"}))


def test_a_change_of_automatic_retraining_leaves_what_others_set_meanwhile_and_shows_it(wb):
    at = open_adapt({"corpus": "Towers"})
    retrain_rule.set_rule(wb, TOWERS, after=50)
    at = at.toggle(key=f"adapt_auto_night_{TOWERS}").set_value(True).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=50, at_night=True)
    assert at.toggle(key=f"adapt_auto_on_{TOWERS}").value
    assert at.number_input(key=f"adapt_auto_after_{TOWERS}").value == 50
    retrain_rule.set_rule(wb, TOWERS, at_night=False)
    at = at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(60).run()
    assert retrain_rule.load_rule(wb, TOWERS) == retrain_rule.RetrainRule(after=60, at_night=False)
    retrain_rule.set_rule(wb, TOWERS, after=None)
    at = at.number_input(key=f"adapt_auto_after_{TOWERS}").set_value(70).run()
    assert retrain_rule.load_rule(wb, TOWERS).after is None
    assert not at.toggle(key=f"adapt_auto_on_{TOWERS}").value


def test_a_retrain_that_was_cancelled_holds_off_the_automatic_one_and_the_page_says_so(wb):
    retrain_rule.set_rule(wb, TOWERS, after=2)
    with wb.write() as s:
        job_rows.add_job(s, "retrain", {}, wb.clock(), corpus_id=TOWERS).state = "cancelled"
    assert "an automatic one waits for 2 labels given since then: 0 so far" in texts(open_adapt({"corpus": "Towers"}))
    with wb.write() as s:
        job_rows.find_newest_job(s, "retrain", TOWERS).state = "failed"
    assert "an automatic one waits" not in texts(open_adapt({"corpus": "Towers"}))


def test_a_retrain_by_itself_that_could_not_start_says_why(wb):
    label(wb, 1, 1, "correct")
    retrain_rule.set_rule(wb, TOWERS, after=1)
    schedule.start_due(wb)
    assert "could not start: No sentence is labelled incorrect" in texts(open_adapt({"corpus": "Towers"}))
