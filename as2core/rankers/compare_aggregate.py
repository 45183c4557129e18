"""Compare-Aggregate as a ranker. Two papers use it: `as=structure` is the one whose parameters Bonadiman and Moschitti
(2020) count (`as2core.nn.compare_aggregate`), `as=rerank` the first ranker of Matsubara et al. (2020)
(`as2core.nn.bilstm_compare_aggregate`). The rest is in `word_ranker`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from as2core.errors import BadSetting
from as2core.rankers.word_ranker import WordRanker, declare_word_ranker

if TYPE_CHECKING:
    from as2core.nn.context import PairEncoder


class CompareAggregateRanker(WordRanker):
    kind = "compare-aggregate"

    def make_encoder(self, width: int, **sizes: Any) -> PairEncoder:
        from as2core.nn.bilstm_compare_aggregate import BiLSTMCompareAggregate
        from as2core.nn.compare_aggregate import CompareAggregate

        styles: dict[str, type[CompareAggregate] | type[BiLSTMCompareAggregate]] = {
            "structure": CompareAggregate,
            "rerank": BiLSTMCompareAggregate,
        }
        style = sizes.get("as", "structure")
        if style not in styles:
            raise BadSetting(f"no compare-aggregate as={style}; known: {', '.join(styles)}")
        return styles[style](width, hidden=sizes.get("hidden", 300))


RANKER = declare_word_ranker(
    CompareAggregateRanker, "word attention", "Wang and Jiang 2017", **{"as": "structure", "hidden": 300}
)
