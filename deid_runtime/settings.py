"""All settings of a pipeline, in one frozen record. Only the command line reads environment variables."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args, get_type_hints

from deid_runtime.errors import SettingsError
from deid_runtime.spans import LoadedTagger

Operator = Literal["surrogate", "tag", "redact"]
Dates = Literal["shift", "year"]
Engine = Literal["auto", "openvino", "onnxruntime"]
Precision = Literal["float32", "bfloat16"]
Profile = Literal["fast", "full"]
Recall = Literal["balanced", "high"]
WindowBorders = Literal["packed", "blocks"]


class Server(Protocol):
    """A server that runs the models, such as :class:`deid_client.server.TritonServer`.

    It must be picklable, because worker processes receive it.
    """

    @property
    def connect_seconds(self) -> float:
        """Return how many seconds :meth:`connect` waits for the server before it raises ModelError."""

    def longest_s(self, notes: int, chars: int) -> float:
        """Return the most seconds that a tagger waits for the answers on ``notes`` notes of ``chars`` characters.

        After that time, the tagger gives up all of these notes.
        """

    def connect(self, settings: "Settings") -> AbstractContextManager[LoadedTagger]:
        """Return a tagger that sends requests to the server.

        Raises ModelError when the server cannot be used or its models do not fit.
        """


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How notes are searched and rewritten. The defaults use the models, lists and templates of the package."""

    models: Path | None = None  # folder with manifest.json; None: the models installed with the package
    models_key: Path | None = None  # public key (PEM) that verifies the signature of ``models``, see trust.py
    trust_models: bool = False  # accept unverified ``models``; an attacker can make such models find nothing
    use_models: bool = True  # False: only patterns, lists and records; fast, but not safe on its own
    server: Server | None = None  # server that runs the models; None: an engine in this process
    engine: Engine = "auto"  # auto: the faster engine for this processor (engines.fastest_engine)
    # Precision of the operations that do not run in int8. Every processor supports float32. bfloat16 is faster on
    # processors that support it (AMX, AVX-512 BF16), but scores differ slightly, so some output bytes differ.
    precision: Precision = "float32"
    profile: Profile = "fast"  # fast: one head per entity
    recall: Recall = "balanced"  # high: lower thresholds, so more identifiers and more false positives
    engine_threads: int = 1  # one engine with one thread per worker is faster than one engine with many threads
    # Model windows per engine call. It never changes an answer. More windows take more CPU cache and more padding.
    batch_windows: int = 8
    # Where the windows of the models end. packed: when full. blocks: also at blank lines, so that copied blocks have
    # the same windows in every note and come from the cache. It changes scores, so some output bytes differ.
    window_borders: WindowBorders = "packed"
    window_cache_bytes: int = (
        64 * 2**20
    )  # memory for answers to windows that occur again; 0: none. It never changes an answer
    thresholds: Mapping[str, float] = field(
        default_factory=dict
    )  # head -> lowest accepted 1 - P(O); empty: those of the model manifest
    inclusion: Path | None = None  # list of known-clean sentences; None: the packaged one
    templates: Path | None = None  # harvested templates; None: the packaged ones
    operator: Operator = "surrogate"
    date_shift_days: int = 365  # dates move by -n..n days, never 0
    date_shift_whole_weeks: bool = False  # dates move by whole weeks: weekdays stay and reveal nothing about the shift
    given_date_shifts: Path | None = None  # table, in days by patient; None: date shifts are derived from the key
    dates: Dates = "shift"  # year: keep only the years of dates
    safe_harbor: bool = False  # rules of surrogates/safe_harbor.py: years, ZIP to three digits, states kept
    hold_back_unreadable: bool = True  # False: accept notes whose form hides identifiers (legibility.py); not safe


#: Fields that are valid only on one machine, and files. They are not sent with the other fields.
_LOCAL: Final = frozenset(
    {"models", "models_key", "trust_models", "use_models", "server", "given_date_shifts", "inclusion", "templates"}
)


def to_parameters(settings: Settings) -> dict[str, str]:
    """Return the settings that do not depend on the machine as strings, for the configuration of a served model.

    Strings stay unchanged; other values become JSON. Models, server and files are omitted.
    """
    values = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name not in _LOCAL}
    return {name: value if isinstance(value, str) else json.dumps(_plain(value)) for name, value in values.items()}


def from_parameters(parameters: Mapping[str, str], **local: Any) -> Settings:
    """Return the settings that :func:`to_parameters` wrote; ``local`` are the settings of this machine.

    A missing parameter gets its default, because an earlier version may not have written it. Raises SettingsError,
    which names the parameter, for a value of a wrong type.
    """
    hints = get_type_hints(Settings)
    found = {
        each.name: _parsed(each.name, parameters[each.name], hints[each.name])
        for each in fields(Settings)
        if each.name not in _LOCAL and each.name in parameters
    }
    return Settings(**found, **local)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _parsed(name: str, text: str, kind: Any) -> Any:
    """Return the value of one parameter, checked against the type of its field. Raises SettingsError."""
    choices = get_args(kind)
    if choices and all(isinstance(choice, str) for choice in choices):
        if text not in choices:
            raise SettingsError(f"the parameter {name} of the model is {text!r}; expected one of {', '.join(choices)}")
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if kind is bool:
        is_right, expected = isinstance(value, bool), "'true' or 'false'"
    elif kind is int:
        is_right, expected = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    else:
        is_right, expected = _is_thresholds(value), "a JSON object of heads and numbers"
    if not is_right:
        raise SettingsError(f"the parameter {name} of the model is {text!r:.80}; expected {expected}")
    return value


def _is_thresholds(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in value.values()
    )
