"""Log-in names and signing codes of staff: after a label, the act of signing, or the name whose initials they are.

Some tell by their form alone: a family name between a letter and digits (``kpham22``), names or roles joined by an
underscore (``rn_okeefe``) or, with digits behind, by a full stop (``nadia.bel03``).
"""

import re
import string
from itertools import pairwise
from typing import Final

from deid_runtime.detectors.patterns.rows import Row
from deid_runtime.lexicon.name_cues import is_family_name, is_ordinary
from deid_runtime.lexicon.vocabulary import alternation, credentials

#: Who or what is named by a code: the label before it.
_ROLE: Final = (
    r"(?:user|operator|op|dictator|dictated|transcriptionist|transcribed|typist|typed|scribe|keyed|entered|scanned|"
    r"uploaded|upload|printed|released|verified|collected|coll|signed|sign|e-?sig|author|tech|removed|opened)"
)
#: Letters, then digits: ``kbw12``, ``him_ll7``, ``NTS/tr-088``. Two letters or more, as B12 and T4 are no log-in names.
_CODE: Final = r"(?:[A-Z]{2,4}/)?[A-Za-z]{2,14}(?:[._-][A-Za-z]{0,6})?\d{1,5}(?:_[a-z]{1,4})?"
#: Who hands in, keys in and keeps notes; these are common words, behind which only codes in lower case tell.
_CLERK: Final = (
    r"(?:by|nurse|clerk|technologist|staff|witness(?:ed)?|operators|agent|coder|abstractor|registrar|desk|login|log-in|"
    r"trans|dict|transcr|typist|rph|pharm|queued?|assigned|routed|cosign(?:ed)?)(?:[ ]to)?"
)
_CREDENTIAL: Final = rf"(?:{alternation(credentials('username'))})"
_LOWER_CODE: Final = r"[a-z]{2,14}(?:[._-][a-z]{0,6})?\d{1,5}(?:_[a-z]{1,4})?"
_DRUG_LIKE: Final = re.compile(
    r"(?i)(?:vit|cd|hla|il|ca|ppsv|pcv|covid|spo|hba|fio|po|pco|peg|q|post|day|pod|week|month|year|hour|grade|stage|step|"
    r"phase|level|type|dose|cycle|visit|room|unit|score)[-_]?\d+c?"
)


def _is_code(match: re.Match[str]) -> bool:
    return not _DRUG_LIKE.fullmatch(match["value"])


_NAME_WORD: Final = re.compile(r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?")
_NAME_BEFORE: Final = 60  # a code stands behind a name and its credentials: "Corey Anstruther, MD (PGY 2) ca118"


def _are_initials(match: re.Match[str]) -> bool:
    """Say whether the letters are the first of two neighbouring words in capitals that stand before, on the line."""
    if not _is_code(match):
        return False
    text, start = match.string, match.start("value")
    line = text[max(0, start - _NAME_BEFORE) : start].rpartition("\n")[2]
    letters = match["letters"].upper()
    words = list(_NAME_WORD.finditer(line))
    return any(
        first.group()[0] == letters[0]
        and last.group()[0] == letters[-1]
        and not line[first.end() : last.start()].strip()
        and max(len(first.group()), len(last.group())) > 2
        for first, last in pairwise(words)
    )


def _holds_family_name(match: re.Match[str]) -> bool:
    return is_family_name(match["name"]) and not is_ordinary(match["letters"])


#: Parts of the names of fields, in exports and forms: ``session_id``, ``coll_dt``.
_FIELD_PARTS: Final = frozenset(
    "addr code cm count date desc dob dt end flag id ip key kg lot mg ml mm mrn name no note notes num number ref "
    "start status text time type user val value".split()
)


def _is_no_field(match: re.Match[str]) -> bool:
    return _FIELD_PARTS.isdisjoint(re.split(r"[\W\d_]+", match["value"]))


_LETTERS: Final = r"[a-z](?:\.?[a-z]){0,12}\d{0,4}"
_END: Final = r"(?![\w@]|[./-]\w)"

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="user-name-labelled",
        label="USERNAME",
        pattern=re.compile(
            r"(?<![^\W\d_])(?i:user(?:[ _-]?(?:name|id))|log-?[io]n(?:[ ](?:name|id))?|(?:operator|dictator|"
            r"transcriptionist|typist|user|author)[ ]id)(?:[ \t]{0,4}[:#=][ \t]{0,4}|[ ]is[ ])"
            r"(?P<value>[A-Za-z0-9][\w.-]{1,18}[A-Za-z0-9])(?![\w-])"
        ),
        words=frozenset("user username userid login logon operator dictator transcriptionist typist author".split()),
        labelled=True,
    ),
    Row(
        name="user-code-after-role",
        label="USERNAME",
        pattern=re.compile(
            rf"(?<![^\W\d_])(?i:{_ROLE}(?:[ ](?:by|per|from|id|init))?)[ \t]{{0,4}}[:/(]?[ \t]{{0,4}}"
            rf"(?P<value>{_CODE})(?![\w-])"
        ),
        words=frozenset(
            "user operator op dictator dictated transcriptionist transcribed typist typed scribe keyed entered scanned "
            "uploaded upload printed released verified collected coll signed sign e esig author tech "
            "removed opened".split()
        ),
        check=_is_code,
        labelled=True,
    ),
    Row(
        name="user-code-after-clerk",
        label="USERNAME",
        pattern=re.compile(
            rf"(?<![^\W\d_])"
            rf"(?:(?i:{_CLERK})[ \t]{{0,2}}[.:#(]?[ \t]{{0,4}}|{_CREDENTIAL}[ \t]{{0,3}}[,(/-]?[ \t]{{0,3}})"
            rf"(?P<value>{_LOWER_CODE})(?![\w-]|[./]\w)"
        ),
        words=frozenset(
            "by nurse clerk technologist staff witness witnessed operators agent coder abstractor registrar desk login "
            "log trans dict transcr typist rph pharm queue queued assigned routed cosign cosigned rn lpn lvn cna pa np "
            "crna md rrt phn pharmd emt slp ma".split()
        ),
        check=_is_code,
        labelled=True,
    ),
    Row(
        name="user-after-initials",  # of who dictated, then who typed
        label="USERNAME",
        pattern=re.compile(r"(?<![\w/])[A-Z]{2,4}/(?P<value>[a-z]{2,8}\d{1,4})(?![\w-]|[./]\w)"),
        digits=frozenset({1, 2, 3, 4}),
        before=string.ascii_lowercase,
        lookback=13,
    ),
    Row(
        name="user-initials",
        label="USERNAME",
        pattern=re.compile(r"(?<![\w./-])(?P<value>(?P<letters>[A-Za-z]{2,3})\d{1,4}[a-z]?)(?![\w-]|[./]\w)"),
        digits=frozenset({1, 2, 3, 4}),
        before=string.ascii_letters,
        lookback=3,
        check=_are_initials,
    ),
    Row(
        name="user-family-name",
        label="USERNAME",
        pattern=re.compile(rf"(?<![\w@./-])(?P<value>(?P<letters>[a-z](?P<name>[a-z]{{4,14}}))\d{{1,4}}){_END}"),
        digits=frozenset({1, 2, 3, 4}),
        before=string.ascii_lowercase,
        lookback=15,
        check=_holds_family_name,
    ),
    Row(
        name="user-dotted",
        label="USERNAME",
        pattern=re.compile(rf"(?<![\w@./-])(?P<value>[a-z]{{1,12}}\.[a-z]{{2,12}}\d{{1,4}}){_END}"),
        digits=frozenset({1, 2, 3, 4}),
        before=string.ascii_lowercase,
        lookback=25,
        weak=True,  # sentences that run together look so too: "stable.wbc12"
    ),
    Row(
        name="user-underscore",
        label="USERNAME",
        pattern=re.compile(rf"(?<![\w@./-])(?P<value>{_LETTERS}_{_LETTERS})(?![\w@]|[./-]\w|[ \t]{{0,2}}[:=|])"),
        chars="_",
        before=string.ascii_lowercase + string.digits,
        lookback=30,
        check=_is_no_field,
    ),
)
