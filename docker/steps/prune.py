"""Take files out of an installed environment that no image needs.

    python prune.py SITE_PACKAGES PATTERNS

The lines of PATTERNS are glob patterns below SITE_PACKAGES. Packages list their files in RECORD. What is taken out is
taken out there, too, so that the rest can still be compared with its digests.
"""

import csv
import shutil
import sys
from pathlib import Path


def prune(packages: Path, patterns: list[str]) -> list[str]:
    """Remove what ``patterns`` match below ``packages``; return patterns of installed packages that match nothing."""
    idle = []
    for pattern in patterns:
        if not (packages / pattern.partition("/")[0]).exists():
            continue
        found = sorted(packages.glob(pattern))
        if not found:
            idle.append(pattern)
        for path in found:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.exists():  # not when its folder was removed just before
                path.unlink()
    for record in packages.glob("*.dist-info/RECORD"):
        _shorten(record)
    return idle


def read_patterns(file: Path) -> list[str]:
    """Return the patterns of a file, without empty lines and comments."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _shorten(record: Path) -> None:
    root = record.parents[1]
    with record.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(row for row in rows if (root / row[0]).exists())


if __name__ == "__main__":
    if left := prune(Path(sys.argv[1]), read_patterns(Path(sys.argv[2]))):
        sys.exit(f"prune.py: these patterns match nothing any more; correct {sys.argv[2]}: {' '.join(left)}")
