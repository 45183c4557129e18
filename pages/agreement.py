"""Agreement: whether people agree, what is in dispute, by which rules they label, and who they are."""

import streamlit as st

from app.components import agreement_conflicts, agreement_figures, agreement_rules, url
from app.components.label_item import style
from app.components.page import page

frame = page("Agreement", "Do people mean the same by their labels? What they dispute is settled here.")
style()
VIEWS = {"figures": "Agreement", "conflicts": "Conflicts", "rules": "Rules", "people": "People"}
state = st.session_state
if state.get("agreement_view") not in VIEWS:
    state["agreement_view"] = url.get("view") if url.get("view") in VIEWS else "figures"
view = st.segmented_control("View", VIEWS, key="agreement_view", required=True, format_func=VIEWS.get,
                            label_visibility="collapsed")  # fmt: skip
url.put(view=None if view == "figures" else view)
if view == "figures":
    agreement_figures.draw(frame.wb, frame.corpus)
elif view == "conflicts":
    agreement_conflicts.draw(frame.wb, frame.corpus, frame.annotator)
elif view == "rules":
    agreement_rules.draw_rules(frame.wb, frame.corpus, frame.annotator)
else:
    agreement_rules.draw_people(frame.wb, frame.annotator)
