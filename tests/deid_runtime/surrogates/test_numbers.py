import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.lexicon.clinical_initials import clinical_initials
from deid_runtime.surrogates.check_digits import (
    dea_digit,
    luhn_digit,
    medicare_digit,
    nhi_digit,
    nhs_digit,
    npi_digit,
    vin_digit,
)
from deid_runtime.surrogates.forms import holds_text
from deid_runtime.surrogates.gazetteer import places
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.numbers import permuted
from deid_runtime.surrogates.patient import make_patient
from tests.deid_runtime.surrogates.marked import KEY, surrogates_of


def shape(value: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", value)))


@pytest.mark.parametrize(
    "value",
    ["WB 44-17-92", "E1180047723", "0078-2231", "S19/04417-B", "fp-0022-r1", "1", "A", "7PX 1150", "{2961-AF02}"],
)
@pytest.mark.parametrize("label", ["MEDICALRECORD", "IDNUM", "ACCOUNT", "DEVICE", "VEHICLE", "LICENSE", "BIOID"])
def test_codes_keep_their_shape(value, label):
    [made] = surrogates_of(f"no. <{label}>{value}</{label}>")

    assert shape(made) == shape(value)
    assert made != value
    assert re.match(r"\D*(0*)", made)[1] == re.match(r"\D*(0*)", value)[1]


@pytest.mark.parametrize("value", ["00:0C:DE:41:77:18", "00-1b-44-11-3a-b7", "001b.4411.3ab7"])
def test_a_mac_address_goes_to_one_that_no_maker_gives_out(value):
    made, again = surrogates_of(f"<DEVICE>{value}</DEVICE> or <IPADDR>{value.upper()}</IPADDR>")

    digits = "0123456789abcdef" if value == value.lower() else "0123456789ABCDEF"
    assert re.fullmatch(re.sub("[0-9A-Fa-f]", f"[{digits}]", re.escape(value).replace("\\", "")), made)
    assert int(made[:2], 16) & 0b11 == 0b10
    assert made != value
    assert again.upper() == made.upper()


def test_a_number_is_the_same_under_every_label_and_spelling():
    made = surrogates_of(
        "MRN <MEDICALRECORD>4182-207-713</MEDICALRECORD>, <IDNUM>4182207713</IDNUM>, <ACCOUNT>4182 207713</ACCOUNT>"
    )

    assert len({re.sub(r"\D", "", value) for value in made}) == 1


@pytest.mark.parametrize(
    ("label", "value", "is_valid"),
    [
        ("LICENSE", "1234567893", lambda v: v[0] in "12" and npi_digit(v[:-1]) == v[-1]),
        ("LICENSE", "AB1234563", lambda v: dea_digit(v[2:-1]) == v[-1]),
        ("MEDICALRECORD", "943 476 5919", lambda v: nhs_digit(v.replace(" ", "")[:-1]) == v[-1]),
        ("ACCOUNT", "4111-1111-1111-1111", lambda v: luhn_digit(v.replace("-", "")[:-1]) == v[-1]),
        ("VEHICLE", "1M8GDM9AXKP042788", lambda v: vin_digit(v) == v[8]),
    ],
)
def test_check_digits_hold_where_they_held(label, value, is_valid):
    assert is_valid(value)
    for patient in range(12):
        [made] = surrogates_of(f"<{label}>{value}</{label}>", patient=f"p{patient}")
        assert is_valid(made)
        assert made != value


@pytest.mark.parametrize(
    "value",
    ["507 555 0139", "(304) 555-0133", "410.555.0103", "1-800-555-0122", "+1 617 555 0188", "617/555-0100 x5512"],
)
def test_phones_keep_their_format_and_look_dialable(value):
    for patient in range(12):
        [made] = surrogates_of(f"call <PHONE>{value}</PHONE>", patient=f"p{patient}")
        digits = re.sub(r"\D", "", made)
        national = digits[1:] if digits[0] == "1" and len(digits) == 11 else digits
        assert shape(made) == shape(value)
        assert national[:3] in places().state_of_area_code or national[0] == "8"
        assert national[3] not in "01"
        assert national[4:6] != "11"


def test_part_of_a_phone_follows_the_whole():
    whole, seven, four = surrogates_of(
        "<PHONE>507-555-0139</PHONE>, later <PHONE>555-0139</PHONE>, or ends <SSN>0139</SSN>"
    )

    assert whole.endswith(seven)
    assert len(four) == 4


def test_phones_spoken_and_abroad():
    spoken, abroad, mobile = surrogates_of(
        "<PHONE>five four one five five oh nine two six</PHONE> "
        "<PHONE>+44 29 5550 0164</PHONE> <PHONE>07700 900417</PHONE>"
    )

    assert len(spoken.split()) == 9
    assert not any(
        new == old for new, old in zip(spoken.split(), "five four one five five oh nine two six".split(), strict=True)
    )
    assert re.fullmatch(r"\+44 \d\d \d{4} \d{4}", abroad)
    assert re.fullmatch(r"07\d{3} \d{6}", mobile)


def test_a_phone_in_tens_and_teens_keeps_none_of_its_words():
    original = "seven seven three, one fifty five, sixty seventeen"

    [made] = surrogates_of(f"<PHONE>{original}</PHONE>")

    assert not set(zip(original.split(), made.split(), strict=True)) & {(word, word) for word in original.split()}
    assert made.split()[6].endswith("ty")
    assert made.split()[7].endswith(("een", "en", "lve"))


def test_a_phone_partly_in_words_keeps_its_words_words():
    [made] = surrogates_of("<PHONE>541 one five five oh nine two six</PHONE>")
    figures, *words = made.split()

    assert re.fullmatch(r"[1-9]\d\d", figures)
    assert figures != "541"
    assert set(words) <= set("oh one two three four five six seven eight nine".split())


def test_social_security_numbers_were_never_issued_and_their_last_four_follow():
    whole, last = surrogates_of("SSN <SSN>489-22-4810</SSN>, last four <SSN>4810</SSN>")

    assert re.fullmatch(r"9\d\d-[0-4]\d-\d{4}", whole)
    assert whole.endswith(last)


@pytest.mark.parametrize("pattern", ["{:03}", "{}", "A{}", "{}X", "7{:03}00182"])
def test_different_numbers_of_a_patient_get_different_ones(pattern):
    patient = make_patient(Keyed(KEY), {}, {}, 365)
    originals = [pattern.format(number) for number in range(200, 500)]

    made = [permuted(patient, "code", original) for original in originals]

    assert len(set(made)) == len(originals)
    assert list(map(shape, made)) == list(map(shape, originals))


def test_all_short_numbers_of_one_shape_change_places():
    patient = make_patient(Keyed(KEY), {}, {}, 365)
    originals = [f"{number:03}" for number in range(1000)]

    made = [permuted(patient, "code", original) for original in originals]

    assert sorted(made) == originals
    assert all(len(m) - len(m.lstrip("0")) == len(o) - len(o.lstrip("0")) for m, o in zip(made, originals, strict=True))


@settings(deadline=None, max_examples=15)
@given(st.lists(st.from_regex(r"[A-Z0-9]{5,12}", fullmatch=True), unique=True, min_size=2, max_size=6))
def test_codes_of_a_note_never_meet_each_other_or_an_original(codes):
    made = surrogates_of(" ".join(f"<MEDICALRECORD>{code}</MEDICALRECORD>" for code in codes))

    assert len(set(made)) == len(codes)
    assert not set(made) & set(codes)


def test_a_number_without_its_check_digit_gets_one_without():
    for number in range(10, 30):
        [made] = surrogates_of(f"<IDNUM>12345678{number:02}</IDNUM>")
        is_valid = npi_digit(f"12345678{number:02}"[:-1]) == str(number)[-1]

        assert (made[0] in "12" and npi_digit(made[:-1]) == made[-1]) is is_valid


def test_phone_numbers_are_of_the_lines_for_invented_ones_and_differ():
    values = [f"507-{exchange}-{line:04}" for exchange in (226, 288, 634) for line in (0, 7, 139, 1212, 4334, 9999)]
    made = surrogates_of(" ".join(f"<PHONE>{value}</PHONE>" for value in values))

    assert len(set(made)) == len(values)
    assert all(re.fullmatch(r"\d{3}-555-01\d\d", value) for value in made)


def test_more_numbers_than_invented_lines_stay_different_and_nobody_s():
    values = [f"226-{line:04}" for line in range(3000, 3250)]
    made = surrogates_of(" ".join(f"<PHONE>{value}</PHONE>" for value in values))

    assert len(set(made)) == len(values)
    assert {value[:4] for value in made} == {"555-"}
    assert not {value[-4:] for value in made} & {"1212", "4334"}


def test_numbers_that_meet_give_way_whatever_their_order():
    values = [f"<PHONE>701-226-{line:04}</PHONE>" for line in range(3000, 3060)]

    made = surrogates_of(" ".join(values))

    assert surrogates_of(" ".join(reversed(values))) == made[::-1]


def test_a_number_without_its_area_code_follows_where_it_gives_way():
    values = [f"226-{line:04}" for line in range(3000, 3060)]
    marked = " ".join(f"<PHONE>{value}</PHONE> or <FAX>(507) {value}</FAX>" for value in values)
    made = surrogates_of(marked)

    assert len(set(made)) == len(made)
    assert all(whole.endswith(local) for local, whole in zip(made[::2], made[1::2], strict=True))


def test_a_number_is_no_more_than_its_digits_to_the_key():
    """Test that the key decides which number a surrogate stands for: another key gives another number."""
    made = {surrogates_of("<MEDICALRECORD>441782910</MEDICALRECORD>", key=bytes([n]) * 32)[0] for n in range(10)}

    assert len(made) == 10


@settings(deadline=None, max_examples=60)
@given(
    st.text(min_size=1, max_size=30).filter(lambda text: "<" not in text), st.sampled_from(["IDNUM", "PHONE", "SSN"])
)
def test_any_text_called_a_number_gets_another(value, label):
    [made] = surrogates_of(f"<{label}>{value}</{label}>")

    assert made
    assert made != value or not holds_text(value)


def test_a_telephone_number_among_many_blanks_takes_linear_time():
    begun = time.process_time()
    surrogates_of(f"<PHONE>123{' ' * 50_000}z</PHONE>")

    assert time.process_time() - begun < 6


def test_an_nhs_number_becomes_one_that_is_never_issued():
    for patient in range(12):
        spaced, joined = surrogates_of(
            "<ZIP>LS1 4AP</ZIP>NHS no <MEDICALRECORD>943 476 5919</MEDICALRECORD> (<IDNUM>9434765919</IDNUM>)",
            patient=f"p{patient}",
        )[1:]

        assert re.fullmatch(r"999 \d{3} \d{4}", spaced)
        assert joined == spaced.replace(" ", "")
        assert nhs_digit(joined[:-1]) == joined[-1]


def test_health_numbers_of_australia_and_new_zealand_are_never_issued():
    medicare = "2123 45670 1"
    digits = medicare.replace(" ", "")
    assert medicare_digit(digits[:8]) == digits[8]
    [made, _] = surrogates_of(f"<HEALTHPLAN>{medicare}</HEALTHPLAN> <PHONE>0412 883 107</PHONE>, Centrelink")
    number = made.replace(" ", "")
    assert re.fullmatch(r"9\d{3} \d{5} \d", made)
    assert medicare_digit(number[:8]) == number[8]

    nhi = "CGC2720"
    assert nhi_digit(nhi[:6]) == nhi[6]
    [made, _] = surrogates_of(f"NHI <MEDICALRECORD>{nhi}</MEDICALRECORD>, <CITY>Whangārei</CITY>")
    assert re.fullmatch(r"Z[A-Z]{2}\d{4}", made)
    assert nhi_digit(made[:6]) == made[6]


def test_numbers_of_one_owner_begin_alike():
    for patient in range(12):
        one, other, third = surrogates_of(
            "<MEDICALRECORD>KMCH/OP/2019/118204</MEDICALRECORD> <IDNUM>KMCH/OP/2020/4471</IDNUM> "
            "<IDNUM>RQX-1174</IDNUM>",
            patient=f"p{patient}",
        )

        assert one[:7] == other[:7]
        assert one[:3] != third[:3]
        assert not {one[:4].lower(), third[:3].lower()} & clinical_initials()


@pytest.mark.parametrize("label", ["MEDICALRECORD", "IDNUM", "SSN"])
def test_an_identifier_in_words_is_the_one_in_digits(label):
    said, written = surrogates_of(f"<{label}>three one, seven oh seven, five five</{label}> <{label}>3170755</{label}>")

    digits = [
        str("oh one two three four five six seven eight nine".split().index(word)) for word in re.findall(r"\w+", said)
    ]
    assert "".join(digits) == written
    assert re.fullmatch(r"\w+ \w+, \w+ \w+ \w+, \w+ \w+", said)


def test_an_identifier_in_tens_keeps_its_kind_of_words():
    [made] = surrogates_of("<IDNUM>forty two eighteen seven</IDNUM>")

    assert len(made.split()) == 4
    assert not set(made.split()) & {"forty", "two", "eighteen", "seven"}
