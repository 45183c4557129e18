"""The synonyms of a corpus: what people call a thing, and what the documents call it."""

import streamlit as st

from app.corpora.synonyms import read_prepared, read_synonyms
from app.ranking.synonym_proposals import dismiss_proposals, propose_from_labels
from app.ranking.synonyms import write_synonyms
from app.ui import navigation, url
from app.ui.data.documents import draw_way_back
from app.ui.errors import guard
from app.ui.page import Frame, announce
from app.ui.session.unsaved import find_sent_text, register_field
from app.ui.text import capitalize, plain
from as2core.messages import count
from as2core.questions.synonym_proposals import SynonymProposal
from as2core.questions.synonyms import ARROW, BadLines, Synonyms

_FIRST = "_data_synonyms_first"  # of the session: those that the text was begun with
_PROBLEMS = "_data_synonyms_problems"  # of the session: a text, and what is wrong in its lines
MAX_PROBLEMS = 10  # listed


def draw(frame: Frame) -> None:
    now = read_synonyms(frame.wb, frame.corpus.id)
    why = frame.explain_refusal("change the synonyms")
    draw_way_back(frame)
    st.header("Synonyms", anchor=False)
    st.caption(
        "If people say “PAA” and the documents say “peracetic acid”, write `PAA => peracetic acid`. A question with "
        "the word is then read with its meaning: for search, for every ranker, in training and in comparisons."
    )
    key = f"data_synonyms_{frame.corpus.id}"
    if key not in st.session_state:
        text, first = _find_draft(key, now)
        is_draft = text.strip() != str(first).strip()
        st.session_state[key], st.session_state[_FIRST] = (text, first) if is_draft else (str(now), now)
    register_field(key, "Synonyms", saved=str(st.session_state[_FIRST]))
    st.text_area("One per line: word => meaning", key=key, height=320, disabled=bool(why), on_change=_keep, args=(key,),
                 placeholder="PAA => peracetic acid\nTV, telly => television")  # fmt: skip
    _draw_problems(key)
    with st.container(horizontal=True):
        st.button("Save", key="data_synonyms_save", icon=":material/save:", disabled=bool(why), help=why,
                  on_click=_save, args=(frame, key))  # fmt: skip
        offer = read_prepared(frame.wb, frame.corpus.name)
        if offer and not now:
            st.button(f"Fill in the {count(len(offer.words), 'synonym')} prepared for this corpus",
                      key="data_synonyms_prepared", disabled=bool(why), help=why,
                      on_click=_fill, args=(key, str(offer)))  # fmt: skip
    if now and not url.get("q"):
        navigation.to("ask", "Ask a question")
    if not why:
        _draw_proposals(frame, key)


def _find_draft(key: str, now: Synonyms) -> tuple[str, Synonyms]:
    """What was typed and not saved, and what it was begun with; what the browser still has after a restart of the
    server is taken as begun now. Else both are those of now."""
    draft: tuple[str, Synonyms] = st.session_state.get(f"_{key}_draft", (find_sent_text(key) or str(now), now))
    return draft


def _keep(key: str) -> None:
    """What is not saved yet, while other views are open: the click that ends the typing may open one."""
    st.session_state[f"_{key}_draft"] = st.session_state[key], st.session_state[_FIRST]


def _draw_problems(key: str) -> None:
    """Of the lines that were to be saved, until they are changed."""
    text, problems = st.session_state.get(_PROBLEMS, ("", ()))
    if not problems or text != st.session_state[key]:
        return
    lines = [f"- {plain(capitalize(problem))}" for problem in problems[:MAX_PROBLEMS]]
    if (rest := len(problems) - MAX_PROBLEMS) > 0:
        lines.append(f"- and {count(rest, 'more line')}")
    st.error("\n".join(["Nothing was saved.", "", *lines]), icon=":material/error:")


def _draw_proposals(frame: Frame, key: str) -> None:
    """What the labels suggest and the text does not have yet."""
    lines = {" ".join(line.split()) for line in st.session_state[key].splitlines()}
    proposals = [p for p in propose_from_labels(frame.wb, frame.corpus.id) if _to_line(p) not in lines]
    if not proposals:
        return
    st.subheader("Suggested by the labels", anchor=False)
    st.caption(
        "In the correct answers to questions with the word, the meaning is far more frequent than in other answers. "
        "Some are wrong: words that merely stand near the answers. Select those that are right, add them, change what "
        "you like, and save. Dismiss the others."
    )
    table = st.dataframe(
        [
            {
                "word": p.word,
                "meaning": p.meaning,
                "answers": f"{p.answers} of {p.questions}",
                "for example": p.example,
            }
            for p in proposals
        ],
        key=f"data_synonyms_proposed_{frame.corpus.id}_{len(proposals)}",
        on_select="rerun",
        selection_mode="multi-row",
        hide_index=True,
        column_config={
            "answers": st.column_config.TextColumn(
                help="Of the answers to questions with the word, how many have the meaning in the sentence, in the two "
                "before it, or in the title"
            )
        },
    )
    rows = table.selection.rows
    selection = [proposals[i] for i in rows]
    label = f"Add the {len(rows)} selected" if rows else "Add"
    with st.container(horizontal=True):
        st.button(label, key="data_synonyms_add", icon=":material/add:", on_click=_add, disabled=not rows,
                  help=None if rows else "Select the right ones first", args=(key, selection))  # fmt: skip
        label = f"Dismiss the {len(rows)} selected" if rows else "Dismiss"
        st.button(label, key="data_synonyms_dismiss", icon=":material/close:", on_click=_dismiss, disabled=not rows,
                  help=None if rows else "Select the wrong ones first", args=(frame, selection))  # fmt: skip


def _to_line(proposal: SynonymProposal) -> str:
    return f"{proposal.word} {ARROW} {proposal.meaning}"


def _fill(key: str, text: str) -> None:
    st.session_state[key] = text
    _keep(key)


def _add(key: str, proposals: list[SynonymProposal]) -> None:
    """To the text, which is not saved yet."""
    text = st.session_state[key].rstrip("\n")
    _fill(key, "\n".join([*([text] if text else []), *map(_to_line, proposals), ""]))
    announce(f"{count(len(proposals), 'line')} added. Check them, then press Save.")


@guard
def _dismiss(frame: Frame, proposals: list[SynonymProposal]) -> None:
    words = [p.word for p in proposals]
    dismiss_proposals(frame.wb, frame.corpus.id, words, by=frame.annotator.id)
    announce(f"{count(len(words), 'proposal')} dismissed. You can still write them into the list.")


@guard
def _save(frame: Frame, key: str) -> None:
    text, before = st.session_state[key], st.session_state[_FIRST]
    try:
        new = write_synonyms(frame.wb, frame.corpus.id, text, by=frame.annotator.id, before=before)
    except BadLines as error:
        st.session_state[_PROBLEMS] = text, error.problems
        return
    st.session_state[_FIRST] = new
    _fill(key, str(new))
    announce(f"{count(len(new.words), 'synonym')} saved. Questions are read with them from now on.")
