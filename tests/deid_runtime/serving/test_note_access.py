"""Test tokens that the models for whole notes check; ``gateway/test_mutual_tls.py`` does it on the real server."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from deid_runtime.access.tokens import new_token
from deid_runtime.cli.main import main
from deid_runtime.errors import InputError
from deid_runtime.serving.note_access import NoteAccess
from deid_runtime.serving.server_options import ServerOptions, arguments

TOKEN = new_token()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "access.toml"
    path.touch(mode=0o600)
    path.write_text(
        f'[projects.a]\nkeys = ["study"]\ndetect = false\n[[projects.a.tokens]]\nid = "{TOKEN.id}"\n'
        f'sha256 = "{TOKEN.sha256}"\n'
    )
    return path


def test_without_a_file_every_client_may_use_every_key() -> None:
    NoteAccess(None).check_key({}, b"any")
    NoteAccess(None).check_detect({})


def test_a_token_opens_the_keys_of_its_project_alone(file: Path) -> None:
    access = NoteAccess(file)
    header = {"authorization": f"Bearer {TOKEN.text}"}

    access.check_key(header, b"study")
    messages = set()
    for name in (b"other", b"../study", b"", b"\xff", b"study\0"):
        with pytest.raises(InputError) as error:
            access.check_key(header, name)
        messages.add((str(error.value), error.value.stage))
    assert len(messages) == 1
    with pytest.raises(InputError, match="without a key"):
        access.check_detect(header)


@pytest.mark.parametrize("value", [None, "", "Bearer x", "bare", "Bearer unknown", 7, True, ["Bearer"]])
def test_no_other_value_opens_anything(file: Path, value: object) -> None:
    given = {"bare": TOKEN.text, "Bearer unknown": f"Bearer {new_token().text}"}  # drawn here: ids of tests are fixed
    if isinstance(value, str):
        value = given.get(value, value)
    for parameters in ({"authorization": value}, {}):
        with pytest.raises(InputError, match="requires a token"):
            NoteAccess(file).check_key(parameters, b"study")


def test_triton_passes_the_header_on_only_when_tokens_are_asked_for(tmp_path: Path) -> None:
    def given(options: ServerOptions) -> list[str]:
        return [each for each in arguments(options, tmp_path, "x") if "forward" in each]

    assert given(ServerOptions(repository=tmp_path)) == []
    assert given(ServerOptions(repository=tmp_path, has_tokens=True)) == [
        "--grpc-header-forward-pattern=(?i)^authorization$",
        "--http-header-forward-pattern=(?i)^authorization$",
    ]


def test_a_wrong_access_file_ends_the_server_before_it_starts(file: Path) -> None:
    file.chmod(0o640)

    result = CliRunner().invoke(main, ["serve", "--access", str(file)])

    assert result.exit_code == 2
    assert "chmod 600" in result.stderr
