"""From a name to a ranker: versions by name or directory, rankers of the catalog, and the fallback for damaged ones."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.versions.benchmarks import load_starter
from app.versions.registry import ANSWERING, CASCADE, UnknownVersion, find_row, get_active, get_version, list_versions
from app.versions.uploaded_runs import load_run
from app.workbench.workbench import Workbench
from as2core.errors import BadSetting, DamagedModel
from as2core.evaluation import training_record
from as2core.rankers.base import Ranker
from as2core.rankers.catalog import CATALOG, find_kind_of_file, split_spec
from as2core.system.files import is_file
from db.repositories import versions as rows


@dataclass(frozen=True, slots=True)
class LoadedVersion:
    """A version ready to score. `note` is empty, or says that the shipped one answers instead."""

    id: int
    name: str
    ranker: Ranker
    note: str = ""


@dataclass(frozen=True, slots=True)
class Base:
    """What a retrain starts from: a version, or a ranker of the catalog that has no version of its kind yet. `spec`
    finds it again, `name` is for people. `trained_on`: the questions that it or its ancestors were trained on. `id` is
    the version's, which a renaming does not change; None for the catalog's."""

    name: str
    spec: str
    trained_on: tuple[str, ...]
    load: Callable[[], Ranker]
    id: int | None = None


def load_version(wb: Workbench, name: str = "active", kind: str = CASCADE) -> LoadedVersion:
    """Load a version; if that fails, the shipped one of its kind, with a note that says so.

    Raises UnknownVersion, BadSetting if it is of another kind, or DamagedModel when the shipped one is damaged too.
    """
    with wb.read() as s:
        row = find_row(s, wb, name, kind)
        if row.kind != kind:
            raise BadSetting(f"{row.name} is a {row.kind} version: choose a {kind} to answer with")
        fallback = rows.find_shipped(s, row.kind)
    try:
        return LoadedVersion(row.id, row.name, wb.models.version(Path(row.path)))
    except DamagedModel as e:
        if fallback is None or fallback.id == row.id:
            raise
        ranker = wb.models.version(Path(fallback.path))
        note = f"Version {row.name} cannot be used ({e}). The shipped version {fallback.name} answered instead."
        return LoadedVersion(fallback.id, fallback.name, ranker, note)


def load_ranker(wb: Workbench, spec: str) -> Ranker:
    """A ranker by a version's name or directory, an uploaded run's name, or a catalog spec. Raises UnknownRanker,
    BadSetting, DamagedModel."""
    if at := locate(wb, spec):
        return wb.models.version(*at)
    return load_run(wb, spec) or wb.models.load_spec(spec)


def locate(wb: Workbench, spec: str) -> tuple[Path, str] | None:
    """The directory of the version that a spec names, or that it is itself, and the settings behind its colon. None for
    a spec of the catalog, and for what is neither."""
    with suppress(UnknownVersion):
        return Path(get_version(wb, spec).path), ""
    name, settings = split_spec(spec)
    if spec.partition(":")[0] in CATALOG:
        return None
    with suppress(UnknownVersion):
        return Path(get_version(wb, name).path), settings
    has_config = is_file(Path(name) / "config.json") and not find_kind_of_file(Path(name))
    return (Path(name), settings) if has_config else None


def find_base(wb: Workbench, name: str, kind: str = CASCADE) -> Base:
    """By a version's name, a catalog spec, or "active", which is the catalog's ranker where no version of the kind is.

    Raises UnknownVersion, or BadSetting if it is of another kind.
    """
    if name == "active":
        with wb.read() as s:
            has_active = rows.find_active(s, kind) is not None
        name = "active" if has_active or kind in ANSWERING else _default_spec(wb, kind)
    catalog_name, _, settings = name.partition(":")
    if catalog_name == kind and (settings or kind not in {v.name for v in list_versions(wb, kind)}):
        return Base(catalog_name, name, tuple(list_trained_on(wb, name)), lambda: wb.models.load_spec(name))
    version = get_version(wb, name, kind)
    if version.kind != kind:
        raise BadSetting(f"{version.name} is a {version.kind} version: choose a {kind} to start from")
    path = Path(version.path)
    trained_on = tuple(list_trained_on(wb, version.path))
    return Base(version.name, version.name, trained_on, lambda: wb.models.version(path), version.id)


def _default_spec(wb: Workbench, kind: str) -> str:
    """The catalog spec to start from where there is no version of the kind. A fusion is one of the active versions."""
    if kind != "fusion":
        return kind
    parts = [get_active(wb, k).path for k in ANSWERING]
    return f"fusion:method=zscore,rankers={'+'.join([*parts, 'bi-encoder'])}"


def list_trained_on(wb: Workbench, ranker: str) -> list[str]:
    """The questions that a ranker, or one it is made of, was trained on, by a version's directory or name, or a catalog
    spec. For a shipped model those of the starter corpus's train part, too. Raises BadSetting for a spec that cannot be
    read."""

    def read_shipped() -> list[str]:
        return [q.text for q in load_starter(wb, "train")]

    questions = training_record.list_trained_on(
        ranker, _find_folder(wb), models_dir=wb.settings.models_dir, read_shipped=read_shipped
    )
    return sorted(questions)


def list_validated_on(wb: Workbench, ranker: str) -> list[str]:
    """The questions that validated its training, likewise. Raises BadSetting."""
    return sorted(training_record.list_validated_on(ranker, _find_folder(wb)))


def _find_folder(wb: Workbench) -> Callable[[str], Path]:
    """A function from a version's directory, name or spec to where it is."""
    return lambda spec: (locate(wb, spec) or (Path(spec), ""))[0]
