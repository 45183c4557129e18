"""The papers' own tables, every row with its figures, and which system here stands for it (None: no experiment here).

A system is named as the experiment's cells name it. Rows of the literature that a paper quotes are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from as2core.experiments.base import BASELINES, CHANCE, WITHOUT_ASNQ

Column = tuple[str, str]  # a set and a measure
Figures = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper: `columns`, and for each row its name there, the system here, its figures. `missing`: why
    there is nothing of ours in it, where no run of this program can change that or it takes more than minutes."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str | None, Figures], ...]
    missing: str = ""

    @property
    def all_rows(self) -> tuple[tuple[str, str | None, Figures], ...]:
        """With chance, document order and word overlap first, where the table has none of its own."""
        own = {system for _, system, _ in self.rows}
        names = (CHANCE, *BASELINES.values())
        return (*((name, name, ()) for name in names if name not in own), *self.rows)


def _columns(sets: Sequence[str], measures: Sequence[str]) -> tuple[Column, ...]:
    return tuple((s, m) for s in sets for m in measures)


def _same(**rows: Figures) -> tuple[tuple[str, str | None, Figures], ...]:
    """Rows that are named here as in the paper."""
    return tuple((name, name, figures) for name, figures in rows.items())


_EXITS, _RATIOS = (4, 6, 8, 10, 12), (0.3, 0.4, 0.5)
_CASCADE_ROWS = (
    *((f"{n} layers TANDA", f"monolithic, depth of exit {i}") for i, n in enumerate(_EXITS, 1)),
    *((f"SR, ratio {r:g}", f"sequential, ratio {r:g}") for r in _RATIOS),
    *((f"CT, {n} layers", f"cascade, exit {i}") for i, n in enumerate(_EXITS, 1)),
    *((f"CT, ratio {r:g}", f"cascade, ratio {r:g}") for r in _RATIOS),
)


def _cascade_rows(
    figures: Sequence[Figures], *, has_systems: bool = True
) -> tuple[tuple[str, str | None, Figures], ...]:
    return tuple(
        (name, system if has_systems else None, f) for (name, system), f in zip(_CASCADE_ROWS, figures, strict=True)
    )


_TABLE_2 = (
    (0.805, 0.809, 0.772, 0.831),
    (0.821, 0.829, 0.785, 0.884),
    (0.857, 0.867, 0.882, 0.947),
    (0.890, 0.900, 0.905, 0.959),
    (0.891, 0.901, 0.916, 0.960),
    (0.601, 0.602, 0.679, 0.747),
    (0.798, 0.803, 0.897, 0.950),
    (0.848, 0.854, 0.923, 0.953),
    (0.897, 0.898, 0.923, 0.956),
    (0.899, 0.910, 0.924, 0.967),
)
_TABLE_3_ASNQ = (
    (0.315, 0.308, 0.259, 0.308),
    (0.602, 0.587, 0.472, 0.592),
    (0.639, 0.622, 0.492, 0.624),
    (0.653, 0.645, 0.520, 0.641),
    (0.655, 0.651, 0.521, 0.647),
    (0.654, 0.651, 0.521, 0.648),
    (0.649, 0.642, 0.516, 0.642),
    (0.646, 0.634, 0.508, 0.635),
    (0.220, 0.193, 0.102, 0.183),
    (0.491, 0.472, 0.327, 0.477),
    (0.628, 0.615, 0.487, 0.619),
    (0.656, 0.651, 0.530, 0.652),
    (0.663, None, 0.532, 0.654),
    (0.653, 0.653, 0.529, 0.653),
    (0.648, 0.650, 0.525, 0.648),
    (0.641, 0.650, 0.524, 0.645),
)
_TABLE_3_GPD = (
    (0.389, 0.501, 0.408, 0.540),
    (0.514, 0.641, 0.561, 0.676),
    (0.563, 0.687, 0.612, 0.704),
    (0.572, 0.713, 0.649, 0.727),
    (0.580, 0.722, 0.675, 0.768),
    (0.558, 0.702, 0.662, 0.743),
    (0.538, 0.696, 0.656, 0.730),
    (0.522, 0.684, 0.630, 0.723),
    (0.327, 0.389, 0.352, 0.426),
    (0.448, 0.560, 0.473, 0.585),
    (0.538, 0.717, 0.612, 0.691),
    (0.558, 0.720, 0.631, 0.721),
    (0.578, 0.719, 0.675, 0.769),
    (0.557, 0.698, 0.662, 0.751),
    (0.528, 0.686, 0.656, 0.743),
    (0.502, 0.661, 0.624, 0.729),
)
_FOUR = ("AP", "nDCG@10", "P@1", "RR")
CASCADE = (
    PaperTable(
        "Table 2: monolithic models and exits, nothing dropped",
        _columns(("wikiqa", "trecqa"), ("AP", "RR")),
        tuple((n, s, f) for (n, s), f in zip([r for r in _CASCADE_ROWS if "ratio" not in r[0]], _TABLE_2, strict=True)),
    ),
    PaperTable(
        "Table 3: ASNQ",
        _columns(("asnq",), _FOUR),
        _cascade_rows(_TABLE_3_ASNQ),
        "ASNQ has to be built from Natural Questions (`as2 data build asnq`), and takes a GPU: "
        "`as2 reproduce cascade --set asnq --full --backbone DIR`",
    ),
    PaperTable(
        "Table 3: GPD",
        _columns(("gpd",), _FOUR),
        _cascade_rows(_TABLE_3_GPD, has_systems=False),
        "GPD is Amazon's own and not public",
    ),
)

_BERT = "BERT-base"
STRUCTURE = (
    PaperTable(
        "Table 4: WikiQA",
        _columns(("wikiqa",), ("AP", "RR")),
        (
            ("RR", "document order", (0.6421, 0.6426)),
            ("WO", "word overlap", (0.5102, 0.5124)),
            *_same(
                **{
                    "WO+RR": (0.6825, 0.6943),
                    "Cosinet": (0.7095, 0.7286),
                    "Cosinet listwise": (0.7122, 0.7307),
                    "Cosinet listwise rnn": (0.7478, 0.7635),
                    "Cosinet listwise birnn": (0.7562, 0.7713),
                    "Cosinet listwise lstm": (0.7431, 0.7578),
                    "Cosinet listwise bilstm": (0.7532, 0.7685),
                    "CA": (0.7203, 0.7339),
                    "CA listwise": (0.7143, 0.7355),
                    "CA listwise rnn": (0.7473, 0.7635),
                    "CA listwise birnn": (0.7497, 0.7644),
                    "CA listwise lstm": (0.7482, 0.7642),
                    "CA listwise bilstm": (0.7427, 0.7574),
                }
            ),
            (_BERT, None, (0.8132, 0.8250)),
        ),
    ),
    PaperTable(
        "Table 5: SQuAD-sent",
        _columns(("squad-sent",), ("P@1", "RR")),
        (
            ("RR", "document order", (0.3055, 0.5353)),
            ("WO", "word overlap", (0.6548, 0.7790)),
            *_same(
                **{
                    "WO+RR": (0.7312, 0.8360),
                    "Cosinet": (0.8618, 0.9181),
                    "Cosinet listwise": (0.8512, 0.9116),
                    "Cosinet listwise birnn": (0.8618, 0.9197),
                    "CA": (0.8571, 0.9149),
                    "CA listwise": (0.8517, 0.9069),
                    "CA listwise birnn": (0.8632, 0.9205),
                }
            ),
            (_BERT, None, (0.9244, 0.9562)),
        ),
        "87 thousand questions, up to half an hour a model on the paper's GPU; `as2 data build squad-sent` makes the "
        "set, `as2 train` and `as2 eval` a row of it",
    ),
    PaperTable(
        "Table 6: NQ-LA",
        _columns(("nq-la",), ("AP", "RR")),
        (
            ("RR", "document order", (0.5730, 0.6041)),
            ("WO", "word overlap", (0.3809, 0.3957)),
            *_same(
                **{
                    "WO+RR": (0.5398, 0.5645),
                    "Cosinet": (0.6974, 0.7269),
                    "Cosinet listwise": (0.6816, 0.7106),
                    "Cosinet listwise birnn": (0.7328, 0.7605),
                    "CA": (0.6988, 0.7277),
                    "CA listwise": (0.6982, 0.7278),
                    "CA listwise birnn": (0.7421, 0.7688),
                }
            ),
        ),
        "Natural Questions is not at hand (42 GB); `as2 data build nq-la` makes the set from it",
    ),
)

_GENERATION_SETS = ("yahooqa", "wikiqa", "wikipassageqa", "insuranceqa")
_NONE = (None, None, None)
GENERATION = (
    PaperTable(
        "Table 2: GPT2-base, and BART-large as a discriminative twin, beside the encoder here",
        _columns(_GENERATION_SETS, ("AP", "RR", "P@1")),
        (
            (
                "BERT-PR-base",
                None,
                (*_NONE, *_NONE, 0.735, 0.809, 0.702, 0.413, 0.496, 0.401),
            ),
            (
                "BERT-PR-large",
                "twin",
                (0.965, 0.965, 0.939, 0.844, 0.856, 0.765, 0.775, 0.838, 0.748, 0.410, 0.492, 0.394),
            ),
            (
                "BART-large, discriminative",
                None,
                (0.967, 0.967, 0.943, 0.845, 0.861, 0.765, 0.803, 0.866, 0.789, 0.435, 0.518, 0.423),
            ),
            (
                "GPT2-base, no fine-tuning",
                "no tuning",
                (0.499, 0.499, 0.265, 0.516, 0.522, 0.337, 0.215, 0.250, 0.132, 0.050, 0.071, 0.034),
            ),
            (
                "GPT2-base, MLE",
                "MLE",
                (0.768, 0.768, 0.631, 0.550, 0.555, 0.354, 0.654, 0.738, 0.632, 0.430, 0.516, 0.428),
            ),
            (
                "GPT2-base, LUL",
                "LUL",
                (0.905, 0.905, 0.905, 0.690, 0.701, 0.547, 0.723, 0.807, 0.716, 0.427, 0.512, 0.422),
            ),
            (
                "GPT2-base, RLL",
                "RLL",
                (0.958, 0.958, 0.928, 0.774, 0.792, 0.683, 0.735, 0.810, 0.704, 0.414, 0.494, 0.397),
            ),
            (
                "BART-base, LUL",
                None,
                (0.928, 0.928, 0.876, 0.778, 0.788, 0.658, 0.738, 0.813, 0.719, 0.440, 0.526, 0.434),
            ),
            (
                "BART-base, RLL",
                None,
                (0.961, 0.961, 0.934, 0.775, 0.792, 0.654, 0.761, 0.834, 0.743, 0.422, 0.503, 0.408),
            ),
            (
                "GPT2-large, LUL",
                None,
                (0.917, 0.917, 0.857, 0.736, 0.742, 0.609, 0.755, 0.825, 0.738, 0.444, 0.532, 0.439),
            ),
            (
                "GPT2-large, RLL",
                None,
                (0.954, 0.954, 0.922, 0.819, 0.834, 0.733, 0.755, 0.831, 0.728, 0.408, 0.489, 0.389),
            ),
            (
                "BART-large, LUL",
                None,
                (0.949, 0.949, 0.911, 0.802, 0.815, 0.712, 0.789, 0.848, 0.764, 0.465, 0.553, 0.461),
            ),
            (
                "BART-large, RLL",
                None,
                (0.970, 0.970, 0.948, 0.849, 0.861, 0.769, 0.808, 0.867, 0.791, 0.444, 0.529, 0.433),
            ),
        ),
        "GPT2's and BART's weights, and the sets but WikiQA, are not at hand: `as2 reproduce generation --backbone DIR "
        "--set NAME --full` measures one of the models on one of them",
    ),
    PaperTable(
        "Table 3: WikiPassageQA, the question's likelihood and the passage's",
        _columns(("wikipassageqa",), ("AP", "RR", "P@1")),
        (
            ("GPT2-base, LUL, log P(q|a)", "LUL", (0.723, 0.807, 0.716)),
            ("GPT2-base, LUL, log P(a|q)", None, (0.414, 0.464, 0.259)),
            ("GPT2-base, RLL, log P(q|a)", "RLL", (0.735, 0.810, 0.704)),
            ("GPT2-base, RLL, log P(a|q)", "RLL, log P(a|q)", (0.531, 0.617, 0.478)),
        ),
        "WikiPassageQA is not at hand",
    ),
)

_FINE_TUNING, _TANDA = "fine-tuned", "transferred and adapted"
_ONE = ("AP", "RR")


def _tanda_rows(figures: Sequence[tuple[str, str, Figures]]) -> tuple[tuple[str, str | None, Figures], ...]:
    """Systems stand for BERT-base's rows."""
    systems = {"FT target": _FINE_TUNING, "FT ASNQ": "transferred", "TandA": _TANDA}
    return tuple((f"{m} {way}", systems[way] if m == "BERT-B" else None, f) for m, way, f in figures)


TANDA = (
    PaperTable(
        "Table 3 and 4: fine-tuning, transferring, both",
        _columns(("wikiqa", "trecqa"), _ONE),
        _tanda_rows(
            (
                ("BERT-B", "FT target", (0.813, 0.828, 0.857, 0.937)),
                ("BERT-B", "FT ASNQ", (0.884, 0.898, 0.823, 0.872)),
                ("BERT-B", "TandA", (0.893, 0.903, 0.912, 0.951)),
                ("BERT-L", "FT target", (0.836, 0.853, 0.904, 0.946)),
                ("BERT-L", "FT ASNQ", (0.892, 0.904, 0.824, 0.872)),
                ("BERT-L", "TandA", (0.904, 0.912, 0.912, 0.967)),
                ("RoBERTa-B", "FT ASNQ", (0.882, 0.894, 0.849, 0.907)),
                ("RoBERTa-B", "TandA", (0.889, 0.901, 0.914, 0.952)),
                ("RoBERTa-L", "FT ASNQ", (0.910, 0.919, 0.880, 0.928)),
                ("RoBERTa-L", "TandA", (0.920, 0.933, 0.943, 0.974)),
            )
        ),
        "one encoder a run: `as2 reproduce tanda --backbone DIR --full` measures another",
    ),
    PaperTable(
        "Table 5: noisy labels",
        _columns(("wikiqa", "trecqa"), _ONE),
        (
            ("no noise, fine-tuning", _FINE_TUNING, (0.813, 0.828, 0.857, 0.937)),
            ("10 % noise, fine-tuning", f"{_FINE_TUNING}, 10% noise", (0.775, 0.793, 0.826, 0.902)),
            ("20 % noise, fine-tuning", f"{_FINE_TUNING}, 20% noise", (0.629, 0.645, 0.738, 0.843)),
            ("no noise, TandA", _TANDA, (0.893, 0.903, 0.912, 0.951)),
            ("10 % noise, TandA", f"{_TANDA}, 10% noise", (0.876, 0.889, 0.896, 0.941)),
            ("20 % noise, TandA", f"{_TANDA}, 20% noise", (0.870, 0.886, 0.891, 0.937)),
        ),
    ),
    PaperTable(
        "Table 6: ASNQ's negatives",
        _columns(("wikiqa", "trecqa"), _ONE),
        tuple(
            (f"negatives {n}", f"ASNQ negatives {n}", figures)
            for n, figures in (
                ("1", (0.870, 0.880, 0.808, 0.847)),
                ("2", (0.751, 0.763, 0.662, 0.751)),
                ("3", (0.881, 0.895, 0.821, 0.869)),
                ("2,3", (0.883, 0.898, 0.823, 0.871)),
                ("1,2,3", (0.884, 0.898, 0.823, 0.872)),
            )
        ),
        WITHOUT_ASNQ,
    ),
    PaperTable(
        "Table 8: Alexa's own questions, MAP of three samples",
        tuple((f"sample {i}", "AP") for i in (1, 2, 3)),
        (
            ("BERT-B NAD", None, (0.506, 0.432, 0.352)),
            ("BERT-B ASNQ", None, (0.557, 0.395, 0.369)),
            ("BERT-B TandA", None, (0.585, 0.474, 0.391)),
            ("BERT-L NAD", None, (0.537, 0.469, 0.395)),
            ("BERT-L ASNQ", None, (0.552, 0.440, 0.399)),
            ("BERT-L TandA", None, (0.607, 0.514, 0.439)),
            ("RoBERTa-B NAD", None, (0.563, 0.511, 0.430)),
            ("RoBERTa-B ASNQ", None, (0.587, 0.473, 0.437)),
            ("RoBERTa-B TandA", None, (0.623, 0.537, 0.473)),
            ("RoBERTa-L NAD", None, (0.654, 0.581, 0.490)),
            ("RoBERTa-L ASNQ", None, (0.627, 0.526, 0.478)),
            ("RoBERTa-L TandA", None, (0.680, 0.625, 0.514)),
        ),
        "the sets are not public",
    ),
)

QNLI = (
    PaperTable(
        "Table 7: QNLI and ASNQ as the set to transfer from",
        _columns(("wikiqa", "trecqa"), _ONE),
        (
            ("FT QNLI", "QNLI alone", (0.760, 0.766, 0.820, 0.890)),
            ("FT ASNQ", "ASNQ alone", (0.884, 0.898, 0.823, 0.872)),
            ("TandA, QNLI", "adapted after QNLI", (0.832, 0.852, 0.863, 0.906)),
            ("TandA, ASNQ", "adapted after ASNQ", (0.893, 0.903, 0.912, 0.951)),
        ),
        WITHOUT_ASNQ,
    ),
)

_JACCARD, _CA = "Jaccard, best 100", "CA, best 100"
RERANK = (
    PaperTable(
        "Table 3: GPD",
        (("gpd", "P@1"),),
        (
            ("Jaccard, 100", None, (0.270,)),
            ("Jaccard, 200", None, (0.376,)),
            ("Jaccard, 250", None, (0.382,)),
            ("Jaccard, 300", None, (0.411,)),
            ("CA, 100", None, (0.450,)),
            ("BERT, all", None, (0.476,)),
        ),
        "GPD and the training set SBTS are Amazon's own and not public",
    ),
    PaperTable(
        "Table 4: ASNQ",
        (("asnq", "P@1"),),
        (
            ("BERT-base, Jaccard", None, (0.474,)),
            ("BERT-base, CA", None, (0.569,)),
            ("BERT-base, all", None, (0.571,)),
            ("BERT-large, Jaccard", None, (0.492,)),
            ("BERT-large, CA", None, (0.596,)),
            ("BERT-large, all", None, (0.599,)),
        ),
        "ASNQ is not at hand, with 354 candidates a question; WikiQA filled up stands in Table 5",
    ),
    PaperTable(
        "Table 5: 1,300 candidates (the paper: ASNQ++; here: the target filled up in the same way)",
        (("wikiqa", "P@1"),),
        (
            ("Jaccard", _JACCARD, (0.443,)),
            ("CA", _CA, (0.528,)),
            ("all", "all candidates", (0.536,)),
        ),
    ),
)

TABLES = {
    "cascade": CASCADE,
    "exit_draws": (),
    "structure": STRUCTURE,
    "generation": GENERATION,
    "tanda": TANDA,
    "qnli": QNLI,
    "rerank": RERANK,
}
