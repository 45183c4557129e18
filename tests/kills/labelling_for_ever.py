"""A person at work, as a process to be killed: labels one by one and in lists, undoes, and sees that a retrain runs.

    python labelling_for_ever.py <corpus> <file> <retrains> <pause>

What it is about to do to a whole list, and every event once it is confirmed, is a line of the file, and on the disk
before it goes on. So many retrains are begun, one after another; between two acts it pauses for so many seconds.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from app import bootstrap
from app.adapt import retrain_job
from app.adapt.settings import RetrainSettings
from app.jobs import queue
from app.labels import annotation, leasing
from app.labels.annotation import Presentation
from app.labels.seats import Seat
from app.workbench import people
from as2core.errors import NotEnoughLabels


def main(corpus_id: int, file: Path, retrains: int, pause: float) -> None:
    wb = bootstrap.open()
    me = people.sign_in(wb, "ann").id
    rng = random.Random(os.getpid())
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(**line: object) -> None:
        os.write(out, (json.dumps(line) + "\n").encode())
        os.fsync(out)

    def confirm(given) -> None:
        tell(confirmed=[[x.event_id, x.question_id, x.sentence_id, x.label] for x in given if x.changed])

    looked = 0.0
    while True:
        if retrains and time.monotonic() - looked > 1:
            looked = time.monotonic()
            begin_retrain(wb, corpus_id, retrains)
        chance = rng.random()
        if chance < 0.1 and (undone := annotation.undo_last(wb, me, corpus_id)) is not None:
            tell(undid=undone.event_id)
        elif chance < 0.15 and (asked := leasing.find_next_question(wb, Seat(corpus_id, me, "random"))) is not None:
            shown = {
                r.sentence_id: Presentation(queue=asked.assignment.queue)
                for r in asked.rows
                if r.free and r.label is None
            }
            tell(will=[asked.question_id, sorted(shown)])
            confirm(
                annotation.give_labels(
                    wb, question_id=asked.question_id, annotator_id=me, label="incorrect", presentations=shown
                )
            )
        else:
            item = leasing.find_next_item(wb, Seat(corpus_id, me, "random")) or leasing.find_next_item(
                wb, Seat(corpus_id, me, "own")
            )
            if item is not None:
                given = annotation.give_label(
                    wb,
                    question_id=item.question_id,
                    sentence_id=item.sentence_id,
                    annotator_id=me,
                    label=rng.choice([x for x in ("correct", "incorrect", "unsure") if x != item.label]),
                    presentation=Presentation(queue=item.assignment.queue),
                )
                confirm([given])
        time.sleep(pause)


def begin_retrain(wb, corpus_id: int, limit: int) -> None:
    there = queue.list_jobs(wb, "retrain", limit)
    if len(there) < limit and not any(j.is_active for j in there):
        try:
            retrain_job.start_retrain(wb, corpus_id, RetrainSettings(epochs=2))
        except NotEnoughLabels:
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
