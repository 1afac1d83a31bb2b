"""The pipeline: it runs a note through all stages. Only this file defines their order.

::

    view -> sentences -> inclusion -> templates -> patterns -> people -> record -> models
        -> clinical -> propagation -> fusion -> surrogates -> rewrite

All stages up to fusion read the view of a note (:mod:`deid_runtime.text.reading.view`), and their offsets are those of
the view. Only :meth:`Pipeline._fused` turns them into offsets of the note.

The models do not score a sentence that is in the inclusion list or that a template matches. The pattern and record
detectors always read whole notes. The pipeline drops a found span in two cases only: a weak pattern match that all
models deny (:mod:`deid_runtime.models.doubts`), and a clinical fact (:mod:`deid_runtime.detectors.clinical`).

The pipeline fails closed: when any stage fails on a note, that note comes back as :class:`Quarantined`. It names the
stage and a reason that holds no note text. Every other note of the batch gets the same result as if it came alone.
When an engine fails in this process or memory runs out, all notes are quarantined: see :attr:`Pipeline.fault`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Final, TypeVar

from deid_runtime.detectors.clinical import without_clinical
from deid_runtime.detectors.inclusion import InclusionList, load_inclusion
from deid_runtime.detectors.known import KnownLines, packaged_lines, sentences_to_read
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.people import find_people
from deid_runtime.detectors.record import RecordFinder
from deid_runtime.detectors.templates import Templates, load_templates
from deid_runtime.errors import DeidError, EngineError, InputError, SettingsError
from deid_runtime.merging.fusion import fuse_spans
from deid_runtime.merging.propagation import propagate
from deid_runtime.models.doubts import settle_doubts
from deid_runtime.records.date_shifts import read_offsets
from deid_runtime.records.patients import checked_records
from deid_runtime.rewrite import rewrite
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Sentence, Span, Tagger, covered
from deid_runtime.stages import PIPELINE_STAGES
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.context import Context, read_context
from deid_runtime.surrogates.line_breaks import unbroken
from deid_runtime.system.closing import Closing
from deid_runtime.system.installed_files import missing_file
from deid_runtime.text.legibility import illegible
from deid_runtime.text.reading.view import View, read_view
from deid_runtime.text.sentences import split_sentences

#: Most notes and characters that one step searches when whole patients are processed. It limits memory and changes no
#: result.
_CHUNK_NOTES: Final = 256
_CHUNK_CHARS: Final = 2**20

#: After one of these errors the pipeline uses no further answer of the engine: other errors may have gone unnoticed.
_FAULTS: Final = (EngineError, MemoryError)

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class Deidentified:
    """One note with every identifier replaced.

    ``spans`` have offsets of the original text. ``replacements`` has, in the same order, the half-open offsets in
    ``text`` of what replaced each span.
    """

    note_id: str
    text: str = field(repr=False)
    note_pseudonym: str
    patient_pseudonym: str
    spans: tuple[Span, ...]
    replacements: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Detected:
    """The identifiers of one note: sorted, disjoint spans in offsets of its text."""

    note_id: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A note that could not be processed. ``reason`` holds no note text."""

    note_id: str
    stage: str
    reason: str


#: The result for one note: Detected from ``detect``, Deidentified from ``deidentify``, or Quarantined from both.
Outcome = Deidentified | Detected | Quarantined


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a pipeline has stopped: the stage that failed, and a reason that holds no note text."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Found:
    """The identifiers of one note.

    ``spans`` have offsets of the note. ``read_spans`` are the same spans in the same order, with offsets of ``read``:
    the note with the text that the detectors read.
    """

    read: Note
    read_spans: list[Span]
    spans: list[Span]


class Pipeline(Closing):
    """All stages, loaded once for many batches. Create it with :func:`load_pipeline`. It is not thread-safe.

    It is a context manager: leaving it frees the models.

    When the engine fails or memory runs out, all notes of that call and of all later calls are quarantined. The reason:
    an engine that failed once may have given wrong answers before. :attr:`fault` then says why. Load a new pipeline,
    preferably in a new process, as the command line does.
    """

    def __init__(
        self,
        *,
        inclusion: InclusionList,
        templates: Templates,
        tagger: Tagger | None,
        surrogates: Surrogates | None,
        records: Mapping[str, PatientRecord],
        description: Mapping[str, object],
        resources: ExitStack,
        packaged: KnownLines | None = None,
        hold_back_unreadable: bool = True,
    ) -> None:
        """Keep the loaded stages.

        ``packaged`` has the known-clean lines of the package when ``inclusion`` or ``templates`` are the user's own.
        ``hold_back_unreadable`` quarantines notes in a form that hides text from the detectors
        (:mod:`deid_runtime.text.legibility`).
        """
        self._packaged = packaged
        self._hold_back_unreadable = hold_back_unreadable
        self._inclusion = inclusion
        self._templates = templates
        self._tagger = tagger
        self._surrogates = surrogates
        self._records = records
        self._record_finder = RecordFinder()
        self._description = description
        self._resources = resources
        self._stage_name = "read"
        self._faults: list[Fault] = []  # shared with the pipelines of with_surrogates; the first counts
        self.stage_seconds: dict[str, float] = dict.fromkeys(PIPELINE_STAGES, 0.0)

    @property
    def fault(self) -> Fault | None:
        """Return why this pipeline has stopped, or None while it works."""
        return self._faults[0] if self._faults else None

    def close(self) -> None:
        """Free the models. The pipeline cannot be used afterwards."""
        self._resources.close()

    def with_surrogates(self, surrogates: Surrogates) -> "Pipeline":
        """Return a pipeline with these ``surrogates``.

        It shares everything else with this one, so this one must stay open while the new one is in use.
        """
        other = copy(self)
        other._surrogates = surrogates
        other._resources = ExitStack()
        return other

    def describe(self) -> dict[str, object]:
        """Return the digests and settings of this pipeline for a run report: without secrets, ready for JSON."""
        return dict(self._description)

    def detect(self, notes: Sequence[Note]) -> list[Detected | Quarantined]:
        """Find the identifiers of every note. Return one outcome per note, in order; none depends on another note."""
        return self._guarded(notes, lambda: self._detect(notes))

    def _detect(self, notes: Sequence[Note]) -> list[Detected | Quarantined]:
        return [
            found if isinstance(found, Quarantined) else Detected(note.id, tuple(found.spans))
            for note, found in zip(notes, self._find_all(notes), strict=True)
        ]

    def deidentify(self, notes: Sequence[Note], *, whole_patients: bool = False) -> list[Deidentified | Quarantined]:
        """Find and replace the identifiers of every note. Return one outcome per note, in order.

        By default an outcome depends on no other note. With ``whole_patients``, ``notes`` must contain all notes of
        each patient, in any order. Then the surrogates of a patient are chosen from all of the patient's notes:

        - initials agree with a name, and abbreviations with a facility, that only another note spells out;
        - no surrogate equals an original of any of these notes.

        A note whose identifiers could not be found adds nothing to this choice. When it is fixed, process all notes of
        its patient again. Each note without patient id counts as a patient of its own.

        Raises SettingsError when the pipeline was loaded without a key.
        """
        surrogates = self._surrogates
        if surrogates is None:
            raise SettingsError("surrogates need a key; load the pipeline with one (`deid key new` writes one)")
        work = self._deidentify_patients if whole_patients else self._deidentify
        return self._guarded(notes, lambda: work(notes, surrogates))

    def _guarded(
        self, notes: Sequence[Note], work: Callable[[], list[_Done | Quarantined]]
    ) -> list[_Done | Quarantined]:
        """Return the outcomes of ``work``. When there is a fault, now or earlier, quarantine all ``notes``."""
        if self._faults:
            stage, reason = self._faults[0].stage, "the engine failed earlier; load a new pipeline"
        else:
            try:
                return work()
            except _FAULTS as error:
                stage, reason = self._stage_name, "memory ran out" if isinstance(error, MemoryError) else str(error)
                self._faults.append(Fault(stage, reason))
        return [Quarantined(_printable(note.id), stage, reason) for note in notes]

    def _deidentify(self, notes: Sequence[Note], surrogates: Surrogates) -> list[Deidentified | Quarantined]:
        return [
            found if isinstance(found, Quarantined) else self._replace(note, found, surrogates)
            for note, found in zip(notes, self._find_all(notes), strict=True)
        ]

    def _deidentify_patients(self, notes: Sequence[Note], surrogates: Surrogates) -> list[Deidentified | Quarantined]:
        outcomes: dict[int, Deidentified | Quarantined] = {}
        patients: dict[str | int, list[tuple[int, Note, _Found]]] = {}
        found_in = (found for chunk in _chunks(notes) for found in self._find_all(chunk))
        for index, (note, found) in enumerate(zip(notes, found_in, strict=True)):
            if isinstance(found, Quarantined):
                outcomes[index] = found
            else:
                patients.setdefault(note.patient or index, []).append((index, note, found))
        for rows in patients.values():
            context = self._read_context([(found.read, found.read_spans) for _, _, found in rows])
            for index, note, found in rows:
                if isinstance(context, Exception):
                    outcomes[index] = self._quarantined(note, context)
                else:
                    outcomes[index] = self._replace(note, found, surrogates, context)
        return [outcomes[index] for index in range(len(notes))]

    def _read_context(self, rows: Sequence[tuple[Note, list[Span]]]) -> Context | Exception:
        """Return the context of all notes of a patient, or the exception when it cannot be read."""
        try:
            with self._stage("surrogates"):
                # Where notes differ, the first one read wins. Sort them, so that the input order has no effect.
                return read_context(sorted(rows, key=lambda row: (row[0].id, row[0].text)))
        except _FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return error

    def _find_all(self, notes: Sequence[Note]) -> list[_Found | Quarantined]:
        """Return the fused spans of every note, or the note as quarantined."""
        outcomes: list[Quarantined | None] = []
        readable: list[tuple[Note, View]] = []
        with self._stage("read"):
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
        fault = _fault(note)
        if fault:
            return Quarantined(_printable(note.id), "read", fault)
        try:
            view = read_view(note.text)
            # Check the view, not the note: forms that the view resolves hide nothing; only the remaining forms do.
            fault = illegible(view.text) if self._hold_back_unreadable else ""
        except _FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return self._quarantined(note, error)
        return Quarantined(note.id, "read", fault) if fault else view

    def _find_readable(self, notes: Sequence[tuple[Note, View]]) -> list[_Found | Quarantined]:
        if not notes:
            return []
        try:
            rows = self._found([view.text for _, view in notes], [note.patient for note, _ in notes])
        except _FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - any failure, also an unexpected one, must stop its note
            if len(notes) == 1:
                return [self._quarantined(notes[0][0], error)]
            return [outcome for each in notes for outcome in self._find_readable([each])]
        return [self._fused(note, view, row) for (note, view), row in zip(notes, rows, strict=True)]

    def _found(self, texts: Sequence[str], patients: Sequence[str]) -> list[list[Span]]:
        """Return all spans that the detectors find, one row per text, in offsets of that text. Spans can overlap.

        ``texts`` are views of notes; ``patients`` are the ids of their patients.
        """
        with self._stage("sentences"):
            sentences = [split_sentences(text) for text in texts]
        with self._stage("inclusion"):
            unknown = [
                [sentence for sentence in row if text[sentence.start : sentence.end] not in self._inclusion]
                for text, row in zip(texts, sentences, strict=True)
            ]
        with self._stage("templates"):
            rows, unexplained = self._apply_templates(texts, unknown)
        with self._stage("patterns"):
            for row, found in zip(rows, find_patterns(texts), strict=True):
                row.extend(found)
        with self._stage("people"):
            for row, found in zip(rows, find_people(texts), strict=True):
                row.extend(found)
        with self._stage("record"):
            for row, text, patient in zip(rows, texts, patients, strict=True):
                record = self._records.get(patient)
                if record is not None:
                    row.extend(self._record_finder.find(text, record))
        if self._tagger is not None:
            with self._stage("models"):
                told = self._tagger(
                    texts,
                    [
                        sentences_to_read(*each, self._packaged)
                        for each in zip(texts, sentences, unexplained, strict=True)
                    ],
                )
                rows = [settle_doubts(*each) for each in zip(rows, told, unexplained, strict=True)]
        with self._stage("clinical"):
            return [without_clinical(text, row) for text, row in zip(texts, rows, strict=True)]

    def _apply_templates(
        self, texts: Sequence[str], sentences: Sequence[Sequence[Sentence]]
    ) -> tuple[list[list[Span]], list[list[Sentence]]]:
        """Return the spans that the templates find in each text, and the sentences that no template matches."""
        rows: list[list[Span]] = []
        unexplained: list[list[Sentence]] = []
        for text, candidates in zip(texts, sentences, strict=True):
            found: list[Span] = []
            rest: list[Sentence] = []
            for sentence in candidates:
                spans = self._templates.match(text[sentence.start : sentence.end])
                if spans is None:
                    rest.append(sentence)
                else:
                    found.extend(span.shift(sentence.start) for span in spans)
            rows.append(found)
            unexplained.append(rest)
        return rows, unexplained

    def _fused(self, note: Note, view: View, found: list[Span]) -> _Found | Quarantined:
        """Return the found spans of a note, sorted and disjoint, with offsets of the view and of the note."""
        try:
            with self._stage("propagation"):
                found = found + propagate(view.text, found)
            with self._stage("fusion"):
                spans = fuse_spans(view.text, found)
                _check_fusion(found, spans)
                pairs = view.located(spans)
                read = replace(note, text=view.text) if view.layers else note
                read, read_spans = unbroken(read, [span for span, _ in pairs])
        except _FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return self._quarantined(note, error)
        return _Found(read, read_spans, [span for _, span in pairs])

    def _replace(
        self, note: Note, found: _Found, surrogates: Surrogates, context: Context | None = None
    ) -> Deidentified | Quarantined:
        spans = found.spans
        try:
            with self._stage("surrogates"):
                replacements = surrogates.replacements(
                    found.read,
                    found.read_spans,
                    self._records.get(note.patient),
                    context=context,
                    written=[note.text[span.start : span.end] for span in spans],
                )
                note_pseudonym = surrogates.pseudonym("note", note.id)
                patient_pseudonym = surrogates.pseudonym("patient", note.patient) if note.patient else ""
            with self._stage("rewrite"):
                text, offsets = rewrite(note.text, spans, replacements)
                _check_rewrite(note.text, spans, text, offsets)
        except _FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in _find_readable
            return self._quarantined(note, error)
        return Deidentified(note.id, text, note_pseudonym, patient_pseudonym, tuple(spans), offsets)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Measure the time of a stage, and keep its name for the quarantine."""
        self._stage_name = name
        started = perf_counter()
        try:
            yield
        finally:
            self.stage_seconds[name] += perf_counter() - started

    def _quarantined(self, note: Note, error: Exception) -> Quarantined:
        """Return the note as quarantined.

        Raises InstallationError when a file of this package is missing, because then every note fails.
        """
        missing = missing_file(error) if isinstance(error, OSError) else None
        if missing is not None:
            raise missing from None
        # Our own errors hold no note text. Other errors can (a UnicodeEncodeError does), so name only their class.
        reason = str(error) if isinstance(error, DeidError) else f"unexpected {type(error).__name__}"
        return Quarantined(note.id, self._stage_name, reason)


def load_pipeline(settings: Settings, *, key: bytes | None, records: Mapping[str, PatientRecord]) -> Pipeline:
    """Load lists, templates and models. Without ``key`` the pipeline can detect, but not de-identify.

    ``records`` maps patient ids to patient records. Notes of patients without a record are processed as well.

    Raises SettingsError for a record with an unknown field or an unreadable date of birth, and for a wrong list,
    template or setting. Raises ModelError for models that are missing or do not fit.
    """
    records = checked_records(records)
    with ExitStack() as resources:
        inclusion = load_inclusion(settings.inclusion, screen=find_patterns)
        templates = load_templates(settings.templates)
        tagger: Tagger | None = None
        models: object = None
        if settings.use_models:
            # The engines are slow to import, and a pipeline without models must run without them.
            from deid_runtime.models.tagger import load_tagger

            server = settings.server
            model_tagger = resources.enter_context(server.connect(settings) if server else load_tagger(settings))
            tagger, models = model_tagger, dict(model_tagger.manifest)
        surrogates = surrogate_maker(settings)(key) if key is not None else None
        return Pipeline(
            inclusion=inclusion,
            templates=templates,
            tagger=tagger,
            surrogates=surrogates,
            records=records,
            description={
                "models": models,
                "engine": "server" if settings.server else settings.engine,
                "profile": settings.profile,
                "thresholds": dict(settings.thresholds),
                "operator": settings.operator,
                "date_shift_days": settings.date_shift_days,
                "date_shift_whole_weeks": settings.date_shift_whole_weeks,
                "offsets_given": settings.offsets is not None,
                "dates": settings.dates,
                "safe_harbor": settings.safe_harbor,
                "hold_back_unreadable": settings.hold_back_unreadable,
                "inclusion": {"entries": len(inclusion), "sha256": inclusion.sha256},
                "templates": {"entries": len(templates), "sha256": templates.sha256},
                "patient_records": len(records),
            },
            resources=resources.pop_all(),
            packaged=packaged_lines(settings),
            hold_back_unreadable=settings.hold_back_unreadable,
        )


def surrogate_maker(settings: Settings) -> Callable[[bytes], Surrogates]:
    """Return a function that builds the Surrogates of a key. The table of date shifts by patient is read here, once.

    Raises SettingsError for a wrong table. The returned function raises it for settings that contradict each other.
    """
    return partial(
        Surrogates,
        operator=settings.operator,
        date_shift_days=settings.date_shift_days,
        date_shift_whole_weeks=settings.date_shift_whole_weeks,
        offsets=(
            read_offsets(settings.offsets, whole_weeks=settings.date_shift_whole_weeks) if settings.offsets else None
        ),
        dates=settings.dates,
        safe_harbor=settings.safe_harbor,
    )


def _chunks(notes: Sequence[Note]) -> Iterator[list[Note]]:
    chunk: list[Note] = []
    chars = 0
    for note in notes:
        chunk.append(note)
        chars += len(note.text) if isinstance(note.text, str) else 0
        if len(chunk) >= _CHUNK_NOTES or chars >= _CHUNK_CHARS:
            yield chunk
            chunk, chars = [], 0
    if chunk:
        yield chunk


def _fault(note: Note) -> str:
    """Return why a note cannot be read, or an empty string."""
    for name, value in (("id", note.id), ("text", note.text), ("patient id", note.patient)):
        if not isinstance(value, str):
            return f"the {name} is of type {type(value).__name__}, expected str"
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return (
                f"the {name} holds a lone surrogate (half a character) at offset {error.start} and cannot be written "
                "as UTF-8; decode the source again with its true encoding"
            )
    if not note.id:
        return (
            "the id is empty, expected one of its own: the pseudonym of the note, and of a note's patient, hang on it"
        )
    if "\0" in note.text:
        # A null character mostly means UTF-16 read as UTF-8, or a damaged file. It splits words: detectors miss them.
        return (
            f"the text holds a null character at offset {note.text.index(chr(0))}, as damaged or wrongly decoded files "
            "do; decode the source again, or remove null characters before"
        )
    return ""


def _printable(note_id: object) -> str:
    return str(note_id).encode("utf-8", "backslashreplace").decode()


def _check_fusion(found: Sequence[Span], fused: Sequence[Span]) -> None:
    """Raise InputError unless ``fused`` is sorted and disjoint and covers the same code points as ``found``."""
    disjoint = all(left.end <= right.start for left, right in pairwise(fused))
    if not disjoint or covered(fused) != covered(found):
        raise InputError("fusion changed what is covered; this is a defect, please report it", stage="fusion")


def _check_rewrite(before: str, spans: Sequence[Span], after: str, offsets: Sequence[tuple[int, int]]) -> None:
    """Raise InputError unless the text outside the spans is the same in ``before`` and ``after``."""
    if len(spans) != len(offsets):
        raise InputError(f"{len(spans)} spans but {len(offsets)} replacements", stage="rewrite")
    old = new = 0
    for span, (start, end) in zip(spans, offsets, strict=True):
        if before[old : span.start] != after[new:start]:
            raise InputError("text outside the spans was changed; this is a defect, please report it", stage="rewrite")
        old, new = span.end, end
    if before[old:] != after[new:]:
        raise InputError("text outside the spans was changed; this is a defect, please report it", stage="rewrite")
