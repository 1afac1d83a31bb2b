"""Remove HTML from a text.

Entities become their characters, inline tags are dropped, block tags become a line end, and table cells a tab.
"""

import html
import re
from collections.abc import Iterator
from html.entities import html5
from typing import Final

from deid_runtime.text.reading.edits import Edit

#: An entity, even one that was escaped again (``&amp;nbsp;``), because some sources escape twice.
_ENTITY: Final = re.compile(r"&(?:amp;){0,3}(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

# Tags are removed only with attributes that cannot contain a name: formatting attributes with short values. All other
# tags stay, such as `<a href=...>` or `<img alt=...>`: detectors must search their content too.
_ATTRIBUTE: Final = (
    r"\s{1,8}(?:class|style|face|size|color|align|valign|width|height|bgcolor|border|cell(?:padding|spacing)|"
    r"colspan|rowspan|lang|dir)\s?=\s?(?:\"[\w .:;,#%()-]{0,100}\"|'[\w .:;,#%()-]{0,100}'|[\w.#%-]{1,40})"
)
_INLINE: Final = "b|i|u|s|em|strong|span|font|small|big|sub|sup|mark|tt|strike|del|ins|code|q|o:p|abbr|label"
_BLOCK: Final = "br|p|div|li|ul|ol|tr|table|tbody|thead|h[1-6]|hr|center|blockquote|body|html|pre|dl|dt|dd|caption"
_TAG: Final = re.compile(
    rf"</?(?:(?P<inline>{_INLINE})|(?P<block>{_BLOCK})|(?P<cell>td|th))(?:{_ATTRIBUTE}){{0,8}}\s{{0,8}}/?>",
    re.IGNORECASE,
)


def read_markup(text: str) -> list[Edit]:
    """Return the edits that remove HTML from ``text``. Entities of control characters stay."""
    if "<" not in text:
        return list(_entities(text)) if "&" in text else []
    edits = [Edit(*match.span(), _instead(match)) for match in _TAG.finditer(text)]
    if "&" in text:
        edits = sorted(
            [*edits, *_entities(text)]
        )  # an entity is never inside a removed tag: no attribute value matched above has a `&`
    return edits


def _instead(tag: re.Match[str]) -> str:
    if tag["inline"]:
        return ""
    return "\n" if tag["block"] else "\t"


def _entities(text: str) -> Iterator[Edit]:
    for match in _ENTITY.finditer(text):
        name = match[0].rpartition("&" if "amp;" not in match[0] else "amp;")[2] or "amp;"
        char = html.unescape(f"&{name}") if name[0] == "#" else html5.get(name, "")
        if char and all(each.isprintable() or each.isspace() or each in _UNSEEN for each in char):
            yield Edit(*match.span(), char)


#: Invisible characters whose entities are decoded nevertheless; the next pass handles or drops them.
_UNSEEN: Final = frozenset("\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
