"""Agreement: agreement between annotators, conflicts, the rules of labelling, and people."""

from app.ui import url
from app.ui.agreement import conflicts, figures, people, rules
from app.ui.label.item import draw_style
from app.ui.page import open_page

frame = open_page("Agreement", "Do annotators agree? Measure it, settle conflicts, set the rules.")
draw_style()
VIEWS = {"figures": "Agreement", "conflicts": "Conflicts", "rules": "Rules", "people": "People"}
DRAW = {"figures": figures.draw, "conflicts": conflicts.draw, "rules": rules.draw_rules, "people": people.draw}
DRAW[url.choose("agreement", "view", "View", VIEWS, has_label=False)](frame)
