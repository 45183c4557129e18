"""Every ranker by name; how a spec is written is in `as2core.rankers.specs`.

The modules are imported when a ranker is asked for, so that listing the catalog costs nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from as2core.errors import BadSetting, DamagedModel, UnknownRanker
from as2core.rankers.base import Ranker
from as2core.rankers.specs import Entry, read_pairs, read_parts, read_settings

MODELS_DIR = Path(__file__).resolve().parents[2] / "models"


def _class(module: str, name: str) -> Any:
    return getattr(import_module(f"as2core.rankers.{module}"), name)


def _shipped(name: str, models_dir: Path):
    from as2core.rankers.versions import fetched, load_version

    path = models_dir / name
    if not path.is_dir():
        raise DamagedModel(f"the shipped model {name!r} is not in {models_dir}: it {fetched(name)}")
    return load_version(path)


def _bi_encoder(models_dir: Path, *, backbone: str | None = None, max_length: int | None = None):
    from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone

    return _class("bi_encoder", "BiEncoderRanker")(load_backbone(backbone or DEFAULT_BACKBONE), max_length=max_length)


def _cascade(
    models_dir: Path,
    *,
    backbone: str | None = None,
    drop_ratio: float | tuple[float, ...] = 0.3,
    keep: int = 5,
    engine: str = "auto",
    first: str = "none",
    first_keep: int = 200,
):
    if backbone is not None:
        from as2core.nn.backbone import load_backbone

        ranker = _class("cascade", "CascadeRanker")(load_backbone(backbone), drop_ratio=drop_ratio, keep=keep)
        engine = "torch" if engine == "auto" else engine  # untrained: it is here to be trained
    else:
        ranker = _shipped("cascade", models_dir)
        ranker.drop_ratio, ranker.keep = drop_ratio, keep
        _ = ranker.schedule
    ranker.first = first_stage(ranker, first, first_keep)
    ranker.use(engine)
    return ranker


def set_up(ranker: Any, given: str) -> str | None:
    """Give a version what stands behind the colon of its spec: `drop_ratio, keep, first, first_keep, engine` to a
    cascade, `engine` to a cross-encoder. What is left out is as it was saved. Gives back the engine, for the caller to
    use. Raises BadSetting."""
    exits = getattr(ranker, "exits", ())
    kind = "" if not exits else "cross-encoder" if len(exits) == 1 else "cascade"
    settings, defaults = _of_version(ranker.name, kind, given), CATALOG["cascade"].settings
    for name in {"drop_ratio", "keep"} & settings.keys():
        setattr(ranker, name, settings[name])
        _ = ranker.schedule  # which says what is wrong with it
    if "first" in settings or "first_keep" in settings:
        told = defaults | settings
        ranker.first = first_stage(ranker, told["first"], told["first_keep"])
    return settings.get("engine")


def _of_version(name: str, kind: str, given: str) -> dict[str, Any]:
    """The settings given to a version of a kind. Raises BadSetting for one that it has not."""
    entry = CATALOG["cascade"]
    takes = {"cascade": [k for k in entry.settings if k != "backbone"], "cross-encoder": ["engine"]}.get(kind, [])
    defaults = {k: entry.settings[k] for k in takes}
    return read_pairs(name, filter(None, given.split(",")), defaults, entry.several)


def first_stage(cascade: Any, name: str, keep: int):
    """What looks at the candidates before the encoder does: "bm25", "bi-encoder" (of the same backbone, its vectors
    kept on disk), or "none". Raises BadSetting."""
    from as2core.cascade.first import First

    if name == "none":
        return None
    if name == "bm25":
        return First(_class("bm25", "BM25Ranker")(), keep)
    if name == "bi-encoder":
        from as2core.cascade.graphs import default_folder
        from as2core.nn.backbone import load_backbone

        cache = _class("passage_cache", "PassageCache")(default_folder().parent / "vectors.db")
        backbone = load_backbone(cascade.backbone.name)
        return First(_class("bi_encoder", "BiEncoderRanker")(backbone, cache=cache), keep)
    raise BadSetting(f"first={name!r}: no such first stage; known: none, bm25, bi-encoder")


def _cross_encoder(
    models_dir: Path,
    *,
    backbone: str | None = None,
    depth: int | None = None,
    pool: str = "mean",
    engine: str = "auto",
):
    cls = _class("cross_encoder", "CrossEncoderRanker")
    if backbone is not None and _class("seq2seq_classifier", "is_seq2seq")(backbone):
        if depth is not None or pool != "mean" or engine == "onnx":
            raise BadSetting("an encoder-decoder has no depth, pool or onnx engine: give its backbone alone")
        load = _class("seq2seq_classifier", "load_seq2seq_classifier")
        return _class("seq2seq_classifier", "Seq2SeqClassifierRanker")(load(backbone))
    if backbone is not None or pool != "mean":
        from as2core.nn.backbone import DEFAULT_BACKBONE, load_backbone

        ranker = cls(load_backbone(backbone or DEFAULT_BACKBONE), depth=depth, pool=pool)
        ranker.use("torch" if engine == "auto" else engine)
        return ranker
    cascade = _shipped("cascade", models_dir)
    if depth is not None and depth not in cascade.exits:
        raise BadSetting(
            f"depth {depth}: the shipped model has exits {', '.join(map(str, cascade.exits))}; another depth has to be "
            "trained (backbone=NAME gives an untrained one)"
        )
    ranker = cls.from_cascade(cascade, depth=depth)
    ranker.use(engine)
    return ranker


def _generative(models_dir: Path, *, backbone: str | None = None, direction: str = "question"):
    if backbone is not None:
        cls, load = _class("generative", "GenerativeRanker"), _class("generative", "load_question_lm")
        return cls(load(backbone), direction=direction)
    ranker = _shipped("generative", models_dir)
    return type(ranker)(ranker.module, direction=direction, trained=True, name=ranker.name)


def _entry(
    name: str, what: str, paper: str, build: Callable[..., Any], *, trains: bool = False, nested: str | None = None
) -> Entry:
    told = [p for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    several = frozenset(p.name for p in told if "tuple" in str(p.annotation))
    return Entry(name, what, paper, trains, {p.name: p.default for p in told}, build, nested, several)


def _simple(module: str, cls: str, **fixed: Any) -> Callable[..., Any]:
    def build(models_dir: Path, **settings: Any):
        return _class(module, cls)(**fixed, **settings)

    return build


def _bm25(models_dir: Path, *, k1: float = 1.2, b: float = 0.75):
    return _class("bm25", "BM25Ranker")(k1=k1, b=b)


def _words(module: str, cls: str, vectors: str | None, backbone: str | None, **settings: Any):
    from as2core.nn.word_vectors import word_vectors

    return _class(module, cls)(word_vectors(backbone=backbone, path=vectors), **settings)


def _rel_cnn(
    models_dir: Path,
    *,
    listwise: bool = False,
    context: str = "none",
    vectors: str | None = None,
    backbone: str | None = None,
    hidden: int = 100,
    kernel: int = 5,
    seed: int = 0,
):
    sizes = {"hidden": hidden, "kernel": kernel}
    return _words("rel_cnn", "RelCNNRanker", vectors, backbone, listwise=listwise, context=context, seed=seed, **sizes)


def _cosinet(
    models_dir: Path,
    *,
    listwise: bool = False,
    context: str = "none",
    vectors: str | None = None,
    backbone: str | None = None,
    hidden: int = 300,
    kernel: int = 5,
    seed: int = 0,
):
    sizes = {"hidden": hidden, "kernel": kernel}
    return _words("cosinet", "CosinetRanker", vectors, backbone, listwise=listwise, context=context, seed=seed, **sizes)


def _compare_aggregate(
    models_dir: Path,
    *,
    listwise: bool = False,
    context: str = "none",
    vectors: str | None = None,
    backbone: str | None = None,
    hidden: int = 300,
    seed: int = 0,
):
    of_list = {"listwise": listwise, "context": context, "seed": seed}
    return _words("compare_aggregate", "CompareAggregateRanker", vectors, backbone, **of_list, hidden=hidden)


def _sequential(models_dir: Path, *, stages: Any = "jaccard@100+cascade"):
    stage = _class("sequential", "Stage")
    return _class("sequential", "SequentialRanker")([stage(ranker, keep) for _, ranker, keep in stages])


def _fusion(
    models_dir: Path,
    *,
    method: str = "rrf",
    k: int = 60,
    weights: float | tuple[float, ...] = 1.0,
    rankers: Any = "cascade+generative+bi-encoder",
):
    if any(keep is not None for _, _, keep in rankers):
        raise BadSetting("a fusion keeps every candidate: leave the @ out, or put it into a stage of sequential")
    return _class("fusion", "FusionRanker")(
        [ranker for _, ranker, _ in rankers],
        method=method,
        k=k,
        weights=weights if isinstance(weights, tuple) else [weights] * len(rankers),
        specs=[spec for spec, _, _ in rankers],
    )


STRUCTURE, CASCADE = "Bonadiman and Moschitti 2020", "Soldaini and Moschitti 2020"
RERANK, SEVERYN = "Matsubara et al. 2020", "Severyn and Moschitti 2016"
CATALOG: dict[str, Entry] = {
    e.name: e
    for e in (
        _entry("rr", "the original order", STRUCTURE, _simple("reciprocal_rank", "ReciprocalRankRanker")),
        _entry("wo", "unique shared words", STRUCTURE, _simple("word_overlap", "WordOverlapRanker")),
        _entry(
            "wo-rr",
            "shared words, ties by original order",
            STRUCTURE,
            _simple("word_overlap", "WordOverlapRanker", rr=True),
        ),
        _entry("jaccard", "shared words over all words", RERANK, _simple("jaccard", "JaccardRanker")),
        _entry("bm25", "term weighting over the candidates", "Robertson et al. 1994", _bm25),
        _entry("rel-cnn", "convolutions over words and whether they are shared", SEVERYN, _rel_cnn, trains=True),
        _entry("cosinet", "convolutions over words and their closest cosine", STRUCTURE, _cosinet, trains=True),
        _entry("compare-aggregate", "word attention both ways", "Wang and Jiang 2017", _compare_aggregate, trains=True),
        _entry("bi-encoder", "cosine of the backbone's embeddings", "Reimers and Gurevych 2019", _bi_encoder),
        _entry("cross-encoder", "monolithic transformer", "Garg et al. 2020", _cross_encoder, trains=True),
        _entry("sequential", "rankers in a row, each keeps its best", RERANK, _sequential, nested="stages"),
        _entry("cascade", "cascade transformer, drops a share at every exit", CASCADE, _cascade, trains=True),
        _entry("generative", "log P(question | sentence)", "Nogueira dos Santos et al. 2020", _generative, trains=True),
        _entry("fusion", "several rankers as one", "Cormack et al. 2009", _fusion, trains=True, nested="rankers"),
    )
}


def get(
    spec: str | Path,
    *,
    models_dir: Path | None = None,
    versions: Callable[[], Mapping[str, Path]] = dict,
    engine: str = "auto",
) -> Ranker:
    """The ranker a spec names. `versions` gives further names, for directories; `engine` is that of trained cascades
    whose spec names none.

    Raises UnknownRanker, BadSetting, DamagedModel.
    """
    text = str(spec)
    name, _, given = text.partition(":")
    if name not in CATALOG:
        known = versions()
        name, given = version_and_settings(text)
        path = Path(known.get(name, name))
        if (path / "config.json").is_file():
            from as2core.rankers.versions import load_version

            ranker = load_version(path)
            engine = set_up(ranker, given) or engine
            if hasattr(ranker, "use"):
                ranker.use(engine)
            return ranker
        names = ", ".join(dict.fromkeys([*CATALOG, *known]))
        raise UnknownRanker(f"no ranker {text!r}; known: {names}, or the directory of a version")
    entry = CATALOG[name]
    settings = read_settings(entry, given)
    if "engine" in entry.settings and {"backbone", "pool"}.isdisjoint(settings):
        settings.setdefault("engine", engine)
    if entry.nested:
        parts = read_parts(settings.get(entry.nested, entry.settings[entry.nested]))
        specs = [_placed(part.spec, versions()) for part in parts]
        settings[entry.nested] = [
            (spec, get(spec, models_dir=models_dir, versions=versions, engine=engine), part.keep)
            for spec, part in zip(specs, parts, strict=True)
        ]
    return entry.build(models_dir or MODELS_DIR, **settings)


def version_and_settings(spec: str) -> tuple[str, str]:
    """`spring:drop_ratio=0.5` as `("spring", "drop_ratio=0.5")`: a version's name or directory, and what is set."""
    name, _, given = spec.rpartition(":")
    return (name, given) if name and "=" in given and not Path(spec).is_dir() else (spec, "")


def _placed(spec: str, known: Mapping[str, Path]) -> str:
    """The spec with a version's directory in place of its name, so that it can be saved."""
    if spec.partition(":")[0] in CATALOG:
        return spec
    name, given = version_and_settings(spec)
    return f"{known.get(name, name)}{':' if given else ''}{given}"


def shipped_model(spec: str) -> str | None:
    """The name of the shipped model that a catalog spec takes its weights from, if it has any; None where it starts
    untrained. Raises BadSetting."""
    name, _, given = spec.partition(":")
    settings = read_settings(CATALOG[name], given)
    begun = settings.get("backbone") is not None or settings.get("pool", "mean") != "mean"
    return None if begun else {"cross-encoder": "cascade"}.get(name, name)


def check(spec: str) -> None:
    """Refuse, without building anything, what `get` would refuse for its wording. Raises UnknownRanker, BadSetting."""
    name, _, given = spec.partition(":")
    if name not in CATALOG:
        version, given = version_and_settings(spec)
        if not (Path(version) / "config.json").is_file():
            raise UnknownRanker(f"no ranker {spec!r}; known: {', '.join(CATALOG)}, or the directory of a version")
        check_version(Path(version), given)
        return
    entry = CATALOG[name]
    settings = read_settings(entry, given)
    if entry.nested:
        for part in read_parts(settings.get(entry.nested, entry.settings[entry.nested])):
            check(part.spec)


def check_version(path: Path, given: str) -> None:
    """`check` for the settings of the version in a directory. Raises BadSetting, DamagedModel."""
    from as2core.rankers.versions import kind_of

    if given:
        _of_version(path.name, kind_of(path), given)
