"""The JavaScript of our Streamlit components, each in a file beside the module that uses it."""

from functools import cache
from pathlib import Path


@cache
def load_script(name: str) -> str:
    """`app/ui/<name>.js`, with `takeover.js` in front: its `newest` keeps the newest update in force."""
    folder = Path(__file__).parent
    return "\n".join((folder / f"{file}.js").read_text(encoding="utf-8") for file in ("takeover", name))
