"""Right requests to a server, and what makes them malformed."""

import random
from collections.abc import Callable
from typing import Any, Final

from tritonclient.grpc import service_pb2

from deid_runtime.models.manifest import INPUTS
from deid_runtime.serving.note_models import NOTE_INPUTS, NOTE_OUTPUTS, NOTES, NOTES_STREAM

Request = Any  # service_pb2.ModelInferRequest, which has no types

KEY: Final = "attacked"
MARKER: Final = "Zqmarkerqz"  # stands in every request and must not stand in the log
TEXT: Final = f"{MARKER} Ms. Rosalind Thackeray, MRN 8841207, was seen on March 3, 2019 by Dr. Marcus Oyelaran."
_GRAPH: Final = "v0"


def note_request() -> Request:
    """Return a right request to de-identify a note."""
    request = service_pb2.ModelInferRequest(model_name=NOTES, id=f"{MARKER}-1")
    for name, value in zip(NOTE_INPUTS, (TEXT, "n1", "p1", KEY), strict=True):
        request.inputs.add(name=name, datatype="BYTES", shape=[1])
        request.raw_input_contents.append(_string(value.encode()))
    return request


def token_request() -> Request:
    """Return a right request for the scores of some tokens."""
    request = service_pb2.ModelInferRequest(model_name=_GRAPH, id=f"{MARKER}-2")
    for name, value in zip(INPUTS, (7, 0, 1), strict=True):
        request.inputs.add(name=name, datatype="INT32", shape=[2, 32])
        request.raw_input_contents.append(value.to_bytes(4, "little") * 64)
    return request


def _string(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def wrong_shape(request: Request, choose: random.Random) -> None:
    """Give an input another shape than its content has."""
    shapes = [[], [0], [-1], [2], [1, 1], [2**31], [2**63 - 1], [-(2**63)], [2**32, 2**32], [1] * 50, [2, 31], [3, 32]]
    choose.choice(request.inputs).shape[:] = choose.choice(shapes)


def wrong_type(request: Request, choose: random.Random) -> None:
    """Give an input another type."""
    choose.choice(request.inputs).datatype = choose.choice(
        ["", "INT32", "BYTES", "FP16", "BOOL", "INT64", "UINT8", MARKER, "bytes", "TYPE_STRING"]
    )


def wrong_size(request: Request, choose: random.Random) -> None:
    """Cut the content of an input, or make it longer."""
    index = choose.randrange(len(request.raw_input_contents))
    content = request.raw_input_contents[index]
    request.raw_input_contents[index] = choose.choice(
        [b"", content[:-1], content[1:], content + b"x", content * 2, content[:3], bytes(2**20)]
    )


def wrong_length(request: Request, choose: random.Random) -> None:
    """Say another length of a string than it has."""
    index = choose.randrange(len(request.raw_input_contents))
    length = choose.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4, 5000])
    request.raw_input_contents[index] = length.to_bytes(4, "little") + request.raw_input_contents[index][4:]


def missing_input(request: Request, choose: random.Random) -> None:
    """Leave out an input, its content or both."""
    index = choose.randrange(len(request.inputs))
    kind = choose.randrange(4)
    if kind in (0, 1):
        del request.inputs[index]
    if kind in (0, 2):
        del request.raw_input_contents[index]
    if kind == 3:
        del request.inputs[:]
        del request.raw_input_contents[:]


def doubled_input(request: Request, choose: random.Random) -> None:
    """Give an input twice, with the same or another content."""
    index = choose.randrange(len(request.inputs))
    for _ in range(choose.choice([1, 1, 5, 300])):
        request.inputs.append(request.inputs[index])
        request.raw_input_contents.append(choose.choice(request.raw_input_contents))


def renamed_input(request: Request, choose: random.Random) -> None:
    """Give an input another name."""
    choose.choice(request.inputs).name = choose.choice(["", MARKER, "text", "input_ids", "x" * 5000, "te\0xt", "TEXT"])


def both_contents(request: Request, choose: random.Random) -> None:
    """Give typed contents beside raw ones."""
    contents = choose.choice(request.inputs).contents
    contents.int_contents.extend([1] * choose.choice([1, 64, 10_000]))
    contents.bytes_contents.append(MARKER.encode())
    if choose.random() < 0.5:
        del request.raw_input_contents[:]


def ids_out_of_range(request: Request, choose: random.Random) -> None:
    """Give numbers of tokens that there are none of."""
    number = choose.choice([-1, 2**31 - 1, -(2**31), 10**6, 60_000])
    index = choose.randrange(len(request.raw_input_contents))
    request.raw_input_contents[index] = number.to_bytes(4, "little", signed=True) * 64


def bad_utf8(request: Request, choose: random.Random) -> None:
    """Give a string that is no UTF-8."""
    index = choose.randrange(len(request.raw_input_contents))
    bad = choose.choice([b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"a\0b", b"\xe2\x82"])
    request.raw_input_contents[index] = _string(MARKER.encode() + bad * choose.choice([1, 1000]))


def long_string(request: Request, choose: random.Random) -> None:
    """Give a long string."""
    index = choose.randrange(len(request.raw_input_contents))
    request.raw_input_contents[index] = _string(choose.choice([b"x", b"\n", b"\xf0\x9f\x98\x80"]) * (2**20 + 1))


def huge_id(request: Request, choose: random.Random) -> None:
    """Give a long id."""
    request.id = MARKER * choose.choice([200, 10_000, 1_000_000])


def many_parameters(request: Request, choose: random.Random) -> None:
    """Add parameters that the server does not know."""
    for number in range(choose.choice([1, 50, 5000])):
        request.parameters[f"{MARKER}{number}"].string_param = MARKER
    name = choose.choice(
        ["sequence_id", "priority", "timeout", "sequence_start", "triton_enable_empty_final_response", "canary"]
    )
    parameter = request.parameters[name]
    if choose.random() < 0.5:
        parameter.int64_param = choose.choice([-1, 0, 1, 2**63 - 1])
    else:
        parameter.string_param = MARKER


def unknown_model(request: Request, choose: random.Random) -> None:
    """Ask for a model or version that there is none of."""
    if choose.random() < 0.3:
        request.model_version = choose.choice(["2", "-1", MARKER, "1" * 1000])
    else:
        request.model_name = choose.choice(["", MARKER, "../v0", "v0\0", "x" * 100_000, "v0/../v0", NOTES_STREAM])


def unknown_output(request: Request, choose: random.Random) -> None:
    """Ask for outputs that there are none of, or for one many times."""
    for _ in range(choose.choice([1, 2, 1000])):
        request.outputs.add(name=choose.choice([MARKER, "", *NOTE_OUTPUTS]))


def shared_memory(request: Request, choose: random.Random) -> None:
    """Refer to shared memory that does not exist."""
    parameters = choose.choice(request.inputs).parameters
    parameters["shared_memory_region"].string_param = choose.choice([MARKER, "", "../../etc/passwd"])
    parameters["shared_memory_byte_size"].int64_param = choose.choice([-1, 64, 2**62])
    parameters["shared_memory_offset"].int64_param = choose.choice([-1, 0, 2**62])


def other_models_inputs(request: Request, choose: random.Random) -> None:
    """Send the inputs of one model to another."""
    request.model_name = _GRAPH if request.model_name == NOTES else NOTES


def classification(request: Request, choose: random.Random) -> None:
    """Ask for the most likely classes: of a string the server divides by a size of 0, and ends."""
    names = NOTE_OUTPUTS if request.model_name == NOTES else ("name_v0_label",)
    request.outputs.add(name=choose.choice(names)).parameters["classification"].int64_param = choose.choice(
        [1, -1, 2**31]
    )


def overflowing_shape(request: Request, choose: random.Random) -> None:
    """Give a shape whose size is right where numbers are cut off at 64 bits; it ends the server."""
    for each in request.inputs:
        each.shape[:] = [2, 2**62 + 32] if request.model_name == _GRAPH else [2**62 + 1]


Change = Callable[[Any, random.Random], None]
#: Changes to a right request, and how often each is drawn. Those that end a server cost a restart each.
CHANGES: Final[dict[Change, float]] = {
    **dict.fromkeys(
        (
            wrong_shape, wrong_type, wrong_size, wrong_length, missing_input, doubled_input, renamed_input,
            both_contents, ids_out_of_range, bad_utf8, long_string, huge_id, many_parameters, unknown_model,
            unknown_output, shared_memory, other_models_inputs,
        ),
        1.0,
    ),
    classification: 0.1,
    overflowing_shape: 0.1,
}  # fmt: skip
