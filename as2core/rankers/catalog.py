"""Every ranker by name; how one is declared and how a spec is written is in `as2core.rankers.specs`.

A ranker is known here as soon as its module is in this folder, or an installed package offers it (`GROUP`). These
modules import torch when a ranker is built, so that listing the catalog costs nothing.
"""

import importlib.metadata
import logging
import pkgutil
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from as2core import rankers
from as2core.errors import BadSetting, DamagedModel, UnknownRanker
from as2core.messages import suggest_name
from as2core.rankers.base import (
    ChoosesEngine,
    HasNetwork,
    HasWeights,
    LoadRanker,
    Ranker,
    TakesSettings,
    VersionConfig,
)
from as2core.rankers.classifier import CLASSIFIER, is_classifier, load_classifier
from as2core.rankers.http import HTTP, find_host
from as2core.rankers.onnx import is_onnx
from as2core.rankers.run import RUN, has_ending, is_run
from as2core.rankers.shipped import describe_recovery, locate_models
from as2core.rankers.specs import (
    OUTSIDE_SETTINGS,
    BuiltPart,
    Entry,
    Part,
    Setting,
    read_pairs,
    read_parts,
    read_settings,
    replace_rankers,
    split_outside_brackets,
    split_pairs,
)
from as2core.system.files import is_file, is_folder

MODELS_DIR = locate_models(Path(__file__).resolve().parents[2])
GROUP = "as2.rankers"

log = logging.getLogger(__name__)


_modules = [import_module(f"{rankers.__name__}.{m.name}") for m in pkgutil.iter_modules(rankers.__path__)]
_entries = {v.name: v for module in _modules for v in vars(module).values() if isinstance(v, Entry)}
CATALOG = dict(sorted(_entries.items()))
SAVED: dict[str, type[HasWeights]] = {cls.kind: cls for e in CATALOG.values() for cls in e.saved}
INSTALLED: dict[str, str] = {}  # the rankers of other packages: name -> package and its version


def get(
    spec: str | Path,
    *,
    models_dir: Path | None = None,
    versions: Callable[[], Mapping[str, Path]] = dict,
    engine: str = "auto",
) -> Ranker:
    """The ranker a spec names. `versions` gives further names, for directories; also of checkpoints of others. `engine`
    is that of trained cascades whose spec names none.

    Raises UnknownRanker, BadSetting, DamagedModel.
    """
    text = str(spec)
    load: LoadRanker = partial(get, models_dir=models_dir, versions=versions, engine=engine)
    name, _, options = text.partition(":")
    if name not in CATALOG:
        directories = versions()
        name, options = split_spec(text)
        path = Path(directories.get(name, name))
        if catalog_name := find_kind_of_file(path):
            return _place(
                _build(CATALOG[catalog_name], _set_required(catalog_name, path, options), None, versions, "", load)
            )
        if is_file(path / "config.json"):
            return _place(_build_version(path, options, engine, load))
        if is_folder(path):
            raise UnknownRanker(f"{path} holds no config.json: give the directory of a version or a checkpoint")
        if has_ending(path):
            raise UnknownRanker(f"there is no run file {path}")
        if text.startswith(("~", ".", "/")) or is_file(path):
            what = "is a file of no known kind" if is_file(path) else "is not there"
            raise UnknownRanker(f"{path} {what}: give the directory of a version or a checkpoint, by its whole path")
        names = dict.fromkeys([*CATALOG, *directories])
        if re.fullmatch(r"[\w.-]+/[\w.-]+(@\w+)?", text):
            raise UnknownRanker(
                f"there is no directory {text}; if it is a model of the hub, write classifier:model={text}"
            )
        raise UnknownRanker(
            f"no ranker {text!r}{suggest_name(name, names) or ';'} known: {', '.join(names)}, or the directory of a "
            "version or a checkpoint (one of the hub: classifier:model=NAME; behind an address: http:url=URL)"
        )
    return _place(_build(CATALOG[name], options, models_dir, versions, engine, load))


def find_kind_of_file(path: Path) -> str | None:
    """The catalog's name for what a path alone holds; None for a version or a checkpoint, or nothing."""
    return RUN if is_run(path) else "onnx" if is_onnx(path) else None


def _set_required(name: str, path: Path, settings: str) -> str:
    return f"{CATALOG[name].required}={path}{',' if settings else ''}{settings}"


def _place(ranker: Ranker) -> Ranker:
    """On the GPU where there is one; a ranker with several engines has chosen by itself."""
    if isinstance(ranker, HasNetwork) and not isinstance(ranker, ChoosesEngine):
        import torch

        if torch.cuda.is_available():
            ranker.to("cuda")
    return ranker


def _build(
    entry: Entry,
    options: str,
    models_dir: Path | None,
    versions: Callable[[], Mapping[str, Path]],
    engine: str,
    load: LoadRanker,
) -> Ranker:
    settings = read_settings(entry, options)
    arguments: dict[str, object] = {**settings}
    if entry.nested:
        if not (nested := entry.nested_spec(settings)):
            raise BadSetting(f"{entry.name}: {entry.nested} is empty; name at least one ranker")
        arguments[entry.nested] = [
            BuiltPart(spec, part.keep, load(spec))
            for part in read_parts(nested)
            for spec in [_locate(part.spec, versions())]
        ]
    if inner := entry.inner_spec(settings):
        arguments[str(entry.inner)] = load(inner)
    if entry.shipped is None:
        return entry.build(**arguments)
    model = entry.shipped_model(settings)
    if model is None:
        return entry.build(None, **arguments)
    if "engine" in entry.settings:
        arguments.setdefault("engine", engine)
    return entry.build(_load_shipped(model, models_dir or MODELS_DIR), **arguments)


def load_version(path: Path) -> HasWeights:
    """The ranker saved at `path`, ready to score; also a checkpoint of others. Raises DamagedModel, saying what is
    wrong and how to mend it."""
    from as2core.rankers.versions import read_version

    if is_classifier(path):
        return load_classifier(str(path))
    return read_version(Path(path), _restore)


def _restore(config: VersionConfig, path: Path) -> HasWeights:
    config = {**config, "settings": dict(config["settings"])}
    cls = SAVED.get(config["ranker"])
    if cls is None:
        raise DamagedModel(f"{path} is a {config['ranker']!r}, which this program does not know: update it")
    return cls.restore(config, path, _get_local)


def _get_local(spec: str) -> Ranker:
    """A part of a saved version. Raises BadSetting for one that would send texts away, which nobody named."""
    if hosts := list_destinations(spec):
        raise BadSetting(f"a version that sends sentences to {', '.join(hosts)} is not loaded: write its spec instead")
    return get(spec)


def _load_shipped(name: str, models_dir: Path) -> HasWeights:
    path = models_dir / name
    if not is_folder(path):
        raise DamagedModel(f"the shipped model {name!r} is not in {models_dir}: it {describe_recovery(name)}")
    return load_version(path)


def _build_version(path: Path, settings: str, engine: str, load: LoadRanker) -> Ranker:
    from as2core.rankers.versions import is_own_kind

    if is_own_kind(path):
        raise BadSetting(
            f"{path} is an export for other programs, which has no settings here and cannot be a part: give its "
            f"directory alone, or import it with `as2 versions import {path}` and give that version's name"
        )
    ranker = load_version(path)
    engine = apply_settings(ranker, settings, load) or engine
    if isinstance(ranker, ChoosesEngine):
        ranker.use(engine)
    return ranker


def apply_settings(ranker: Ranker, text: str, load: LoadRanker = get) -> str | None:
    """Give a version the settings behind the colon of its spec; what is left out is as it was saved. `load` makes a
    ranker that is named in them. Returns the engine if one is set, for the caller to use. Raises BadSetting,
    UnknownRanker, DamagedModel."""
    settings = _read_version_settings(ranker.name, type(ranker), text)
    if isinstance(ranker, TakesSettings):
        entry = CATALOG[ranker.kind]
        inner = entry.inner_spec(settings)
        ranker.adjust({**settings, **({str(entry.inner): load(inner)} if inner else {})})
    return str(settings["engine"]) if "engine" in settings else None


def _read_version_settings(name: str, cls: type | None, text: str) -> dict[str, Setting]:
    pairs = split_pairs(text)
    if cls is None or not issubclass(cls, TakesSettings):
        return read_pairs(name, pairs, {})
    entry = CATALOG[cls.kind]
    return read_pairs(name, pairs, {key: entry.settings[key] for key in cls.adjustable}, entry.several)


def split_spec(spec: str) -> tuple[str, str]:
    """`spring:drop_ratio=0.5` as `("spring", "drop_ratio=0.5")`: a version's name or directory, and its settings."""
    match = re.fullmatch(r"(.+?):([a-z]\w*(?:,\w+)*=.*)", spec, re.DOTALL)
    return (match[1], match[2]) if match and not is_folder(spec) else (spec, "")


def split_specs(text: str) -> list[str]:
    """`cascade,bm25:k1=1.5,b=0.6` as its specs: a setting after a comma belongs to the spec before it."""
    switches = {name for entry in CATALOG.values() for name, value in entry.settings.items() if isinstance(value, bool)}
    specs: list[str] = []
    for piece in split_outside_brackets(text, ",")[0]:
        name, equals, _ = piece.partition("=")
        is_setting = ":" not in name if equals else piece in switches - CATALOG.keys()
        if is_setting and specs and ":" in specs[-1]:
            specs[-1] += f",{piece}"
        elif piece:
            specs.append(piece)
    return specs


def rename_spec(spec: str, old: str, new: str) -> str:
    """The spec with a version's new name wherever it has the old one, also inside itself; its other settings stay, and
    so does a spec that cannot be read."""
    name, settings = split_spec(spec)
    with suppress(BadSetting):
        parts = {part.spec: rename_spec(part.spec, old, new) for part in list_parts(spec)}
        settings = replace_rankers(settings, parts)
    return f"{new if name == old else name}{':' if settings else ''}{settings}"


def _locate(spec: str, versions: Mapping[str, Path]) -> str:
    """The spec with a version's directory in place of its name, so that it can be saved."""
    if spec.partition(":")[0] in CATALOG:
        return spec
    name, settings = split_spec(spec)
    return f"{versions.get(name, name)}{':' if settings else ''}{settings}"


def find_shipped_model(spec: str) -> str | None:
    """The name of the shipped model that a catalog spec takes its weights from; None where it starts untrained or has
    none. Raises BadSetting."""
    name, _, settings = spec.partition(":")
    return CATALOG[name].shipped_model(read_settings(CATALOG[name], settings))


def list_destinations(spec: str) -> tuple[str, ...]:
    """The hosts that a spec sends questions and candidates to; none of a ranker that computes here. Raises
    BadSetting."""
    name, _, text = spec.partition(":")
    if name == HTTP:
        return (find_host(str(read_settings(CATALOG[name], text)["url"])),)
    return tuple(dict.fromkeys(host for part in list_parts(spec) for host in list_destinations(part.spec)))


def list_run_files(spec: str) -> tuple[Path, ...]:
    """The files of the runs that a spec names, itself or as a part. Raises BadSetting."""
    name, _, text = spec.partition(":")
    if name == RUN:
        return (Path(str(read_settings(CATALOG[name], text)["file"])),)
    if is_run(Path(spec)):
        return (Path(spec),)
    return tuple(dict.fromkeys(file for part in list_parts(spec) for file in list_run_files(part.spec)))


def is_from_outside(spec: str) -> bool:
    """Whether a spec names, itself or in a part, a file, a directory, a model of the hub or an address. Raises
    BadSetting."""
    name, _, text = spec.partition(":")
    if name in CATALOG:
        settings = read_settings(CATALOG[name], text)
        is_outside = any(settings.get(key) for key in OUTSIDE_SETTINGS)
    else:
        path = Path(split_spec(spec)[0])
        is_outside = is_folder(path) or find_kind_of_file(path) is not None
    return is_outside or any(is_from_outside(part.spec) for part in list_parts(spec))


def list_installed(spec: str) -> tuple[str, ...]:
    """The rankers of other packages that a spec names. Raises BadSetting."""
    name = spec.partition(":")[0]
    own = (name,) if name in INSTALLED else ()
    return tuple(dict.fromkeys([*own, *(name for part in list_parts(spec) for name in list_installed(part.spec))]))


def list_parts(spec: str) -> list[Part]:
    """The rankers that a spec names inside itself; none of a saved fusion's, which its directory names. Raises
    BadSetting."""
    name, _, text = spec.partition(":")
    if name in CATALOG:
        return CATALOG[name].list_parts(read_settings(CATALOG[name], text))
    settings: dict[str, Setting] = {
        k: v for pair in split_pairs(split_spec(spec)[1]) for k, _, v in [pair.partition("=")]
    }
    return [Part(inner, None) for entry in CATALOG.values() if (inner := entry.inner_spec(settings))]


def check(spec: str) -> None:
    """Refuse, without building anything, what `get` would refuse for its wording. Raises UnknownRanker, BadSetting."""
    name, _, settings = spec.partition(":")
    if name not in CATALOG:
        version, settings = split_spec(spec)
        if kind := find_kind_of_file(Path(version)):
            read_settings(CATALOG[kind], _set_required(kind, Path(version), settings))
            return
        if not is_file(Path(version) / "config.json"):
            hint = suggest_name(version, CATALOG) or ";"
            raise UnknownRanker(
                f"no ranker {spec!r}{hint} known: {', '.join(CATALOG)}, or the directory of a version or a checkpoint"
            )
        check_version(Path(version), settings)
        return
    list_destinations(spec)  # reads the addresses
    for part in list_parts(spec):
        check(part.spec)


def check_version(path: Path, settings: str) -> None:
    """`check` for the settings of the version in a directory. Raises BadSetting, UnknownRanker, DamagedModel."""
    from as2core.rankers.versions import read_kind

    if settings:
        kind = CLASSIFIER if is_classifier(path) else read_kind(path)
        values = _read_version_settings(path.name, SAVED.get(kind), settings)
        if kind in CATALOG and (inner := CATALOG[kind].inner_spec(values)):
            check(inner)


def _add_installed() -> None:
    """Add what other packages offer in the entry-point group `as2.rankers`, an `Entry` each. One that cannot be loaded,
    or has a name of ours, is left out with a warning."""
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            entry = point.load()
        except Exception as error:  # of code that is not ours
            log.warning("%s (%s) is left out: %s", point.value, GROUP, error)
            continue
        if not isinstance(entry, Entry) or entry.name in CATALOG:
            log.warning("%s (%s) is left out: it is no Entry with a name of its own", point.value, GROUP)
            continue
        CATALOG[entry.name] = entry
        INSTALLED[entry.name] = f"{point.dist.name} {point.dist.version}" if point.dist else point.module
        SAVED.update({cls.kind: cls for cls in entry.saved})


_add_installed()  # at the end, as these packages may import this module
