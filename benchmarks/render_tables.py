"""Write the tables of what is found and left alone into the benchmarks page.

python benchmarks/render_tables.py
"""

import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent
PROFILES: Final = ("fast", "full")


def main() -> None:
    """Put every table between its marks."""
    page = FOLDER / "README.md"
    text = page.read_text(encoding="utf-8")
    for mark, table in tables().items():
        before, _, rest = text.partition(f"<!-- {mark}")
        comment, _, rest = rest.partition("-->\n")
        behind = rest.partition(f"<!-- END OF {mark} -->")[2]
        text = f"{before}<!-- {mark}{comment}-->\n\n{table}\n\n<!-- END OF {mark} -->{behind}"
    page.write_text(text, encoding="utf-8")


def tables() -> dict[str, str]:
    """Return the tables by mark, as the committed results have them."""
    return {
        "TEST": accuracy_table("test"),
        "LONG": accuracy_table("long"),
        "OUTSIDE": outside_table({profile: _read(f"outside_{profile}")["report"] for profile in PROFILES}),
        "NAME SETS": name_sets_table({profile: _read(f"outside_{profile}")["report"] for profile in PROFILES}),
        "FACTS": facts_table(_read("clinical_facts")["profiles"]),
        "OTHER AUTHORS": authors_table(_read("other_authors")["profiles"]),
    }


def accuracy_table(notes: str) -> str:
    """Return recall and precision by group for both profiles."""
    rows = ["| profile | recall, A / B / C | precision, A / B / C |", "| --- | --- | --- |"]
    for profile in reversed(PROFILES):
        groups = _read(f"accuracy_{profile}_{notes}")["report"]["groups"]
        recall, precision = (
            " / ".join(f"{groups[group]['tokens'][ratio]:.3f}" for group in "ABC") for ratio in ("recall", "precision")
        )
        rows.append(f"| `{profile}` | {recall} | {precision} |")
    return "\n".join(rows)


def outside_table(reports: dict[str, Any]) -> str:
    """Return the share of notes found by form, with its interval and the worst culture, for both profiles."""
    rows = ["| form of the name | `fast` | worst | `full` | worst |", "| --- | --- | --- | --- | --- |"]
    for form in reports["fast"]["forms"]:
        cells = []
        for profile in PROFILES:
            row = reports[profile]["forms"][form]
            of_form = {name: cell for name, cell in reports[profile]["cells"].items() if name.startswith(f"{form} / ")}
            worst = min(of_form, key=lambda name: of_form[name]["share"])
            cells.append(f"{row['share']:.3f} ({row['low']:.3f} to {row['high']:.3f})")
            cells.append(f"{of_form[worst]['share']:.2f} {worst.partition(' / ')[2]}")
        rows.append(f"| {form} | {' | '.join(cells)} |")
    others = [f"{reports[profile]['other_words_found_per_1000']['all']:.1f}" for profile in PROFILES]
    people = [
        f"{sum(reports[profile]['other_words_found_per_1000'].get(label, 0) for label in ('PATIENT', 'DOCTOR')):.2f}"
        for profile in PROFILES
    ]
    rows.append(f"| other words per 1,000 | {others[0]} | | {others[1]} | |")
    rows.append(f"| of them taken for people | {people[0]} | | {people[1]} | |")
    return "\n".join(rows)


def name_sets_table(reports: dict[str, Any]) -> str:
    """Return the share of people found in each public set and form, with its interval, for both profiles."""
    rows = ["| set | form | people | `fast` | `full` |", "| --- | --- | --- | --- | --- |"]
    for name, row in reports["fast"]["name_sets"].items():
        file, _, form = name.partition(" / ")
        cells = [reports[profile]["name_sets"][name] for profile in PROFILES]
        shares = " | ".join(f"{cell['share']:.3f} ({cell['low']:.3f} to {cell['high']:.3f})" for cell in cells)
        rows.append(f"| `{file.removesuffix('.jsonl')}` | {form} | {row['notes']} | {shares} |")
    return "\n".join(rows)


def facts_table(profiles: dict[str, Any]) -> str:
    """Return the share of lines with a span and of lines rewritten, in percent, by file, and the worst category."""
    rows = [
        "| lines | profile | alone | ten to a note | alone, rewritten | worst category, alone |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for profile, measured in profiles.items():
        for file, ways in measured["files"].items():
            alone, joined = (ways[way]["all"]["lines_changed_share"] * 100 for way in ("single", "joined"))
            categories = {name: row for name, row in ways["single"].items() if name != "all"}
            worst = max(categories, key=lambda name: categories[name]["lines_changed_share"])
            share = categories[worst]["lines_changed_share"] * 100
            rewritten = ways["single"]["all"]["lines_rewritten_share"] * 100
            shares = f"{alone:.1f} | {joined:.1f} | {rewritten:.1f}"
            rows.append(f"| `{file}` | `{profile}` | {shares} | {worst}, {share:.0f} |")
    return "\n".join(rows)


def authors_table(profiles: dict[str, Any]) -> str:
    """Return what was missed and changed of the texts of each author, with intervals in percent."""
    rows = [
        "| texts | profile | words missed | notes with a miss | other words changed | notes or lines changed |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in profiles[PROFILES[0]]["texts"]:
        for profile in PROFILES:
            row = profiles[profile]["texts"][name]
            cells = ("words_missed", "notes_with_a_miss", "words_changed", "notes_with_a_change")
            shown = [_counted(row[cell]) if row["words_missed"]["of"] or "miss" not in cell else "" for cell in cells]
            rows.append(f"| `{name}` | `{profile}` | {' | '.join(shown)} |")
    return "\n".join(rows)


def _counted(share: dict[str, Any]) -> str:
    return f"{share['count']} of {share['of']:,} ({100 * share['low']:.1f} to {100 * share['high']:.1f} %)"


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return content


if __name__ == "__main__":
    main()
