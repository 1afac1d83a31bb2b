"""Log-in names and signing codes of staff, where a label or the act of signing says what they are."""

import re
from typing import Final

from deid_runtime.detectors.patterns.rows import Row

#: Who or what is named by a code: the label before it.
_ROLE: Final = (
    r"(?:user|operator|op|dictator|dictated|transcriptionist|transcribed|typist|typed|scribe|keyed|entered|scanned|"
    r"uploaded|upload|printed|released|verified|collected|coll|signed|sign|e-?sig|author|tech|removed|opened)"
)
#: Letters, then digits: ``kbw12``, ``him_ll7``, ``NTS/tr-088``. Two letters or more, as B12 and T4 are no log-in names.
_CODE: Final = r"(?:[A-Z]{2,4}/)?[A-Za-z]{2,14}(?:[._-][A-Za-z]{0,6})?\d{1,5}(?:_[a-z]{1,4})?"
_DRUG_LIKE: Final = re.compile(
    r"(?i)(?:vit|cd|hla|il|ca|ppsv|pcv|covid|spo|hba|fio|po|pco|peg|q|post|day|pod)[-_]?\d+c?"
)


def _is_code(match: re.Match[str]) -> bool:
    return not _DRUG_LIKE.fullmatch(match["value"])


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
)
