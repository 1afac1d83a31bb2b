"""HTML in a text, read through: entities become their characters, simple tags vanish, tags of blocks end a line."""

import html
import re
from collections.abc import Iterator
from html.entities import html5
from typing import Final

from deid_runtime.text.reading.edits import Edit

#: An entity, also one that was escaped again (``&amp;nbsp;``), which sources do that escape twice.
_ENTITY: Final = re.compile(r"&(?:amp;){0,3}(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

# An attribute is passed over only where no one would be named in it: one of looks, with a short value. All other tags
# stay, `<a href=...>` or `<img alt=...>`: what is in them must be searched too.
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
    """Return the edits that take HTML out of ``text``; none for an entity that stands for no printable character."""
    if "<" not in text:
        return list(_entities(text)) if "&" in text else []
    edits = [Edit(*match.span(), _instead(match)) for match in _TAG.finditer(text)]
    if "&" in text:
        edits = sorted([*edits, *_entities(text)])  # an entity is never inside a tag: no value passed over has a `&`
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


#: Characters that print nothing and that are read all the same, or dropped by the next pass.
_UNSEEN: Final = frozenset("\xad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
