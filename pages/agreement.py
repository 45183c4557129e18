"""Agreement: agreement between annotators, conflicts, the rules of labelling, and people."""

from app.ui import url
from app.ui.agreement import conflicts, figures, people, rules
from app.ui.label.item import style
from app.ui.page import page

frame = page("Agreement", "Do annotators agree? Measure it, settle conflicts, set the rules.")
style()
VIEWS = {"figures": "Agreement", "conflicts": "Conflicts", "rules": "Rules", "people": "People"}
DRAW = {"figures": figures.draw, "conflicts": conflicts.draw, "rules": rules.draw_rules, "people": people.draw}
DRAW[url.choose("agreement", "view", "View", VIEWS, has_label=False)](frame)
