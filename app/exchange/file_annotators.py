"""The annotators whom a label file names. A labelling tool may write only their numbers ("Label Studio user 3"): who
they are, says whoever imports the file."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.exchange.imports import find_person
from app.exchange.label_files import LabelFile
from app.workbench.names import fold_name, tidy_name
from app.workbench.workbench import Workbench
from as2core.data.catalog import TOOLS
from as2core.data.label_files.tool_records import find_number
from as2core.errors import BadSetting
from as2core.types import Candidate


def count_numbered(wb: Workbench, file: LabelFile) -> dict[str, int]:
    """The labels of each annotator whom the file names by a tool's number, if any of them is not known here by it."""
    numbered = {
        name: labels
        for name, labels in sorted(_count_labels(file).items())
        if any(find_number(tool, name) for tool in TOOLS.values())
    }
    with wb.read() as s:
        is_any_new = any(find_person(s, name) is None for name in numbered)
    return numbered if is_any_new else {}


def rename_annotators(file: LabelFile, names: Mapping[str, str]) -> LabelFile:
    """The file as if its annotators of these names were called otherwise. Raises BadSetting for one who is not in it,
    for an empty name, and where two of them would be one."""
    own = _count_labels(file)
    names = {name: tidy_name(new) for name, new in names.items() if name != new}
    if not names:
        return file
    for name, new in names.items():
        if name not in own:
            others = f"it names {', '.join(sorted(own))}" if own else "it names nobody"
            raise BadSetting(f"{file.name}: no label by {name!r} in it; {others}")
        if not new:
            raise BadSetting(f"{file.name}: {name} needs a name")
    if shared := find_shared_name(names, own):
        raise BadSetting(f"{file.name}: two of its annotators would be {shared}: give each a name of their own")
    questions = [replace(q, candidates=tuple(_rename(c, names) for c in q.candidates)) for q in file.questions]
    return replace(file, questions=questions)


def find_shared_name(names: Mapping[str, str], annotators: Iterable[str]) -> str:
    """One of the new `names` that another of the annotators would have as well; "" where there is none."""
    folded = {a: fold_name(names.get(a, a)) for a in annotators}
    counts = Counter(folded.values())
    return next((new for name, new in names.items() if counts[folded[name]] > 1), "")


def _count_labels(file: LabelFile) -> Counter[str]:
    return Counter(name for q in file.questions for c in q.candidates for name, _ in c.annotations)


def _rename(candidate: Candidate, names: Mapping[str, str]) -> Candidate:
    verdict = candidate.verdict
    return replace(
        candidate,
        annotations=tuple((names.get(name, name), label) for name, label in candidate.annotations),
        verdict=verdict and replace(verdict, by=names.get(verdict.by, verdict.by)),
    )
