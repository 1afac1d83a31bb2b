"""The work on notes in one process: the pipeline of the run and, if the run has a gate, a second look at its output."""

from collections.abc import Mapping, Sequence
from time import perf_counter

from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Fault, Outcome, Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.run.outcomes import Gate, Work
from deid_runtime.run.second_look import Verdict, look_again, second_settings
from deid_runtime.spans import Note
from deid_runtime.stages import GATE_STAGE
from deid_runtime.system.closing import Closing

#: The verdicts that each gate holds back.
_HELD_BACK: Mapping[Gate, frozenset[Verdict]] = {
    "none": frozenset(),
    "fail": frozenset({Verdict.FAIL}),
    "review": frozenset({Verdict.FAIL, Verdict.REVIEW}),
}


class Processor(Closing):
    """The pipeline of ``work`` and its gate, loaded once for many batches. A context manager; not thread-safe.

    Raises SettingsError or ModelError when they cannot be loaded.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._pipeline = load_pipeline(work.settings, key=work.key, records=work.records)
        self._second: Pipeline | None = None
        self._gate_seconds = 0.0
        if work.gate != "none":
            try:
                self._second = load_pipeline(second_settings(work.settings), key=None, records=work.records)
            except BaseException:
                self._pipeline.close()
                raise

    def close(self) -> None:
        """Free the resources of the pipelines."""
        self._pipeline.close()
        if self._second is not None:
            self._second.close()

    @property
    def fault(self) -> Fault | None:
        """Why no note can be processed any more; None while there is no fault."""
        return self._pipeline.fault or (self._second.fault if self._second is not None else None)

    @property
    def stage_seconds(self) -> dict[str, float]:
        """The seconds spent in each stage so far."""
        seconds = dict(self._pipeline.stage_seconds)
        return {**seconds, GATE_STAGE: self._gate_seconds} if self._second is not None else seconds

    @property
    def cache_counts(self) -> Mapping[str, int]:
        """How many blocks of text the pipeline of the run has read, and how many came from its cache."""
        return self._pipeline.cache_counts

    def describe(self) -> dict[str, object]:
        """Return the description of the pipeline, with that of the gate when there is one."""
        described = self._pipeline.describe()
        if self._second is None:
            return described
        return {**described, "gate": {"holds_back": self._work.gate, "models": self._second.describe()["models"]}}

    def process(self, notes: Sequence[Note]) -> list[Outcome]:
        """Return one outcome per note, in order."""
        if self._work.task == "detect":
            return [*self._pipeline.detect(notes)]
        outcomes: list[Outcome] = [*self._pipeline.deidentify(notes, whole_patients=self._work.whole_patients)]
        if self._second is None or self._pipeline.fault is not None:
            return outcomes
        begun = perf_counter()
        outcomes = self._pass_gate(self._second, notes, outcomes)
        self._gate_seconds += perf_counter() - begun
        return outcomes

    def _pass_gate(self, second: Pipeline, notes: Sequence[Note], outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Return the outcomes, with notes in quarantine whose new text does not pass a second look."""
        done = [(note, each) for note, each in zip(notes, outcomes, strict=True) if isinstance(each, Deidentified)]
        seen = second.detect([Note(note.id, each.text, note.patient, note.type) for note, each in done])
        looked = {note.id: self._looked(note, each, found) for (note, each), found in zip(done, seen, strict=True)}
        return [looked.get(note.id, each) for note, each in zip(notes, outcomes, strict=True)]

    def _looked(self, note: Note, outcome: Deidentified, found: Outcome) -> Outcome:
        if isinstance(found, Quarantined):
            return Quarantined(note.id, GATE_STAGE, f"the new text cannot be searched (stage {found.stage})")
        looked = look_again(note.text, outcome, found.spans)
        if looked.verdict not in _HELD_BACK[self._work.gate]:
            return outcome
        reasons = "; ".join(str(reason) for reason in looked.reasons)
        return Quarantined(note.id, GATE_STAGE, f"{looked.verdict} in the second look: {reasons}")
