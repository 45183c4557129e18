"""Who is let in by the identity provider, for how long, and who ends it."""

from datetime import timedelta

import pytest

from app import bootstrap
from app.corpora import corpora
from app.exchange import exports
from app.versions import management
from app.workbench import audit_log, people, sessions
from app.workbench.people import Gone, NotAllowed
from app.workbench.sessions import Login, SessionEnded

ISSUER = "https://id.example"


def claims(clock, name="ada", hours_ago=0.0, **more):
    issued = int((clock() - timedelta(hours=hours_ago)).timestamp())
    address = {"email": f"{name}@lab.example", "email_verified": True}
    return {"iss": ISSUER, "sub": name, "name": name, "iat": issued, **address, **more}


def admit(wb, name="ada", **more):
    return sessions.admit(wb, Login.from_claims(claims(wb.clock, name, **more)))


@pytest.fixture
def open_wb(settings, models, clock):
    opened = []

    def open_with(**changes):
        opened.append(bootstrap.open(settings.model_copy(update=changes), models, clock))
        return opened[-1]

    yield open_with
    for each in opened:
        each.close()


def events(wb):
    return [(e.actor, e.what) for e in audit_log.list_events(wb, by=None)][::-1]


def test_a_session_ends_after_its_hours_and_where_the_provider_does_not_say_when_it_began(open_wb):
    wb = open_wb(session_hours=8)
    assert admit(wb, hours_ago=7.9).name == "ada"
    for stale in ({"hours_ago": 8.0}, {"iat": None}, {"iat": "yesterday"}):
        with pytest.raises(SessionEnded):
            admit(wb, **stale)


def test_nobody_is_made_known_by_a_session_that_has_ended_or_is_not_allowed(open_wb):
    wb = open_wb(login_allowed="lab.example")
    with pytest.raises(SessionEnded):
        admit(wb, hours_ago=100)
    with pytest.raises(NotAllowed):
        admit(wb, email="ada@elsewhere.example")
    assert people.list_people(wb) == ()


def test_a_log_out_ends_the_sessions_of_all_browsers_and_a_later_log_in_counts(wb, clock):
    ada = admit(wb)
    clock.advance(seconds=1.5)
    sessions.end_sessions(wb, ada.id, by=ada.id)
    with pytest.raises(SessionEnded):
        admit(wb, hours_ago=1.5 / 3600)
    clock.advance(seconds=2)
    assert admit(wb).id == ada.id
    assert events(wb) == [("ada", "log in"), ("ada", "log out"), ("ada", "log in")]


def test_an_admin_ends_the_sessions_of_others_and_nobody_else_does(wb, ann, clock):
    ada, eve = admit(wb), admit(wb, "eve")
    with pytest.raises(NotAllowed, match="takes an admin"):
        sessions.end_sessions(wb, ada.id, by=eve.id)
    assert admit(wb).id == ada.id
    clock.advance(minutes=1)
    sessions.end_sessions(wb, ada.id, by=ann.id)
    with pytest.raises(SessionEnded):
        admit(wb, hours_ago=1 / 60)
    assert admit(wb, "eve", hours_ago=1 / 60).id == eve.id
    with pytest.raises(Gone):
        sessions.end_sessions(wb, 999, by=ann.id)


@pytest.mark.parametrize(
    ("allowed", "address", "verified", "is_in"),
    [
        ("", "ada@lab.example", True, True),
        ("lab.example", "ada@lab.example", True, True),
        ("lab.example", "Ada@Lab.Example", True, True),
        ("other.example, ada@lab.example", "ada@lab.example", True, True),
        ("*.example", "ada@lab.example", True, True),
        (f"{ISSUER}|ada", "ada@elsewhere.example", False, True),
        ("*", "ada@elsewhere.example", False, True),
        ("lab.example", "ada@lab.example", False, False),
        ("lab.example", "ada@lab.example", None, False),
        ("lab.example", "ada@lab.example", "true", False),
        ("lab.example", "ada@evil-lab.example", True, False),
        ("lab.example", "ada@lab.example.evil.example", True, False),
        ("lab.example", "lab.example@evil.example", True, False),
        ("*.example", "ada@evilexample", True, False),
        ("bob@lab.example", "ada@lab.example", True, False),
        ("lab.example", "", True, False),
    ],
)
def test_the_list_decides_by_verified_address_domain_or_account(open_wb, allowed, address, verified, is_in):
    wb = open_wb(login_allowed=allowed)
    if is_in:
        assert admit(wb, email=address, email_verified=verified).name == "ada"
        return
    with pytest.raises(NotAllowed, match="not on the list"):
        admit(wb, email=address, email_verified=verified)
    assert events(wb)[-1][1] == "log in (refused)"


def test_a_refusal_says_that_an_address_was_not_verified(open_wb):
    wb = open_wb(login_allowed="lab.example")
    for verified, reason in ((False, "; ada@lab.example does not count: .* has not verified"), (True, "$")):
        domain = "elsewhere" if verified else "lab"
        with pytest.raises(NotAllowed, match=f"those who may log in{reason}"):
            admit(wb, email=f"ada@{domain}.example", email_verified=verified)


def test_the_first_to_log_in_is_no_admin_and_who_the_setting_names_is(open_wb):
    assert [admit(open_wb(), name).role for name in ("eve", "ada")] == ["annotator", "annotator"]
    wb = open_wb(admin="ada@lab.example")
    assert [admit(wb, name).role for name in ("eve", "ada", "ada")] == ["annotator", "admin", "admin"]
    assert ("ada", "become the first admin") in events(wb)


def test_the_setting_makes_the_first_admin_and_does_not_bring_one_back(open_wb):
    wb = open_wb(admin="ada@lab.example")
    people.sign_in(wb, "somebody by name")
    ada, eve = admit(wb), admit(wb, "eve")
    people.set_role(wb, eve.id, "admin", by=ada.id)
    people.set_role(wb, ada.id, "annotator", by=eve.id)
    assert admit(wb).role == "annotator"


def test_an_address_that_nobody_verified_makes_no_admin(open_wb):
    assert admit(open_wb(admin="ada@lab.example"), email_verified=False).role == "annotator"


def test_where_the_setting_names_an_admin_no_other_typed_name_becomes_one(open_wb):
    wb = open_wb(admin="Ada Lovelace")
    names = (people.NOBODY, "eve", "Ada Lovelace")
    assert [people.sign_in(wb, name).role for name in names] == ["annotator", "annotator", "admin"]


def test_who_is_blocked_is_let_in_no_more_and_may_do_nothing_on_a_page_that_is_open(wb, ann, towers):
    ada, bob = admit(wb), people.sign_in(wb, "bob")
    for person in (ada, bob):
        people.set_role(wb, person.id, "blocked", by=ann.id)
    with pytest.raises(NotAllowed, match="ada is blocked"):
        admit(wb)
    with pytest.raises(NotAllowed, match="bob is blocked"):
        people.sign_in(wb, "bob")
    for act in (
        lambda: corpora.create_corpus(wb, "mine", by=ada.id),
        lambda: exports.export_labels(wb, towers.id, "csv", by=ada.id),
        lambda: management.export(wb, "cascade", "as2", wb.settings.home / "out", by=ada.id),
    ):
        with pytest.raises(NotAllowed, match="ada is blocked"):
            act()
    people.set_role(wb, ada.id, "annotator", by=ann.id)
    assert admit(wb).role == "annotator"


def test_newcomers_can_be_blocked_until_an_admin_lets_them_in(open_wb):
    wb = open_wb(newcomers="blocked", admin="ada@lab.example")
    assert admit(wb).role == "admin"
    with pytest.raises(NotAllowed, match="nobody has let you in yet: ask ada"):
        admit(wb, "eve")
    people.set_role(wb, people.find_person(wb, "eve").id, "annotator", by=people.find_person(wb, "ada").id)
    assert admit(wb, "eve").role == "annotator"


def test_who_was_in_before_and_is_blocked_is_no_newcomer(open_wb):
    wb = open_wb(newcomers="blocked")
    with pytest.raises(NotAllowed, match="nobody has let you in yet: ask whoever runs this server"):
        admit(wb)
    people.set_role(wb, people.find_person(wb, "ada").id, "annotator", by=None)
    assert not admit(wb).is_waiting
    people.set_role(wb, people.find_person(wb, "ada").id, "blocked", by=None)
    with pytest.raises(NotAllowed, match="ada is blocked: ask whoever runs this server"):
        admit(wb)
    assert not people.find_person(wb, "ada").is_waiting


def test_admins_read_which_account_a_name_belongs_to(open_wb):
    wb = open_wb(newcomers="blocked", admin="ada@lab.example")
    ada = admit(wb)
    for sub, address in (("2", "ben@lab.example"), ("3", "ben2@lab.example"), ("4", None)):
        with pytest.raises(NotAllowed, match="nobody has let you in"):
            admit(wb, "Ben", sub=sub, email=address)
    accounts = sessions.list_accounts(wb, by=ada.id)
    assert {p.name: accounts[p.id] for p in people.list_people(wb)} == {
        "ada": "ada@lab.example",
        "Ben": "ben@lab.example",
        "Ben 2": "ben2@lab.example",
        "Ben 3": f"{ISSUER}|4",
    }
    people.set_role(wb, people.find_person(wb, "Ben").id, "annotator", by=ada.id)
    ben = admit(wb, "Ben", sub="2", email="ben@lab.example")
    assert sessions.list_accounts(wb, by=None) == accounts
    with pytest.raises(NotAllowed, match="takes an admin"):
        sessions.list_accounts(wb, by=ben.id)


def test_a_log_in_is_recorded_once_however_often_the_page_is_drawn(wb, clock):
    for _ in range(3):
        admit(wb)
    clock.advance(hours=1)
    assert admit(wb, hours_ago=1).login_at == clock() - timedelta(hours=1)
    admit(wb)
    assert events(wb) == [("ada", "log in")] * 2


def test_an_account_without_a_number_is_nobody(wb):
    for sub in (None, ""):
        with pytest.raises(NotAllowed, match="names no account"):
            admit(wb, sub=sub)
