"""A labelled question about a tower."""

from __future__ import annotations

QUESTION = {
    "qid": "q1",
    "question": "In which year was Kestrel Tower finished?",
    "candidates": [
        {"id": "a-0", "text": "Kestrel Tower was finished in 1889.", "label": 1, "title": "Kestrel Tower"},
        {"id": "a-1", "text": "Kestrel Tower has three lifts.", "label": 0, "title": "Kestrel Tower"},
    ],
}
