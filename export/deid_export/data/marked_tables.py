"""Write Markdown tables into pages and keep the pages equal to them.

In a page, a table is between ``<!-- KIND: NAME -->`` and ``<!-- /KIND: NAME -->``.
"""

import re
from collections.abc import Mapping, Sequence

from deid_runtime.errors import InputError


def with_tables(text: str, tables: Mapping[str, str], kind: str) -> str:
    """Return the page ``text`` with every table between its markers.

    Raises InputError for a table without markers, and for markers without a table.
    """
    names = re.findall(rf"<!-- {re.escape(kind)}: ([\w-]+) -->", text)
    if sorted(names) != sorted(tables):
        raise InputError(
            f"the card has places for {', '.join(sorted(names)) or 'no table'}; expected one for each of "
            f"{', '.join(sorted(tables))}"
        )
    for name, table in tables.items():
        opening, closing = f"<!-- {kind}: {name} -->", f"<!-- /{kind}: {name} -->"
        before, _, rest = text.partition(opening)
        _, closed, after = rest.partition(closing)
        if not closed:
            raise InputError(f"the card lacks {closing}; add it after the table")
        text = f"{before}{opening}\n{table}\n{closing}{after}"
    return text


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; columns of figures are right-aligned."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    right = [cell != "" and not cell.strip("0123456789., %–") for cell in cells[0]] if cells else []
    rule = ["---:" if is_right else "---" for is_right in right]
    return "\n".join(f"| {' | '.join(row)} |" for row in ([*header], rule, *cells))
