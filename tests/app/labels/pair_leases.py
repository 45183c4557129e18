"""Who has a pair in front, as the database has it."""

from db.models import Lease


def find_lease(wb, item):
    """That of an item's pair; None where nobody has it."""
    with wb.read() as s:
        return s.get(Lease, (item.question_id, item.sentence_id))
