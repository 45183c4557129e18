"""Who is at the page: a name typed here, or whoever the identity provider says.

Where `[auth]` is configured (secrets.toml), nobody gets further without logging in; where it is damaged, or missing
although it is required, nobody gets further at all (`app.workbench.login`). Elsewhere a name is enough; the browser
keeps it in a cookie, so that a reload does not change who signs. A second cookie names the desk: what was leased before
a reload is still leased to whoever reloads.

The gate is passed by every run of a page, every `fragment` and every callback (`app.ui.errors`): Streamlit runs the
last two without the page's frame, and an open page would go on for somebody whose session has ended.
"""

import logging
import re
import secrets
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec
from urllib.parse import unquote

import streamlit as st
from streamlit import config

from app.ui import url
from app.ui.scripts import load_script
from app.ui.session.login_return import FAILED, OUTCOME
from app.ui.session.unsaved import draw_texts
from app.ui.text import capitalize_message, plain
from app.workbench import people, sessions
from app.workbench.login import needs_login
from app.workbench.people import NOBODY, AnnotatorView, NotAllowed
from app.workbench.sessions import Login, SessionEnded
from app.workbench.settings import get_settings
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, BadSetting

log = logging.getLogger(__name__)
P = ParamSpec("P")

NAME, DESK, CORPUS = "as2_name", "as2_desk", "as2_corpus"  # cookies
A_YEAR, EXPIRED = "max-age=31536000; ", "max-age=0; "
_REMEMBERED = "_as2_remembered"
_HOME, _PERSON = "_as2_home", "_as2_person"  # of a session that logged in
_SKIP_KEY = "_as2_skipped"  # whether a callback did nothing because the session does not count any more


def require_login() -> None:
    """Offer the log-in and stop the run where there is one to pass; called before the home is opened."""
    if _check_provider() and not read_claims().get("is_logged_in"):
        _offer_login()


def _check_provider() -> bool:
    """`has_provider`. Raises NotAllowed instead, because the reason names files of the server."""
    try:
        return has_provider()
    except BadSetting as e:
        log.error("%s", e)
        reason = (
            "the log-in is not set up correctly, so nobody gets in; whoever runs this app finds the reason in its log"
        )
        raise NotAllowed(reason) from e


def admit(wb: Workbench) -> None:
    """Offer the log-in and stop the run where the session has ended, or the person may not be here; called before
    anything of the home is drawn. Only now is it known whether the database is under a log-in."""
    if not _check_provider():
        return
    st.session_state[_HOME] = wb
    note = " Nothing was recorded." if st.session_state.pop(_SKIP_KEY, False) else ""
    try:
        st.session_state[_PERSON] = sessions.admit(wb, Login.from_claims(read_claims()))
    except SessionEnded as e:
        st.info(f"{capitalize_message(str(e))}.{note}", icon=":material/logout:")
        draw_texts()
        _offer_login()
    except NotAllowed as e:
        st.error(f"{capitalize_message(plain(str(e)))}.{note}", icon=":material/block:")
        st.button("Log out", key="as2_logout", icon=":material/logout:", on_click=st.logout)
        st.stop()


def _offer_login() -> None:
    if url.get(OUTCOME) == FAILED:
        st.warning("You were not logged in. Try again, or ask whoever runs this server.", icon=":material/no_accounts:")
    url.put(**{OUTCOME: None})
    st.button("Log in", key="as2_login", type="primary", icon=":material/login:", on_click=st.login)
    st.stop()


def check() -> None:
    """For what runs without the page's frame. Raises SessionEnded or NotAllowed where `admit` would stop the run."""
    if (wb := st.session_state.get(_HOME)) is not None:
        sessions.admit(wb, Login.from_claims(read_claims()))


def may_act() -> bool:
    """Whether `check` passes; if it does not, `admit` says in the run that follows that nothing was recorded."""
    st.session_state[_SKIP_KEY] = not (is_allowed := is_current())
    return is_allowed


def is_current() -> bool:
    """Whether `check` passes."""
    try:
        check()
    except (SessionEnded, NotAllowed):
        return False
    return True


def fragment(*, run_every: float | None = None) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """As `st.fragment`, which nothing else calls (a test looks): where the session does not count any more, the whole
    page is drawn, with the log-in."""

    def decorate(draw: Callable[P, None]) -> Callable[P, None]:
        @wraps(draw)
        def check_and_draw(*args: P.args, **kwargs: P.kwargs) -> None:
            if not is_current():
                st.rerun()
            draw(*args, **kwargs)

        return st.fragment(check_and_draw, run_every=run_every)

    return decorate


def read_claims() -> dict[str, Any]:
    """What the identity provider says of whoever is at the page; {} where nobody logged in."""
    return dict(st.user.to_dict())


def find_person(wb: Workbench) -> AnnotatorView:
    """The person behind `require_login` and `admit`, known to the database."""
    person = _show_person(wb) if has_provider() else _sign_in_by_name(wb)
    cookies = [(DESK, name_browser(), "")]
    if person.local:
        cookies.append((NAME, person.name, A_YEAR if person.name != NOBODY else EXPIRED))
    cookies += [(name, value, A_YEAR) for name, value in st.session_state.get(_REMEMBERED, {}).items()]
    st.components.v2.component("as2_kept", js=load_script("signin"))(key="as2_kept", data={"cookies": cookies})
    return person


def remember(cookie: str, value: str) -> None:
    """Have the browser keep it for a year; the run that follows sends it."""
    st.session_state.setdefault(_REMEMBERED, {})[cookie] = value


def read_cookie(cookie: str) -> str:
    """As the browser had it when this session began; "" if it had none."""
    return unquote(st.context.cookies.get(cookie, ""))


def name_browser() -> str:
    """Names this browser among all that sign with the same name."""
    cookie = st.context.cookies.get(DESK, "")
    fresh = cookie if re.fullmatch("[0-9a-f]{16}", cookie) else secrets.token_hex(8)
    return st.session_state.setdefault("_as2_desk", fresh)


def name_desk(person: AnnotatorView) -> str:
    """Who leases what is in front of them: whoever logs in, in all their browsers alike, and this browser where several
    people may sign with the same name."""
    return name_browser() if person.local else ""


def has_provider() -> bool:
    """Raises BadSetting where the log-in is damaged, or missing although required."""
    settings, files = get_settings(), list_secret_files()
    has_file = any(file.exists() for file in files)
    if not has_file and settings.login != "off" and st.secrets.load_if_toml_exists() and "auth" in st.secrets:
        return True  # given by other means
    return needs_login(settings, files)


def list_secret_files() -> list[Path]:
    """Where Streamlit looks for secrets.toml."""
    return [Path(file) for file in config.get_option("secrets.files") if str(file).endswith(".toml")]


def _show_person(wb: Workbench) -> AnnotatorView:
    person: AnnotatorView = st.session_state[_PERSON]
    st.caption(f"Signed in as {plain(person.name)} ({person.role})")
    st.button("Log out", key="as2_logout", type="tertiary", icon=":material/logout:", on_click=_log_out,
              args=(wb, person.id), help="Ends your sessions in all browsers")  # fmt: skip
    return person


def _log_out(wb: Workbench, person_id: int) -> None:
    """The cookie of this browser goes, those of others count no more."""
    try:
        sessions.end_sessions(wb, person_id, by=person_id)
    except As2Error as e:  # such as a full disk; at least this browser forgets
        log.error("sessions are not ended: %s", e)
    st.logout()


def _sign_in_by_name(wb: Workbench) -> AnnotatorView:
    state = st.session_state
    if "_as2_name" not in state:
        state["_as2_name"] = read_cookie(NAME) or NOBODY
    current = state["_as2_name"]
    text = st.text_input(
        "Your name",
        current,
        key="as2_name",
        placeholder=current,
        max_chars=people.MAX_NAME_CHARS,
        help="Labels are signed with it, and this browser remembers it. Two people, two names.",
    )
    name = " ".join(text.split())
    if not name:
        st.caption(f"A label needs a name. You are still “{plain(current)}”, and nothing has changed.")
    person = people.sign_in(wb, name or current)
    state["_as2_name"] = name or current  # a name that is refused is not kept
    return person
