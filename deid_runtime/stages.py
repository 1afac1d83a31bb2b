"""The one list of stages: where a note can be held back, and what a pipeline times."""

from typing import Final

#: The stages of a pipeline, in their order.
PIPELINE_STAGES: Final = (
    "read", "sentences", "inclusion", "templates", "patterns", "people", "record", "models", "clinical", "propagation",
    "fusion", "surrogates", "rewrite",
)  # fmt: skip

#: A column to keep holds what must not be passed on.
COLUMNS_STAGE: Final = "columns"
#: The patient of a note cannot be served as a whole.
PATIENTS_STAGE: Final = "patients"
#: The worker processes failed on a note.
WORKER_STAGE: Final = "worker"
#: The format of the output cannot hold a note.
WRITE_STAGE: Final = "write"
#: An annotated note contradicts itself. Only evaluation and corpora read such.
EVALUATE_STAGE: Final = "evaluate"

#: All stages that an error or a quarantine may name.
STAGES: Final = (*PIPELINE_STAGES, COLUMNS_STAGE, PATIENTS_STAGE, WORKER_STAGE, WRITE_STAGE, EVALUATE_STAGE)
