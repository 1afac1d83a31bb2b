"""Which cells ``serving.py`` measures: one server after the other, and for each the loads it is put under."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from questions import Unit
from served_models import Variant

Route = Literal["fused", "ensemble"]

CONCURRENCIES = (1, 4, 16, 64)
ROWS = (1, 8, 32)
FEW_ROWS = (1, 32)  # for what is compared with the reference

REFERENCE = Variant("reference")
NO_BATCHING = Variant("no dynamic batching", is_batching=False)
NO_RAGGED = Variant("no ragged batches", is_ragged=False)
TWO_INSTANCES = Variant("two instances", instances=2)
FLOAT32 = Variant("float32", precision="float32")
PARTS = Variant("in parts", has_parts=True)


@dataclass(frozen=True, slots=True)
class Cell:
    """One load. ``concurrency`` requests are under way at any time, each of ``rows`` rows that hold ``unit``."""

    variant: Variant
    concurrency: int
    rows: int
    unit: Unit = "sentence"
    route: Route = "fused"
    streaming: bool = False

    @property
    def series(self) -> str:
        """What it is compared by: all that differs from the reference."""
        if self.streaming:
            return "streaming"
        if self.route != "fused":
            return self.route
        return "windows" if self.unit == "window" else self.variant.name


@dataclass(frozen=True, slots=True)
class Skipped:
    """Cells that are not measured, and why."""

    series: str
    reason: str


def plan(*, quick: bool, missing: Mapping[str, str]) -> tuple[list[Cell], list[Skipped]]:
    """Return the cells, those of one server together, and what is left out.

    ``missing`` gives, by the name of a variant, the reason why it cannot be served here. ``quick``: the corners alone.
    """
    concurrencies = (4, 64) if quick else CONCURRENCIES
    few = (1,) if quick else FEW_ROWS
    rows = (1, 32) if quick else ROWS
    cells = [
        *_grid(REFERENCE, concurrencies, rows),
        *_grid(REFERENCE, concurrencies, few, unit="window"),
        *_grid(REFERENCE, concurrencies, rows, streaming=True),
        *_grid(NO_BATCHING, concurrencies, few),
        *_grid(NO_RAGGED, concurrencies, few),
        *_grid(TWO_INSTANCES, concurrencies, few),
        *_grid(FLOAT32, concurrencies, few),
        *_grid(PARTS, concurrencies, few, route="ensemble"),
    ]
    skipped = dict.fromkeys(cell.series for cell in cells if cell.variant.name in missing)
    names = {cell.series: cell.variant.name for cell in cells}
    return (
        [cell for cell in cells if cell.variant.name not in missing],
        [Skipped(series, missing[names[series]]) for series in skipped],
    )


def by_variant(cells: Sequence[Cell]) -> dict[Variant, list[Cell]]:
    """Group the cells by the server they need, in order."""
    groups: dict[Variant, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.variant, []).append(cell)
    return groups


def _grid(
    variant: Variant,
    concurrencies: Sequence[int],
    rows: Sequence[int],
    *,
    unit: Unit = "sentence",
    route: Route = "fused",
    streaming: bool = False,
) -> list[Cell]:
    return [Cell(variant, each, count, unit, route, streaming) for count in rows for each in concurrencies]
