"""Fuse the spans that several detectors found in one text into one sorted, disjoint list (the union of all spans).

Every character that a detector found stays covered. Fusion only decides which label a character has. The result does
not depend on the order of the spans, and fusing twice gives the same result.

1. **Containment.** A span of a model, a record or of propagation is merged into a longer span of these sources that
   contains it. ``Rochester`` (CITY) is part of ``Rochester General Hospital`` (HOSPITAL). Spans of templates and
   patterns are not merged this way: a well-formed date or ZIP inside an inexact model span keeps its label. An AGE at
   the start of a STREET is the exception: it is the house number, and an age up to 89 would stay in the note.
2. **Same kind.** Overlapping spans of one *kind* become one span over their union, with the label of the best of them.
   The kinds (:data:`KINDS`) are: the names; the facilities and employers; the numbers of all sorts; each other label
   by itself. ``Smith`` (PATIENT, record) and ``John Smith`` (DOCTOR, model) give ``John Smith`` (PATIENT). When the
   union would join two spans that patterns separate (the two dates of a range), these spans keep their bounds.
3. **Priority.** Where kinds still overlap, the better span keeps all its characters and the other keeps the rest.
   A rest without a letter or digit is added to the adjacent span. A rest beside a span of the same kind is added to
   that span. The order of sources is :data:`deid_runtime.labels.SOURCE_RANK` (Murugadoss et al. 2021, Supplementary
   Table 1); ties are decided by score, then length, then position.

A span is better by the first of these that differs: lower rank of its best source, higher score, more characters,
earlier start, label earlier in the alphabet.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import Final

from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS, LABELS, SOURCE_RANK
from deid_runtime.spans import Span

#: Labels of one kind: overlapping spans of one kind are one entity. Places are not one kind: a street and a city that
#: overlap are two entities, and one of them has wrong bounds.
_KINDS: Final[tuple[tuple[str, ...], ...]] = (
    HEADS["name"],
    HEADS["organization"],
    ("PHONE", "FAX"),
    ("EMAIL", "URL"),
    (
        "SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM",
    ),
)  # fmt: skip

#: Label -> name of its kind, which is the first label of the kind.
KINDS: Final[dict[str, str]] = {label: label for label in LABELS} | {
    label: kind[0] for kind in _KINDS for label in kind
}

#: Sources whose bounds follow from the format of the entity. The bounds of every other source may be inexact.
_EXACT: Final = frozenset({"template", "pattern"})


@lru_cache(maxsize=256)
def rank_of(sources: tuple[str, ...]) -> int:
    """Return the rank of the best of ``sources``; 0 is best.

    A source may have a further part (``model:name:v3`` ranks as ``model:name``). An unknown source ranks last.
    """
    last = len(SOURCE_RANK)
    ranks = (SOURCE_RANK.get(source, SOURCE_RANK.get(source.rpartition(":")[0], last)) for source in sources)
    return min(ranks, default=last)


def fuse_spans(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return sorted, disjoint spans that cover exactly the characters of ``text`` that ``spans`` cover.

    A span fused from several has the sources of all of them, sorted by rank, and the highest of their scores.

    Raises InputError when a span ends after the text.
    """
    ordered = sorted(set(spans))
    if ordered and max(span.end for span in ordered) > len(text):
        raise InputError(f"a span ends after the text of {len(text)} characters; check its offsets", stage="fusion")
    fused: list[Span] = []
    start = 0
    while start < len(ordered):
        stop, end = start + 1, ordered[start].end
        while stop < len(ordered) and ordered[stop].start < end:
            end = max(end, ordered[stop].end)
            stop += 1
        fused += ordered[start:stop] if stop == start + 1 else _fuse_cluster(text, ordered[start:stop])
        start = stop
    return fused


def _fuse_cluster(text: str, spans: Sequence[Span]) -> list[Span]:
    """Fuse a cluster: sorted spans, each of which overlaps another."""
    if len({KINDS[span.label] for span in spans}) == 1:
        units = _unite_kind(spans)
        return units if len(units) == 1 else _share_out(text, sorted(units, key=_preference))
    units = []
    by_kind: dict[str, list[Span]] = {}
    for span in _take_up_parts(spans):
        by_kind.setdefault(KINDS[span.label], []).append(span)
    for members in by_kind.values():
        units.extend(_unite_kind(members))
    return units if len(units) == 1 else _share_out(text, sorted(units, key=_preference))


def _preference(span: Span) -> tuple[int, float, int, int, str, tuple[str, ...]]:
    return rank_of(span.sources), -span.score, span.start - span.end, span.start, span.label, span.sources


def _is_exact(span: Span) -> bool:
    return not _EXACT.isdisjoint(span.sources)


def _take_up_parts(spans: Sequence[Span]) -> list[Span]:
    """Merge every inexact span into the furthest-reaching inexact span of another kind that strictly contains it.

    A span that a span of the same kind also contains is left for :func:`_unite_kind`. An AGE at the start of an
    inexact STREET is left out.
    """
    street_end: dict[int, int] = {}  # start of an inexact street -> its end
    for span in spans:
        if span.label == "STREET" and not _is_exact(span):
            street_end[span.start] = max(span.end, street_end.get(span.start, 0))
    kept: list[Span] = []
    parts: list[Span] = []
    for span in spans:
        if span.label == "AGE" and span.end < street_end.get(span.start, 0):
            continue
        (kept if _is_exact(span) else parts).append(span)
    # In this order a containing span comes before its parts, so one pass with the furthest span of each kind suffices.
    inexact = sorted(parts, key=lambda s: (s.start, -s.end, _preference(s)))
    furthest: dict[str, int] = {}  # kind -> index in inexact
    members: dict[int, list[Span]] = {}
    whole_of = list(range(len(inexact)))
    for i, span in enumerate(inexact):
        kind = KINDS[span.label]
        containing = {k: at for k, at in furthest.items() if _strictly_contains(inexact[at], span)}
        if containing and kind not in containing:
            whole_of[i] = whole_of[max(containing.values(), key=lambda at: (inexact[at].end, -at))]
        members.setdefault(whole_of[i], []).append(span)
        if kind not in furthest or span.end > inexact[furthest[kind]].end:
            furthest[kind] = i
    return kept + [_unite(spans, label=inexact[at].label) for at, spans in members.items()]


def _strictly_contains(whole: Span, part: Span) -> bool:
    return whole.start <= part.start and part.end <= whole.end and (whole.start, whole.end) != (part.start, part.end)


def _unite_kind(spans: Sequence[Span]) -> list[Span]:
    """Unite the overlapping spans of one kind, unless that would join two exact spans."""
    units: list[Span] = []
    for group in _overlapping(spans):
        exact = [_unite(members) for members in _overlapping([span for span in group if _is_exact(span)])]
        if len(exact) < 2:
            units.append(_unite(group))
        else:
            units += exact
            units += [_unite(members) for members in _overlapping([span for span in group if not _is_exact(span)])]
    return units


def _overlapping(spans: Iterable[Span]) -> list[list[Span]]:
    """Return the groups of spans that are connected by overlaps."""
    groups: list[list[Span]] = []
    end = 0
    for span in sorted(spans):
        if groups and span.start < end:
            groups[-1].append(span)
        else:
            groups.append([span])
            end = 0
        end = max(end, span.end)
    return groups


def _unite(spans: Sequence[Span], *, label: str | None = None) -> Span:
    """Return one span over all of ``spans``, with ``label`` or the label of the best span."""
    return Span(
        min(span.start for span in spans),
        max(span.end for span in spans),
        label or min(spans, key=_preference).label,
        max(span.score for span in spans),
        _sorted_sources(spans),
    )


def _sorted_sources(spans: Iterable[Span]) -> tuple[str, ...]:
    sources = {source for span in spans for source in span.sources}
    return tuple(sorted(sources, key=lambda source: (rank_of((source,)), source)))


def _share_out(text: str, units: Sequence[Span]) -> list[Span]:
    """Assign every character to the best of ``units`` that covers it; ``units`` are sorted, best first."""
    edges = sorted({edge for unit in units for edge in (unit.start, unit.end)})
    arriving = sorted(range(len(units)), key=lambda at: units[at].start, reverse=True)
    present: list[int] = []  # heap: its top is the best unit at this position, once ended units are removed
    shares: list[tuple[int, int, int]] = []  # unit, start, end
    for start, end in pairwise(edges):
        while arriving and units[arriving[-1]].start <= start:
            heappush(present, arriving.pop())
        while present and units[present[0]].end <= start:
            heappop(present)
        if not present:
            continue
        if shares and shares[-1][0] == present[0] and shares[-1][2] == start:
            shares[-1] = (present[0], shares[-1][1], end)
        else:
            shares.append((present[0], start, end))
    pieces = [replace(units[at], start=start, end=end) for at, start, end in shares]
    is_leftover = [piece != units[at] for piece, (at, _, _) in zip(pieces, shares, strict=True)]
    return _settle_leftovers(text, pieces, is_leftover)


def _settle_leftovers(text: str, pieces: Sequence[Span], is_leftover: Sequence[bool]) -> list[Span]:
    """Join leftovers to an adjacent span: one of their kind or, without letters or digits, any (left first)."""
    settled: list[Span] = []
    carried: Span | None = None  # a leftover to join to the next piece
    for i, piece in enumerate(pieces):
        current = piece if carried is None else _join(carried, piece, to=piece)
        carried = None
        if not is_leftover[i]:
            settled.append(current)
            continue
        left = settled[-1] if settled and settled[-1].end == current.start else None
        right = pieces[i + 1] if i + 1 < len(pieces) and pieces[i + 1].start == current.end else None
        if not any(character.isalnum() for character in text[current.start : current.end]):
            if left is not None:
                settled[-1] = _join(left, current, to=left)
            else:
                carried = current if right is not None else None
                settled += [] if right is not None else [current]
        elif right is not None and KINDS[right.label] == KINDS[current.label]:
            carried = current
        elif left is not None and KINDS[left.label] == KINDS[current.label]:
            settled[-1] = _join(left, current, to=left)
        else:
            settled.append(current)
    return settled


def _join(left: Span, right: Span, *, to: Span) -> Span:
    return Span(left.start, right.end, to.label, max(left.score, right.score), _sorted_sources((left, right)))
