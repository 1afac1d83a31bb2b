"""Does this checkout give the same bytes as another one? For changes that must not change behaviour.

    git worktree add /tmp/before HEAD~1
    python benchmarks/unchanged.py --against /tmp/before --lists LISTS

``LISTS`` is a folder with ``gazetteers/`` and ``medical/``, as for ``deid-export train``.

Method: the notes of dev and test, and notes made from those of train with fresh values, go through ``deid detect`` and
``deid run`` of both checkouts, in both profiles, each checkout with its own code and models. The SHA-256 of the outputs
must agree. The reports of runs are not compared: they hold versions and times. With ``--served`` a server of this
checkout is started, and ``deid run --server`` of this checkout must give the same bytes as well.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final

from deid_export.data.gazetteers import load_gazetteers
from deid_export.data.resample import Resampler
from deid_runtime.annotations.read import read_annotated

ROOT: Final = Path(__file__).resolve().parents[1]
NOTES: Final = ROOT / "export" / "corpus" / "notes"
PROFILES: Final = ("fast", "full")
KEY: Final = hashlib.sha256(b"unchanged").digest()  # of no use but here


def main() -> None:
    """Run both checkouts, print a line for every output, exit with 1 when one differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the other checkout")
    parser.add_argument("--lists", type=Path, required=True, help="folder with gazetteers/ and medical/")
    parser.add_argument("--generated", type=int, default=2_000, help="notes made from those of train")
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES), choices=PROFILES)
    parser.add_argument("--served", action="store_true", help="compare with a server of this checkout too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        notes = folder / "notes.jsonl"
        write_notes(notes, options.generated, options.lists)
        key = folder / "site.key"
        key.touch(mode=0o600)
        key.write_text(KEY.hex() + "\n", encoding="ascii")
        differing = 0
        with served(folder / "repository") if options.served else nullcontext() as address:
            for profile in options.profiles:
                for command in ("detect", "run"):
                    run = partial(digest, command=command, profile=profile, notes=notes, key=key)
                    digests = [run(options.against.resolve()), run(ROOT)]
                    if address and command == "run":
                        digests.append(run(ROOT, extra=("--server", address)))
                    is_same = len(set(digests)) == 1
                    differing += not is_same
                    print(f"deid {command} --profile {profile}: {'same' if is_same else 'DIFFERENT'} {digests[1][:12]}")
    sys.exit(1 if differing else 0)


@contextmanager
def served(repository: Path) -> Iterator[str]:
    """Serve the models of this checkout; yield the address."""
    from served_models import Served, write_package_models  # needs the extras client and serve

    write_package_models(repository, instances=2)
    with Served(repository) as server:
        yield server.address


def write_notes(path: Path, generated: int, lists: Path) -> None:
    """Write the notes of dev and test, and ``generated`` ones made from train, as JSON Lines."""
    notes = [(note.id, note.patient, note.text) for note in read_annotated([NOTES / "dev", NOTES / "test"])]
    train = read_annotated([NOTES / "train"])
    rng = random.Random(17)
    resampler = Resampler(load_gazetteers(lists), rng)
    for number in range(generated):
        note = rng.choice(train)
        notes.append((f"g{number}", f"g{number}", resampler.note(note)[0]))
    with path.open("w", encoding="utf-8") as file:
        for id_, patient, text in notes:
            file.write(json.dumps({"id": id_, "patient": patient, "text": text}) + "\n")


def digest(checkout: Path, command: str, profile: str, notes: Path, key: Path, extra: Sequence[str] = ()) -> str:
    """Return the SHA-256 of what one command of one checkout writes; the output is removed."""
    out = notes.with_name("out.jsonl")
    paths = [checkout, checkout / "export", checkout / "client"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    arguments = [sys.executable, "-m", "deid_runtime", command, str(notes), "-o", str(out), "--profile", profile]
    arguments += ["--workers", "2", "--overwrite", *extra]
    if command == "run":
        arguments += ["--key", str(key)]
    done = subprocess.run(arguments, env=environment, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{checkout}: deid {command} ended with {done.returncode}\n{done.stderr[-500:]}")
    found = hashlib.sha256(out.read_bytes()).hexdigest()
    out.unlink()
    return found


if __name__ == "__main__":
    main()
