"""Test the service of the model ``deidentify``, made from the parameters in its configuration."""

import json
from pathlib import Path

import pytest

from deid_runtime.errors import SettingsError
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified
from deid_runtime.serving.graph_models import ServingOptions
from deid_runtime.serving.note_model import (
    GIVEN_DATE_SHIFTS_VARIABLE,
    KEYS_VARIABLE,
    TRUST_MODELS_VARIABLE,
    load_note_service,
)
from deid_runtime.serving.note_models import NoteOptions, note_models
from deid_runtime.serving.repository import write_repository
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.surrogates import load_key, write_key


def parameters_of(options: NoteOptions) -> dict[str, str]:
    deidentify, _ = note_models(options)
    return dict(deidentify.parameters)


def test_the_service_shifts_by_whole_weeks_where_its_configuration_says_so(tmp_path: Path) -> None:
    write_key(tmp_path / "site.key")
    service = load_note_service(
        parameters_of(NoteOptions(settings=Settings(date_shift_whole_weeks=True))),
        find_models(None),
        {KEYS_VARIABLE: str(tmp_path)},
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


SITE = {
    "profile": "fast",
    "recall": "high",
    "thresholds": {"name": 0.9},
    "safe_harbor": True,
    "hold_back_unreadable": False,
}
TEXT = "Seen on March 4, 2014 by Dr. Lindqvist, 02139.\nThe clinic of Wexley is open today.\nSigned by Okonkwo."


def test_the_service_has_all_settings_of_a_run_and_the_lists_of_the_site(tmp_path: Path) -> None:
    inclusion, templates, shifts = (tmp_path / name for name in ("inclusion.txt", "templates.txt", "shifts.csv"))
    inclusion.write_text("The clinic of Wexley is open today.\n")
    templates.write_text("Signed by {DOCTOR}.\n")
    shifts.write_text("patient,days\np1,10\n")
    (tmp_path / "keys").mkdir()
    write_key(tmp_path / "keys" / "site.key")
    key = load_key(tmp_path / "keys" / "site.key")
    cases = [
        Settings(**SITE, inclusion=inclusion, templates=templates),  # type: ignore[arg-type]
        Settings(dates="year"),
        Settings(operator="tag", recall="high"),
        Settings(given_date_shifts=shifts, date_shift_days=30),
    ]

    answers = []
    for number, settings in enumerate(cases):
        repository = tmp_path / f"repository{number}"
        write_repository(
            read_manifest(find_models(None)).only("fast"), repository, ServingOptions(), NoteOptions(settings=settings)
        )
        environment = {KEYS_VARIABLE: str(tmp_path / "keys"), TRUST_MODELS_VARIABLE: "1"}
        if settings.given_date_shifts:
            environment[GIVEN_DATE_SHIFTS_VARIABLE] = str(settings.given_date_shifts)
        config = parse_config(repository)
        service = load_note_service(config, repository, environment)
        answer = service.deidentify(TEXT.encode(), b"n1", b"p1", b"site")
        service.close()
        with load_pipeline(settings, key=key, records={}) as pipeline:
            [expected] = pipeline.deidentify([Note("n1", TEXT, "p1")])

        assert isinstance(expected, Deidentified)
        assert answer.text == expected.text
        assert [span["label"] for span in json.loads(answer.spans)] == [span.label for span in expected.spans]
        answers.append(answer.text)

    assert len(set(answers)) == len(cases)
    assert "2014" in answers[0]
    assert "The clinic of Wexley is open today." in answers[0]
    assert "Wexley" not in answers[2]
    assert "March 14, 2014" in answers[3]
    assert not (tmp_path / "repository3" / "deidentify" / "1" / "shifts.csv").exists()


def parse_config(repository: Path) -> dict[str, str]:
    """Return the parameters of the written configuration, as Triton reads them."""
    text_format = pytest.importorskip("google.protobuf.text_format")
    from tritonclient.grpc import model_config_pb2

    config = text_format.Parse((repository / "deidentify" / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    return {name: value.string_value for name, value in config.parameters.items()}


def test_a_missing_list_of_the_site_is_told(tmp_path: Path) -> None:
    parameters = parameters_of(NoteOptions()) | {"inclusion": "inclusion.txt"}

    with pytest.raises(SettingsError, match=r"inclusion list .*deidentify/inclusion.txt"):
        load_note_service(parameters, find_models(None), {})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"date_shift_whole_weeks": "yes"}, "expected 'true' or 'false'"),
        ({"date_shift_whole_weeks": "true", "operator": "tag"}, "dates are not shifted"),
        ({"date_shift_whole_weeks": "true", "date_shift_days": "6"}, "7 or more"),
        ({"date_shift_whole_weeks": "true", "safe_harbor": "true"}, "dates are not shifted"),
        ({"operator": "hide"}, "expected one of surrogate, tag, redact"),
    ],
)
def test_a_configuration_that_contradicts_itself_is_not_loaded(changed: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_note_service(parameters_of(NoteOptions()) | changed, find_models(None), {})
