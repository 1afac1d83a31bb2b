"""Why a server refuses a call: a closed list, whose names are values of a label in the metrics."""

from typing import Final, Literal, get_args

Refusal = Literal[
    "busy", "unauthenticated", "forbidden", "invalid", "unknown_protocol", "no_model", "too_large", "stopping"
]
REFUSALS: Final[tuple[Refusal, ...]] = get_args(Refusal)
