"""All tags of a scheme over one label space, and which tag may follow which.

Our own heads tag one class of entity each (``deid_export.model.tagger.tags_of``).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from deid_runtime.audit.word_tags import Scheme
from deid_runtime.labels import LABELS

BoolArray = npt.NDArray[np.bool_]

_PREFIXES: Final[dict[Scheme, str]] = {"BIO": "BI", "BIESO": "BIES"}


@dataclass(frozen=True)
class Allowed:
    """What a scheme allows: ``follows[a, b]`` whether tag b may stand behind tag a, and which may begin and end."""

    follows: BoolArray
    begins: BoolArray
    ends: BoolArray


def tag_names(scheme: Scheme) -> list[str]:
    """Return all tags, ``O`` first, then those of each label."""
    return ["O"] + [f"{prefix}-{label}" for label in LABELS for prefix in _PREFIXES[scheme]]


def allowed(scheme: Scheme) -> Allowed:
    """Return what may follow what, in the order of :func:`tag_names`."""
    names = [tag.partition("-")[::2] for tag in tag_names(scheme)]
    closes = {"O", "E", "S"} if scheme == "BIESO" else {"O", "B", "I"}  # after these a span need not go on
    goes_on = {"I", "E"}
    follows = np.array(
        [
            [
                (before[1] == after[1] and before[0] in {"B", "I"}) if after[0] in goes_on else before[0] in closes
                for after in names
            ]
            for before in names
        ]
    )
    begins = np.array([prefix not in goes_on for prefix, _ in names])
    ends = np.array([prefix in closes for prefix, _ in names])
    return Allowed(follows, begins, ends)
