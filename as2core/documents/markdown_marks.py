"""Marks of Markdown's dialects that are no text: boxes, tabs, templates, names of icons, links of a wiki.

GitHub, GitLab, GitBook, MkDocs, Docusaurus, MyST, Hugo, Jekyll, Obsidian and Notion each add some to CommonMark, which
reads them as words.
"""

import re
from itertools import pairwise

# Lines that say how a page is made: the head of a box or a tab in MkDocs and of a box in Docusaurus and MyST, which may
# have a title, the end of one, a box's kind on GitHub and in Obsidian, the place of a table of contents, templates.
_BOX_KIND = (
    r"(?:note|tip|important|warning|caution|info|abstract|summary|todo|hint|success|check|question|help|faq|failure|"
    r"danger|error|bug|example|quote|attention|seealso|admonition)"
)
_BOX_HEAD = r'(?:(?:!!!|\?\?\?\+?)[ \t]+[\w-]+|===[+!]*)(?:[ \t]+"(?P<title>[^"\n]*)")?'
_BOX_EDGE = r":::+(?:[ \t]*\{?[\w-]+\}?(?:[ \t]+(?P<name>.*))?)?"
_BOX_MARK = rf"\[!{_BOX_KIND}\][+-]?(?:[ \t]+(?P<box>[^\n]*?))?"
_TEMPLATE = r"\{%[^\n]*%\}|\{\{[<%][^\n]*[%>]\}\}|\{:[^{}\n]*\}"
_DIRECTIVE = re.compile(
    rf"^(?:{_BOX_HEAD}|{_BOX_EDGE}|{_BOX_MARK}|\[?\[_?toc_?\]\]?|{_TEMPLATE})[ \t]*$", re.MULTILINE | re.IGNORECASE
)
_BOX_FENCE = re.compile(rf"\{{{_BOX_KIND}\}}.*", re.IGNORECASE)
_PAGES_FENCE = re.compile(r"\{(?:toctree|contents|tableofcontents)\}.*")
_HEADING_MARK = re.compile(r"\s*\{[:#.][^{}]*\}$")  # "Install {#install}"
_EMOJI = re.compile(r"(?:^|(?<=\s)):[a-z][a-z0-9_+-]*:(?=\s|$)")  # ":rocket:"
_WIKI_LINK = re.compile(r"(!)?\[\[(?!_?toc)([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]", re.IGNORECASE)
_NO_DESCRIPTION = re.compile(
    r"(?:untitled|image|img|picture|screenshot|alt text|\S+\.(?:png|jpe?g|gif|svg|webp))", re.IGNORECASE
)
_FIELD = re.compile(r"[^\W\d_a-z][\w /-]{0,30}: \S")


def drop_directives(text: str) -> str:
    """A box keeps its title."""

    def read_title(match: re.Match[str]) -> str:
        title = match["title"] or match["name"] or match["box"]
        return f"{title}:" if title else ""

    return _DIRECTIVE.sub(read_title, text).strip()


def drop_heading_mark(text: str) -> str:
    return _HEADING_MARK.sub("", text)


def is_box(info: str) -> bool:
    """Whether a fence of that kind holds text and no program, as MyST's "{note}"."""
    return _BOX_FENCE.fullmatch(info) is not None


def is_page_list(info: str) -> bool:
    """Whether a fence of that kind names other pages, as MyST's "{toctree}"."""
    return _PAGES_FENCE.fullmatch(info) is not None


def read_words(text: str) -> str:
    """Without names of icons; a link of a wiki, "[[page|words]]", is its words."""
    return _WIKI_LINK.sub(lambda m: "" if m[1] else m[3] or m[2], _EMOJI.sub("", text))


def read_description(text: str) -> str:
    """Of a picture, "" where it is what a program writes for none."""
    return "" if _NO_DESCRIPTION.fullmatch(text) else text


def join_lines(text: str) -> str:
    """The lines as one, but for a line that is a question, with its answer on the next, and for fields, as Notion
    exports them: "Owner: Ann"."""
    first, *others = text.split("\n")
    result = first
    for before, line in pairwise([first, *others]):
        is_question = before.endswith("?") or (line.endswith("?") and before.endswith((".", "!")))
        is_apart = is_question or (_FIELD.match(before) and _FIELD.match(line))
        result += f"\n{line}" if is_apart else f" {line}"
    return result.strip()
