"""Find people by rules: name lists, a vocabulary of ordinary words, and the words beside a name. No model is used.

Two listed names side by side are a person unless something contradicts it. A word in no list is a name beside a
cue (``her sister``, ``signed by``, ``, RN``). A listed name that stands alone is a person when a verb or a possessive
shows it. Letter case is evidence, never a condition.
"""

from collections.abc import Sequence

from deid_runtime.detectors.people.rules import find_in
from deid_runtime.spans import Span


def find_people(texts: Sequence[str]) -> list[list[Span]]:
    """Return the people named in each text, sorted and disjoint, one row per text, in order.

    Spans are DOCTOR (for people with a title, a credential or the role of staff) or PATIENT. The score is the expected
    precision. The source is ``rule:people``, or ``rule:people:weak`` below a score of 0.7. The time is linear in the
    length of a text, whatever its content.
    """
    return [find_in(text) for text in texts]
