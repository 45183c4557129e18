"""The page of results: what every report says, after one table of all findings.

Each report is stored beside the page, in the folder named like it, as `NAME.json`, `NAME-trecqa.json` and the like; the
page's sections are written from these files alone, so that they hold nothing that no command has printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from as2core.errors import UnreadableFile
from as2core.experiments.base import EXPERIMENTS, TARGETS, Options, Report, table, write_section
from as2core.experiments.report.findings import NOT_RUN, VERDICTS, Row
from as2core.system.files import write_text

FINDINGS_SECTION = "findings"
OTHER_SETS = {"squad-sent": "SQuAD-sent", "nq-la": "NQ-LA", "gpd": "GPD"}


@dataclass(frozen=True, slots=True)
class Record:
    """A report with where it comes from."""

    experiment: str
    command: str
    target: str
    seconds: float
    report: Report


def describe_command(name: str, options: Options) -> str:
    """The command that prints the report again; without the folders, which are the reader's own."""
    flags = {
        f" --set {options.target}": options.target != "wikiqa",
        f" --backbone {options.backbone}": options.backbone,
        f" --reset-layers {options.reset_layers}": options.reset_layers,
        f" --test {options.test}": options.test,
        " --full": options.full,
        f" --seeds {options.seeds}": options.seeds,
        " --titles": options.titles,
    }
    return f"as2 reproduce {name}" + "".join(text for text, is_set in flags.items() if is_set)


def write_page(page: Path, record: Record) -> None:
    """Store the record and write the page's sections anew. Raises UnreadableFile for a damaged report beside it."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    name = record.command.removeprefix("as2 reproduce ")
    name = re.sub(r" --seeds \d+", "", name)  # more seeds replace fewer
    path = folder / f"{re.sub(r'[^A-Za-z0-9_]+', '-', name).strip('-')}.json"
    write_text(json.dumps(asdict(record), indent=1, sort_keys=True) + "\n", path)
    render_page(page)


def render_page(page: Path) -> None:
    """Write the findings and every experiment's section from the reports beside the page. Raises
    UnreadableFile."""
    records = read_records(page.with_suffix(""))
    write_section(page, FINDINGS_SECTION, describe_findings(records))
    for name in EXPERIMENTS:
        if own := [r for r in records if r.experiment == name]:
            write_section(page, name, describe_experiment(name, own))


def read_records(folder: Path) -> list[Record]:
    """In the order of the catalog. Raises UnreadableFile."""
    records = []
    for path in sorted(folder.glob("*.json")):
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            report = fields.pop("report")
            rows = tuple(Row(**row) for row in report.pop("rows"))
            report["notes"], report["codes"] = tuple(report["notes"]), tuple(report["codes"])
            records.append(Record(**fields, report=Report(rows, **report)))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableFile(f"{path} is no report: delete it, and run its experiment again") from error
    names = list(EXPERIMENTS)
    return sorted(records, key=lambda r: (names.index(r.experiment), r.command))


def describe_findings(records: Sequence[Record]) -> str:
    """One table: every finding with the paper's figure, ours, the verdict, why, and the command."""
    rows, counts = [], dict.fromkeys(VERDICTS, 0)
    for record in records:
        paper = EXPERIMENTS[record.experiment].rpartition("(")[2].rstrip(")")
        for row in record.report.rows:
            counts[row.verdict] += 1
            cells = [paper, row.finding, row.paper, row.ours, row.verdict, row.why, f"`{record.command}`"]
            rows.append([_cell(text) for text in cells])
    total = ", ".join(f"{verdict}: {n}" for verdict, n in counts.items())
    title = (
        "## Findings of the five papers\n\nWritten by `as2 reproduce NAME`, all rows at every run. A finding holds if "
        "the 95 % interval over questions and seeds lies where the paper says, and does not hold if it lies wholly "
        "outside. All else is undecided, with the smallest distance from the bound that these questions and seeds "
        f"would have detected four times in five. {total}."
    )
    heads = ["paper", "finding", "the paper's figures", "ours (95 % interval)", "verdict", "why", "command"]
    return table(title, heads, rows)


def describe_experiment(name: str, records: Sequence[Record]) -> str:
    """The section of an experiment: its runs, the paper's tables with ours, how ours differs, and notes."""
    parts = [f"## {name}: {EXPERIMENTS[name]}", "\n".join(_describe_run(r) for r in records)]
    parts += list(_paper_tables(name, records))
    for record in records:
        differs: dict[str, list[str]] = {}
        for row in record.report.rows:
            differs.setdefault(row.differs, []).append(row.finding)
        lines = [f"- {'; '.join(findings)}: {text}." for text, findings in differs.items()]
        parts.append(f"How `{record.command}` differs from the paper:\n\n" + "\n".join(lines))
        parts += record.report.notes
    return "\n\n".join(part.strip() for part in parts)


def _describe_run(record: Record) -> str:
    codes = " and ".join(record.report.codes)
    cells = f"Its cells are of {codes} (day and digest of the code)." if codes else "No cell of it is measured yet."
    return (
        f"- `{record.command}` wrote this, measured on {record.report.measured_on}; the last call took "
        f"{record.seconds / 60:.1f} minutes. {cells}"
    )


def _paper_tables(name: str, records: Sequence[Record]) -> Iterator[str]:
    from as2core.experiments.report.tables import TABLES, Figures, PaperTable

    def write(paper: PaperTable) -> str:
        heads = [
            "system",
            *(f"{_name_set(s)} {_name_measure(m)}{who}" for s, m in paper.columns for who in (", paper", "")),
        ]
        rows = [[_cell(label), *cells(paper, system, figures)] for label, system, figures in paper.all_rows]
        reason = f" Not run: {paper.missing}." if paper.missing else ""
        return table(f"{paper.title}.{reason}", heads, rows)

    def cells(paper: PaperTable, system: str | None, figures: Figures) -> Iterator[str]:
        for i, (target, measure) in enumerate(paper.columns):
            figure = figures[i] if i < len(figures) else None
            yield "" if figure is None else f"{figure:.3f}".lstrip("0")
            yield _find_intervals(records, target, measure, system) or NOT_RUN

    return (write(paper) for paper in TABLES[name])


def _find_intervals(records: Iterable[Record], target: str, measure: str, system: str | None) -> str | None:
    """Of several reports on a set, those with another encoder or size: each with its command."""
    by_command = {
        r.command: r.report.measured.get(measure, {}).get(system or "") for r in records if r.target == target
    }
    texts = {command: text for command, text in by_command.items() if text}
    if len(texts) < 2:
        return next(iter(texts.values()), None)
    return "; ".join(f"{text} (`{command}`)" for command, text in texts.items())


def _name_set(name: str) -> str:
    return TARGETS.get(name, OTHER_SETS.get(name, name))


def _name_measure(name: str) -> str:
    return {"AP": "MAP", "RR": "MRR"}.get(name, name)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def to_json(record: Record) -> Mapping[str, object]:
    """What `--json` prints."""
    return asdict(record)
