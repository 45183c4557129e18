"""How the versions of a comparison were made, where there are several: their names alone do not tell them apart."""

import streamlit as st

from app.adapt.report import RetrainReport
from app.compare.comparison import ComparisonView
from app.ui.adapt.card.training import describe_training
from app.ui.data.reasons import draw_reasons
from app.ui.text import format_time
from app.versions import registry
from app.versions.registry import VersionView
from app.workbench.workbench import Workbench
from as2core.errors import DamagedModel
from as2core.rankers.catalog import split_spec


def draw(wb: Workbench, view: ComparisonView) -> None:
    versions = list_versions(wb, view)
    if len(versions) > 1:
        with st.expander("How these versions were made", icon=":material/model_training:", key="compare_recipes"):
            rows = [(v.name, format_time(v.created), describe_recipe(wb, v), v.note) for v in versions]
            draw_reasons(("version", "made", "from which labels, with which settings", "note"), rows)


def list_versions(wb: Workbench, view: ComparisonView) -> list[VersionView]:
    """Those that were made by a retrain or imported, in the order of the result. One that is newer than the result only
    has the name of what was compared."""
    by_name = {v.name: v for v in registry.list_versions(wb, kind=None) if v.parent or v.is_imported}
    names = dict.fromkeys(split_spec(r.ranker)[0] for r in view.distinct_results)
    versions = [by_name[name] for name in names if name in by_name]
    return [v for v in versions if view.finished is None or v.created <= view.finished]


def describe_recipe(wb: Workbench, version: VersionView) -> str:
    """As on its card; of one whose card has no figures, what it was made from."""
    try:
        report = RetrainReport.from_card(registry.load_card(wb, version.name))
    except DamagedModel:
        report = None
    text = describe_training(report) if report is not None else ""
    text = text or (f"Made from {version.parent}." if version.parent else "")
    return f"Imported. {text}".strip() if version.is_imported else text
