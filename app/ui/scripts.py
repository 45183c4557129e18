"""The JavaScript of our Streamlit components, each in a file beside the module that uses it."""

from functools import cache
from pathlib import Path


@cache
def load_script(*names: str) -> str:
    """The files `app/ui/<name>.js` as one module, with `takeover.js` in front: its `newest` keeps the newest update in
    force."""
    return "\n".join(load_text(f"{name}.js") for name in ("takeover", *names))


@cache
def load_text(path: str) -> str:
    """A file of `app/ui`."""
    return (Path(__file__).parent / path).read_text(encoding="utf-8")
