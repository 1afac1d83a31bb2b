"""Write the table of figures of the README from the committed results.

python scripts/figures.py
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import render_tables  # noqa: E402

BEGIN: Final = "<!-- FIGURES: by scripts/figures.py from benchmarks/results; a test compares them. -->"
END: Final = "<!-- END OF FIGURES -->"
PROFILES: Final = ("fast", "full")


def main() -> None:
    """Put the table between its marks."""
    page = ROOT / "README.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page}: the marks {BEGIN} and {END} are missing; put them where the table belongs")
    page.write_text(f"{before}{BEGIN}\n\n{readme_table()}\n\n{END}{after}", encoding="utf-8")


def tables() -> dict[str, str]:
    """Return every table that a page of the documentation can name, by mark."""
    return {
        **render_tables.tables(),
        "SPEED": speed_table(),
        "SUMMARY": readme_table(),
        "SIZING": sizing_table(),
        "LOAD": load_table(),
    }


def readme_table() -> str:
    """Return the figures that can be read without an explanation of groups."""
    rows = ["| question | `fast` | `full` |", "| --- | ---: | ---: |"]
    tests = {profile: _read(f"accuracy_{profile}_test")["report"] for profile in PROFILES}
    groups = {profile: report["groups"]["C"]["tokens"] for profile, report in tests.items()}
    notes = tests["fast"]["notes"]
    rows.append(
        f"| Of 100 identifying words, how many are found? ({notes:,} invented test notes) "
        f"| {_cells(100 * groups[profile]['recall'] for profile in PROFILES)} |"
    )
    rows.append(
        f"| Of 100 words found, how many identify? (the same notes) "
        f"| {_cells(100 * groups[profile]['precision'] for profile in PROFILES)} |"
    )
    outside = {profile: _read(f"outside_{profile}")["report"]["forms"] for profile in PROFILES}
    for form, question in (
        ("full", "one full name in public clinical prose"),
        ("lower case", "the same name in lower case"),
        ("family alone", "the family name alone"),
        ("given alone, in no list", "a given name alone that is in no list"),
    ):
        rows.append(
            f"| In how many of 100 notes is {question} found? "
            f"| {_cells(100 * outside[profile][form]['share'] for profile in PROFILES)} |"
        )
    facts = _read("clinical_facts")["profiles"]
    changed = (
        100 * facts[profile]["files"]["lines_test.tsv"]["single"]["all"]["lines_changed_share"] for profile in PROFILES
    )
    rows.append(f"| Of 100 clinical lines made to mislead, how many are changed? | {_cells(changed)} |")
    return "\n".join(rows)


def speed_table() -> str:
    """Return notes per second and memory of the largest run with each profile, and whether its models still ship."""
    shipped = {graph["sha256"] for graph in _manifest()["graphs"].values()}
    rows = [
        "| profile | processor | notes | notes / s | distinct sentences / s | memory, MiB | measured | models |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for profile in PROFILES:
        result = _read(f"throughput_{profile}")
        size = max(result["sizes"], key=lambda each: each["notes"])
        used = {graph["sha256"] for graph in result["run"]["pipeline"]["models"]["graphs"].values()}
        rows.append(
            f"| `{profile}` | {result['machine']['processor']} | {size['notes']:,} | {size['notes_per_second']:.0f} "
            f"| {size['distinct_sentences_per_second']:,.0f} | {size['peak_memory_bytes'] / 2**20:,.0f} "
            f"| {result['machine']['measured']} | {'those that ship' if used <= shipped else 'earlier ones'} |"
        )
    return "\n".join(rows)


def sizing_table() -> str:
    """Return what two cores do in an hour, embedded with each profile and with a server beside the client."""
    rows = [
        "| run | profile | processor | notes / s | notes / hour | distinct sentences / s | memory, MiB | models |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    shipped = {graph["sha256"] for graph in _manifest()["graphs"].values()}

    def row(place: str, profile: str, result: Any, used: set[str], *figures: float) -> None:
        notes_per_second, sentences_per_second, memory_bytes = figures
        rows.append(
            f"| {place} | `{profile}` | {result['machine']['processor']} | {notes_per_second:.1f} "
            f"| {3600 * notes_per_second:,.0f} | {sentences_per_second:,.0f} | {memory_bytes / 2**20:,.0f} "
            f"| {'those that ship' if used <= shipped else 'earlier ones'} |"
        )

    for profile in PROFILES:
        result = _read(f"throughput_{profile}")
        size = max(result["sizes"], key=lambda each: each["notes"])
        used = {graph["sha256"] for graph in result["run"]["pipeline"]["models"]["graphs"].values()}
        speed = size["notes_per_second"], size["distinct_sentences_per_second"]
        row("embedded", profile, result, used, *speed, size["peak_memory_bytes"])
    result = _read("serving")
    served = result["deid_run"]
    used = set(result["models"]["int8"].values())
    notes_per_second = served["notes"] / statistics.median(served["served_seconds"])
    memory_bytes = served["peak_memory_bytes"]["served_client"]
    sentences_per_second = served["served_distinct_sentences_per_minute"] / 60
    row("on a server", "fast", result, used, notes_per_second, sentences_per_second, memory_bytes)
    return "\n".join(rows)


def load_table() -> str:
    """Return rate, latency and the ratio of queue to compute time of one model, by requests under way."""
    rows = ["| requests under way | rows / s | p95, ms | queue / compute |", "| ---: | ---: | ---: | ---: |"]
    for cell in _read("serving")["cells"]:
        if cell["series"] == "reference" and cell["rows_a_request"] == 32:
            server = cell["server"]
            ratio = server["queue_ms_a_request"] / server["compute_ms_a_request"]
            p95 = cell["latency_ms"]["p95"]
            rows.append(f"| {cell['concurrency']} | {cell['rows_per_second']:.0f} | {p95:,.0f} | {ratio:.1f} |")
    return "\n".join(rows)


def _cells(values: Any) -> str:
    return " | ".join(f"{value:.1f}" for value in values)


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _manifest() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "model_repository/manifest.json").read_text(encoding="utf-8"))
    return content


if __name__ == "__main__":
    main()
