"""An Airflow DAG that de-identifies the notes of each day, and goes on after any failure.

Airflow 2.4 or later; ``deid`` must be installed on the worker. Put this file into the folder of DAGs. Three paths are
Airflow variables: ``deid_in`` and ``deid_out`` are folders, ``deid_key`` is a key file that the worker alone can read.

A task is repeated with ``--resume``, so a repeated task does only what is not finished. Exit code 1 is a success with
notes in quarantine; exit code 2 needs a person, so the task fails at once without further tries.
"""

import json
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException
from airflow.models import Variable

HELD_BACK, WRONG_USE = 1, 2


def run_command(day: str, source: str, target: str, key: str) -> list[str]:
    """Return the command for the notes of one day."""
    return [
        "deid",
        "run",
        str(Path(source) / day),
        "--key",
        key,
        "--out",
        str(Path(target) / day),
        "--resume",
        "--progress",
        "json",
    ]


def say_progress(line: str) -> str:
    """Return a line of stderr for the log of the task: progress in words, any other line as it is."""
    try:
        now = json.loads(line)
    except ValueError:
        return line.rstrip()
    return f"{now['notes']} notes, {now['quarantined']} quarantined, {now['left_s']} s left"


@dag(
    schedule="@daily",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    default_args={"retries": 5, "retry_delay": timedelta(minutes=2)},
)
def deidentify_notes() -> None:
    """De-identify the notes of a day, then check what was written."""

    @task
    def deidentify(ds: str = "") -> str:
        command = run_command(ds, Variable.get("deid_in"), Variable.get("deid_out"), Variable.get("deid_key"))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            for line in process.stderr:
                print(say_progress(line))
        if process.returncode == WRONG_USE:
            raise AirflowFailException("deid needs a person: see the last line of the log")
        if process.returncode not in (0, HELD_BACK):
            raise AirflowException(f"deid ended with {process.returncode}; the next try goes on where it ended")
        return command[command.index("--out") + 1]

    @task
    def verify(out: str) -> None:
        subprocess.run(["deid", "verify", out], check=True)

    verify(deidentify())


deidentify_notes()
