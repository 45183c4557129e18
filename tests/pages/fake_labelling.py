"""What the pages Label and Agreement call, in memory; `add` puts it beside the other fakes."""

from __future__ import annotations

import types
from dataclasses import replace
from datetime import UTC, datetime

import fake_services

from app.services import label_views, views
from as2core.errors import As2Error

NOW = datetime(2024, 5, 4, 12, 30, tzinfo=UTC)
QUESTIONS = (
    "When was the tower finished?",
    "What did it cost: $5 or $9?",
    "Who signed the plans of the railway bridges before the tower was begun?",
)
QUEUES = {
    "uncertain": "Where the cascade is least sure.",
    "disagree": "Where the cascade and the generative ranker see it differently.",
    "tops": "The best of every ranker.",
    "flagged": "What somebody flagged.",
    "random": "A random share, to keep the rest honest.",
}


class Enough(As2Error):
    pass


class CannotUndo(As2Error):
    pass


def add(fake, made: dict[str, types.ModuleType]) -> None:
    def text(sentence_id):
        return fake_services.TEXTS[(sentence_id - 100) % 8]

    def item(pair, annotator_id, queue, token):
        q, s = pair
        return views.QueueItem(
            q, s, QUESTIONS[q - 1], text(s), text(s - 1), text(s + 1), "The tower", 1,
            "the cascade is least sure of it (probability 0.52)", queue, 3, 0.52, 9, 18, "cascade",
            fake.labels.get(pair), token, NOW, model_says=True, arm=fake.arm, control=bool(fake.arm),
            peers=fake.peers, why_unscored="the cascade is least sure of it",
        )  # fmt: skip

    def next_item(wb, corpus_id, annotator_id, queue, *, holder="", passed=(), pool=()):
        mine = holder or str(annotator_id)
        for pair in fake.pairs:
            if pair in fake.labels or pair in passed or fake.leases.get(pair, mine) != mine:
                continue
            for held in [p for p, who in fake.leases.items() if who == mine]:
                del fake.leases[held]
            fake.leases[pair] = mine
            return item(pair, annotator_id, queue, f"t{pair}")
        return None

    def item_at(wb, question_id, sentence_id, annotator_id, *, holder="", dealt=None):
        pair = (question_id, sentence_id)
        held = fake.leases.get(pair) == "somebody else" and pair not in fake.labels
        return replace(item(pair, annotator_id, "tops", f"again{pair}"), held=held)

    def leave(wb, corpus_id, annotator_id, queue, *, holder=""):
        fake.left.append(queue)

    def question_at(wb, question_id, annotator_id, queue, *, holder="", dealt=None):
        asked = {
            ("flagged", 1): ["Flagged by bob: is <1889> enough?"] * 2,
            ("tops", 0): ["Ranked 1 of 6.", "The first."],
        }
        rows = tuple(
            label_views.ListRow(s, text(s), "The tower", i + 1, 0.9 - i / 10, 5 - i, i < 4, fake.labels.get((q, s)),
                                fake.leases.get((q, s)) != "somebody else", *asked.get((queue, i), ()))
            for i, (q, s) in enumerate(p for p in fake.pairs if p[0] == question_id)
        )  # fmt: skip
        return label_views.QuestionItem(question_id, QUESTIONS[question_id - 1], rows, "it is next", queue, "cascade",
                                        f"list{question_id}", False, fake.arm)  # fmt: skip

    def next_question(wb, corpus_id, annotator_id, queue, *, holder="", passed=(), pool=()):
        for q, _ in (p for p in fake.pairs if p not in fake.labels and p[0] not in passed):
            return question_at(wb, q, annotator_id, queue)
        return None

    def give_labels(wb, *, question_id, annotator_id, label, shown):
        given = []
        for s in shown:
            fake.labels[question_id, s] = label
            given.append(views.LabelView(1, question_id, s, annotator_id, label, NOW))
        fake.events.append((question_id, tuple(shown), annotator_id, label, next(iter(shown.values()))))
        return tuple(given)

    def undo_last(wb, annotator_id, corpus_id):
        if not fake.events:
            return None
        q, sentences, who, *_ = fake.events.pop()
        sentences = sentences if isinstance(sentences, tuple) else (sentences,)
        for s in sentences:
            fake.labels.pop((q, s), None)
            fake.undone.append((q, s))
        return views.LabelView(99, q, sentences[0], who, None, NOW, together=len(sentences))

    def recent_acts(wb, annotator_id, corpus_id, limit=5):
        acts = []
        for q, sentences, _, label, *_ in reversed(fake.events):
            sentences = sentences if isinstance(sentences, tuple) else (sentences,)
            first = sentences[0]
            acts.append(label_views.ActView(q, first, QUESTIONS[q - 1], text(first), label, len(sentences)))
        return tuple(acts[:limit])

    def withdraw(wb, *, question_id, sentence_id, annotator_id):
        fake.labels.pop((question_id, sentence_id), None)

    def flag(wb, *, question_id, sentence_id, annotator_id, note):
        fake.flags.append((question_id, sentence_id, note))

    def progress(wb, corpus_id, annotator_id, queue="random", *, pool=(), ahead):
        n = len(fake.labels)
        per = {k: list(fake.labels.values()).count(k) for k in views.LABELS}
        return views.ProgressView(n, n, n + 700, 12, len(fake.pairs) - n, per, 12.0, fake.rules.target)

    def guidelines(wb, corpus_id):
        return label_views.GuidelineView(len(fake.guidelines) - 1, fake.guidelines[-1])

    def write_guidelines(wb, corpus_id, text, *, by):
        fake.guidelines.append(text)

    def set_rules(wb, corpus_id, *, by, **changes):
        fake.rules = replace(fake.rules, **changes)

    def settle(wb, *, question_id, sentence_id, annotator_id, label, note=""):
        fake.settled.append((question_id, sentence_id, label, note))

    def everybody(wb):
        return (views.AnnotatorView(1, "ann", "admin"), views.AnnotatorView(2, "bob"))

    def set_role(wb, annotator_id, role, *, by):
        fake.settled.append((annotator_id, role))

    estimate = label_views.Estimate(0.61, 0.42, 0.78, 40)
    agreement = label_views.AgreementView(
        estimate, (("ann", "bob", estimate),), (("2024-05-01", estimate), ("2024-05-02", estimate)),
        (("when", estimate),), ("ann", "bob"),
    )  # fmt: skip
    anchoring = label_views.AnchoringView(60, 58, 0.9, 0.7, label_views.Estimate(0.2, 0.05, 0.34, 118))
    fake_shares = label_views.SharesView(
        label_views.Estimate(0.25, 0.13, 0.42, 32), (("uncertain", label_views.Estimate(0.5, 0.4, 0.6, 96)),)
    )
    parts = {
        "queueing": {"QUEUES": QUEUES, "REVIEWS": ("flagged",), "ALONG": "along", "ADAPTIVE": ("uncertain", "disagree"),
                     "leave": leave, "next_item": next_item, "item_at": item_at, "next_question": next_question,
                     "question_at": question_at, "dealt_as": lambda wb, q, s, annotator_id: label_views.Dealt("tops"),
                     "pool_of": lambda wb, corpus_id: ("cascade", "retrieval")},
        "rules": {"guidelines": guidelines, "rules": lambda wb, corpus_id: fake.rules, "set_rules": set_rules,
                  "write_guidelines": write_guidelines, "MAX_OVERLAP": 20, "MAX_TEXT": 20_000,
                  "all_guidelines": lambda wb, corpus_id: tuple(
                      label_views.GuidelineView(i, t) for i, t in reversed(list(enumerate(fake.guidelines))))},
        "agreement": {"agreement": lambda wb, corpus_id: agreement, "anchoring": lambda wb, corpus_id: anchoring,
                      "conflicts": lambda wb, corpus_id, annotator_id: tuple(fake.conflicts), "settle": settle,
                      "MAX_NOTE": 500},
        "shares": {"shares": lambda wb, corpus_id: fake_shares},
        "doubts": {"start_doubting": lambda wb, corpus_id: None, "waiting": lambda wb, corpus_id: 3},
    }  # fmt: skip
    fake_services.add_modules(made, parts)
    vars(made["app.services.labelling"]).update(
        give_labels=give_labels, undo_last=undo_last, withdraw=withdraw, progress=progress, recent_acts=recent_acts,
        flag=flag, Enough=Enough, CannotUndo=CannotUndo, MAX_NOTE=500,
    )  # fmt: skip
    vars(made["app.services.people"]).update(everybody=everybody, set_role=set_role, ROLES=views.ROLES)
