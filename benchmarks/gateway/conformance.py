"""Does the gateway keep to its own description, for requests that schemathesis draws from it?

    pip install schemathesis
    python benchmarks/gateway/conformance.py --examples 50

Starts a server and a gateway, and lets schemathesis send right and wrong requests of every address. Ends with its exit
code: not 0 when an answer has a status, a content type or a form that the description lacks, when a wrong request is
taken, or when a token is not asked for.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.deid_runtime.gateway.running_gateway import gateway
from tests.running_server import started, write_served_folder

_MORE = "notes_per_minute = 100_000_000\nbytes_per_minute = 1_000_000_000_000\nrequests_at_once = 64"

_KEYS = '"study", "study-a"'  # the second is the example of the description


def main() -> None:
    """Run schemathesis."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=50, help="of each address and phase")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "served").mkdir()
        with (
            started(write_served_folder(folder / "served").options()) as server,
            gateway(folder, server.options.grpc, keys=_KEYS, more=_MORE) as front,
        ):
            done = subprocess.run(
                [
                    sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{front.port}/openapi.json",
                    "--header", f"Authorization: Bearer {front.token}", "--max-examples", str(options.examples),
                    "--seed", str(options.seed), "--request-timeout", "60", "--no-color",
                ],
                check=False,
                cwd=folder,  # it keeps a folder of its own
            )  # fmt: skip
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
