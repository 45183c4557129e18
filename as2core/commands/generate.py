"""`as2 generate`: questions for passages, by rule or from a generative ranker's model, to read or to train on, and
passages for questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from as2core.commands.options import TRAINING, JsonFlag, Seed, bundle_options
from as2core.commands.outputs import check_outputs
from as2core.errors import BadSetting
from as2core.lookup import load_ranker, open_questions, read_candidates
from as2core.messages import count
from as2core.terminal import echo, print_json, print_table, show_progress
from as2core.types import Candidate, Question

if TYPE_CHECKING:
    from as2core.generation.questions import Proposal
    from as2core.rankers.generative import GenerativeRanker

NO_RANKER, RULES = "none", "rules"


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """How texts are drawn."""

    each: Annotated[int, typer.Option(min=1, help="Write at most this many for each.")] = 1
    seed: Seed = 0
    top_k: Annotated[int, typer.Option(min=1, help="Sample from this many of the most likely tokens ...")] = 40
    top_p: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="... that make up this share of their probability.")
    ] = 0.9


@dataclass(frozen=True, slots=True)
class TrainingFileOptions:
    """The questions as a file of training data."""

    out: Annotated[
        Path | None,
        typer.Option(help="Write the questions as training data, their passages labelled correct."),
    ] = None
    add_to: Annotated[
        str | None, typer.Option(metavar="DATA", help="--out: put these labelled questions before them.")
    ] = None
    negatives: Annotated[int, typer.Option(min=0, help="--out: other passages to label incorrect.")] = 4

    def read_questions(self) -> Sequence[Question]:
        """Those to which the generated ones are added. Raises BadSetting where there is no file to write."""
        if self.add_to is None:
            return []
        if self.out is None:
            raise BadSetting("--add-to names the questions to add to: give the file to write with --out")
        return open_questions(self.add_to)


def register(cli: typer.Typer) -> None:
    """Mount the group."""
    group = typer.Typer(help="Write questions for passages, or passages for questions.")
    for command in (questions, passages):
        group.command(command.__name__)(bundle_options(command))
    cli.add_typer(group, name="generate", rich_help_panel=TRAINING)


def questions(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help='One passage a line, or JSON lines with "text"; - reads standard input.'),
    ],
    generator: Annotated[str, typer.Option(help=f"A generative ranker to sample from, or {RULES}.")] = RULES,
    ranker: Annotated[
        str,
        typer.Option(help=f"Round-trip filter: the ranker; {NO_RANKER}: accept all questions."),
    ] = "cascade",
    within: Annotated[int, typer.Option(min=1, help="Round-trip filter: maximum rank of the passage.")] = 1,
    options: SamplingOptions = SamplingOptions(),
    training: TrainingFileOptions = TrainingFileOptions(),
    as_json: JsonFlag = False,
) -> None:
    """Write questions for passages, without repeats, and keep those that lead back to their passage."""
    from as2core.generation.questions import generate_questions, rule_writer, sampling_writer
    from as2core.generation.sampling import Sampling

    check_outputs([training.out], [file, training.add_to])
    sources = read_candidates(file)
    texts = [c.text for c in sources]
    before = training.read_questions()
    sampling = Sampling(top_k=options.top_k, top_p=options.top_p, seed=options.seed)
    with show_progress("proposing questions") as on_progress:
        proposals = generate_questions(
            rule_writer(texts) if generator == RULES else sampling_writer(_load_generator(generator), sampling),
            texts,
            each=options.each,
            ranker=None if ranker == NO_RANKER else load_ranker(ranker),
            within=within,
            existing=[q.text for q in before],
            on_progress=on_progress,
        )
    summary = None if training.out is None else _write_training_file(training, before, proposals, sources, options.seed)
    rows = [{"question": p.text, "id": sources[p.source].id, "passage": texts[p.source], "log_p": p.log_p,
             "rank": p.rank} for p in proposals]  # fmt: skip
    if as_json:
        print_json({"generator": generator, "ranker": ranker, "seed": options.seed, "passages": len(texts),
                    "questions": rows, **({"file": summary} if summary else {})})  # fmt: skip
        return
    if summary:
        total = count(int(summary["questions"]), "question")
        echo(f"{training.out}: {total}, {summary['generated']:,} of them generated")
        return
    print_table(rows, ["question", "id", "passage", "log_p", "rank"])


def _write_training_file(
    training: TrainingFileOptions,
    before: Sequence[Question],
    proposals: Sequence[Proposal],
    sources: Sequence[Candidate],
    seed: int,
) -> dict[str, str | int]:
    """Write the file. Raises BadSetting where there is nothing to add."""
    from as2core.data import jsonl
    from as2core.generation.training_questions import make_training_questions

    if not proposals:
        raise BadSetting("no question was accepted, so nothing is written: a higher --within or --each accepts more")
    questions = make_training_questions(proposals, sources, negatives=training.negatives, seed=seed)
    assert training.out is not None
    jsonl.write(chain(before, questions), training.out)
    return {"path": str(training.out), "questions": len(before) + len(questions), "generated": len(questions)}


def passages(
    question: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="One or more questions.")],
    generator: Annotated[
        str, typer.Option(help="A generative ranker of answers: a version trained with direction=answer.")
    ],
    options: SamplingOptions = SamplingOptions(),
    as_json: JsonFlag = False,
) -> None:
    """Sample passages for questions: they read like answers and need not be true."""
    from as2core.generation.passages import generate_passages
    from as2core.generation.sampling import Sampling

    settings = Sampling(top_k=options.top_k, top_p=options.top_p, seed=options.seed, max_tokens=64)
    with show_progress("writing passages"):
        texts = generate_passages(_load_generator(generator), question, each=options.each, settings=settings)
    if as_json:
        print_json({"generator": generator, "seed": options.seed, "questions": question,
                    "passages": [asdict(w) for w in texts]})  # fmt: skip
        return
    rows = [{"question": question[w.source], "passage": w.text, "log_p": w.log_p} for w in texts]
    print_table(rows, ["question", "passage", "log_p"])


def _load_generator(spec: str) -> GenerativeRanker:
    """The generative ranker of a spec. Raises BadSetting for one that only scores."""
    from as2core.rankers.generative import GenerativeRanker

    ranker = load_ranker(spec)
    if not isinstance(ranker, GenerativeRanker):
        raise BadSetting(f"the ranker {spec!r} cannot generate text: use generative, or a version of that kind")
    return ranker
