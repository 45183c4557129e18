"""The scatter: every point drawn where its numbers say."""

import xml.etree.ElementTree as ET

import pytest

from as2core.experiments.picture import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Series, powers, scatter, ticks

SVG = "{http://www.w3.org/2000/svg}"


def test_points_are_placed_between_the_outer_ticks():
    drawn = ET.fromstring(
        scatter([Series("a & b", ((0.0, 10.0), (1.0, 20.0)), size=3)], title="t", x_title="x", y_title="y")
    )
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in drawn.iter(f"{SVG}circle") if c.get("r") == "3"]
    assert dots == [(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, TOP)]
    assert drawn.find(f"{SVG}title").text == "t" and "a & b" in [t.text for t in drawn.iter(f"{SVG}text")]


def test_powers_of_ten_stand_equally_far_apart():
    points = ((10.0, 0.1), (100.0, 1.0), (1000.0, 10.0))
    drawn = ET.fromstring(scatter([Series("a", points, size=3)], title="t", x_title="x", y_title="y", log=True))
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in drawn.iter(f"{SVG}circle") if c.get("r") == "3"]
    assert dots == [
        (LEFT, HEIGHT - BOTTOM),
        ((LEFT + WIDTH - RIGHT) / 2, (HEIGHT - BOTTOM + TOP) / 2),
        (WIDTH - RIGHT, TOP),
    ]
    assert powers(0.3, 20) == pytest.approx([0.1, 1, 10, 100])
    assert powers(10, 10) == [10, 100]


def test_names_that_do_not_fit_into_one_row_go_into_the_next():
    long = [Series(f"{i} {'name' * 9}", ((0.0, 0.0), (1.0, 1.0)), size=3) for i in range(3)]
    drawn = ET.fromstring(scatter(long, title="t", x_title="x", y_title="y"))
    names = [t for t in drawn.iter(f"{SVG}text") if "name" in t.text]
    assert all(float(t.get("x")) + 7 * len(t.text) <= WIDTH for t in names)
    assert len({t.get("y") for t in names}) == 2
    dots = [float(c.get("cy")) for c in drawn.iter(f"{SVG}circle") if c.get("r") == "3"]
    assert min(dots) > max(float(t.get("y")) for t in names)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0.62, 0.7, [0.62, 0.64, 0.66, 0.68, 0.7]), (5.0, 5.0, [5, 6])],
)
def test_ticks_are_round_and_cover_the_range(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)
