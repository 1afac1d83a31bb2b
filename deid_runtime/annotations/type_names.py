"""Map the type names of i2b2 2014, and of brat projects that use them, to the labels of this library."""

from collections.abc import Mapping
from typing import Final

from deid_runtime.errors import SourceError
from deid_runtime.labels import LABELS

#: i2b2 2014 TYPE to our label. None: not an identifier in our scheme, so the tag is skipped.
I2B2_TYPES: Final[Mapping[str, str | None]] = {
    **{label: label for label in LABELS},
    "PROFESSION": None,
    "OTHER": None,  # label_of_type handles <LOCATION TYPE="OTHER"> first
    "ROOM": "LOCATION-OTHER",
    "DEPARTMENT": "LOCATION-OTHER",
    "LOCATION_OTHER": "LOCATION-OTHER",
}


def label_of_type(place: str, name: str, element: str = "") -> str | None:
    """Return the label for a type, in any letter case, or None for a type that is not an identifier.

    ``element`` is the XML element that has the type. Raises SourceError, which names ``place``, for unknown types.
    """
    key = name.strip().upper()
    if element == "LOCATION" and key == "OTHER":
        return "LOCATION-OTHER"
    if key not in I2B2_TYPES:
        raise SourceError(f"{place}: unknown type {key!r}; expected an i2b2 2014 type or a label of this library")
    return I2B2_TYPES[key]
