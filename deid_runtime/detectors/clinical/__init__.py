"""Recognise clinical facts that identify no one, and drop spans that mistake them for identifiers.

Such facts are values, scores, doses, codes, names of peoples and drugs. Models and weak patterns mistake ``3/14
axillary nodes`` for a date, a saturation for an age, or a brand for a person. This package knows the formats and names
of clinical facts. :func:`without_clinical` drops a span within a clinical fact unless there is evidence for an
identifier:

- a detector that uses more than form,
- a cue beside the span,
- a very confident model, if an identifier can have the same form.
"""

from deid_runtime.detectors.clinical.dropping import without_clinical
from deid_runtime.detectors.clinical.grammar import GRAMMAR, find_clinical
from deid_runtime.detectors.clinical.rows import Stretch

__all__ = ["GRAMMAR", "Stretch", "find_clinical", "without_clinical"]
