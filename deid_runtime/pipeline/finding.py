"""Find the identifiers of notes: all stages of the pipeline up to fusion. Only this room defines the order of stages.

::

    view -> sentences -> inclusion -> templates -> patterns -> people -> record -> models
        -> clinical -> propagation -> fusion -> surrogates -> rewrite

All stages up to fusion read the view of a note (:mod:`deid_runtime.text.reading.view`), and their offsets are those of
the view. Only :meth:`Finder._fused` turns them into offsets of the note.

All detectors but that of records read blocks (:mod:`deid_runtime.pipeline.searching`), or whole notes where a setting
says so. The models do not score a sentence that is in the inclusion list or that a template matches. The pipeline drops
a found span in two cases only: a weak pattern match that all models deny (:mod:`deid_runtime.models.doubts`), and a
clinical fact (:mod:`deid_runtime.detectors.clinical`).

The pipeline fails closed: when any stage fails on a note, that note comes back as :class:`Quarantined`. It names the
stage and a reason without note text. Every other note of the batch gets the same result as if it were processed alone.
When an engine fails in this process or memory runs out, all notes are quarantined: see
:attr:`~deid_runtime.pipeline.processing.Pipeline.fault`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.inclusion import InclusionList
from deid_runtime.detectors.known import KnownLines
from deid_runtime.detectors.record import RecordFinder
from deid_runtime.detectors.templates import Templates
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.merging.house_numbers import find_house_numbers
from deid_runtime.merging.propagation import propagate
from deid_runtime.models.doubts import settle_doubts
from deid_runtime.pipeline.block_cache import BlockCache, Findings, moved
from deid_runtime.pipeline.checks import check_fusion, printable, why_unreadable
from deid_runtime.pipeline.clock import FAULTS, StageClock
from deid_runtime.pipeline.outcomes import Quarantined
from deid_runtime.pipeline.searching import BlockSearch
from deid_runtime.spans import Note, PatientRecord, Sentence, Span, Tagger
from deid_runtime.surrogates.line_breaks import unbroken
from deid_runtime.text.blocks import block_starts
from deid_runtime.text.legibility import illegible
from deid_runtime.text.reading.view import View, read_view


@dataclass(frozen=True, slots=True)
class Found:
    """The identifiers of one note.

    ``spans`` have offsets of the note. ``read_spans`` are the same spans in the same order, with offsets of ``read``:
    the note with the text that the detectors read.
    """

    read: Note
    read_spans: list[Span]
    spans: list[Span]


class Finder:
    """The loaded detectors. ``clock`` measures their stages."""

    def __init__(
        self,
        *,
        inclusion: InclusionList,
        templates: Templates,
        tagger: Tagger | None,
        records: Mapping[str, PatientRecord],
        packaged: KnownLines | None,
        hold_back_unreadable: bool,
        by_blocks: bool,
        cache: BlockCache,
        clock: StageClock,
    ) -> None:
        """Keep the detectors; :class:`~deid_runtime.pipeline.processing.Pipeline` explains the arguments."""
        self._blocks = BlockSearch(
            inclusion=inclusion,
            templates=templates,
            tagger=tagger,
            packaged=packaged,
            has_records=bool(records),
            cache=cache,
            clock=clock,
        )
        self._has_models = tagger is not None
        self._records = records
        self._record_finder = RecordFinder()
        self._by_blocks = by_blocks
        self._hold_back_unreadable = hold_back_unreadable
        self.clock = clock

    def find(self, notes: Sequence[Note]) -> list[Found | Quarantined]:
        """Return the fused spans of every note, or the note as quarantined."""
        outcomes: list[Quarantined | None] = []
        readable: list[tuple[Note, View]] = []
        with self.clock.measure("read"):
            for note in notes:
                view = self._read(note)
                if isinstance(view, Quarantined):
                    outcomes.append(view)
                else:
                    outcomes.append(None)
                    readable.append((note, view))
        found = iter(self._find_readable(readable))
        return [next(found) if outcome is None else outcome for outcome in outcomes]

    def _read(self, note: Note) -> View | Quarantined:
        """Return the view of a note that the detectors read, or the note as quarantined."""
        fault = why_unreadable(note)
        if fault:
            return Quarantined(printable(note.id), "read", fault)
        try:
            view = read_view(note.text)
            # Check the view, not the note: forms that the view resolves hide nothing; only the remaining forms do.
            fault = illegible(view.text) if self._hold_back_unreadable else ""
        except FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return self.clock.quarantined(note, error)
        return Quarantined(note.id, "read", fault) if fault else view

    def _find_readable(self, notes: Sequence[tuple[Note, View]]) -> list[Found | Quarantined]:
        if not notes:
            return []
        try:
            rows = self._spans_of([view.text for _, view in notes], [note.patient for note, _ in notes])
        except FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - any failure, also an unexpected one, must stop its note
            if len(notes) == 1:
                return [self.clock.quarantined(notes[0][0], error)]
            return [outcome for each in notes for outcome in self._find_readable([each])]
        return [self._fused(note, view, row) for (note, view), row in zip(notes, rows, strict=True)]

    def _spans_of(self, texts: Sequence[str], patients: Sequence[str]) -> list[list[Span]]:
        """Return all spans that the detectors find, one row per text, in offsets of that text. Spans can overlap.

        ``texts`` are views of notes; ``patients`` are the ids of their patients.
        """
        with self.clock.measure("sentences"):
            starts = [block_starts(text) if self._by_blocks else [0] for text in texts]
        blocks = [
            text[start:end]
            for text, row in zip(texts, starts, strict=True)
            for start, end in pairwise([*row, len(text)])
        ]
        findings = iter(self._blocks.search(blocks))
        return [
            self._joined(text, patient, [(start, next(findings)) for start in row])
            for text, patient, row in zip(texts, patients, starts, strict=True)
        ]

    def _joined(self, text: str, patient: str, findings: Sequence[tuple[int, Findings]]) -> list[Span]:
        """Return the spans of a note from those of its blocks, and from the record of the patient if there is one."""
        record = self._records.get(patient)
        if record is not None:
            with self.clock.measure("record"):
                of_record = self._record_finder.find(text, record)
            if of_record:
                return self._with_record(text, findings, of_record)
        return [span for start, each in findings for span in moved(each.spans, start)]

    def _with_record(
        self, text: str, findings: Sequence[tuple[int, Findings]], of_record: Sequence[Span]
    ) -> list[Span]:
        """Return the spans of a note with those of the record, which can be evidence for weaker spans of a block."""
        rows = [span for start, each in findings for span in moved(each.found, start)]
        rows.extend(of_record)
        if self._has_models:
            with self.clock.measure("models"):
                answers = [span for start, each in findings for span in moved(each.answers, start)]
                read = [Sentence(start + a, start + b) for start, each in findings for a, b in each.read]
                rows = settle_doubts(rows, answers, read)
        with self.clock.measure("clinical"):
            return without_clinical(text, rows, has_models=self._has_models)

    def _fused(self, note: Note, view: View, found: list[Span]) -> Found | Quarantined:
        """Return the found spans of a note, sorted and disjoint, with offsets of the view and of the note."""
        try:
            with self.clock.measure("propagation"):
                found = [*found, *propagate(view.text, found), *find_house_numbers(view.text, found)]
            with self.clock.measure("fusion"):
                spans = fuse_spans(view.text, found)
                check_fusion(found, spans)
                pairs = view.located(spans)
                read = replace(note, text=view.text) if view.layers else note
                read, read_spans = unbroken(read, [span for span, _ in pairs])
        except FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return self.clock.quarantined(note, error)
        return Found(read, read_spans, [span for _, span in pairs])
