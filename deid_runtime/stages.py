"""The list of all stages: a stage can quarantine a note, and a pipeline measures the time of each of its stages."""

from typing import Final

#: The stages of a pipeline, in their order.
PIPELINE_STAGES: Final = (
    "read", "sentences", "inclusion", "templates", "patterns", "people", "record", "models", "clinical", "propagation",
    "fusion", "surrogates", "rewrite",
)  # fmt: skip

#: A column to keep has a value that must not reach the output.
COLUMNS_STAGE: Final = "columns"
#: The notes of one patient cannot be processed together.
PATIENTS_STAGE: Final = "patients"
#: A second look at a de-identified note found something that may identify a person.
GATE_STAGE: Final = "gate"
#: The worker processes failed on a note.
WORKER_STAGE: Final = "worker"
#: The format of the output cannot represent a note.
WRITE_STAGE: Final = "write"
#: An annotated note contradicts itself. Only evaluation and corpora read annotated notes.
EVALUATE_STAGE: Final = "evaluate"

#: All stages that an error or a quarantine may name.
STAGES: Final = (
    *PIPELINE_STAGES, COLUMNS_STAGE, PATIENTS_STAGE, GATE_STAGE, WORKER_STAGE, WRITE_STAGE, EVALUATE_STAGE,
)  # fmt: skip
