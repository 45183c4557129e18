"""Going through a label queue to its end."""

from app.labels import annotation, leasing
from app.labels.seats import Seat


def walk(wb, corpus, who, queue, label="incorrect"):
    """Label a queue to its end; the items met, one at least."""
    met = label_all(wb, corpus, who, queue, label)
    assert met, f"the queue {queue} was empty"
    return met


def label_all(wb, corpus, who, queue, label="incorrect"):
    """Label what a queue still has; the items met."""
    met = []
    while (item := leasing.find_next_item(wb, Seat(corpus.id, who.id, queue))) is not None:
        met.append(item)
        annotation.give_label(
            wb, question_id=item.question_id, sentence_id=item.sentence_id, annotator_id=who.id, label=label
        )
    return met


def pair(item):
    return item.question_id, item.sentence_id


def iterate(wb, seat):
    """A queue to its end, without labelling."""
    skips = []
    while (item := leasing.find_next_item(wb, seat, skips)) is not None:
        yield item
        skips.append(pair(item))
