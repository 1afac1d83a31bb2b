"""The known window: the input of a probe. Every model must answer a probe before its endpoint is used.

A server with a stopped model process still reports that it is ready, and still returns its configuration. Only an
inference shows that its models run.
"""

from collections.abc import Mapping
from typing import Final

from deid_client.tensors import Array
from deid_runtime.models.batching import pad
from deid_runtime.models.manifest import INPUTS, Manifest
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import make_windows

#: The prefix of the ids of probe requests; the rest is random. It lets operators tell probes from notes.
PROBE_ID: Final = "probe-"
_TEXT: Final = "BP 120/80, no fever."


def known_window(manifest: Manifest) -> dict[str, Array]:
    """Return the inputs of a probe by name, int32 ``(1, tokens)``, made from an invented line without identifiers."""
    encoder = manifest.word_encoder()
    windows = list(make_windows(_TEXT, split_sentences(_TEXT), encoder))
    named: Mapping[str, Array] = dict(zip(INPUTS, pad(windows, encoder.pad), strict=True))
    return dict(named)
