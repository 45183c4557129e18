"""Who is let in through the identity provider, and for how long.

The provider vouches for an account (`issuer|subject`) and, if it says that it verified it, for an address. `AS2_ADMIN`
and `AS2_LOGIN_ALLOWED` list addresses, domains and accounts. The cookie of a session lasts a month in the browser and
cannot be taken back from there, so the server compares the time of the log-in (the claim `iat`) with the lifetime of a
session and with the time from which the person's sessions count. A log-out and an admin set the latter to now, which
ends the sessions of all browsers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from app.workbench import audit, people
from app.workbench.people import ADMIN, BLOCKED, AnnotatorView, Gone, NotAllowed
from app.workbench.workbench import Workbench
from as2core.errors import As2Error
from db.models import Annotator
from db.repositories import audit as log
from db.repositories import people as rows

LOG_IN = "log in"  # in the audit log


class SessionEnded(As2Error):
    """The log-in is too old, or was ended by a log-out or an admin."""


@dataclass(frozen=True, slots=True)
class Login:
    """What the provider says of whoever logged in. `address`: in small letters, "" unless the provider verified it;
    `unverified` has it then. `at`: when, None where the provider does not say."""

    account: str
    name: str
    address: str
    at: datetime | None
    unverified: str = ""

    @classmethod
    def from_claims(cls, claims: Mapping[str, object]) -> Login:
        """From the claims of an ID token."""
        issuer, subject = claims.get("iss") or "", claims.get("sub") or ""
        email = str(claims.get("email") or "").strip().lower()
        address, unverified = (email, "") if claims.get("email_verified") is True else ("", email)
        issued = claims.get("iat")
        at = datetime.fromtimestamp(issued, UTC) if isinstance(issued, int | float) else None
        name = str(claims.get("name") or claims.get("email") or "")
        return cls(f"{issuer}|{subject}" if subject else "", name, address, at, unverified)

    def is_in(self, entries: str) -> bool:
        """Whether a list names them: by address, by domain ("example.org", "*.example.org"), by account, or "*"."""
        domain = self.address.rpartition("@")[2]
        return any(
            entry == "*"
            or entry == self.account
            or (bool(self.address) and entry.lower() in (self.address, domain))
            or (entry.startswith("*.") and domain.endswith(entry[1:].lower()))
            for entry in entries.replace(",", " ").split()
        )


def admit(wb: Workbench, login: Login) -> AnnotatorView:
    """The person, made at the first log-in. Raises SessionEnded; NotAllowed where the settings do not list them or an
    admin blocked them."""
    if not login.account:
        raise NotAllowed("the identity provider names no account (the claim `sub`), so it is unknown who logs in")
    ends = None if login.at is None else login.at + timedelta(hours=wb.settings.session_hours)
    if ends is None or ends <= wb.clock():
        raise SessionEnded("your session has ended: log in again")
    try:
        if wb.settings.login_allowed and not login.is_in(wb.settings.login_allowed):
            who = login.address or login.account
            message = f"{who} is not on the list of those who may log in"
            if login.unverified:
                message += f"; {login.unverified} does not count: the identity provider has not verified this address"
            raise NotAllowed(message, actor=who, act=LOG_IN)
        return _admit_by_list(wb, login)
    except NotAllowed as refusal:
        audit.write_refusal(wb, refusal)
        raise


def _admit_by_list(wb: Workbench, login: Login) -> AnnotatorView:
    with wb.read() as s:
        person = rows.find_annotator(s, subject=login.account)
    if person is None:
        people.sign_in_subject(wb, login.account, login.name)
        with wb.read() as s:
            person = rows.find_annotator(s, subject=login.account)
    if person is None:
        raise Gone("this person does not exist any more: log in again")
    if login.at is not None and person.sessions_from is not None and login.at < person.sessions_from:
        raise SessionEnded("your session has ended: log in again")
    if person.role != ADMIN and wb.settings.admin and login.is_in(wb.settings.admin):
        people.appoint_first_admin(wb, person.id)
        with wb.read() as s:
            person = s.get_one(Annotator, person.id)
    if person.role == BLOCKED:
        remedy = f"ask {_name_admins(wb)}"
        is_new = people.to_view(person).is_waiting
        message = (
            f"nobody has let you in yet: {remedy}, and reload the page then"
            if is_new
            else f"{person.name} is blocked: {remedy}"
        )
        raise NotAllowed(message, actor=person.name, act=LOG_IN, target=login.address or login.account)
    if person.login_at is None or (login.at is not None and login.at > person.login_at):
        _record(wb, person.id, login)
    return people.to_view(person)


def _name_admins(wb: Workbench) -> str:
    """Those who log in, as whom to ask."""
    names = [p.name for p in people.list_people(wb) if p.role == ADMIN and not p.local]
    return " or ".join(names) or "whoever runs this server"


def list_accounts(wb: Workbench, *, by: int | None) -> dict[int, str]:
    """By person who logs in, what tells them from another of their name: the address of the last log-in, or try, that
    the audit log has, else the account. `by` None is the command line. Raises NotAllowed unless `by` is an admin."""
    with wb.read() as s:
        people.allow(s, by, "list accounts", ADMIN)
        return {person.id: account for person, account in _list_accounts(s)}


def find_by_address(s: Session, address: str) -> Annotator | None:
    """Whoever logs in with this address, as `list_accounts` has it; None where nobody does, or several do."""
    accounts = _list_accounts(s) if "@" in address else []
    persons = [p for p, account in accounts if account == address.casefold()]
    return persons[0] if len(persons) == 1 else None


def _list_accounts(s: Session) -> list[tuple[Annotator, str]]:
    addresses = {e.actor: e.target if e.outcome == audit.REFUSED else e.detail for e in log.list_newest(s, LOG_IN)}
    persons = [p for p in rows.list_people(s) if p.subject is not None]
    return [(p, addresses.get(p.name) or p.subject or "") for p in persons]


def _record(wb: Workbench, annotator_id: int, login: Login) -> None:
    with wb.write() as s:
        person = s.get_one(Annotator, annotator_id, with_for_update=True)
        if person.login_at is None or (login.at is not None and login.at > person.login_at):
            person.login_at = login.at
            audit.record(s, wb.clock(), annotator_id, LOG_IN, person.name, login.address or login.account)


def end_sessions(wb: Workbench, annotator_id: int, *, by: int | None) -> None:
    """End this person's sessions in all browsers. Anybody ends their own; `by` None is the command line. Raises
    NotAllowed unless `by` is an admin, Gone."""
    act = "log out" if by == annotator_id else "end the sessions of a person"
    with wb.write() as s:
        if by != annotator_id:
            people.allow(s, by, act, ADMIN)
        person = s.get(Annotator, annotator_id, with_for_update=True)
        if person is None or person.imported:
            raise Gone("this person does not exist any more: reload the page")
        person.sessions_from = wb.clock()
        audit.record(s, wb.clock(), by, act, person.name)
