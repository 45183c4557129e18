"""Model versions: what there is, which one answers, and moving between them.

The shipped versions (models/) are there from the start and are the floor: a version that cannot be loaded is said to
be so, and the shipped one answers instead.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from app.services import people
from app.services.views import Promotion, VersionView
from app.services.workbench import Workbench
from as2core.errors import As2Error, BadSetting, DamagedModel
from db.models import ModelVersion
from db.repositories import versions as rows

log = logging.getLogger(__name__)

CASCADE, GENERATIVE = "cascade", "generative"
LEARNT_FROM = {"calibration": CASCADE}  # what is adapted -> the kind of version it makes, where they differ
FILES = ("config.json", "card.json", "model.safetensors")
SUMS = ("sha256", "config_sha256")  # of a card; kept beside a shipped version's metrics, they tell an update from none


class UnknownVersion(As2Error):
    """No version of that name."""


class NothingToRollBack(As2Error):
    """The shipped version is active: there is nothing before it."""


class NeedsReason(As2Error):
    """A version that got worse can only be promoted with words that are kept."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A version ready to score. `note` is empty, or tells the reader that another one had to stand in."""

    id: int
    name: str
    ranker: Any
    note: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    """What a retrain starts from: a version, or a ranker of the catalog that has none of its kind yet. `spec` finds it
    again, `name` is for people; `id` is the version's, None for the catalog's, and stays when it is renamed."""

    name: str
    spec: str
    kind: str
    card: Mapping[str, Any]
    load: Callable[[], Any]
    id: int | None = None


def register_shipped(wb: Workbench) -> None:
    """Enter the versions of models/ that the database does not know yet. Of one that an update of the program brought
    anew, the numbers are the new card's, and what it ranked before is ranked anew, where it answers."""
    found = [d for d in sorted(wb.settings.models_dir.glob("*")) if (d / "config.json").is_file()]
    cards = {d: _json(d / "card.json") for d in found}
    with wb.read() as s:
        known = {v.name: v for v in rows.versions(s)}
        if all(d.name in known and not _is_updated(known[d.name], content) for d, content in cards.items()):
            return
    answering = []
    with wb.write() as s:
        for directory, content in cards.items():
            row = rows.version_named(s, directory.name)
            if row is None:
                rows.add_version(
                    s,
                    directory.name,
                    kind=str(_json(directory / "config.json").get("ranker", directory.name)),
                    path=str(directory),
                    state="shipped",
                    note=str(content.get("note", "shipped with the program")),
                    metrics=_numbers_and_sums(content),
                    now=wb.clock(),
                )
            elif _is_updated(row, content):
                row.note = str(content.get("note", row.note))
                row.metrics, row.created = _numbers_and_sums(content), wb.clock()
                if row is rows.active(s, row.kind):
                    answering.append(row.kind)
    for kind in answering:
        rank_anew(wb, kind)


def _is_updated(row: ModelVersion, content: Mapping[str, Any]) -> bool:
    """Whether the program's card is of other weights than the row. A row from before sums were kept is taken to be."""
    known = "sha256" in content and row.state == "shipped"
    return known and any(row.metrics.get(k) != content.get(k) for k in SUMS)


def _numbers_and_sums(content: Mapping[str, Any]) -> dict[str, Any]:
    return numbers(content.get("metrics")) | {k: content[k] for k in SUMS if k in content}


def list_versions(wb: Workbench, kind: str | None = CASCADE) -> list[VersionView]:
    """Newest first; `kind` None for all kinds."""
    with wb.read() as s:
        found = rows.versions(s, kind)
        active_ids = {k: getattr(rows.active(s, k), "id", None) for k in {v.kind for v in found}}
        said = rows.said(s, [v.id for v in found])
    return [_view(v, active=active_ids[v.kind] == v.id, said=said.get(v.id, ())) for v in found]


def active(wb: Workbench, kind: str = CASCADE) -> VersionView:
    """The version in force. Raises As2Error if not even a shipped one is there."""
    with wb.read() as s:
        row = _active(s, wb, kind)
        return _view(row, active=True, said=rows.words_for(s, row.id))


def get_version(wb: Workbench, name: str, kind: str = CASCADE) -> VersionView:
    """By name, or "active". Raises UnknownVersion listing those there are."""
    with wb.read() as s:
        row = _named(s, wb, name, kind)
        now = getattr(rows.active(s, row.kind), "id", None)
        return _view(row, active=row.id == now, said=rows.words_for(s, row.id))


def located(wb: Workbench, spec: str) -> tuple[Path, str] | None:
    """Where the version is that a spec names, or the directory that it is, and the settings behind its colon; None
    for a spec of the catalog, and for what is neither."""
    from as2core.rankers.catalog import CATALOG, version_and_settings

    with suppress(UnknownVersion):
        return Path(get_version(wb, spec).path), ""
    name, settings = version_and_settings(spec)
    if spec.partition(":")[0] in CATALOG:
        return None
    with suppress(UnknownVersion):
        return Path(get_version(wb, name).path), settings
    return (Path(name), settings) if (Path(name) / "config.json").is_file() else None


def kind_learnt(what: str) -> str:
    """The kind of version that adapting `what` makes."""
    return LEARNT_FROM.get(what, what)


def kind_of(path: Path) -> str:
    """The kind of the version in a directory, "" if it cannot be read."""
    return str(_json(path / "config.json").get("ranker", ""))


def base_for(wb: Workbench, name: str, kind: str = CASCADE) -> Base:
    """By a version's name, a catalog spec, or "active", which is the kind's fresh one where no version is active.

    Raises UnknownVersion, or BadSetting if it is of another kind.
    """
    if name == "active":
        with wb.read() as s:
            there = rows.active(s, kind) is not None
        name = "active" if there or kind in (CASCADE, GENERATIVE) else fresh(wb, kind)
    of_catalog, _, settings = name.partition(":")
    if of_catalog == kind and (settings or kind not in {v.name for v in list_versions(wb, kind)}):
        return Base(of_catalog, name, kind, {"trained_on": trained_on(wb, name)}, lambda: wb.models.named(name))
    version = get_version(wb, name, kind)
    if version.kind != kind:
        raise BadSetting(f"{version.name} is a {version.kind} version: choose a {kind} to start from")
    content = _json(Path(version.path) / "card.json") | {"trained_on": trained_on(wb, version.path)}
    return Base(version.name, version.name, kind, content, lambda: wb.models.version(Path(version.path)), version.id)


def trained_on(wb: Workbench, ranker: str) -> list[str]:
    """The questions that a ranker, or one it is made of, learnt from, a shipped model those of the starter corpus's
    train part; by a version's directory or name, or a catalog spec. Raises BadSetting for a spec that cannot be read.
    """
    from app.services.snapshots import starter  # which imports this module
    from as2core.rankers.catalog import CATALOG, shipped_model
    from as2core.rankers.specs import read_parts, read_settings

    name, _, settings = ranker.partition(":")
    entry = CATALOG.get(name)
    if entry is not None and entry.nested:
        parts = read_settings(entry, settings).get(entry.nested, entry.settings[entry.nested])
        return sorted({q for part in read_parts(parts) for q in trained_on(wb, part.spec)})
    if entry is not None:
        model = shipped_model(ranker)
        if model is None:
            return []
        folder = wb.settings.models_dir / model
    else:
        folder, _ = located(wb, ranker) or (Path(ranker), "")
    parts = _json(folder / "config.json").get("settings", {}).get("rankers", ())
    own = _json(folder / "card.json").get("trained_on", ())
    if folder.is_dir() and folder.resolve().parent == wb.settings.models_dir.resolve():
        own = [*own, *(q.text for q in starter(wb, "train"))]
    return sorted({*own, *(q for part in parts for q in trained_on(wb, part))})


def free_name(s: Session, wanted: str) -> str:
    """`wanted`, or with a number where another version has that name."""
    return next(name for name in _numbered(wanted) if rows.version_named(s, name) is None)


def free_folder(wb: Workbench, wanted: str, below: Path) -> Path:
    """A directory for a version of that name that is no other's: one that was renamed has kept its own. What lies there
    was left by a version that was not made to its end."""
    with wb.read() as s:
        taken = {v.path for v in rows.versions(s)}
    paths = (below / name for name in _numbered(wanted))
    return next(path for path in paths if str(path) not in taken)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {n}" for n in count(2))


def fresh(wb: Workbench, kind: str) -> str:
    """The catalog spec to start from where there is no version of the kind: a fusion is one of the active versions."""
    if kind != "fusion":
        return kind
    parts = [active(wb, k).path for k in (CASCADE, GENERATIVE)]
    return f"fusion:method=zscore,rankers={'+'.join([*parts, 'bi-encoder'])}"


def worse(metrics: Mapping[str, float]) -> bool:
    """Whether a version's AP on held-out questions is below its parent's."""
    return metrics.get("AP", 0.0) < metrics.get("before AP", metrics.get("AP", 0.0))


def promote(wb: Workbench, name: str, reason: str = "", *, by: int | None = None) -> VersionView:
    """Make a version the one of its kind that answers. Raises UnknownVersion, DamagedModel if it cannot be loaded,
    NeedsReason if it is worse than its parent and nothing is said, or NotAllowed for a viewer."""
    view = get_version(wb, name)
    if worse(view.metrics) and not reason.strip():
        ap, before = (view.metrics.get(k, 0.0) for k in ("AP", "before AP"))
        raise NeedsReason(
            f"{view.name} is worse than {view.parent or 'what it was made from'} on held-out questions (AP {ap:.3f} "
            f"against {before:.3f}): say why it shall answer all the same"
        )
    wb.models.version(Path(view.path))
    with wb.write() as s:
        people.allow(s, by)
        row = _named(s, wb, name, CASCADE)
        before = rows.active(s, row.kind)
        changed = before is None or before.id != row.id
        if changed:
            if before is not None and before.state == "candidate":
                before.state = "former"
            if row.state == "rejected":
                row.state = "former"
            rows.add_activation(s, row.kind, row.id, reason, wb.clock())
    if changed:
        rank_anew(wb, view.kind)
    return get_version(wb, name)


def reject(wb: Workbench, name: str, *, by: int | None = None) -> VersionView:
    """Put a version aside. Raises As2Error for the active or a shipped one, NotAllowed for a viewer."""
    with wb.write() as s:
        people.allow(s, by)
        row = _named(s, wb, name, CASCADE)
        if row.state == "shipped":
            raise As2Error(f"{name} is shipped with the program: it stays as the version to fall back to")
        if row.id == getattr(rows.active(s, row.kind), "id", None):
            raise As2Error(f"{name} is active: promote another version or roll back first")
        row.state = "rejected"
    return get_version(wb, name)


def roll_back(wb: Workbench, kind: str = CASCADE, *, by: int | None = None) -> VersionView:
    """Take the last promotion of a kind back: what was active before it is active again. Raises NothingToRollBack, or
    NotAllowed for a viewer."""
    with wb.write() as s:
        people.allow(s, by)
        newest = rows.newest_activation(s, kind)
        if newest is None:
            so = "the shipped version is active" if rows.shipped(s, kind) else f"no {kind} version was promoted"
            raise NothingToRollBack(f"{so}: there is nothing to roll back to")
        newest.reverted = wb.clock()
        s.flush()
        if rows.active(s, kind) is None:
            raise NothingToRollBack(f"no {kind} version answered before this one: there is nothing to roll back to")
        left = rows.version(s, newest.version_id)
        if left is not None and left.state == "candidate":
            left.state = "former"
    rank_anew(wb, kind)
    return active(wb, kind)


def rank_anew(wb: Workbench, kind: str) -> None:
    """Have the queues' questions ranked by the version that answers now."""
    from app.services import scoring

    if kind == CASCADE:
        try:
            scoring.score_again(wb)
        except As2Error as e:  # the version is in force all the same
            log.warning("the queues keep their old scores: %s", e)


def card(wb: Workbench, name: str) -> dict[str, Any]:
    """The version's card: parent, data hash, seed, settings, metrics. Raises DamagedModel."""
    from as2core.rankers.versions import read_card

    return read_card(Path(get_version(wb, name).path))


def choose(wb: Workbench, name: str = "active", kind: str = CASCADE) -> Chosen:
    """Load a version; if that fails, the shipped one of its kind, with a note that says so.

    Raises UnknownVersion, BadSetting if it is of another kind, or DamagedModel when the shipped one is damaged too.
    """
    with wb.read() as s:
        row = _named(s, wb, name, kind)
        if row.kind != kind:
            raise BadSetting(f"{row.name} is a {row.kind} version: choose a {kind} to answer with")
        fallback = rows.shipped(s, row.kind)
    try:
        return Chosen(row.id, row.name, wb.models.version(Path(row.path)))
    except DamagedModel as e:
        if fallback is None or fallback.id == row.id:
            raise
        ranker = wb.models.version(Path(fallback.path))
        note = f"Version {row.name} cannot be used ({e}). The shipped version {fallback.name} answered instead."
        return Chosen(fallback.id, fallback.name, ranker, note)


def numbers(metrics: object) -> dict[str, float]:
    """The plain numbers of a card's metrics: nested ones are named "outer inner"."""
    flat: dict[str, float] = {}
    for key, value in metrics.items() if isinstance(metrics, Mapping) else ():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": v for inner, v in numbers(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            flat[str(key)] = float(value)
    return flat


def _active(s: Session, wb: Workbench, kind: str) -> ModelVersion:
    row = rows.active(s, kind)
    if row is None:
        from as2core.rankers.versions import fetched

        raise DamagedModel(f"there is no {kind} model: {wb.settings.models_dir / kind} is missing; it {fetched(kind)}")
    return row


def _named(s: Session, wb: Workbench, name: str, kind: str) -> ModelVersion:
    if name == "active":
        return _active(s, wb, kind)
    row = rows.version_named(s, name)
    if row is None:
        known = ", ".join(v.name for v in rows.versions(s)) or "none"
        raise UnknownVersion(f"no version {name!r}; known: {known}")
    return row


def _view(row: ModelVersion, *, active: bool, said: Iterable[tuple[str, datetime]]) -> VersionView:
    path = Path(row.path)
    missing = [f for f in FILES if not (path / f).is_file()]
    problem = ""
    if not path.is_dir():
        problem = f"its directory {path} is missing"
    elif missing:
        problem = f"{', '.join(missing)} missing in {path}"
    return VersionView(
        row.id,
        row.name,
        row.kind,
        row.parent,
        row.created,
        row.note,
        "active" if active else row.state,
        numbers(row.metrics),
        row.path,
        problem,
        tuple(Promotion(words, at) for words, at in said),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
