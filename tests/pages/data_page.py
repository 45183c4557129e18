"""The Data page, and what it shows."""

import re

from app_pages import open_page

from app.corpora import corpora
from app.labels import annotation


def open_data(query=None):
    return open_page("data", query)


def names(wb):
    return [c.name for c in corpora.list_corpora(wb)]


def label(wb, me):
    annotation.give_label(wb, question_id=1, sentence_id=1, annotator_id=me.id, label="correct")


def reasons(at, number=0):
    """The cells of a table of reasons on the page, row by row."""
    tables = [html for h in at.get("html") if 'class="as2-reasons"' in (html := h.proto.body)]
    rows = re.findall(r"<tr>(<td>.*?)</tr>", tables[number])
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]
