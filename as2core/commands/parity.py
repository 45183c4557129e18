"""`as2 parity`: whether a model ranks the same as an ONNX file and in int8 as it does in torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.options import JsonFlag, Titles
from as2core.errors import BadSetting
from as2core.lookup import load_ranker, read_questions
from as2core.messages import count
from as2core.terminal import echo, print_json, print_table, show_progress
from as2core.types import Question

if TYPE_CHECKING:
    from as2core.export.parity import Parity


def parity(
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="A cascade or cross-encoder; any with --form.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="Questions with candidates; AP needs labels.")],
    form: Annotated[
        list[str] | None,
        typer.Option(metavar="RANKER", help="Another form of it, as onnx:model=DIR; may be repeated."),
    ] = None,
    titles: Titles = True,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first N questions.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare a model in torch with its ONNX file and with int8: first places, AP, scores."""
    questions = [q for q in read_questions(data, titles=titles) if q.candidates][:limit]
    rows = _compare(ranker, form or (), questions)
    if as_json:
        source = {"ranker": ranker, "data": data, "titles": titles}
        print_json({**source, "forms": [asdict(row) for row in rows]})
        return
    size = count(len(questions), "question")
    echo(f"{ranker}{'' if form else ' in torch'} and other forms of it, on {size} of {data}:")
    print_table(
        [
            {
                "form": row.form,
                "exit": row.exit or "",
                "same first": f"{row.same_first:,} of {row.questions:,}",
                "AP": f"{row.ap:.4f}",
                "reference AP": f"{row.reference_ap:.4f}",
                "largest difference": f"{row.largest:.2g}",
            }
            for row in rows
        ],
        ["form", "exit", "same first", "AP", "reference AP", "largest difference"],
    )


def _compare(spec: str, forms: Sequence[str], questions: Sequence[Question]) -> list[Parity]:
    """Raises BadSetting for a ranker that has no other forms by itself."""
    from as2core.export.parity import compare_engines, compare_forms
    from as2core.rankers.cascade import CascadeRanker

    with show_progress(spec) as on_progress:
        ranker = load_ranker(spec)
        if forms:
            return compare_forms(ranker, {f: load_ranker(f) for f in forms}, questions, on_progress=on_progress)
        if not isinstance(ranker, CascadeRanker):
            raise BadSetting(f"{spec} has no int8 engine and no ONNX export: name one with --form onnx:model=DIR")
        return compare_engines(ranker, questions, on_progress=on_progress)
