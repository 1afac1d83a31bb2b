"""Test the settings of the connection: endpoints, headers, and what must not be shown or sent."""

import pickle

import pytest

from deid_client.server import TritonServer
from deid_client.settings import Tls
from deid_runtime.errors import SettingsError
from tests.client.conftest import NAME

SECRET = "Bearer 9f2c-not-to-be-seen"


@pytest.mark.parametrize(
    ("given", "endpoint"),
    [
        ("127.0.0.1:9001", "127.0.0.1:9001"),
        ("triton", "triton:8001"),
        (" triton.lab:8001 ", "triton.lab:8001"),
        ("[::1]", "[::1]:8001"),
        ("[::1]:9001", "[::1]:9001"),
    ],
)
def test_endpoints(given, endpoint):
    assert TritonServer(endpoints=(given,), tls=Tls()).endpoints == (endpoint,)


@pytest.mark.parametrize(
    "given",
    [(), ("",), (":8001",), ("host:",), ("host:0",), ("host:70000",), ("host:x",), ("::1",), ("host", "host:8001")],
)
def test_wrong_endpoints(given):
    with pytest.raises(SettingsError, match="endpoint"):
        TritonServer(endpoints=given, tls=Tls())


@pytest.mark.parametrize("name", ["request_tokens", "requests_in_flight", "call_seconds", "batch_seconds"])
def test_numbers_must_be_positive(name):
    with pytest.raises(SettingsError, match=name):
        TritonServer(endpoints=("localhost",), **{name: 0})


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.1:9", "[::1]:8001"])
def test_nothing_is_encrypted_on_the_way_to_this_machine(name):
    settings = TritonServer(endpoints=(name,), authorization=SECRET)

    assert settings.metadata() == (("authorization", SECRET),)


@pytest.mark.parametrize(
    "name",
    [
        "triton", "10.0.0.5", "0.0.0.0", "[::2]:8001", "[::ffff:10.0.0.5]:8001", "localhost.quist.org",
        "127.quist.org", "localhosts", "127.1", "2130706433", "ip6-localhost",
    ],
)  # fmt: skip
def test_another_machine_is_asked_over_tls_alone(name):
    with pytest.raises(SettingsError, match=r"unencrypted.*--tls-ca.*tunnel") as raised:
        TritonServer(endpoints=("localhost:9001", name))

    [endpoint] = TritonServer(endpoints=(name,), tls=Tls()).endpoints
    assert f" {endpoint} " in str(raised.value)
    assert "9001" not in str(raised.value)


def test_a_name_that_resolves_to_this_machine_is_another(known):
    with pytest.raises(SettingsError, match=NAME):
        TritonServer(endpoints=(NAME,))


def test_secrets_are_not_shown_and_go_to_workers():
    settings = TritonServer(endpoints=("localhost",), authorization=SECRET)

    assert SECRET not in repr(settings) + str(settings.describe())
    assert pickle.loads(pickle.dumps(settings)).metadata() == settings.metadata()


def test_the_header_can_stand_in_a_file(tmp_path):
    file = tmp_path / "token"
    settings = TritonServer(endpoints=("localhost",), authorization_file=file)
    with pytest.raises(SettingsError, match="token"):
        settings.metadata()
    file.touch(mode=0o600)
    file.write_text(f"{SECRET}\n")
    assert settings.metadata() == (("authorization", SECRET),)
    file.write_text("two\nlines")
    with pytest.raises(SettingsError, match="one line"):
        settings.metadata()


def test_a_file_that_others_can_read_holds_no_header_unless_allowed(tmp_path):
    file = tmp_path / "token"
    file.write_text(SECRET)
    file.chmod(0o644)

    with pytest.raises(SettingsError, match="chmod 600") as error:
        TritonServer(endpoints=("localhost",), authorization_file=file).metadata()
    allowed = TritonServer(endpoints=("localhost",), authorization_file=file, allow_shared_secrets=True)

    assert SECRET not in str(error.value)
    assert allowed.metadata() == (("authorization", SECRET),)


def test_mutual_tls_needs_both_files(tmp_path):
    with pytest.raises(SettingsError, match="missing"):
        Tls(certificate=tmp_path / "client.pem")


def test_the_longest_time_is_above_the_deadlines_of_all_requests():
    settings = TritonServer(endpoints=("127.0.0.1",), batch_seconds=60.0, request_tokens=1024)

    assert settings.longest_s(1, 0) > 60.0
    assert settings.longest_s(32, 100_000) > 32 * 60.0 + 100_000 / 1024 * 60.0
    longer = TritonServer(endpoints=("127.0.0.1",), batch_seconds=60.0, request_tokens=4096 * 4)
    assert longer.longest_s(1, 0) > 4 * 60.0
