import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from label_files import import_labels
from tower_texts import QUESTIONS

from app import bootstrap
from app.adapt import retrain_job
from app.corpora import corpora, ingestion
from app.jobs import retrain_rule
from app.labels import annotation, consensus, flags, guidelines, leasing, rules
from app.labels.annotation import OverlapReached, Presentation
from app.labels.seats import Seat
from app.workbench import people
from app.workbench.people import Gone, NotAllowed
from as2core.errors import BadSetting
from db.repositories import people as rows

SUBJECT = "https://id.example|"
SET = b'{"qid": "q", "question": "Who?", "candidates": [{"id": "a", "text": "She.", "label": 1}]}'


@pytest.fixture
def closed_wb(settings, models, clock):
    """A workbench whose newcomers may look."""
    own = bootstrap.open(settings.model_copy(update={"newcomers": "viewer"}), models, clock)
    yield own
    own.close()


def roles(wb):
    return {p.name: p.role for p in people.list_people(wb)}


def test_of_two_who_come_first_at_once_one_is_the_admin_and_of_two_who_step_down_at_once_one_stays(wb, monkeypatch):
    def count(*of, **which):  # and be slow to act on it, so that the other would count the same
        try:
            return counted(*of, **which)
        finally:
            time.sleep(0.3)

    def step_down(who):
        with suppress(NotAllowed):
            people.set_role(wb, who.id, "viewer", by=who.id)

    counted = rows.count_people
    monkeypatch.setattr(rows, "count_people", count)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: people.sign_in(wb, name), ("ann", "bob")))
        assert sorted(roles(wb).values()) == ["admin", "annotator"]
        first, second = sorted(people.list_people(wb), key=lambda p: p.role)
        people.set_role(wb, second.id, "admin", by=first.id)
        list(threads.map(step_down, (first, second)))
        assert sorted(roles(wb).values()) == ["admin", "viewer"]


def test_a_name_in_other_capitals_is_the_same_person(wb):
    ada = people.sign_in(wb, "Ada")
    assert people.sign_in(wb, "ADA") == people.sign_in(wb, " ada ") == ada
    with pytest.raises(people.NotAllowed):
        people.sign_in(wb, "Import")


def test_the_first_person_is_an_admin_and_the_others_annotators(wb):
    assert [people.sign_in(wb, name).role for name in ("ann", "bob", "ann")] == ["admin", "annotator", "admin"]


def test_who_gave_no_name_yet_does_not_count_as_the_first_person(wb):
    names = (people.NOBODY, "ann", "bob", people.NOBODY)
    assert [people.sign_in(wb, name).role for name in names] == ["admin", "admin", "annotator", "admin"]


def test_newcomers_are_viewers_where_the_settings_say_so(closed_wb):
    assert [people.sign_in(closed_wb, name).role for name in ("ann", "bob")] == ["admin", "viewer"]


def test_people_whom_an_import_names_are_newcomers_too(closed_wb):
    people.sign_in(closed_wb, "ann")
    import_labels(closed_wb, None, "a.jsonl", SET, annotator="book")
    assert people.sign_in(closed_wb, "book").role == "viewer"


@pytest.mark.parametrize("how", ["by name", "log-in", "given"])
def test_where_newcomers_are_viewers_whoever_has_no_name_is_one_from_the_first_named_admin_on(closed_wb, how):
    me = people.sign_in(closed_wb, people.NOBODY)
    assert me.role == "admin"
    if how == "by name":
        people.sign_in(closed_wb, "ann")
    elif how == "log-in":
        people.appoint_first_admin(closed_wb, people.sign_in_subject(closed_wb, SUBJECT, "ann").id)
    else:
        import_labels(closed_wb, None, "a.jsonl", SET, annotator="ann")
        people.set_role(closed_wb, people.find_person(closed_wb, "ann").id, "admin", by=me.id)
    assert people.sign_in(closed_wb, people.NOBODY).role == "viewer"
    assert roles(closed_wb) == {"me": "viewer", "ann": "admin"}


def test_a_viewer_can_write_nothing(wb, towers, asked, ann, bob):
    people.set_role(wb, bob.id, "viewer", by=ann.id)
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id, "annotator_id": bob.id}
    acts = (
        lambda: annotation.give_label(wb, **pair, label="correct"),
        lambda: annotation.withdraw(wb, **pair),
        lambda: annotation.undo_last(wb, bob.id, towers.id),
        lambda: flags.add_flag(wb, **pair, note="odd"),
        lambda: guidelines.write_guidelines(wb, towers.id, "Be kind.", by=bob.id),
        lambda: rules.set_rules(wb, towers.id, by=bob.id, overlap=2),
        lambda: people.set_role(wb, bob.id, "admin", by=bob.id),
        lambda: corpora.delete_corpus(wb, towers.id, by=bob.id),
        lambda: corpora.create_corpus(wb, "others", by=bob.id),
        lambda: ingestion.ingest(wb, towers.id, [("a.txt", b"One sentence.")], by=bob.id),
        lambda: retrain_job.start_retrain(wb, towers.id, by=bob.id),
        lambda: retrain_rule.set_rule(wb, towers.id, after=9, by=bob.id),
        lambda: import_labels(wb, towers.id, "a.jsonl", SET, annotator="bob", by=bob.id),
    )
    for act in acts:
        with pytest.raises(NotAllowed, match="bob is a viewer"):
            act()


def make_set(*names, verdict=None):
    """A set in which these people label one sentence."""
    candidate = {"id": "a", "text": "She.", "labels": dict.fromkeys(names, "correct")}
    candidate |= {"verdict": {"by": verdict, "label": "correct"}} if verdict else {}
    return json.dumps({"qid": "q", "question": "Who?", "candidates": [candidate]}).encode()


@pytest.mark.parametrize(
    ("content", "signs", "told"),
    [
        (SET, "ann", "set.jsonl: only ann or an admin may import labels signed ann"),
        (SET, " ann  ", "only ann or an admin"),
        (make_set("bob", "ann"), "import", "only ann or an admin"),
        (make_set("bob", verdict="ann"), "import", "set.jsonl: it holds verdicts on conflicts, and only an admin may"),
        (make_set("bob", verdict="ann"), "import", r"a table \(CSV\) has no names and no verdicts"),
        (make_set("bob", verdict="bob"), "import", "it holds verdicts on conflicts, and only an admin may"),
    ],
)
def test_labels_signed_by_others_known_here_and_verdicts_are_brought_in_by_an_admin(wb, ann, bob, content, signs, told):
    def bring(by):
        return import_labels(wb, None, "set.jsonl", content, annotator=signs, by=by)

    with pytest.raises(NotAllowed, match=told):
        bring(bob.id)
    assert corpora.list_corpora(wb) == [] and list(roles(wb)) == ["ann", "bob"]
    assert bring(ann.id).new == len(json.loads(content)["candidates"][0].get("labels", "1"))
    assert bring(None).new > 0  # the command line


def test_an_annotator_brings_in_labels_of_their_own_of_nobody_and_of_people_unknown_here(wb, ann, bob):
    for content, signs in ((SET, "import"), (SET, "bob"), (make_set("bob", "book", "starter"), "import")):
        assert import_labels(wb, None, "set.jsonl", content, annotator=signs, by=bob.id).new > 0


def test_a_corpus_is_deleted_by_an_admin(wb, towers, ann, bob):
    with pytest.raises(NotAllowed, match="bob is an annotator, and this takes an admin"):
        corpora.delete_corpus(wb, towers.id, by=bob.id)
    corpora.delete_corpus(wb, towers.id, by=ann.id)
    assert corpora.list_corpora(wb) == []


def test_the_last_admin_stays_one(wb, ann, bob):
    with pytest.raises(NotAllowed, match="only admin"):
        people.set_role(wb, ann.id, "annotator", by=ann.id)
    people.set_role(wb, bob.id, "admin", by=ann.id)
    people.set_role(wb, ann.id, "viewer", by=bob.id)
    assert [(p.name, p.role) for p in people.list_people(wb)] == [("ann", "viewer"), ("bob", "admin")]


def test_whoever_has_no_name_is_not_the_admin_that_is_left(wb):
    me, ann = people.sign_in(wb, people.NOBODY), people.sign_in(wb, "ann")
    with pytest.raises(NotAllowed, match="ann is the only admin"):
        people.set_role(wb, ann.id, "annotator", by=ann.id)
    people.set_role(wb, me.id, "viewer", by=ann.id)
    assert [people.sign_in(wb, name).role for name in ("bob", people.NOBODY)] == ["annotator", "viewer"]


def test_where_nobody_gave_a_name_whoever_has_none_stays_an_admin_and_may_delete_a_corpus(wb):
    me = people.sign_in(wb, people.NOBODY)
    with pytest.raises(NotAllowed, match="only admin"):
        people.set_role(wb, me.id, "viewer", by=me.id)
    corpora.delete_corpus(wb, corpora.create_corpus(wb, "towers").id, by=me.id)
    assert people.sign_in(wb, people.NOBODY) == me


@pytest.mark.parametrize("how", ["by name", "log-in"])
def test_a_name_known_already_leads_where_only_the_nameless_does(wb, how):
    people.sign_in(wb, people.NOBODY)
    with wb.write() as s:
        rows.ensure_annotator(s, "cara", wb.clock(), subject=SUBJECT if how == "log-in" else None)
    if how == "log-in":
        people.appoint_first_admin(wb, people.sign_in_subject(wb, SUBJECT, "cara").id)
    else:
        people.sign_in(wb, "cara")
    assert people.find_person(wb, "cara").role == "admin"


def test_whoever_logs_in_is_known_by_the_provider_not_by_the_name(wb, ann):
    first = people.sign_in_subject(wb, "https://id.example|1", "ann")
    assert (first.name, first.local) == ("ann 2", False)
    assert people.sign_in_subject(wb, "https://id.example|1", "Ann Other") == first
    assert people.sign_in_subject(wb, "https://id.example|2", "ann").name == "ann 3"
    with pytest.raises(NotAllowed, match="logs in"):
        people.sign_in(wb, "ann 2")


LOOKALIKES = [
    "Ann",
    "an\u200bn",
    "\u202eann",
    "ann\u2060",
    "a\u00adnn",
    "\uff41nn",
    "ann \u3164",
    "a\u200dnn",
    "ann\x07",
]


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nobody_gets_a_name_that_looks_like_anothers(wb, ann, name):
    assert people.sign_in(wb, name) == ann
    newcomer = people.sign_in_subject(wb, SUBJECT, name)
    assert newcomer.id != ann.id and newcomer.name.endswith(" 2")
    assert not set(newcomer.name) & set("\u200b\u202e\u2060\u00ad\u3164\x07")


@pytest.mark.parametrize("name", ["imp\u200bort", "\uff49mport"])
def test_nobody_signs_in_by_a_name_that_looks_like_that_of_imported_labels(wb, name):
    with pytest.raises(NotAllowed, match="choose another name"):
        people.sign_in(wb, name)


@pytest.mark.parametrize("name", ["command line", "Command  Line", "the program"])
def test_nobody_acts_by_a_name_that_stands_for_no_person_in_the_audit_log(wb, name):
    with pytest.raises(NotAllowed, match="audit log"):
        people.sign_in(wb, name)
    person = people.sign_in_subject(wb, f"{SUBJECT}1", name)
    assert person.name.endswith(" 2")


def test_a_name_keeps_the_joiners_that_its_script_needs(wb):
    assert people.sign_in_subject(wb, SUBJECT, "\u06a9\u06cc\u0627\u0646\u200c\u0641\u0631").name[4] == "\u200c"


def test_of_two_who_log_in_at_once_by_one_name_each_is_somebody_else(wb, monkeypatch):
    ensure = rows.ensure_annotator

    def overtaken(s, name, now, **values):
        ensure(s, "ann", now, subject="the other")
        return ensure(s, name, now, **values)

    monkeypatch.setattr(rows, "ensure_annotator", overtaken)
    assert people.sign_in_subject(wb, "this one", "ann").name == "ann 2"
    assert people.sign_in_subject(wb, "the other", "ann").name == "ann"


def test_nobody_logs_in_as_the_one_who_gave_no_name(wb):
    assert people.sign_in_subject(wb, SUBJECT, people.NOBODY).name == "me 2"


@pytest.mark.parametrize("name", ["", " ", "\t\n", "\x00"])
def test_whoever_logs_in_without_a_name_is_called_by_the_subject(wb, name):
    assert people.sign_in_subject(wb, SUBJECT, name).name == SUBJECT


def test_of_a_long_name_that_begins_with_white_space_the_first_characters_count(wb):
    assert people.sign_in_subject(wb, SUBJECT, " " * 80 + "ann  other " * 10).name == ("ann other " * 6).strip()


@pytest.mark.parametrize("name", ["import", "starter", " import "])
def test_nobody_signs_in_by_a_name_that_imported_labels_are_signed_with(wb, name):
    def refused():
        with pytest.raises(NotAllowed, match="choose another name"):
            people.sign_in(wb, name)

    refused()
    import_labels(wb, None, "a.jsonl", SET)
    refused()
    assert people.sign_in_subject(wb, "https://id.example|1", name).name == f"{name.strip()} 2"


@pytest.mark.parametrize("name", ["ann", "book"])
def test_whoever_signs_in_first_is_an_admin_even_after_labels_signed_by_others_came_in(wb, name):
    import_labels(wb, None, "a.jsonl", SET, annotator="book")
    assert people.sign_in(wb, name).role == "admin"
    assert people.sign_in(wb, name).role == "admin"
    assert people.sign_in(wb, "bob").role == "annotator"
    assert [p.role for p in people.list_people(wb)].count("admin") == 1


def test_of_those_who_log_in_only_the_first_that_is_appointed_becomes_admin_also_one_known_already(wb):
    with wb.write() as s:
        rows.ensure_annotator(s, "cara", wb.clock(), subject="https://id.example|1")
    cara, dan = (people.sign_in_subject(wb, f"https://id.example|{i}", name) for i, name in ((1, "cara"), (2, "dan")))
    assert (cara.role, dan.role) == ("annotator", "annotator")
    for person in (cara, dan):
        people.appoint_first_admin(wb, person.id)
    assert roles(wb) == {"cara": "admin", "dan": "annotator"}


def test_the_command_line_gives_roles_without_being_anybody(wb, ann):
    cara = people.sign_in_subject(wb, "https://id.example|1", "cara")
    assert cara.role == "annotator"
    people.set_role(wb, people.find_person(wb, "cara").id, "admin", by=None)
    people.set_role(wb, ann.id, "annotator", by=None)
    with pytest.raises(NotAllowed, match="only admin"):
        people.set_role(wb, cara.id, "viewer", by=None)
    with pytest.raises(Gone, match="nobody here is called 'dan'; known: ann, cara"):
        people.find_person(wb, "dan")


def test_a_pair_is_dealt_to_as_many_people_as_wanted_one_after_the_other(wb, towers, ask_queued, ann, bob):
    ask_queued(towers.id, QUESTIONS[0])
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    carol = people.sign_in(wb, "carol")
    dealt = []
    for who in (ann, bob, carol):
        item = leasing.find_next_item(wb, Seat(towers.id, who.id, "tops"))
        dealt.append(item.sentence_id)
        annotation.give_label(
            wb,
            question_id=item.question_id,
            sentence_id=item.sentence_id,
            annotator_id=who.id,
            label="correct",
            presentation=Presentation(queue="tops"),
        )
    assert dealt[0] == dealt[1] != dealt[2]


def test_a_label_that_comes_after_enough_others_is_refused_and_a_change_is_not(wb, towers, asked, ann, bob):
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct", presentation=Presentation(queue="tops"))
    with pytest.raises(OverlapReached):
        annotation.give_label(wb, **pair, annotator_id=bob.id, label="correct", presentation=Presentation(queue="tops"))
    assert annotation.give_label(
        wb, **pair, annotator_id=ann.id, label="unsure", presentation=Presentation(queue="tops")
    ).changed
    assert annotation.give_label(
        wb, **pair, annotator_id=bob.id, label="correct", presentation=Presentation(queue="ask")
    ).changed


def test_peers_labels_are_hidden_until_ones_own_is_in(wb, towers, asked, ann, bob):
    rules.set_rules(wb, towers.id, by=ann.id, overlap=2)
    pair = {"question_id": asked.question_id, "sentence_id": asked.candidates[0].sentence_id}
    annotation.give_label(wb, **pair, annotator_id=ann.id, label="correct")
    assert leasing.open_item(wb, *pair.values(), bob.id).peers == ()
    assert consensus.read_visible_labels(wb, asked.question_id, bob.id) == {}
    annotation.give_label(wb, **pair, annotator_id=bob.id, label="unsure")
    assert leasing.open_item(wb, *pair.values(), bob.id).peers == (("ann", "correct"),)
    assert consensus.read_visible_labels(wb, asked.question_id, bob.id) == {pair["sentence_id"]: "correct"}


def test_guidelines_have_versions_and_a_label_keeps_its_own(wb, towers, asked, ann):
    assert guidelines.read_guidelines(wb, towers.id).version == 0
    made = guidelines.write_guidelines(wb, towers.id, "- Dates count as answers.", by=ann.id)
    assert (made.version, made.text, made.by) == (1, "- Dates count as answers.\n", "ann")
    assert guidelines.write_guidelines(wb, towers.id, "- Dates count as answers.\n", by=ann.id).version == 1
    assert guidelines.write_guidelines(wb, towers.id, "- Dates do not.", by=ann.id).version == 2
    assert [g.version for g in guidelines.list_guidelines(wb, towers.id)] == [2, 1, 0]


def test_guidelines_written_upon_a_version_that_is_not_in_force_are_refused(wb, towers, ann):
    guidelines.write_guidelines(wb, towers.id, "- Dates count.", by=ann.id, base=0)
    with pytest.raises(guidelines.EditConflict, match="ann saved version 1 meanwhile, so nothing was saved"):
        guidelines.write_guidelines(wb, towers.id, "- Names count.", by=ann.id, base=0)
    assert guidelines.read_guidelines(wb, towers.id).text == "- Dates count.\n"
    assert guidelines.write_guidelines(wb, towers.id, "- Names count.", by=ann.id, base=1).version == 2


def test_two_admins_who_change_the_rules_or_the_guidelines_at_once_lose_nothing(wb, towers, ann, bob, monkeypatch):
    people.set_role(wb, bob.id, people.ADMIN, by=ann.id)

    def slow_down(module, name):
        read = getattr(module, name)

        def slowly(*of):
            found = read(*of)
            time.sleep(0.3)
            return found

        monkeypatch.setattr(module, name, slowly)

    def do_together(*calls):
        with ThreadPoolExecutor(len(calls)) as pool:
            list(pool.map(lambda call: call(), calls))

    slow_down(rules, "find_rules")
    slow_down(guidelines, "find_guidelines")
    do_together(
        lambda: rules.set_rules(wb, towers.id, by=ann.id, overlap=3),
        lambda: rules.set_rules(wb, towers.id, by=bob.id, target=90),
    )
    stored = rules.read_rules(wb, towers.id)
    assert (stored.overlap, stored.target) == (3, 90)
    do_together(
        lambda: guidelines.write_guidelines(wb, towers.id, "- Dates count.", by=ann.id),
        lambda: guidelines.write_guidelines(wb, towers.id, "- Names count.", by=bob.id),
    )
    assert [g.version for g in guidelines.list_guidelines(wb, towers.id)] == [2, 1, 0]


@pytest.mark.parametrize("wrong", [{"overlap": 0}, {"overlap": 21}, {"control": 1.5}, {"blind": -0.1}, {"target": 0}])
def test_rules_out_of_range_are_refused(wb, towers, ann, wrong):
    with pytest.raises(BadSetting):
        rules.set_rules(wb, towers.id, by=ann.id, **wrong)
