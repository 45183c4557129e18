"""Lines that a site puts around the text of every page: "Was this article helpful?", "\u00a9 2025 Acme Inc."; and
those that a mail program or a company puts below every mail.

They answer nothing, and stand in every document of a site. Only whole short blocks are left out, never a part of one. A
note on cookies stays in a page that is about them, and nothing is left out where nothing else would remain.
"""

import re
from collections.abc import Sequence

from as2core.documents.blocks import Block, BlockKind
from as2core.text import tokenize

MAX_LINE_CHARS = 200
_PAGE = r"(?:article|page|answer|topic|content|document|section|guide|entry|post|information|story|link)"
_TOOL = (
    r"(?:confluence|zendesk|wordpress|sphinx|docusaurus|mkdocs|material for mkdocs|read the docs|gitbook|notion|"
    r"freshdesk|intercom|jekyll|hugo|docutils|github pages|mediawiki|discourse|drupal|vitepress)"
)
_LICENCE = r"\b(?:licen[cs]e[ds]?|mit|apache|gpl|bsd|cc|creative)\b"
_ASKS_OPINION = (
    rf"(?:was|is|were) (?:this|it|the {_PAGE}|this {_PAGE}(?: \w+)?) (?:helpful|useful)(?: (?:to|for) you)?\?",
    rf"did (?:this|the) (?:{_PAGE} )?(?:help(?: you)?|answer your question|solve your (?:problem|issue))\?",
    rf"did you find (?:it|this|this {_PAGE}|what you (?:were looking for|needed))(?: helpful| useful)?\?",
    rf"how (?:helpful|useful) was this {_PAGE}\?",
)
_AROUND_TEXT = (
    rf"\d+ (?:out )?of \d+ (?:people |users )?found this(?: {_PAGE})? (?:helpful|useful)",
    r"thank(?:s| you) for (?:your (?:feedback|input)|letting us know)",
    r"(?:still )?have (?:more|any other|further) questions\? (?:submit a request|contact us|ask us)",
    r"sorry we couldn't be helpful\. help us improve this article with your feedback",
    r"(?:(?:skip|jump) to (?:the )?(?:main |page )?(?:content|navigation|search|menu|footer)\s*)+",
    r"(?:back|return|go|scroll) to (?:the )?top(?: of (?:the|this) page)?",
    r"(?:edit|improve|print) this page(?: on (?:github|gitlab|bitbucket))?|edit on (?:github|gitlab|bitbucket)",
    r"(?:\W*(?:previous|next)(?: page| article| topic| chapter| section)?\W*){1,2}",
    r"on this page|in this article|table of contents",
    r"created by .{1,60}, last (?:modified|updated)(?: by .{1,60})? on .{1,30}",  # Confluence's
    r"(?:next|previous|up): .+, (?:previous|up): .+",  # Texinfo's
    r"(?:view|show) (?:page )?source|page \d{1,4}(?: of \d{1,4})?|click here to expand(?:\.\.\.|\u2026)?",
    rf"share this(?: {_PAGE})?(?: (?:on|via|with) \w+)?:?",
    r"(?:you must be|please) (?:logged|log|signed|sign) in to (?:post|leave) a comment",
    rf"(?:proudly |document(?:ation)? )?(?:powered|created|built|made|generated) (?:by|using|with) {_TOOL}\b.{{0,60}}",
    rf"(?!.*{_LICENCE})(?:copyright )?\u00a9.*\b(?:\d{{4}}|rights reserved)\b.*",
    r"all rights reserved",
    r"(?:reading time:? \d+ min(?:ute)?s?|\d+ min(?:ute)?s? read)",
)
_OPINION = re.compile(rf"(?:{'|'.join(_ASKS_OPINION)})\W*(?:yes\W*no)?\W*", re.IGNORECASE)
_LINE = re.compile(rf"[^\w\u00a9]*(?:{'|'.join(_AROUND_TEXT)})\W*", re.IGNORECASE)
_HEADING = re.compile(  # a manual may have a section "Edit this page"
    r"leave a reply|share this:?|table of contents|on this page|in this article", re.IGNORECASE
)
_CHANGE = re.compile(
    rf"(?:(?:this )?{_PAGE} (?:was )?)?(?:last )?"
    r"(?:updated?|modified|edited|changed|revised|reviewed|published|posted)\b(?: on)?:? ",
    re.IGNORECASE,
)
_WHEN = frozenset(
    """january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    sat sun am pm a m p at on utc gmt t z over about an ago second seconds minute minutes hour hours day days week weeks
    month months year years yesterday today the st nd rd th""".split()
)
_NETWORKS = frozenset(
    "facebook twitter x linkedin whatsapp pinterest reddit tumblr telegram mastodon bluesky instagram youtube".split()
)
_BESIDE_NETWORKS = _NETWORKS | frozenset("email e mail print copy link tweet share this on via by or and".split())
_COOKIES = re.compile(
    r"(?:this|our) (?:web ?)?site uses cookies|we(?: and our partners)? use (?:\w+ )?cookies (?:to|on)|cookie consent",
    re.IGNORECASE,
)
_COOKIES_ARE_SUBJECT = re.compile(r"cookie|privacy|consent|gdpr", re.IGNORECASE)
_RIGHTS = re.compile(r"\u00a9|all rights reserved", re.IGNORECASE)
_RIGHTS_ARE_SUBJECT = re.compile(r"licen[cs]e|copyright|\blegal\b|imprint", re.IGNORECASE)
_LICENCE_TEXT = re.compile(r"redistribut|hereby granted|without warranty", re.IGNORECASE)
# What stands on the buttons and links after such a line.
_VOTES = re.compile(r"\W*(?:yes|no|yes\W*no|send feedback)\W*", re.IGNORECASE)
_CONSENTS = re.compile(
    r"(?:i )?(?:accept|agree|decline|reject|ok|okay|got it|close|learn more|more information)(?: all)?(?: cookies)?|"
    r"(?:cookie |manage )?(?:settings|preferences)|customi[sz]e|privacy policy|cookie policy",
    re.IGNORECASE,
)

MAX_DISCLAIMER_CHARS = 3000
_MAIL = (
    r"(?:this|the|diese|der inhalt dieser) (?:e-?mail|message|mail|communication|transmission|nachricht)"
    r"(?:,? \(?(?:and|including|together with|und|sowie)\b.{0,80}?)?"
)
_DEVICE = (
    r"(?:iphone|ipad|android|samsung|galaxy|huawei|blackberry|mobile|handy|smartphone|phone|outlook|"
    r"mail (?:for|f\u00fcr)|yahoo|gmail|proton|aol|web\.de|gmx|thunderbird)"
)
_MAIL_FOOTERS = (
    rf"(?:sent|gesendet|envoy\u00e9|enviado|inviato) (?:from|via|using|with|von|mit|\u00fcber|de|depuis|desde|da)"
    rf"(?: my| the| meine[mr]| der| mon| mi| mio)? {_DEVICE}\b.{{0,60}}",
    rf"von meinem {_DEVICE}.{{0,30}} gesendet",
    r"get outlook for .{1,20}|(?:holen sie sich|laden sie) outlook f\u00fcr .{1,20}|virus-free\b.{0,60}",
    r"(?:view|open|read)(?: this (?:e-?mail|message|newsletter)| it)? (?:in|with) (?:your|a|the) (?:web ?)?browser",
    r"view online|view in browser|no images\?.{0,80}|(?:having )?trouble (?:viewing|reading) this\b.{0,100}",
    r"(?:(?:to|click here to) )?unsubscribe(?: (?:from|here|at any time|or|instantly)\b.{0,100}|\s*[^\w\s].{0,60})?",
    r"you(?:'re| are)? (?:receiving|received|receive|get) this (?:e-?mail|message|newsletter) because\b.{0,160}",
    r"(?:manage|update|change) (?:your )?(?:e-?mail |subscription )preferences\b.{0,80}",
    r"(?:bitte )?(?:denken sie an die umwelt|please consider the environment)\b.{0,120}",
)
_MAIL_FOOTER = re.compile(rf"\W*(?:{'|'.join(_MAIL_FOOTERS)})\W*", re.IGNORECASE)
_DISCLAIMERS = (
    r"(?:(?:confidentiality|legal|privacy) (?:notice|note|disclaimer)|(?:e-?mail )?disclaimer)(?::|\W*$)",
    rf"(?:the )?(?:information|contents?)\b.{{0,40}} (?:in|of) {_MAIL}.{{0,120}}"
    r"\b(?:confidential|privileged|intended)\b",
    rf"{_MAIL} (?:is|are|contains?|may (?:be|contain)|was sent|enth\u00e4lt|ist)\b(?! about).{{0,80}}"
    r"\b(?:confidential|privileged|intended (?:only|solely|for)|vertraulich)",
    r"if you are not the (?:intended |named )?(?:recipient|addressee)",
    r"if you (?:have |get |got )?received?\b.{0,60}\b(?:in error|by mistake)",
    r"(?:wenn|falls|sollten) sie (?:nicht der richtige adressat|diese (?:e-?mail|nachricht) irrt\u00fcmlich)",
    r"(?:caution|warning|achtung|vorsicht)\W+(?:this|diese) (?:e-?mail|message|nachricht) "
    r"(?:originated|came|comes|stammt|kommt|wurde)\b",
)
_DISCLAIMER = re.compile(rf"\W*(?:{'|'.join(_DISCLAIMERS)})", re.IGNORECASE)
_CLOSING = re.compile(
    r"(?:(?:with )?(?:best|kind|kindest|warm|warmest|many)(?: (?:regards|wishes))?|regards|cheers|sincerely(?: yours)?|"
    r"yours(?: (?:sincerely|faithfully|truly))?|(?:many )?thanks(?: (?:in advance|again|a lot))?|"
    r"thank you(?: (?:in advance|again|very much))?|cordialement|saludos(?: cordiales)?|cordiali saluti|mfg|lg|vg|"
    r"(?:mit )?(?:freundlichen|besten|herzlichen|vielen|lieben) gr(?:\u00fc|ue)(?:\u00df|ss)en|"
    r"(?:viele|beste|liebe|freundliche|herzliche|sch\u00f6ne) gr(?:\u00fc|ue)(?:\u00df|ss)e|"
    r"met vriendelijke groet(?:en)?)"
    r"\s?[,.!\u2013-]?",
    re.IGNORECASE,
)
_NAME_PART = r"[^\W\d_a-z][^\W\d_]*"
_NAME = re.compile(rf"{_NAME_PART}(?:(?:[.][ -]?|[ -]){_NAME_PART}){{0,3}}[.]?[ -]?")
_LIST_FOOTER = re.compile(r"_{20,}")
_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|greetings|hallo|hej|liebe[rs]?|sehr geehrte[rs]?|"
    r"guten (?:morgen|tag|abend)|moin|bonjour|cher|ch\u00e8re|hola|estimad[oa]s?|ciao|buongiorno|beste|geachte)"
    r"(?:(?: [^\s,.;:?!]+\.?){0,3}|(?: [^\s,.;:?!]+\.?){0,6}(?:, (?:dear|liebe[rs]?|sehr geehrte[rs]?)"
    r"(?: [^\s,.;:?!]+\.?){1,5})?\s?[,!:\u2013-])",
    re.IGNORECASE,
)


def drop_boilerplate(title: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page without these lines; all of them where no prose would be left."""
    names = "\n".join((title, *(b.text for b in blocks if b.kind is BlockKind.HEADING)))
    is_about_cookies = _COOKIES_ARE_SUBJECT.search(names) is not None
    is_about_rights = _RIGHTS_ARE_SUBJECT.search(names) or any(_LICENCE_TEXT.search(b.text) for b in blocks)
    remaining: list[Block] = []
    after: re.Pattern[str] | None = None  # what goes with the line that was left out last
    for block in blocks:
        line = _read_line(block)
        is_text = block.is_text
        if _OPINION.fullmatch(line):
            after = _VOTES
        elif is_text and not is_about_cookies and _COOKIES.match(line):
            after = _CONSENTS
        elif is_text and after is not None and after.fullmatch(line):
            continue
        elif is_about_rights and _RIGHTS.search(line):
            remaining.append(block)
        elif not line or not (_is_around_text(line) if is_text else _HEADING.fullmatch(line)):
            after = None
            remaining.append(block)
    return remaining if any(block.is_text for block in remaining) else list(blocks)


def _read_line(block: Block) -> str:
    """The words of a block that may be such a line, "" of another."""
    line = " ".join(block.text.removeprefix("- ").split())
    is_list = "\n- " in block.text
    return "" if is_list or block.kind is BlockKind.PROGRAM or len(line) > MAX_LINE_CHARS else line


def _is_around_text(line: str) -> bool:
    if not any(c.isalnum() or c.isascii() for c in line.replace(" ", "")):
        return True  # an icon
    return _LINE.fullmatch(line) is not None or _says_when_changed(line) or _names_networks(line)


def _says_when_changed(line: str) -> bool:
    """Whether it says when the page was changed, and by whom, and nothing else."""
    match = _CHANGE.match(line)
    words = tokenize(line[match.end() :].partition(" by ")[0]) if match else []
    return bool(words) and all(word in _WHEN or word.rstrip("sthndr").isdigit() for word in words)


def _names_networks(line: str) -> bool:
    """Whether it is a row of links by which to share the page."""
    words = tokenize(line)
    return len(_NETWORKS & set(words)) > 1 and _BESIDE_NETWORKS.issuperset(words)


def drop_mail_footers(blocks: Sequence[Block]) -> list[Block]:
    """The lines or paragraphs of a mail before its signature ("-- ") or the footer of a mailing list, without those
    that a telephone or a newsletter adds, and without "Best regards" and the name below it."""
    end = next((i for i in range(len(blocks)) if _ends_mail(blocks, i)), len(blocks))
    remaining: list[Block] = []
    is_closed = False  # by the line before
    for block in blocks[:end]:
        line = _read_line(block) if block.is_text else ""
        is_name = is_closed and _NAME.fullmatch(line) is not None
        if block.text.strip():
            is_closed = _CLOSING.fullmatch(line) is not None and any(b.text.strip() for b in remaining)
        if not block.text.strip() or not (is_closed or is_name or _MAIL_FOOTER.fullmatch(line)):
            remaining.append(block)
    return remaining


def _ends_mail(blocks: Sequence[Block], i: int) -> bool:
    text = blocks[i].text.rstrip()
    is_list_footer = _LIST_FOOTER.fullmatch(text) and any("mailing list" in b.text for b in blocks[i + 1 : i + 2])
    return text == "--" or bool(is_list_footer)


def drop_disclaimers(blocks: Sequence[Block]) -> list[Block]:
    """The paragraphs of a mail without "This e-mail is confidential ..."."""
    return [
        block
        for block in blocks
        if len(block.text) > MAX_DISCLAIMER_CHARS or not _DISCLAIMER.match(" ".join(block.text.split()))
    ]


def is_greeting(line: str) -> bool:
    """Whether it is all of a line such as "Dear Ms Hill,"."""
    return _GREETING.fullmatch(line.strip()) is not None
