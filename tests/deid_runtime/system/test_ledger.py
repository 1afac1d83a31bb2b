import os
import stat
from pathlib import Path

import pytest

from deid_runtime.errors import OutputError
from deid_runtime.system.ledger import Ledger, read_ledger
from deid_runtime.system.output_lock import lock_holder, output_lock


def test_rows_come_back_in_order_and_only_for_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path) as ledger:
        ledger.append({"number": 1, "name": "ä\u2028"})
    with Ledger(path) as ledger:
        ledger.append({"number": 2})

    assert read_ledger(path) == ([{"number": 1, "name": "ä\u2028"}, {"number": 2}], 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", range(2, 60, 7))
def test_a_torn_line_does_not_count_and_the_next_row_does(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "ledger"
    with Ledger(path) as ledger:
        ledger.append({"number": 1})
        ledger.append({"number": 2, "padding": "x" * 60})
    path.write_bytes(path.read_bytes()[:-cut])

    with Ledger(path) as ledger:
        ledger.append({"number": 3})

    assert read_ledger(path) == ([{"number": 1}, {"number": 3}], 1)


def test_a_changed_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with Ledger(path) as ledger:
        ledger.append({"number": 1})
        ledger.append({"number": 2})
    path.write_bytes(path.read_bytes().replace(b'"number": 1', b'"number": 7'))

    assert read_ledger(path) == ([{"number": 2}], 1)


def test_a_link_in_place_of_the_ledger_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ledger").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic"), Ledger(tmp_path / "ledger"):
        pass


def test_the_holder_of_a_lock_is_named_while_it_lives(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert lock_holder(out) == ""
    with output_lock(tmp_path, out):
        assert lock_holder(out).startswith(f"process {os.getpid()} on ")
        with pytest.raises(OutputError), output_lock(tmp_path, out):
            pass
    (tmp_path / ".out.lock").write_text(f"process {2**22 + 1} on {os.uname().nodename}\n")
    assert lock_holder(out) == ""
