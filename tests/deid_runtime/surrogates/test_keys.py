import stat

import pytest

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.surrogates import Surrogates, load_key, new_key, write_key


def test_a_written_key_loads_and_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "key"

    write_key(path)

    assert len(load_key(path)) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_existing_key_is_never_overwritten(tmp_path):
    path = tmp_path / "key"
    write_key(path)
    before = path.read_bytes()

    with pytest.raises(SettingsError, match="never overwritten"):
        write_key(path)

    assert path.read_bytes() == before


def test_a_key_that_cannot_be_written_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match="cannot write"):
        write_key(tmp_path / "nowhere" / "key")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "holds 0 characters", id="empty"),
        pytest.param(b"ab" * 31, "holds 62 characters", id="too-short"),
        pytest.param(b"ab" * 4000, "at least", id="too-long"),
        pytest.param(b"zz" * 32, "something else than hexadecimal", id="not-hexadecimal"),
        pytest.param(b"\xff\xfe" * 32, "something else than hexadecimal", id="not-text"),
    ],
)
def test_a_wrong_key_file_is_told_apart(tmp_path, content, message):
    path = tmp_path / "key"
    path.write_bytes(content)

    with pytest.raises(SettingsError, match=message) as error:
        load_key(path)

    assert "abab" not in str(error.value)


def test_a_missing_key_file_says_how_to_make_one(tmp_path):
    with pytest.raises(SettingsError, match="deid key new"):
        load_key(tmp_path / "none")


def test_a_folder_is_no_key_file(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        load_key(tmp_path)


def test_a_key_others_can_read_is_warned_of(tmp_path, caplog):
    path = tmp_path / "key"
    write_key(path)
    path.chmod(0o644)

    load_key(path)

    assert "chmod 600" in caplog.text


def test_the_key_is_in_no_repr():
    key = new_key()

    shown = repr(Surrogates(key))

    assert key.hex() not in shown
    assert repr(key) not in shown


@pytest.mark.parametrize(
    "wrong", [{"key": b"short"}, {"key": b"k" * 32, "operator": "hide"}, {"key": b"k" * 32, "date_shift_days": 0}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(SettingsError):
        Surrogates(**wrong)
