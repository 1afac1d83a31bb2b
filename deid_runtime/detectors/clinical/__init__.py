"""What is clinical and identifies no one: values, scores, doses, codes, peoples, drugs. Takes back what others found.

Models and weak patterns take ``3/14 axillary nodes`` for a date, a saturation for an age, a brand for a person. This
package knows the forms and names of clinical facts, and :func:`without_clinical` drops what lies in one, unless
something says that it identifies: a finder that goes by more than form, a cue beside it, or a model that is very sure
where the form is shared.
"""

from deid_runtime.detectors.clinical.dropping import without_clinical
from deid_runtime.detectors.clinical.grammar import GRAMMAR, find_clinical
from deid_runtime.detectors.clinical.rows import Stretch

__all__ = ["GRAMMAR", "Stretch", "find_clinical", "without_clinical"]
