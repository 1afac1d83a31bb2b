"""The service behind the model ``deidentify``, made from the parameters that its configuration holds."""

from pathlib import Path

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.models.manifest import find_models
from deid_runtime.serving.note_model import KEYS_VARIABLE, load_note_service
from deid_runtime.serving.note_models import NoteOptions, note_models
from deid_runtime.surrogates import write_key


def parameters_of(options: NoteOptions) -> dict[str, str]:
    deidentify, _ = note_models(options)
    return dict(deidentify.parameters)


def test_the_service_shifts_by_whole_weeks_where_its_configuration_says_so(tmp_path: Path) -> None:
    write_key(tmp_path / "site.key")
    service = load_note_service(
        parameters_of(NoteOptions(date_shift_whole_weeks=True)), find_models(None), {KEYS_VARIABLE: str(tmp_path)}
    )

    answer = service.deidentify(b"Seen on Tuesday, March 4, 2014.", b"n1", b"p1", b"site")
    service.close()

    assert answer.text.startswith("Seen on Tuesday, ")
    assert "March 4, 2014" not in answer.text


def test_a_configuration_of_an_earlier_version_shifts_by_days(tmp_path: Path) -> None:
    write_key(tmp_path / "site.key")
    parameters = parameters_of(NoteOptions())
    del parameters["date_shift_whole_weeks"]
    service = load_note_service(parameters, find_models(None), {KEYS_VARIABLE: str(tmp_path)})

    answer = service.deidentify(b"Seen on Tuesday, March 4, 2014.", b"n1", b"p1", b"site")
    service.close()

    assert "Tuesday" not in answer.text


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"date_shift_whole_weeks": "yes"}, "expected 'true' or 'false'"),
        ({"date_shift_whole_weeks": "true", "operator": "tag"}, "dates are not shifted"),
        ({"date_shift_whole_weeks": "true", "date_shift_days": "6"}, "7 or more"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_not_loaded(changed: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_note_service(parameters_of(NoteOptions()) | changed, find_models(None), {})
