"""Agreement: agreement between annotators, conflicts, the rules of labelling, and people."""

import streamlit as st

from app.ui import url
from app.ui.agreement import conflicts, figures, rules
from app.ui.label.item import style
from app.ui.page import page

frame = page("Agreement", "Do annotators agree? Measure it, settle conflicts, set the rules.")
style()
VIEWS = {"figures": "Agreement", "conflicts": "Conflicts", "rules": "Rules", "people": "People"}
state = st.session_state
if state.get("agreement_view") not in VIEWS:
    state["agreement_view"] = url.get("view") if url.get("view") in VIEWS else "figures"
view = st.segmented_control("View", list(VIEWS), key="agreement_view", required=True,
                            format_func=VIEWS.__getitem__, label_visibility="collapsed")  # fmt: skip
url.put(view=None if view == "figures" else view)
if view == "figures":
    figures.draw(frame.wb, frame.corpus)
elif view == "conflicts":
    conflicts.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "rules":
    rules.draw_rules(frame.wb, frame.corpus, frame.annotator)
else:
    rules.draw_people(frame.wb, frame.annotator)
