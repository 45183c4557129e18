"""Which rankers can be compared, by which names, and what a reader has to know of one."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from difflib import get_close_matches

from app.compare.sweeps import find_sweep_rankers, parse_ratio
from app.versions import loading, registry
from app.versions.directory import find_problem, read_drop_ratio
from app.versions.uploaded_runs import ENDINGS, find_run, list_runs
from app.workbench.workbench import Workbench
from as2core.errors import As2Error, BadSetting, DamagedModel, UnknownRanker
from as2core.evaluation.training_record import describe_overlap
from as2core.rankers.catalog import CATALOG, check, check_version, is_from_outside, list_destinations
from as2core.rankers.classifier import check_checkpoint, is_classifier
from as2core.rankers.versions import is_own_kind
from as2core.system.files import is_folder

MAX_SUGGESTIONS = 3


def list_rankers(wb: Workbench) -> list[str]:
    """What can be compared by its name alone: rankers of the catalog, then the versions made here, newest first."""
    versions = [v.name for v in registry.list_versions(wb, kind=None) if not v.problem and v.name not in CATALOG]
    return [*(name for name, entry in CATALOG.items() if entry.required is None), *versions]


def list_choices(wb: Workbench) -> list[str]:
    """These, then the uploaded rankings, newest first."""
    return [*list_rankers(wb), *list_runs(wb)]


def describe_rankers() -> list[tuple[str, str, str, str]]:
    """(name, what it does, its paper, its settings with their defaults) of each ranker of the catalog."""
    return [(e.name, e.description, e.paper, e.describe_settings()) for e in CATALOG.values()]


def suggest_rankers(wb: Workbench) -> tuple[str, ...]:
    """What a comparison starts with: a version made here that is active against what came with the program, else the
    shipped rankers."""
    active = registry.get_active(wb).name
    return ("cascade", "bi-encoder", "bm25") if active == "cascade" else (active, "cascade", "bm25")


def is_path(spec: str) -> bool:
    """Whether a spec may name a file, a directory, a model of the hub or an address, by itself or in a part. No version
    and no ranker has such a name."""
    if is_folder(spec.partition(":")[0]) or {"/", "\\", "~"} & set(spec):
        return True
    with suppress(BadSetting):
        return is_from_outside(spec)
    return False


def name_active(wb: Workbench, spec: str) -> str:
    """`active`, with settings or without, as the name of the version that is active now."""
    name, colon, settings = spec.partition(":")
    return f"{registry.get_active(wb).name}{colon}{settings}" if name == "active" else spec


def find_twins(wb: Workbench, names: Collection[str]) -> dict[str, str]:
    """Of a sweep, the cascade at the ratio that it has without settings, where that is compared, too: by its name."""
    twins = {}
    for name in find_sweep_rankers(names):
        cascade, ratio = parse_ratio(name) or ("", 0.0)
        at = loading.locate(wb, cascade) if cascade in names else None
        if at is not None and not at[1] and read_drop_ratio(at[0]) == ratio:
            twins[name] = cascade
    return twins


def check_ranker(wb: Workbench, name: str) -> None:
    """Raises UnknownRanker, BadSetting, DamagedModel for one that cannot be compared."""
    if at := loading.locate(wb, name):
        folder, _ = at
        if is_classifier(folder):
            check_checkpoint(folder)
        elif not is_own_kind(folder) and (problem := find_problem(folder)):
            raise DamagedModel(f"{name} cannot be compared: {problem}. Restore it, or choose another ranker")
        check_version(*at)
    elif find_run(wb, name):
        return
    elif name.partition(":")[0] in CATALOG or is_path(name):
        check(name)
    else:
        if name.endswith(ENDINGS):
            raise UnknownRanker(f"the ranking {name} is not stored here: upload it, or choose another ranker")
        if near := suggest_specs(wb, name):
            raise UnknownRanker(f"no ranker {name!r}; did you mean {' or '.join(near)}?")
        names = ", ".join(list_choices(wb))
        raise UnknownRanker(
            f"no ranker {name!r}; known: {names}, or the directory of a version, a checkpoint or an export"
        )


def find_mistakes(wb: Workbench, names: Collection[str], *, by_admin: bool = True) -> dict[str, As2Error]:
    """Why some of these cannot be compared, as far as their names tell: no file is opened for a path, which only an
    admin may name."""
    choices, mistakes = set(list_choices(wb)), dict[str, As2Error]()
    for name in names:
        try:
            if name in choices:
                continue
            if not is_path(name):
                check_ranker(wb, name_active(wb, name))
            elif not by_admin:
                raise As2Error(
                    f"{name} is not of this workbench, so only an admin can choose it: ask one to start this"
                )
        except As2Error as e:
            mistakes[name] = e
    return mistakes


def suggest_specs(wb: Workbench, spec: str, *, others: Collection[str] = ()) -> list[str]:
    """The nearest of the names that can be compared, with the settings of `spec`, but for these `others`; at most
    MAX_SUGGESTIONS."""
    name, colon, settings = spec.partition(":")
    names = {choice.casefold(): choice for choice in list_choices(wb)}
    key = name.strip().casefold()
    parts = [choice for choice in names if key and key in choice]
    close = [*sorted(parts, key=len), *get_close_matches(key, names, n=MAX_SUGGESTIONS, cutoff=0.7)]
    specs = dict.fromkeys(f"{names[choice]}{colon}{settings}" for choice in close)
    return [s for s in specs if s not in others and s not in find_mistakes(wb, [s])][:MAX_SUGGESTIONS]


def describe_destinations(names: Collection[str]) -> str:
    """Which hosts get the questions and sentences when these rankers score; "" where all compute here, or are not
    written rightly yet."""
    hosts: list[str] = []
    for name in names:
        with suppress(BadSetting):
            hosts += list_destinations(name)
    if not hosts:
        return ""
    return f"Questions and sentences are sent to {', '.join(dict.fromkeys(hosts))}: they leave this machine."


def note_trained_on(wb: Workbench, spec: str, questions: Collection[str]) -> list[str]:
    """What it means for the figures that a ranker was trained, or validated, on some of the questions; nothing if on
    none."""
    trained_on, validated_on = loading.list_trained_on(wb, spec), loading.list_validated_on(wb, spec)
    return describe_overlap(spec, trained_on, questions, validated_on=validated_on)
