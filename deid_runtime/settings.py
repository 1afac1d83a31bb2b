"""All that can be set about a pipeline, in one frozen record. Only the command line reads the environment."""

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


class Server(Protocol):
    """A server that runs the models: :class:`deid_client.server.TritonServer`. Picklable, for workers."""

    @property
    def connect_seconds(self) -> float:
        """Return how long :meth:`connect` waits for the server before it raises ModelError."""

    def longest_s(self, notes: int, chars: int) -> float:
        """Return how long a tagger may wait for answers on ``notes`` of ``chars`` characters before it gives all up."""

    def connect(self, settings: "Settings") -> AbstractContextManager[LoadedTagger]:
        """Return a tagger that asks the server. Raises ModelError when the server or its models will not do."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How notes are searched and rewritten. The defaults de-identify with everything that ships with the package."""

    models: Path | None = None  # folder with manifest.json; None: the models installed with the package
    models_key: Path | None = None  # public key (PEM) that ``models`` are signed with, see trust.py
    trust_models: bool = False  # take ``models`` from anywhere; they can be made to find nothing
    use_models: bool = True  # False leaves patterns, lists and records alone: fast, and not safe on its own
    server: Server | None = None  # who runs the models; None: an engine in this process
    engine: Engine = "auto"  # auto: the faster, by processor (engines.fastest_engine)
    # Of what models do not compute in int8. Every processor has float32. bfloat16 is faster where there are units for
    # it (AMX, AVX-512 BF16) and gives other scores, so other bytes here and there.
    precision: Precision = "float32"
    profile: Profile = "fast"  # fast: one head per entity
    recall: Recall = "balanced"  # high: lower thresholds; more is found, and more that is none
    engine_threads: int = 1  # one engine with one thread per worker beats one engine with many threads
    batch_windows: int = 8  # model windows per engine call; never changes an answer. More fill caches and pad more rows
    thresholds: Mapping[str, float] = field(
        default_factory=dict
    )  # head -> least 1 - P(O); empty: those of the manifest
    inclusion: Path | None = None  # list of known-clean sentences; None: the packaged one
    templates: Path | None = None  # harvested templates; None: the packaged ones
    operator: Operator = "surrogate"
    date_shift_days: int = 365  # dates move by -n..n days, never 0
    date_shift_whole_weeks: bool = False  # dates move by whole weeks: weekdays stay, and tell nothing of the offset
    offsets: Path | None = None  # table of days by patient, in place of offsets that follow from the key
    dates: Dates = "shift"  # year: only the years of dates stay
    safe_harbor: bool = False  # as surrogates/safe_harbor.py says: years, ZIP to three digits, states kept
    hold_back_unreadable: bool = True  # False serves notes in forms that hide identifiers (legibility.py): not safe


#: Fields that hold for one machine and one process, and files: they do not travel with the others.
_LOCAL: Final = frozenset(
    {"models", "models_key", "trust_models", "use_models", "server", "offsets", "inclusion", "templates"}
)


def to_parameters(settings: Settings) -> dict[str, str]:
    """Return the settings that do not depend on the machine as texts, for the configuration of a served model.

    Strings stand as they are, all else as JSON. Models, server and files are left out.
    """
    values = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name not in _LOCAL}
    return {name: value if isinstance(value, str) else json.dumps(_plain(value)) for name, value in values.items()}


def from_parameters(parameters: Mapping[str, str], **local: Any) -> Settings:
    """Return the settings that :func:`to_parameters` wrote; ``local`` are those of this machine.

    One that is missing, as in what an earlier version wrote, has its default. Raises SettingsError, which names the
    parameter, for a value of a wrong type.
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
    """Return the value of one parameter, checked against the type of its field."""
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
