"""Run notes through the pipeline, one by one or all notes of a patient together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from typing import Final, TypeVar

from deid_runtime.detectors.inclusion import InclusionList
from deid_runtime.detectors.known import KnownLines
from deid_runtime.detectors.templates import Templates
from deid_runtime.errors import SettingsError
from deid_runtime.pipeline.block_cache import BlockCache
from deid_runtime.pipeline.checks import check_rewrite, printable
from deid_runtime.pipeline.clock import FAULTS, StageClock
from deid_runtime.pipeline.finding import Finder, Found
from deid_runtime.pipeline.outcomes import Deidentified, Detected, Fault, Quarantined
from deid_runtime.rewrite import rewrite
from deid_runtime.spans import Note, PatientRecord, Span, Tagger
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.context import Context, read_context
from deid_runtime.system.closing import Closing
from deid_runtime.system.word_caches import clear_word_caches

#: Most notes and characters that one step searches when whole patients are processed. It limits memory and changes no
#: result.
_CHUNK_NOTES: Final = 256
_CHUNK_CHARS: Final = 2**20

_Done = TypeVar("_Done")


class Pipeline(Closing):
    """All stages, loaded once for many batches. Create it with :func:`load_pipeline`. It is not thread-safe.

    It is a context manager: leaving it frees the models.

    When the engine fails or memory runs out, all notes of that call and of all later calls are quarantined. The reason:
    an engine that failed once may have given wrong answers earlier. :attr:`fault` then has the reason. Load a new
    pipeline, preferably in a new process, as the command line does.
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
        window_counts: Callable[[], Mapping[str, int]] = dict,
        by_blocks: bool = True,
        cache_bytes: int = 0,
    ) -> None:
        """Keep the loaded stages.

        ``packaged`` has the known-clean lines of the package when ``inclusion`` or ``templates`` are the user's own.
        ``hold_back_unreadable`` quarantines notes in a form that hides text from the detectors
        (:mod:`deid_runtime.text.legibility`). ``window_counts`` returns
        those of ``tagger``. ``by_blocks`` says whether detectors read the blocks of a note
        (:mod:`deid_runtime.pipeline.searching`) or all of it. At most ``cache_bytes`` of what they found are kept for
        text that comes again; it never changes an outcome.
        """
        self._clock = StageClock()
        self._cache = BlockCache(cache_bytes)
        self._window_counts = window_counts
        self._finder = Finder(
            inclusion=inclusion,
            templates=templates,
            tagger=tagger,
            records=records,
            packaged=packaged,
            hold_back_unreadable=hold_back_unreadable,
            by_blocks=by_blocks,
            cache=self._cache,
            clock=self._clock,
        )
        self._surrogates = surrogates
        self._records = records
        self._description = description
        self._resources = resources
        self._faults: list[Fault] = []  # shared with the pipelines of with_surrogates; the first counts

    @property
    def stage_seconds(self) -> Mapping[str, float]:
        """Return the seconds that each stage took so far."""
        return self._clock.seconds

    @property
    def fault(self) -> Fault | None:
        """Return why this pipeline has stopped, or None while it works."""
        return self._faults[0] if self._faults else None

    def close(self) -> None:
        """Free the models, and all caches with text of notes. The pipeline cannot be used afterwards."""
        self._cache.clear()
        clear_word_caches()
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

    @property
    def cache_counts(self) -> Mapping[str, int]:
        """Return how many blocks and model windows were read so far, and how many of each came from a cache.

        The names are ``blocks_read``, ``blocks_from_cache``, ``windows_read`` and ``windows_from_cache``. The windows
        are those of blocks that did not come from the cache.
        """
        both = (("blocks", self._cache.counts), ("windows", self._window_counts()))
        return {f"{kind}_{name}": count for kind, counts in both for name, count in counts.items()}

    @property
    def cache_bytes_used(self) -> int:
        """Return how many bytes the cache of blocks holds, at most those that the pipeline was given."""
        return self._cache.size_bytes

    def detect(self, notes: Sequence[Note]) -> list[Detected | Quarantined]:
        """Find the identifiers of every note. Return one outcome per note, in order; none depends on another note."""
        return self._guarded(notes, lambda: self._detect(notes))

    def _detect(self, notes: Sequence[Note]) -> list[Detected | Quarantined]:
        return [
            found if isinstance(found, Quarantined) else Detected(note.id, tuple(found.spans))
            for note, found in zip(notes, self._finder.find(notes), strict=True)
        ]

    def deidentify(self, notes: Sequence[Note], *, whole_patients: bool = False) -> list[Deidentified | Quarantined]:
        """Find and replace the identifiers of every note. Return one outcome per note, in order.

        By default an outcome depends on no other note. With ``whole_patients``, ``notes`` must contain all notes of
        each patient, in any order. Then the surrogates of a patient are chosen from all of the patient's notes:

        - initials agree with a name, and abbreviations with a facility, that only another note spells out;
        - no surrogate equals an original of any of these notes.

        A note whose identifiers could not be found adds nothing to this choice. When it is fixed, process all notes of
        its patient again. Each note without a patient id counts as a separate patient.

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
            except FAULTS as error:
                stage, reason = self._clock.stage, "memory ran out" if isinstance(error, MemoryError) else str(error)
                self._faults.append(Fault(stage, reason))
        return [Quarantined(printable(note.id), stage, reason) for note in notes]

    def _deidentify(self, notes: Sequence[Note], surrogates: Surrogates) -> list[Deidentified | Quarantined]:
        return [
            found if isinstance(found, Quarantined) else self._replace(note, found, surrogates)
            for note, found in zip(notes, self._finder.find(notes), strict=True)
        ]

    def _deidentify_patients(self, notes: Sequence[Note], surrogates: Surrogates) -> list[Deidentified | Quarantined]:
        outcomes: dict[int, Deidentified | Quarantined] = {}
        patients: dict[str | int, list[tuple[int, Note, Found]]] = {}
        found_in = (found for chunk in _chunks(notes) for found in self._finder.find(chunk))
        for index, (note, found) in enumerate(zip(notes, found_in, strict=True)):
            if isinstance(found, Quarantined):
                outcomes[index] = found
            else:
                patients.setdefault(note.patient or index, []).append((index, note, found))
        for rows in patients.values():
            context = self._read_context([(found.read, found.read_spans) for _, _, found in rows])
            for index, note, found in rows:
                if isinstance(context, Exception):
                    outcomes[index] = self._clock.quarantined(note, context)
                else:
                    outcomes[index] = self._replace(note, found, surrogates, context)
        return [outcomes[index] for index in range(len(notes))]

    def _read_context(self, rows: Sequence[tuple[Note, list[Span]]]) -> Context | Exception:
        """Return the context of all notes of a patient, or the exception when it cannot be read."""
        try:
            with self._clock.measure("surrogates"):
                # Where notes differ, the first one read wins. Sort them, so that the input order has no effect.
                return read_context(sorted(rows, key=lambda row: (row[0].id, row[0].text)))
        except FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in Finder._find_readable
            return error

    def _replace(
        self, note: Note, found: Found, surrogates: Surrogates, context: Context | None = None
    ) -> Deidentified | Quarantined:
        spans = found.spans
        try:
            with self._clock.measure("surrogates"):
                replacements = surrogates.replacements(
                    found.read,
                    found.read_spans,
                    self._records.get(note.patient),
                    context=context,
                    written=[note.text[span.start : span.end] for span in spans],
                )
                note_pseudonym = surrogates.pseudonym("note", note.id)
                patient_pseudonym = surrogates.pseudonym("patient", note.patient) if note.patient else ""
            with self._clock.measure("rewrite"):
                text, offsets = rewrite(note.text, spans, replacements)
                check_rewrite(note.text, spans, text, offsets)
        except FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - as in Finder._find_readable
            return self._clock.quarantined(note, error)
        return Deidentified(note.id, text, note_pseudonym, patient_pseudonym, tuple(spans), offsets)


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
