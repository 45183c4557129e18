"""What a role keeps from somebody, in words for a button that is greyed out."""

from __future__ import annotations

from app.services.views import AnnotatorView


def barred(me: AnnotatorView, act: str = "label") -> str | None:
    """Why this person may not do it: a viewer only looks. None for who may."""
    return f"You may look, not {act}. An admin can change that, on the page Agreement." if me.role == "viewer" else None
