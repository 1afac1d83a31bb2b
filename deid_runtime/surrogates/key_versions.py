"""The values that stay the same for one key from one version of this program to the next.

A key gives three kinds of values: pseudonyms of ids, date shifts, and surrogates. Each kind has a version, and the
version is part of the domain in which the key is used. Version 1 uses the key itself; every later version uses a key
that is derived from it for that kind and version.

While a version is unchanged, all values of the kind are unchanged: same key, same values. A change of the program that
would change a value for any key raises the version instead, and then all values of the kind are new. So an output never
mixes old and new values unnoticed: the run manifest has the versions, and the other two kinds are unchanged.
"""

from collections.abc import Mapping
from typing import Final, Literal

from deid_runtime.surrogates.hashing import Keyed

Kind = Literal["pseudonyms", "date_shifts", "surrogates"]

#: The versions of this program. `tests/deid_runtime/surrogates/test_key_versions.py` explains when to raise one, and
#: how.
KEY_VERSIONS: Final[Mapping[Kind, int]] = {"pseudonyms": 1, "date_shifts": 1, "surrogates": 1}


def keyed_for(kind: Kind, key: bytes, versions: Mapping[Kind, int] = KEY_VERSIONS) -> Keyed:
    """Return the source of choices of one kind under ``key``."""
    version = versions[kind]
    keyed = Keyed(key)
    return keyed if version == 1 else keyed.derive("key version", f"{kind}/{version}")
