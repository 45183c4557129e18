"""How a corpus is labelled: overlap, control and blind share, target."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TypedDict, Unpack

from sqlalchemy.orm import Session

from app.corpora.corpora import lock_corpus
from app.workbench import audit
from app.workbench.people import ADMIN, require
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting
from db.models import Corpus

MAX_OVERLAP = 20
NAMES = {"overlap": "people per pair", "control": "random share", "blind": "share without ranks", "target": "target"}
CHANGE_RULES = "change the labelling rules"  # in the audit log


@dataclass(frozen=True, slots=True)
class Rules:
    """How a corpus is labelled. `overlap`: people a pair. `control`: share of an adaptive queue drawn at random.
    `blind`: share of what is drawn at random that is shown without scores. `target`: pairs wanted, None for no end."""

    overlap: int = 1
    control: float = 0.1
    blind: float = 0.5
    target: int | None = None


class RuleChanges(TypedDict, total=False):
    """The same, each if it changes."""

    overlap: int
    control: float
    blind: float
    target: int | None


def read_rules(wb: Workbench, corpus_id: int) -> Rules:
    with wb.read() as s:
        return find_rules(s, corpus_id)


def find_rules(s: Session, corpus_id: int) -> Rules:
    """Within a session; the defaults for a corpus that is gone."""
    return get_rules(s.get(Corpus, corpus_id))


def get_rules(corpus: Corpus | None) -> Rules:
    """The defaults where the corpus sets none."""
    return Rules(**((corpus.rules if corpus else None) or {}))


def set_rules(wb: Workbench, corpus_id: int, *, by: int, **changes: Unpack[RuleChanges]) -> Rules:
    """Change some of them. Raises NotAllowed unless `by` is an admin, BadSetting, UnknownCorpus."""
    with wb.write() as s:
        require(s, by, CHANGE_RULES, ADMIN)
        lock_corpus(s, corpus_id)
        before = find_rules(s, corpus_id)
        rules = replace(before, **changes)
        if not 1 <= rules.overlap <= MAX_OVERLAP:
            raise BadSetting(f"the overlap is 1 to {MAX_OVERLAP} people, not {rules.overlap}")
        for name in ("control", "blind"):
            if not 0 <= getattr(rules, name) <= 1:
                raise BadSetting(f"the {name} share is 0 to 1, not {getattr(rules, name)}")
        if rules.target is not None and rules.target < 1:
            raise BadSetting(f"the target is 1 pair or more, not {rules.target}")
        corpus = s.get_one(Corpus, corpus_id)
        corpus.rules = asdict(rules)
        if rules != before:
            audit.record(s, wb.clock(), by, CHANGE_RULES, corpus.name, _describe_changes(before, rules))
        return rules


def _describe_changes(before: Rules, after: Rules) -> str:
    """`people per pair 1 to 2, target none to 100`"""
    pairs = ((name, old, asdict(after)[name]) for name, old in asdict(before).items())
    return ", ".join(f"{NAMES[name]} {_describe(old)} to {_describe(new)}" for name, old, new in pairs if old != new)


def _describe(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
