"""Who works here: signing in by name or through an identity provider, and what each role may do.

A viewer looks, an annotator labels, an admin also settles conflicts, writes the rules and gives roles. Whoever signs in
while nobody is an admin becomes one, so there always is. Who typed no name yet is called NOBODY and does not count: the
first who gives a name is an admin, too. Where newcomers only look, NOBODY does the same from then on. Names that only
came with imported labels never signed in.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.views import ROLES, AnnotatorView
from app.services.workbench import Workbench, storable
from as2core.errors import As2Error, BadSetting
from db.models import Annotator
from db.repositories import labels as rows
from db.repositories import people as people_rows

ADMIN, ANNOTATOR, VIEWER = ROLES
MAX_NAME = 60
NOBODY = "me"
NO_PERSON = ("starter", "import")  # who signs labels that came from outside


class NotAllowed(As2Error):
    """This person's role does not allow it."""


class Gone(As2Error):
    """The question, sentence or person is no longer there."""


def annotator(wb: Workbench, name: str) -> AnnotatorView:
    """The person who signs with that name here, made if there is none. Raises BadSetting for an empty or overlong name,
    NotAllowed for one that signs imported labels, or that of somebody whom an identity provider vouches for."""
    name = _tidy(name)
    with wb.read() as s:
        known = rows.annotator_named(s, name)
        settled = known is not None and people_rows.count(s, ADMIN, but=() if name == NOBODY else (NOBODY,)) > 0
    if name in NO_PERSON or (known is not None and known.imported):
        raise NotAllowed(f"{name} is what imported labels are signed with; choose another name")
    if known is not None and known.subject is not None:
        raise NotAllowed(f"{name} logs in; choose another name")
    if not settled:
        with wb.write() as s:
            known = rows.ensure_annotator(s, name, wb.clock(), role=wb.settings.newcomers)
            _first_leads(s, wb, known)
    return view(known)


def signed_in(wb: Workbench, subject: str, name: str) -> AnnotatorView:
    """The person whom the identity provider calls `subject`, made at the first log-in; a name that is taken gets a
    number."""
    with wb.read() as s:
        known = people_rows.person_known_as(s, subject)
        settled = known is not None and people_rows.count(s, ADMIN, but=(NOBODY,)) > 0
    if settled:
        return view(known)
    wanted = _tidy(name[:MAX_NAME] or subject[:MAX_NAME])
    with wb.write() as s:
        known, number = people_rows.person_known_as(s, subject), 1
        while known is None or known.subject != subject:  # the name is another's, who may have come just now
            free = wanted if number == 1 else f"{wanted[: MAX_NAME - 6]} {number}"
            if free not in (*NO_PERSON, NOBODY):
                known = rows.ensure_annotator(s, free, wb.clock(), role=wb.settings.newcomers, subject=subject)
            number += 1
        _first_leads(s, wb, known)
        return view(known)


def named(wb: Workbench, name: str) -> AnnotatorView:
    """A person who is known here. Raises Gone."""
    known = everybody(wb)
    for person in known:
        if person.name == " ".join(name.split()):
            return person
    raise Gone(f"nobody here is called {name!r}; known: {', '.join(p.name for p in known) or 'nobody yet'}")


def everybody(wb: Workbench) -> tuple[AnnotatorView, ...]:
    """In the order they came."""
    with wb.read() as s:
        return tuple(view(p) for p in people_rows.people(s))


def set_role(wb: Workbench, annotator_id: int, role: str, *, by: int | None) -> None:
    """`by` None is the command line: whoever has the home may do anything with it. Raises NotAllowed unless `by` is an
    admin, or where the last admin would be gone; BadSetting, Gone."""
    if role not in ROLES:
        raise BadSetting(f"no role {role!r}; known: {', '.join(ROLES)}")
    with wb.write() as s:
        people_rows.hold_roles(s)
        allow(s, by, ADMIN)
        person = rows.lock_annotator(s, annotator_id)
        if person is None or person.imported:
            raise Gone("this person is not known here; load the page anew")
        if role == ADMIN:
            _first_leads(s, wb, person)
        elif person.role == ADMIN and not people_rows.count(s, ADMIN, but=(NOBODY, person.name)):
            raise NotAllowed(f"{person.name} is the only admin: make somebody else one first")
        person.role = role


def require(s: Session, annotator_id: int, least: str = ANNOTATOR) -> Annotator:
    """The person, held for this transaction, if their role is `least` or more. Raises NotAllowed, Gone."""
    person = rows.lock_annotator(s, annotator_id)
    if person is None:
        raise Gone("this annotator is not known here: type your name again")
    if ROLES.index(person.role) > ROLES.index(least):
        needed = "an admin" if least == ADMIN else "an annotator"
        raise NotAllowed(f"{person.name} is {_article(person.role)}, and this takes {needed}: ask an admin")
    return person


def allow(s: Session, by: int | None, least: str = ANNOTATOR) -> None:
    """`require`, but for `by` None: that is the command line, and whoever has the home may do anything with it."""
    if by is not None:
        require(s, by, least)


def view(person: Annotator) -> AnnotatorView:
    return AnnotatorView(person.id, person.name, person.role, person.subject is None)


def _first_leads(s: Session, wb: Workbench, person: Annotator) -> None:
    people_rows.hold_roles(s)
    if people_rows.count(s, ADMIN, but=(NOBODY,)):
        return
    person.role = ADMIN
    if wb.settings.newcomers == VIEWER and person.name != NOBODY and (nobody := rows.annotator_named(s, NOBODY)):
        nobody.role = VIEWER


def _tidy(name: str) -> str:
    name = " ".join(storable(name).split())
    if not name or len(name) > MAX_NAME:
        raise BadSetting(f"an annotator's name has 1 to {MAX_NAME} characters, not {len(name)}")
    return name


def _article(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
