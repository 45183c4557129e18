"""The Ask page with a question, and what it shows."""

import json

from app_pages import open_page

QUESTION = "When was the hall finished?"  # of forty candidates, one answers


def open_ask(query=None):
    return open_page("ask", {"corpus": "Works"} | (query or {}))


def ask_question(query=None):
    """The page after a question, generative scores included."""
    at = open_ask({"q": QUESTION} | (query or {}))
    at.session_state["_as2_result"][1].generative.exception(timeout=60)
    return at.run()


def view_of(at):
    return at.session_state["_as2_result"][1].view


def table(at):
    return at.dataframe[0].value


def read_component(at, component):
    """What a component of the page gets."""
    return next(json.loads(c.proto.json) for c in at.get("bidi_component") if c.proto.component_name == component)


def shares(at):
    return read_component(at, "as2_cascade_state")["percents"]


def drop(at, *percents):
    """The slider, released at one share or at one for each exit."""
    at.session_state["_as2_drop"] = "-".join(map(str, percents))
    return at.run()


def total(entered, stayed):
    """The last row of the costs, up to its time."""
    return f"<th scope=row>all</th><td>{entered}</td><td>{stayed}</td>"
