"""Test that settings reach a served model completely, and are checked there."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.settings import Settings, from_parameters, to_parameters

OTHER: dict[str, Any] = {
    "engine": "onnxruntime", "precision": "bfloat16", "profile": "full", "recall": "high", "engine_threads": 3,
    "batch_windows": 5, "thresholds": {"name": 0.25}, "operator": "redact", "date_shift_days": 30,
    "date_shift_whole_weeks": True, "dates": "year", "safe_harbor": True, "hold_back_unreadable": False,
    "window_borders": "blocks", "window_cache_bytes": 7,
}  # fmt: skip
LOCAL = {"models", "models_key", "trust_models", "use_models", "server", "given_date_shifts", "inclusion", "templates"}


def test_every_field_travels_or_is_of_the_machine() -> None:
    assert {each.name for each in fields(Settings)} == OTHER.keys() | LOCAL
    assert not [name for name, value in OTHER.items() if getattr(Settings(), name) == value]


def test_settings_come_back_as_they_were() -> None:
    settings = Settings(**OTHER)

    assert from_parameters(to_parameters(settings)) == settings
    assert from_parameters(to_parameters(Settings())) == Settings()


def test_what_an_earlier_version_did_not_write_has_its_default_and_files_are_given_here() -> None:
    settings = from_parameters({"operator": "tag", "max_note_bytes": "5"}, given_date_shifts=Path("table.csv"))

    assert settings == Settings(operator="tag", given_date_shifts=Path("table.csv"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("operator", "hide", "expected one of surrogate, tag, redact"),
        ("safe_harbor", "yes", "expected 'true' or 'false'"),
        ("safe_harbor", "1", "expected 'true' or 'false'"),
        ("date_shift_days", "7.5", "expected a whole number"),
        ("date_shift_days", "true", "expected a whole number"),
        ("thresholds", "[1]", "expected a JSON object"),
        ("thresholds", '{"name": "x"}', "expected a JSON object"),
    ],
)
def test_a_wrong_parameter_is_named(name: str, text: str, expected: str) -> None:
    with pytest.raises(SettingsError, match=f"the parameter {name} of the model is .*{expected}"):
        from_parameters(to_parameters(Settings()) | {name: text})
