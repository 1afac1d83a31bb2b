"""Read the bodies of requests: within limits of time and size, and as strict JSON."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

from starlette.requests import ClientDisconnect, Request

from deid_runtime.gateway.problems import BAD_REQUEST, TOO_LARGE, TOO_SLOW, WRONG_TYPE, ProblemError

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"

_MOST_TYPE_CHARS: Final = 200


def media_type(request: Request, allowed: tuple[str, ...]) -> str:
    """Return the media type of the body. Raises ProblemError for another type, charset or encoding."""
    kind, *parameters = request.headers.get("content-type", "")[:_MOST_TYPE_CHARS].lower().split(";")
    charsets = [each.partition("=")[2].strip(' "') for each in parameters if each.strip().startswith("charset=")]
    if kind.strip() not in allowed or any(charset not in ("utf-8", "utf8") for charset in charsets):
        raise ProblemError(WRONG_TYPE, f"send the content-type {' or '.join(allowed)}, in UTF-8")
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", ""):
        raise ProblemError(
            WRONG_TYPE, "send the body without content-encoding", headers={"accept-encoding": "identity"}
        )
    return kind.strip()


async def read_body(request: Request, most_bytes: int, seconds: float) -> bytes:
    """Return the whole body. Raises ProblemError when it is too large or too slow, ClientDisconnect when it breaks."""
    length = request.headers.get("content-length")
    if length is not None and (not (length.isascii() and length.isdecimal()) or len(length) > 18):
        raise ProblemError(BAD_REQUEST, "the header content-length is not a number")
    if length is not None and int(length) > most_bytes:
        raise _too_large(most_bytes)
    parts = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                parts += part
                if len(parts) > most_bytes:
                    raise _too_large(most_bytes)
    except TimeoutError:
        raise ProblemError(TOO_SLOW, f"the body must arrive within {seconds:g} s") from None
    return bytes(parts)


async def read_lines(request: Request, most_bytes: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the lines of the body without their ends, as they arrive; empty lines are skipped.

    The body is read only as fast as lines are taken. Raises ProblemError for a line of more than ``most_bytes``, and
    when nothing arrives for ``seconds``; ClientDisconnect when the body breaks off.
    """
    rest = bytearray()
    parts = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(seconds):
                part = await anext(parts)
        except TimeoutError:
            raise ProblemError(TOO_SLOW, f"no data arrived for {seconds:g} s") from None
        except StopAsyncIteration:
            break
        searched = len(rest)
        rest += part
        while (end := rest.find(b"\n", searched)) >= 0:
            if end > most_bytes:
                raise _too_large(most_bytes)
            line = bytes(rest[:end]).strip(b"\r \t")
            del rest[: end + 1]
            searched = 0
            if line:
                yield line
        if len(rest) > most_bytes:
            raise _too_large(most_bytes)
    line = bytes(rest).strip(b"\r \t")
    if line:
        yield line


def parse_json(content: bytes) -> Any:
    """Return the value of ``content``, JSON in UTF-8 (RFC 8259), with unique names. Raises ProblemError."""
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number, parse_int=_whole_number
        )
    except UnicodeDecodeError as error:
        raise ProblemError(BAD_REQUEST, f"the body is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ProblemError(BAD_REQUEST, f"the body is not JSON at character {error.pos}") from None
    except ValueError:
        raise ProblemError(BAD_REQUEST, "the body is not JSON: a name occurs twice, or a number is not valid") from None
    except RecursionError:
        raise ProblemError(BAD_REQUEST, "the JSON is nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _whole_number(digits: str) -> int:
    # No field is a number, so a large one only costs time.
    if len(digits) > 32:
        raise ValueError("too many digits")
    return int(digits)


def _too_large(most_bytes: int) -> ProblemError:
    return ProblemError(TOO_LARGE, f"expected at most {most_bytes:,} bytes (request_bytes of the project)")


__all__ = ["JSON", "LINES", "ClientDisconnect", "media_type", "parse_json", "read_body", "read_lines"]
