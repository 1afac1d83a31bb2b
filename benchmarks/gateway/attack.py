"""Send hostile cases to a gateway, and say what came of them."""

import re
import socket
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from hostile_cases import MARKER, Case

_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_QUIET_S: Final = 0.3  # nothing more comes behind a whole answer
_LONGEST_S: Final = 30.0


@dataclass
class Report:
    """What came of the cases: statuses by kind, server errors, and answers that quote a request where none may."""

    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0


def attack(port: int, cases: Iterable[Case], threads: int = 1) -> Report:
    """Send each case over a connection of its own, from several threads.

    A failure is a status of 500 or more, or a problem that quotes its request.
    """
    report = Report()
    with ThreadPoolExecutor(threads) as pool:
        for number, (case, answer, seconds) in enumerate(pool.map(lambda case: _sent(port, case), cases)):
            report.slowest_s = max(report.slowest_s, seconds)
            found = [status.decode() for status in _STATUS.findall(answer)]
            report.statuses.setdefault(case.kind, Counter()).update(found or ["none"])
            if any(status >= "500" for status in found):
                report.failures.append(f"case {number}, {case.kind}: {', '.join(found)}")
            elif b"problem+json" in answer and MARKER.encode() in answer:
                report.failures.append(f"case {number}, {case.kind}: the problem quotes the request")
    return report


def _sent(port: int, case: Case) -> tuple[Case, bytes, float]:
    """Return the case, all that comes back, and the seconds it took."""
    begun = time.perf_counter()
    parts = bytearray()
    with socket.create_connection(("127.0.0.1", port), _LONGEST_S) as opened:
        with suppress(OSError):  # refused while it was sent; the answer may be there all the same
            opened.sendall(case.content)
        with suppress(OSError):
            while part := opened.recv(65_536):
                parts += part
                opened.settimeout(_QUIET_S if _is_whole(parts) else _LONGEST_S)
    return case, bytes(parts), time.perf_counter() - begun


def _is_whole(answer: bytes | bytearray) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\ncontent-length: (\d+)", head)
    return bool(found) and length is not None and len(body) >= int(length[1])
