"""Write ``deid_runtime/data/patterns/derived.tsv`` anew, after a change of a table of patterns."""

from pathlib import Path

from deid_runtime.detectors.patterns.derived import FILE, render
from deid_runtime.detectors.patterns.table import load_table

if __name__ == "__main__":
    path = Path(__file__).resolve().parents[1] / "deid_runtime" / FILE
    path.write_text(render((row.pattern, row.has_place) for row in load_table().rows), encoding="utf-8")
