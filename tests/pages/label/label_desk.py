"""Label of the prepared home: opens the page and presses its buttons."""

import re

import stored
from app_pages import markup, open_page

from app.labels import annotation, leasing
from app.labels.seats import Seat
from db.repositories import questions

BRIDGE, OPENED, DESIGNED, TRAINS, STEEL = 3, 7, 8, 10, 9  # a question, and its candidates in the order of their ranks
FIRST, SECOND, THIRD = (BRIDGE, OPENED), (BRIDGE, DESIGNED), (BRIDGE, TRAINS)  # what the cascade is least sure of


def open_label(query=()):
    return open_page("label", {"mode": "one", "queue": "uncertain", **dict(query)})


def press(at, name):
    return at.button(key=f"label_{name}").click().run()


def front(at):
    """The pair on the desk."""
    return at.session_state["_label_desk"].pair


def leave(wb, ann, *pairs):
    """Only these are left for others: ann labels the rest."""
    while item := leasing.find_next_item(wb, Seat(stored.TOWERS, ann.id, "random"), skips=pairs):
        label(wb, ann, (item.question_id, item.sentence_id))


def label(wb, who, pair, label="correct"):
    annotation.give_label(wb, question_id=pair[0], sentence_id=pair[1], annotator_id=who.id, label=label)


def add_unranked(wb, text="Who painted it?"):
    """A question in the queues that no model has ranked."""
    with wb.write() as s:
        questions.add_question(s, stored.TOWERS, text, external_id="new", origin="listed", now=wb.clock())


def score_jobs(wb):
    return [j.state for j in stored.jobs(wb) if j.kind == "score"]


def rows(at):
    return markup(at).count('data-testid="as2-candidate"')


def read_rows(at):
    return re.findall('<div class="as2-candidate.*?</div>.*?</div>', markup(at))


def opened_list(**query):
    return open_label({"mode": "list", **query})
