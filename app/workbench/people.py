"""People: signing in by name or through an identity provider, and what each role may do.

A viewer reads, an annotator labels, an admin also adjudicates conflicts, writes the guidelines and gives roles; who is
blocked gets no page. Of those who type a name, the first becomes an admin, unless `AS2_ADMIN` names one. Of those who
log in, only the one it names does (`app.workbench.sessions`). A session without a name signs as NOBODY, which does not
count: the first person with a name becomes an admin too. Where newcomers are viewers or blocked, so is NOBODY from then
on. Names that only came with imported labels cannot sign in.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.workbench import audit
from app.workbench.login import remember_login
from app.workbench.names import fold_name, tidy_name
from app.workbench.workbench import Workbench, make_storable
from as2core.errors import As2Error, BadSetting
from db.models import Annotator
from db.repositories import people as rows

ADMIN, ANNOTATOR, VIEWER, BLOCKED = ROLES = ("admin", "annotator", "viewer", "blocked")
CHANGE_ROLE = "change a role"  # in the audit log
MAX_NAME_CHARS = 60
NOBODY = "me"
NO_PERSON = ("starter", "import")  # the names that sign imported labels
RESERVED_NAMES = (*NO_PERSON, NOBODY, *audit.ACTORS)  # that nobody gets by logging in


class NotAllowed(audit.Refusal):
    """This person's role does not allow it."""


class Gone(As2Error):
    """The question, sentence or person does not exist any more."""


@dataclass(frozen=True, slots=True)
class AnnotatorView:
    """`role` is one of ROLES; `local`: the name was typed here, without an identity provider. `login_at`: when the
    provider last let them in."""

    id: int
    name: str
    role: str = "annotator"
    local: bool = True
    login_at: datetime | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether they tried to log in and nobody has let them in yet: newcomers are blocked."""
        return self.role == BLOCKED and not self.local and self.login_at is None


def sign_in(wb: Workbench, name: str) -> AnnotatorView:
    """The person of that name, whatever its capitals, created if there is none. Raises BadSetting for an empty or
    overlong name, NotAllowed for a name that is blocked, signs imported labels, stands for no person in the audit log,
    or belongs to somebody who logs in through an identity provider.
    """
    name = _tidy(name)
    with wb.read() as s:
        person = rows.find_annotator(s, name=name) or find_alike(s, name)
        has_admin = rows.count_people(s, ADMIN, but=() if name == NOBODY else (NOBODY,)) > 0
    name = person.name if person is not None else name
    if fold_name(name) in NO_PERSON or (person is not None and person.imported):
        raise NotAllowed(f"{name} is what imported labels are signed with; choose another name")
    if fold_name(name) in audit.ACTORS:
        raise NotAllowed(f"{name} stands for no person in the audit log; choose another name")
    if person is not None and person.subject is not None:
        raise NotAllowed(f"{name} logs in; choose another name")
    if person is None or not has_admin:
        with wb.write() as s:
            person = rows.ensure_annotator(s, name, wb.clock(), role=wb.settings.newcomers)
            if not wb.settings.admin or name in map(str.strip, wb.settings.admin.split(",")):
                _make_first_admin(s, wb, person)
    if person.role == BLOCKED:
        raise NotAllowed(f"{name} is blocked: ask an admin")
    return to_view(person)


def find_alike(s: Session, name: str) -> Annotator | None:
    """The first whose name looks the same, capitals aside; nobody for the name of those without one."""
    people = rows.list_people(s)
    return next((a for a in people if a.name != NOBODY and fold_name(a.name) == fold_name(name)), None)


def note_login(wb: Workbench) -> None:
    """Have the home remember the log-in of its database: other homes may share that, or this one be new."""
    with wb.read() as s:
        has_logins = rows.count_people(s, but_local=True) > 0
    if has_logins:
        remember_login(wb.settings)


def sign_in_subject(wb: Workbench, subject: str, name: str) -> AnnotatorView:
    """The person whom the identity provider calls `subject`, created at the first log-in; a name that is taken gets a
    number, and without a name, or one of white space, the subject is the name. Raises BadSetting where that is white
    space, too."""
    remember_login(wb.settings)
    with wb.read() as s:
        person = rows.find_annotator(s, subject=subject)
    if person is not None:
        return to_view(person)
    base_name = _tidy(_collapse(name)[:MAX_NAME_CHARS] or _collapse(subject)[:MAX_NAME_CHARS])
    with wb.write() as s:
        person, number = rows.find_annotator(s, subject=subject), 1
        while person is None or person.subject != subject:  # the name is another's, who may have come just now
            free = base_name if number == 1 else f"{base_name[: MAX_NAME_CHARS - 6]} {number}"
            alike = find_alike(s, free)
            if fold_name(free) not in RESERVED_NAMES and (alike is None or alike.subject == subject):
                person = rows.ensure_annotator(s, free, wb.clock(), role=wb.settings.newcomers, subject=subject)
            number += 1
        return to_view(person)


def appoint_first_admin(wb: Workbench, annotator_id: int) -> None:
    """Make the person an admin if no admin logs in: one by a typed name cannot any more."""
    with wb.write() as s:
        person = s.get_one(Annotator, annotator_id)
        _make_first_admin(s, wb, person, but_local=True)


def find_person(wb: Workbench, name: str) -> AnnotatorView:
    """By name. Raises Gone."""
    by_name = {person.name: person for person in list_people(wb)}
    if person := by_name.get(" ".join(name.split())):
        return person
    raise Gone(f"nobody here is called {name!r}; known: {', '.join(by_name) or 'nobody yet'}")


def list_people(wb: Workbench) -> tuple[AnnotatorView, ...]:
    """In the order they came."""
    with wb.read() as s:
        return tuple(to_view(p) for p in rows.list_people(s))


def set_role(wb: Workbench, annotator_id: int, role: str, *, by: int | None) -> None:
    """`by` None is the command line, which may do anything. Raises NotAllowed unless `by` is an admin, or if there
    would be no admin left; BadSetting, Gone."""
    if role not in ROLES:
        raise BadSetting(f"no role {role!r}; known: {', '.join(ROLES)}")
    with wb.write() as s:
        rows.lock_roles(s)
        allow(s, by, CHANGE_ROLE, ADMIN)
        person = s.get(Annotator, annotator_id, with_for_update=True)
        if person is None or person.imported:
            raise Gone("this person does not exist any more: reload the page")
        before = person.role
        if role == ADMIN:
            _ensure_admin(s, wb, person)
        elif person.role == ADMIN and not rows.count_people(s, ADMIN, but=(NOBODY, person.name)):
            message = f"{person.name} is the only admin: make somebody else one first"
            raise NotAllowed(message, actor=audit.name_actor(s, by), act=CHANGE_ROLE, target=person.name)
        if before != role:
            audit.record(s, wb.clock(), by, CHANGE_ROLE, person.name, f"{before} to {role}")
        person.role = role


def require(s: Session, annotator_id: int, act: str, least: str = ANNOTATOR) -> Annotator:
    """The person, locked for this transaction, if their role is `least` or more. `act` is what they are about to do, as
    the audit log has it if it is refused. Raises NotAllowed, Gone."""
    person = s.get(Annotator, annotator_id, with_for_update=True)
    if person is None:
        raise Gone("this annotator is not known here: type your name again")
    if ROLES.index(person.role) > ROLES.index(least):
        least_role = "an admin" if least == ADMIN else "an annotator"
        role = {VIEWER: "a viewer", BLOCKED: BLOCKED}.get(person.role, "an annotator")
        message = f"{person.name} is {role}, and this takes {least_role}: ask an admin"
        raise NotAllowed(message, actor=person.name, act=act)
    return person


def allow(s: Session, by: int | None, act: str, least: str = ANNOTATOR) -> None:
    """`require`, except for `by` None: the command line may do anything."""
    if by is not None:
        require(s, by, act, least)


def has_role(s: Session, annotator_id: int, role: str) -> bool:
    person = s.get(Annotator, annotator_id)
    return person is not None and person.role == role


def to_view(person: Annotator) -> AnnotatorView:
    return AnnotatorView(person.id, person.name, person.role, person.subject is None, person.login_at)


def _make_first_admin(s: Session, wb: Workbench, person: Annotator, *, but_local: bool = False) -> None:
    if _ensure_admin(s, wb, person, but_local=but_local):
        s.flush()
        audit.record(s, wb.clock(), person.id, "become the first admin", person.name)


def _ensure_admin(s: Session, wb: Workbench, person: Annotator, *, but_local: bool = False) -> bool:
    """Whether the person became one. `but_local`: admins who sign in by a typed name do not count."""
    rows.lock_roles(s)
    if rows.count_people(s, ADMIN, but=(NOBODY,), but_local=but_local):
        return False
    person.role = ADMIN
    newcomers = wb.settings.newcomers
    if newcomers != ANNOTATOR and person.name != NOBODY and (nobody := rows.find_annotator(s, name=NOBODY)):
        nobody.role = newcomers
    return True


def _collapse(name: str) -> str:
    return tidy_name(make_storable(name))


def _tidy(name: str) -> str:
    name = _collapse(name)
    if not name or len(name) > MAX_NAME_CHARS:
        raise BadSetting(f"an annotator's name has 1 to {MAX_NAME_CHARS} characters, not {len(name)}")
    return name
