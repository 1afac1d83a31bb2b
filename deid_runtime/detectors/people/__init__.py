"""People found by knowledge: lists of names, a vocabulary of words that are none, and what stands beside a name.

No model is asked. Two listed names side by side are a person unless something speaks against it; a word that no
vocabulary knows is one beside a cue (``her sister``, ``signed by``, ``, RN``); a listed name alone is one where it
acts. A word's case is evidence, never a condition.
"""

from collections.abc import Sequence

from deid_runtime.detectors.people.rules import find_in
from deid_runtime.spans import Span


def find_people(texts: Sequence[str]) -> list[list[Span]]:
    """Return the people named in each text, sorted and disjoint, one row per text, in order.

    Spans are PATIENT or DOCTOR (who has a title, a credential or the role of staff). Their score is the precision to
    expect, their source ``rule:people``, below 0.7 ``rule:people:weak``. Time is linear in the length of a text,
    whatever it holds.
    """
    return [find_in(text) for text in texts]
