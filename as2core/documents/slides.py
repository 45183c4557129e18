"""A presentation (.pptx) as plain text: python-pptx gives the shapes of its slides, a page is made of them, and that is
read as a web page is, but whole.

A slide's title is a heading. Its other shapes follow as they are read, columns one after the other, and then its notes.
Hidden slides and shapes, slide numbers, dates, footers and pictures are not read; what many slides have at the same
place is read on the first of them.
"""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from as2core.documents.blocks import Block, drop_title
from as2core.documents.html import page_blocks
from as2core.documents.office_files import explain_damage, require_bounded_size, require_new_format
from as2core.errors import UnreadableFile
from as2core.sources.unpacking import MAX_WHOLE_BYTES, Quota

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MIN_REPEATS, MIN_REPEATING_SHARE = 3, 0.5  # of the slides that have a text at the same place
MAX_HEADING_CHARS = 100  # of a text box that is a slide's title
MAX_CHART_ROWS = 100
MAX_GROUP_DEPTH = 50
_PLACE_UNITS = 36_000  # a millimetre, in EMU
MAX_OVERLAP = 2 * _PLACE_UNITS  # of the edges of two columns
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",")
_NO_TITLE = re.compile(  # what a program writes
    r"(?:power ?point\W{0,3})?(?:presentation|pr\u00e4sentation)\W*\d*|(?:slide|folie|untitled)\W*\d*|\S+\.pptx?|\W*",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_DML = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_Span = tuple[int, int]  # where a shape begins and ends, in EMU
_Key = tuple[int, int, str]  # a shape's place and text


class _Box(NamedTuple):
    """Where a shape stands, from left to right and from top to bottom."""

    across: _Span
    down: _Span
    shape: Any


def slide_blocks(content: bytes) -> tuple[str, list[Block]]:
    """`(title or "", blocks)`. The title is that of the first slide, or that of the file's properties.

    Raises UnreadableFile when it is damaged, needs a password, or has no text.
    """
    from lxml.html import fragment_fromstring

    require_new_format(content, "PowerPoint", ".pptx")
    page = fragment_fromstring("", create_parent="div")
    with explain_damage("a presentation", ".pptx"):
        require_bounded_size(content)
        _require_bounded_parts(content)
        title = _write_page(content, page)
    blocks = page_blocks(page)
    if not blocks:
        raise UnreadableFile("no text in it, only pictures; save it as PDF and run text recognition on it")
    return title, drop_title(title, blocks)


def _require_bounded_parts(content: bytes) -> None:
    """Raises TooLarge. python-pptx unpacks the pictures, too."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        Quota(MAX_WHOLE_BYTES).count(sum(part.file_size for part in archive.infolist()), len(content))


def _write_page(content: bytes, page: "HtmlElement") -> str:
    """Put the slides into the page; returns the presentation's title."""
    import pptx

    presentation = pptx.Presentation(io.BytesIO(content))
    slides = [slide for slide in presentation.slides if slide._element.get("show") not in ("0", "false")]
    shapes = [_list_shapes(slide) for slide in slides]
    repeats = _find_repeats([list(map(_describe, of_slide)) for of_slide in shapes])
    titles: list[str] = []
    unread = set(repeats)
    for slide, of_slide in zip(slides, shapes, strict=True):
        own = [shape for shape in of_slide if _describe(shape) not in repeats]
        first = [shape for shape in of_slide if _describe(shape) in unread]
        unread -= set(map(_describe, first))
        titles.append(_write_slide(page, slide, [*own, *first]))
    properties_title = " ".join((presentation.core_properties.title or "").split())
    return next(iter(titles), "") or ("" if _NO_TITLE.fullmatch(properties_title) else properties_title)


def _list_shapes(slide: Any) -> list[Any]:
    """But for its title, in the order in which they are read."""
    title = slide.shapes.title
    others = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
    return _sort_as_read([shape for shape in others if _is_text(shape)])


def _find_repeats(slides: Sequence[Sequence[_Key]]) -> set[_Key]:
    """Of the texts on each slide, which may be "", those that many of them have at the same place."""
    counts = Counter(key for keys in slides for key in dict.fromkeys(keys) if key[2])
    least = max(MIN_REPEATS, len(slides) * MIN_REPEATING_SHARE)
    return {key for key, slides_with_it in counts.items() if slides_with_it >= least}


def _write_slide(page: "HtmlElement", slide: Any, shapes: list[Any]) -> str:
    """Its title, the shapes, and its notes; returns the title."""
    title = "" if slide.shapes.title is None else _read_text(slide.shapes.title)
    if not title and _is_title_box(shapes):
        title = _read_text(shapes[0])
        shapes = shapes[1:]
    if title:
        _add_lines(page, "h2", title)
    for shape, following in zip_longest(shapes, shapes[1:]):
        if following is not None and _is_column_head(shape, following):
            _add_lines(page, "h3", _read_text(shape))
        else:
            _write_shape(page, shape, 0)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        _write_paragraphs(page, slide.notes_slide.notes_text_frame, is_list=False)
    return title


def _is_title_box(shapes: Sequence[Any]) -> bool:
    """Whether the first one is a short line above others, as the title of a slide that marks none."""
    return len(shapes) > 1 and not shapes[0].is_placeholder and _is_short_line(shapes[0])


def _is_column_head(shape: Any, following: Any) -> bool:
    """Whether it is a short line over a list, as in the layout for comparisons."""
    from pptx.enum.shapes import PP_PLACEHOLDER as KIND

    kinds = [s.placeholder_format.type if s.is_placeholder else None for s in (shape, following)]
    return kinds == [KIND.BODY, KIND.OBJECT] and _is_short_line(shape)


def _is_short_line(shape: Any) -> bool:
    text = _read_text(shape)
    is_one = bool(text) and len([p for p in shape.text_frame.paragraphs if p.text.strip()]) == 1
    return is_one and len(text) <= MAX_HEADING_CHARS and not text.endswith(_SENTENCE_ENDS) and not text.isdigit()


def _is_text(shape: Any) -> bool:
    """Whether it has text of the slide, or may have it in its parts, and is shown."""
    from pptx.enum.shapes import PP_PLACEHOLDER as KIND

    if shape._element._nvXxPr.cNvPr.get("hidden") in ("1", "true"):
        return False
    kinds_around = (KIND.SLIDE_NUMBER, KIND.DATE, KIND.FOOTER, KIND.HEADER)
    if shape.is_placeholder and shape.placeholder_format.type in kinds_around:
        return False
    is_frame = getattr(shape, "has_table", False) or getattr(shape, "has_chart", False)
    return is_frame or _is_group(shape) or bool(_read_text(shape)) or _find_diagram(shape) is not None


def _is_group(shape: Any) -> bool:
    return hasattr(shape, "shapes")


def _describe(shape: Any) -> _Key:
    text = _read_text(shape) if shape.has_text_frame else ""
    return int(shape.left or 0) // _PLACE_UNITS, int(shape.top or 0) // _PLACE_UNITS, text


def _read_text(shape: Any) -> str:
    return " ".join(shape.text_frame.text.split()) if shape.has_text_frame else ""


def _sort_as_read(shapes: Sequence[Any]) -> list[Any]:
    boxes = []
    for shape in shapes:
        left, top = int(shape.left or 0), int(shape.top or 0)
        boxes.append(_Box((left, left + int(shape.width or 0)), (top, top + int(shape.height or 0)), shape))
    return [box.shape for box in _sort_boxes(boxes)]


def _sort_boxes(boxes: Sequence[_Box]) -> list[_Box]:
    """Columns from left to right, each from top to bottom; what stands over several columns divides those above it from
    those below."""
    order: list[_Box] = []
    rest = list(boxes)
    while len(rest) > 1:
        columns = _split_at_gaps(rest, lambda box: box.across)
        if len(columns) > 1:
            return order + [box for column in columns for box in _sort_boxes(column)]
        first, *others = _split_at_gaps(rest, lambda box: box.down)
        if not others:
            return order + sorted(rest, key=lambda box: (box.down[0], box.across[0]))
        while others and len(_split_at_gaps(first + others[0], lambda box: box.across)) > 1:
            first += others.pop(0)
        order += _sort_boxes(first)
        rest = [box for row in others for box in row]
    return order + rest


def _split_at_gaps(boxes: Sequence[_Box], span: Callable[[_Box], _Span]) -> list[list[_Box]]:
    """Groups of boxes whose spans overlap by more than edges do, in order."""
    groups: list[list[_Box]] = []
    end = 0
    for box in sorted(boxes, key=span):
        first, last = span(box)
        if not groups or first >= end - MAX_OVERLAP:
            groups.append([])
            end = last
        groups[-1].append(box)
        end = max(end, last)
    return groups


def _write_shape(page: "HtmlElement", shape: Any, depth: int) -> None:
    if _is_group(shape):
        if depth < MAX_GROUP_DEPTH:
            for inner in _sort_as_read([s for s in shape.shapes if _is_text(s)]):
                _write_shape(page, inner, depth + 1)
    elif getattr(shape, "has_table", False):
        _write_table(page, shape.table)
    elif shape.has_text_frame:
        _write_paragraphs(page, shape.text_frame, is_list=_is_list(shape))
    else:
        with suppress(Exception):  # python-pptx does not know all kinds of charts
            if getattr(shape, "has_chart", False):
                _write_chart(page, shape.chart)
            else:
                _write_diagram(page, shape)


def _is_list(shape: Any) -> bool:
    """Whether its paragraphs are items unless they say otherwise, as those of a slide's body are."""
    from pptx.enum.shapes import PP_PLACEHOLDER as KIND

    return shape.is_placeholder and shape.placeholder_format.type in (KIND.BODY, KIND.OBJECT, KIND.VERTICAL_BODY)


def _write_paragraphs(page: "HtmlElement", frame: Any, *, is_list: bool) -> None:
    """Items in lists, one in the other by their levels."""
    lists: list[HtmlElement] = []
    for paragraph in frame.paragraphs:
        if not paragraph.text.strip():
            continue
        if not _is_item(paragraph, is_list=is_list):
            lists.clear()
            _add_lines(page, "p", paragraph.text)
            continue
        del lists[paragraph.level + 1 :]
        while len(lists) <= paragraph.level:
            parent = lists[-1] if lists else page
            lists.append(parent.makeelement("ul"))
            parent.append(lists[-1])
        _add_lines(lists[-1], "li", paragraph.text)


def _is_item(paragraph: Any, *, is_list: bool) -> bool:
    properties = paragraph._p.find(f"{_DML}pPr")
    tags = set() if properties is None else {child.tag.removeprefix(_DML) for child in properties}
    if "buNone" in tags:
        return False
    return is_list or paragraph.level > 0 or not tags.isdisjoint(("buChar", "buAutoNum", "buBlip"))


def _add_lines(parent: "HtmlElement", tag: str, text: str) -> None:
    """An element of the text's lines; a vertical tab divides them, too."""
    element = parent.makeelement(tag)
    first, *others = re.split(r"[\n\v]", _CONTROLS.sub("", text.replace("\f", "\n")))
    element.text = first
    for line in others:
        line_break = element.makeelement("br")
        line_break.tail = line
        element.append(line_break)
    parent.append(element)


def _write_table(page: "HtmlElement", table: Any) -> None:
    """A cell over several rows is one of each."""
    rows = [list(row.cells) for row in table.rows]
    element = page.makeelement("table")
    above: dict[int, tuple[str, int]] = {}  # column -> the text of a cell over several rows, and how many rows remain
    for number, cells in enumerate(rows):
        row = element.makeelement("tr")
        for column, cell in enumerate(cells):
            text, remaining = above.get(column, ("", 0))
            if cell.is_merge_origin:
                text = cell.text
                above[column] = text, cell.span_height - 1
            elif cell.is_spanned and remaining:
                above[column] = text, remaining - 1
            elif cell.is_spanned:
                continue
            else:
                text = cell.text
            _add_lines(row, "th" if number == 0 and table.first_row else "td", text)
            if cell.is_merge_origin and cell.span_width > 1:
                row[-1].set("colspan", str(cell.span_width))
        element.append(row)
    page.append(element)


def _write_chart(page: "HtmlElement", chart: Any) -> None:
    """Its title, and the values of a chart that has categories as a table."""
    if chart.has_title and chart.chart_title.has_text_frame:
        _write_paragraphs(page, chart.chart_title.text_frame, is_list=False)
    plot = next(iter(chart.plots), None)
    if plot is None:
        return
    categories = [str(c) for c in plot.categories]
    if not 0 < len(categories) <= MAX_CHART_ROWS:
        return
    series = [(s.name, list(s.values)) for s in plot.series]
    table = page.makeelement("table")
    rows = [["", *(name for name, _ in series)]]
    for i, category in enumerate(categories):
        values = [values[i] if i < len(values) else None for _, values in series]
        rows.append([category, *("" if v is None else f"{round(v, 6):.15g}" for v in values)])
    for number, cells in enumerate(rows):
        row = table.makeelement("tr")
        for text in cells:
            _add_lines(row, "td" if number else "th", text)
        table.append(row)
    page.append(table)


def _find_diagram(shape: Any) -> Any:
    """What names the parts of a SmartArt, None if the shape is none."""
    return next(shape._element.iter(f"{_DIAGRAM}relIds"), None)


def _write_diagram(page: "HtmlElement", shape: Any) -> None:
    """The texts of a SmartArt."""
    from pptx.oxml import parse_xml

    data = parse_xml(shape.part.related_part(_find_diagram(shape).get(f"{_RELATION}dm")).blob)
    for text in data.iter(f"{_DIAGRAM}t"):
        for paragraph in text.iter(f"{_DML}p"):
            _add_lines(page, "p", "".join(t.text or "" for t in paragraph.iter(f"{_DML}t")))
