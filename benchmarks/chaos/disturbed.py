"""``deid`` with a watchdog that gives workers seconds in place of minutes, and a clock that jumps.

python benchmarks/chaos/disturbed.py run IN --out OUT ...

The clock is the one that stamps the rows of the ledger: each row comes up to ten years before or after the last one.
"""

import random
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

sys.path.append(str(Path(__file__).resolve().parents[1] / "hostile"))

from hasty import IDLE_S, LOAD_S

from deid_runtime.cli.main import main
from deid_runtime.run import job_folder, workers
from deid_runtime.run.watchdog import Patience

_JUMP_DAYS = 3_650


def jumping_now() -> str:
    """Return a time that has nothing to do with the clock of the machine."""
    return (datetime.now(UTC) + timedelta(days=random.uniform(-_JUMP_DAYS, _JUMP_DAYS))).isoformat(timespec="seconds")


if __name__ == "__main__":  # worker processes import this file, too
    with (
        patch.object(workers, "Patience", partial(Patience, idle_s=IDLE_S, load_s=LOAD_S)),
        patch.object(job_folder, "_now", jumping_now),
    ):
        main()
