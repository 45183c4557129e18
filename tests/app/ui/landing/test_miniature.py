"""The miniature cascade is decoration, but its numbers are true."""

import re
from collections import Counter
from pathlib import Path

from app.ui.landing import miniature

FOLDER = Path(miniature.__file__).parent
SVG = (FOLDER / "cascade.svg").read_text()
CSS = (FOLDER / "cascade.css").read_text()


def test_thirty_per_cent_leave_at_each_exit_and_one_is_the_answer():
    numbers = [int(n) for n in re.findall(r'class="as2-mini-n n\d"[^>]*>(\d+)<', SVG)]
    assert numbers == [100, 70, 49, 35, 25, 1]  # 100 - 30, 70 - 21, 49 - 14, 35 - 10
    dots = Counter(re.findall(r'<circle class="c(\d)"', SVG))
    assert [dots[str(i)] for i in range(6)] == [30, 21, 14, 10, 24, 1]


def test_it_moves_only_for_those_who_did_not_ask_for_less():
    without, _, moving = CSS.partition("@media (prefers-reduced-motion: no-preference) {")
    assert "animation" not in without.split("*/")[1]
    assert "animation-name" in moving.partition("\n}")[0]
    assert "infinite" not in CSS
