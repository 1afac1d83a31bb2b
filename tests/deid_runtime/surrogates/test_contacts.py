import ipaddress
import re

import pytest

from tests.deid_runtime.surrogates.marked import surrogates_of

RESERVED = r"(?:[a-z0-9]+\.)*(?:example|example\.(?:com|org|net|edu))"


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("jdoe42@hillsidemail.com", rf"[a-z]+\d\d@{RESERVED}"),
        ("Intake@lakehealth.org", r"Intake@[a-z]+\.example"),
        ("a.b (at) mail.lakehealth.org", r"[a-z]\.[a-z] \(at\) mail\.[a-z]+\.example"),
        ("jroe@chem.lakestate.edu", r"[a-z]+@[a-z]+\.example\.edu"),
        ("jroe@lake-health2.co.uk", r"[a-z]+@[a-z]+-[a-z]+\d\.co\.example"),
        ("teddy 90 @ inboxly.net", r"[a-z]+ \d\d @ [a-z]+\.example"),
    ],
)
def test_mail_addresses_go_to_reserved_domains(value, pattern):
    [made] = surrogates_of(f"<EMAIL>{value}</EMAIL>")

    assert re.fullmatch(pattern, made)


def test_mail_and_log_in_names_follow_the_names_in_them():
    name, mail, short, user = surrogates_of(
        "<PATIENT>Delia Ostrander</PATIENT> <EMAIL>delia.ostrander@mailer.com</EMAIL> "
        "<EMAIL>dostrander@mailer.com</EMAIL> <USERNAME>dostrander7</USERNAME>"
    )
    given, family = name.lower().split()

    assert mail.startswith(f"{given}.{family}@")
    assert short.startswith(f"{given[0]}{family}@")
    assert mail.split("@")[1] == short.split("@")[1]
    assert re.fullmatch(rf"{given[0]}{family}\d", user)


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("https://mychart.lakehealth.org/labs?id=22418", r"https://mychart\.[a-z]+\.example/labs\?id=[1-9]\d{4}"),
        ("www.ridgepeds.com", r"www\.[a-z]+\.example"),
        ("ridgepeds.co.uk/privacy", r"[a-z]+\.co\.example/privacy"),
    ],
)
def test_web_addresses_keep_their_form(value, pattern):
    [made] = surrogates_of(f"<URL>{value}</URL>")

    assert re.fullmatch(pattern, made)


@pytest.mark.parametrize("value", ["10.8.0.17", "172.16.40.9", "192.168.1.5", "66.223.178.41", "2001:db8:44:17::9a"])
def test_addresses_stay_private_or_become_reserved(value):
    [made] = surrogates_of(f"<IPADDR>{value}</IPADDR>")

    assert ipaddress.ip_address(made).is_private
    assert made != value


def test_log_in_names_keep_their_shape():
    made = surrogates_of("<USERNAME>kbw12</USERNAME> <USERNAME>HT-27</USERNAME> <USERNAME>LTSO01</USERNAME>")

    assert [re.sub(r"\d", "9", re.sub("[A-Z]", "A", re.sub("[a-z]", "a", value))) for value in made] == [
        "aaa99",
        "AA-99",
        "AAAA99",
    ]


def test_a_short_mailbox_word_beside_another_word_may_be_a_name():
    named, shared = surrogates_of("<EMAIL>ed.halvorsen@mailhost.net</EMAIL> <EMAIL>ed.nurse@mailhost.net</EMAIL>")

    assert not named.startswith("ed.")
    assert shared.startswith("ed.nurse@")


@pytest.mark.parametrize(
    ("value", "behind"),
    [
        ("192.168.1.5/24", "/24"),
        ("10.1.2.3:8080", ":8080"),
        ("2001:db8::1", ""),
        ("::1", ""),
        ("fe80::1%eth0", "%eth0"),
    ],
)
def test_addresses_of_the_net_depend_on_the_key_and_stay_addresses(value, behind):
    made = {surrogates_of(f"<IPADDR>{value}</IPADDR>", patient=f"p{n}")[0] for n in range(5)}

    assert len(made) == 5
    for each in made:
        assert each.endswith(behind)
        ipaddress.ip_address(each.removesuffix(behind))


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("<URL>facebook.com/elliot.page</URL>", r"[a-z]+\.example/[a-z]+\.(?!page)[a-z]+"),
        ("<PATIENT>Ruth Page</PATIENT> <URL>lakehealth.org/page/7</URL>", r"[a-z]+\.example/(?!page)[a-z]+/\d"),
        ("<URL>lakehealth.org/page/7</URL>", r"[a-z]+\.example/page/\d"),
        ("<URL>lakehealth.org/lab/report-71.pdf</URL>", r"[a-z]+\.example/lab/[a-z]+-\d\d\.pdf"),
    ],
)
def test_a_path_word_that_names_a_person_is_replaced(text, pattern):
    assert re.fullmatch(pattern, surrogates_of(text)[-1])
