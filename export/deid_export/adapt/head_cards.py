"""Make a model card for each head: its labels, its training data, its scores and its errors.

The figures come from the manifest, the training notes and the reports of ``benchmarks/accuracy.py`` (its JSON output),
one report per profile. ``MODEL_CARD.md`` has a card between ``<!-- head-card: NAME -->`` and ``<!-- /head-card: NAME
-->``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from deid_export.data.corpus import corpus_digest
from deid_export.data.marked_tables import markdown_table
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.errors import InputError
from deid_runtime.labels import HEAD_OF, HEADS

MARK: Final = "head-card"

Report = Mapping[str, Any]
_KIND_PARTS: Final = ("label", "shape", "span", "elsewhere", "line", "part", "length")  # of a missed token
_WRONG_PARTS: Final = ("label", "source", "shape", "span", "elsewhere", "line", "part", "length")  # of a wrong token
_MOST_KINDS: Final = 3


def head_cards(manifest: Report, notes: Sequence[AnnotatedNote], accuracy: Mapping[str, Report]) -> dict[str, str]:
    """Return the card of each head, in Markdown.

    ``manifest`` is the content of ``manifest.json``, ``notes`` the training notes, ``accuracy`` the report by profile.
    Raises InputError when the notes are not those that the manifest names, or when a report is about other models or
    has no errors by kind.
    """
    if corpus_digest(notes) != manifest["corpus_sha256"]:
        raise InputError(
            f"these notes have the digest {corpus_digest(notes)[:16]}..., but the models learnt from "
            f"{manifest['corpus_sha256'][:16]}...; give their training notes"
        )
    for profile, report in accuracy.items():
        measured = report["run"]["pipeline"]["models"]
        for name in manifest["profiles"][profile]["graphs"]:
            if measured["graphs"].get(name, {}).get("sha256") != manifest["graphs"][name]["sha256"]:
                raise InputError(
                    f"the report of {profile!r} measured another {name} than that in the manifest; run "
                    "benchmarks/accuracy.py with these models again"
                )
        if measured["thresholds"] != manifest["profiles"][profile]["thresholds"]:
            raise InputError(
                f"the report of {profile!r} has other thresholds than the manifest; run benchmarks/accuracy.py again"
            )
        if any("kinds" not in report["report"]["errors"][name] for name in ("missed", "wrong")):
            raise InputError(
                f"the report of {profile!r} has no errors by kind; run benchmarks/accuracy.py without --short"
            )
    spans = Counter(span.label for note in notes for span in note.spans)
    values: dict[str, set[str]] = {label: set() for label in HEAD_OF}
    for note in notes:
        for span in note.spans:
            values[span.label].add(note.text[span.start : span.end])
    return {head: _card(head, manifest, spans, values, accuracy) for head in HEADS}


def _card(
    head: str,
    manifest: Report,
    spans: Mapping[str, int],
    values: Mapping[str, set[str]],
    accuracy: Mapping[str, Report],
) -> str:
    serving = "; ".join(
        f"`{profile}`: {' and '.join(_versions(manifest, profile, head))}, found from a score of "
        f"{manifest['profiles'][profile]['thresholds'][head]}"
        for profile in accuracy
    )
    header = ["label", "training spans", "distinct values", "dev tokens"]
    for profile in accuracy:
        header += [f"recall, `{profile}`", f"precision, `{profile}`"]
    rows: list[list[object]] = []
    for label in HEADS[head]:
        row: list[object] = [label, spans.get(label, 0), len(values[label])]
        for number, report in enumerate(accuracy.values()):
            scores = report["report"]["labels"].get(label, {})
            row += [int(scores.get("gold", 0))] if number == 0 else []
            row += [_figure(scores.get("recall")), _figure(scores.get("precision"))]
        rows.append(row)
    lines = [f"Versions: {serving}.", "", markdown_table(header, rows), ""]
    for profile, report in accuracy.items():
        errors = report["report"]["errors"]
        lines.append(f"- `{profile}` misses {_described(errors['missed']['kinds'], _KIND_PARTS, head)}")
        lines.append(f"- `{profile}` wrongly finds {_described(errors['wrong']['kinds'], _WRONG_PARTS, head)}")
    return "\n".join(lines)


def _versions(manifest: Report, profile: str, head: str) -> list[str]:
    return [
        f"{entry['version']}"
        for graph in manifest["profiles"][profile]["graphs"]
        for entry in manifest["graphs"][graph]["heads"]
        if entry["head"] == head
    ]


def _described(kinds: Mapping[str, int], parts: Sequence[str], head: str) -> str:
    """Describe the errors on the labels of ``head``: how many tokens, and their most frequent shapes and lines."""
    by_aspect: dict[str, Counter[str]] = {"shape": Counter(), "line": Counter(), "elsewhere": Counter()}
    total = 0
    for kind, count in kinds.items():
        aspects = dict(zip(parts, kind.split(" | "), strict=True))
        if HEAD_OF[aspects["label"]] != head:
            continue
        total += count
        for aspect, counter in by_aspect.items():
            counter[aspects[aspect]] += count
    if not total:
        return "none of its tokens on dev."
    most = "; ".join(
        ", ".join(f"{name} {count}" for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0]))[
            :_MOST_KINDS
        ])
        for counter in by_aspect.values()
    )  # fmt: skip
    return f"{total:,} tokens on dev: {most}."


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
