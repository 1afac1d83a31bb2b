import stat

import pytest

from deid_runtime.errors import OutputError, SettingsError
from deid_runtime.surrogates import Surrogates, load_key, new_key, write_key


def write_secret(path, content):
    path.touch(mode=0o600)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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
        pytest.param(b"", "has 0 characters", id="empty"),
        pytest.param(b"ab" * 31, "has 62 characters", id="too-short"),
        pytest.param(b"ab" * 4000, "at least", id="too-long"),
        pytest.param(b"zz" * 32, "characters other than hexadecimal", id="not-hexadecimal"),
        pytest.param(b"\xff\xfe" * 32, "characters other than hexadecimal", id="not-text"),
    ],
)
def test_a_wrong_key_file_is_told_apart(tmp_path, content, message):
    path = write_secret(tmp_path / "key", content)

    with pytest.raises(SettingsError, match=message) as error:
        load_key(path)

    assert "abab" not in str(error.value)


def test_a_missing_key_file_says_how_to_make_one(tmp_path):
    with pytest.raises(SettingsError, match="deid key new"):
        load_key(tmp_path / "none")


def test_a_folder_is_no_key_file(tmp_path):
    with pytest.raises(SettingsError, match="cannot read"):
        load_key(tmp_path)


@pytest.mark.parametrize("digits", ["00" * 32, "ab" * 32, "0123456789abcdef" * 4, bytes(range(32)).hex()])
def test_a_key_that_is_not_random_is_refused(tmp_path, digits):
    path = write_secret(tmp_path / "key", digits)

    with pytest.raises(SettingsError, match="not random.*deid key new") as error:
        load_key(path)

    assert digits not in str(error.value)


def test_a_key_others_can_read_is_refused_unless_allowed(tmp_path):
    path = tmp_path / "key"
    write_key(path)
    path.chmod(0o644)

    with pytest.raises(SettingsError, match="chmod 600"):
        load_key(path)
    assert len(load_key(path, allow_shared=True)) == 32


def test_behind_a_symbolic_link_the_target_is_checked(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "key")
    write_key(tmp_path / "key")

    assert load_key(link) == load_key(tmp_path / "key")

    (tmp_path / "key").chmod(0o640)
    with pytest.raises(SettingsError, match="chmod 600"):
        load_key(link)


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
