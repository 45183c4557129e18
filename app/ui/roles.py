"""Why a role may not do something, as the text of a disabled button."""

from __future__ import annotations

from app.workbench.people import VIEWER, AnnotatorView


def barred(me: AnnotatorView, act: str = "label") -> str | None:
    """None for annotators and admins: only viewers are barred."""
    return f"Viewers cannot {act}. An admin can change your role on the page Agreement." if me.role == VIEWER else None
