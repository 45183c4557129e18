"""The chart of drop ratios."""

from comparisons import result

from app.compare.sweeps import make_spec
from app.ui.compare import sweep as sweep_of


def swept(*figures):
    return [result(make_spec("spring", ratio), ap, cost) for ratio, ap, cost in figures]


def test_a_sweep_is_told_apart_from_what_was_chosen_by_name():
    rows = [result("cascade"), *swept((0.0, 0.8, 1.0), (0.3, 0.79, 0.6))]
    named, ratios = sweep_of.split_sweeps([*rows, result("autumn:drop_ratio=0.5")])
    assert [r.ranker for r in named] == ["cascade", "autumn:drop_ratio=0.5"]
    assert {c: [r.ranker for r in rs] for c, rs in ratios.items()} == {
        "spring": ["spring:drop_ratio=0", "spring:drop_ratio=0.3"]
    }
    assert sweep_of.split_sweeps(rows[:2]) == (rows[:2], {})


def test_a_ratio_that_another_beats_in_both_is_pale():
    rows = swept((0.0, 0.80, 1.0), (0.3, 0.81, 0.6), (0.5, 0.70, 0.5))
    spec = sweep_of.build_sweep_chart(rows, metric="AP").to_dict()
    front = {r["ratio"]: r["front"] for data in spec["datasets"].values() for r in data}
    assert front == {0.0: False, 0.3: True, 0.5: True}


def test_the_sweep_names_the_cheapest_ratio_that_costs_at_most_a_hundredth():
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.795, 0.63), (0.5, 0.770, 0.49))
    assert sweep_of.describe_sweep(rows, metric="AP") == (
        "Dropping 30 % at each exit saves 37 % of the compute and costs 0.005 of AP."
    )
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.815, 0.63))
    assert sweep_of.describe_sweep(rows, metric="AP").endswith("saves 37 % of the compute and raises AP by 0.015.")
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.8, 0.63))
    assert sweep_of.describe_sweep(rows, metric="AP").endswith("of the compute and does not change AP.")
    rows = swept((0.0, 0.800, 1.0), (0.3, 0.700, 0.63))
    nothing = "None of these shares saves compute without losing more than 0.01 AP."
    assert sweep_of.describe_sweep(rows, metric="AP") == nothing


def test_labels_of_a_sweep_that_would_touch_are_left_out():
    rows = swept((0.0, 0.80, 1.0), (0.1, 0.80, 0.8), (0.3, 0.80, 0.5), (0.5, 0.80, 0.42), (0.6, 0.80, 0.4))
    chart = sweep_of.build_sweep_chart(rows, metric="AP").to_dict()
    names = {r["label"]: r["name"] for data in chart["datasets"].values() for r in data}
    assert names == {"0 %": "0 %", "10 %": "10 %", "30 %": "30 %", "50 %": "", "60 %": "60 %"}
