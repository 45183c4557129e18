"""A home to back up, and one that was restored."""

from contextlib import contextmanager

from app import bootstrap
from app.labels import annotation


@contextmanager
def opened(settings, models, clock):
    wb = bootstrap.open(settings, models, clock)
    try:
        yield wb
    finally:
        wb.close()


def label_all(wb, view, ann, label):
    for candidate in view.candidates[:5]:
        annotation.give_label(
            wb, question_id=view.question_id, sentence_id=candidate.sentence_id, annotator_id=ann.id, label=label
        )
