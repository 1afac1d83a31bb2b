import re
from datetime import datetime, timedelta

import pytest

from deid_runtime.surrogates.check_digits import luhn_digit
from deid_runtime.surrogates.hashing import Keyed
from deid_runtime.surrogates.numbers import replace_code
from deid_runtime.surrogates.patient import Patient, make_patient
from tests.deid_runtime.surrogates.marked import KEY, surrogates_of

SHIFT = -211


def patient(name: str = "p1") -> Patient:
    return make_patient(Keyed(KEY).derive("patient", name), {}, {}, SHIFT)


def luhn(code: str) -> bool:
    digits = re.sub(r"\D", "", code)[-13:]
    return luhn_digit(digits[:-1]) == digits[-1]


# (number, place of the date, its format, place of the digit of the sex, whether a number has a valid check digit)
NUMBERS = [
    ("8001015009087", slice(0, 6), "%y%m%d", None, luhn),
    ("800101 5009 087", slice(0, 6), "%y%m%d", None, luhn),
    ("780214-14-5523", slice(0, 6), "%y%m%d", 13, None),
    ("820730-1234567", slice(0, 6), "%y%m%d", None, None),
    ("811218-9876", slice(0, 6), "%y%m%d", 9, lambda code: luhn(code)),
    ("19811218-9876", slice(0, 8), "%Y%m%d", 11, lambda code: luhn(code[2:])),
    ("311280-9876", slice(0, 6), "%d%m%y", 10, None),
    ("131052-308T", slice(0, 6), "%d%m%y", 9, None),
    ("11010519491231002X", slice(6, 14), "%Y%m%d", 16, None),
]


@pytest.mark.parametrize(("number", "at", "form", "sex", "is_valid"), NUMBERS)
def test_the_date_in_a_number_moves_with_the_dates_of_the_patient(number, at, form, sex, is_valid):
    for name in ("p1", "p2", "p3"):
        made = replace_code(patient(name), number, frozenset())
        born, moved = (datetime.strptime(text[at], form) for text in (number, made))

        assert moved == born + timedelta(days=SHIFT)
        assert made != number
        assert re.sub(r"\d", "9", made[:-1]) == re.sub(r"\d", "9", number[:-1])
        assert sex is None or int(made[sex]) % 2 == int(number[sex]) % 2
        assert is_valid is None or (is_valid(number) and is_valid(made))


def test_a_number_of_south_africa_keeps_the_sex_and_the_digits_of_citizenship():
    for number, is_man in (("8001015009087", True), ("8001010009082", False)):
        made = replace_code(patient(), number, frozenset())

        assert (made[6] >= "5") == is_man
        assert made[10:12] == "08"


@pytest.mark.parametrize("number", ["310214-14-5523", "451230-1234567", "11010519201231002" + "5"])
def test_a_year_that_may_mean_an_age_over_89_gives_a_year_unlike_it(number):
    years = set()
    for name in range(12):
        made = replace_code(patient(f"p{name}"), number, frozenset())
        at = slice(6, 14) if len(number) == 18 else slice(0, 6)
        form = "%Y%m%d" if len(number) == 18 else "%y%m%d"
        years.add(datetime.strptime(made[at], form).year % 100)

    assert len(years) > 6
    assert max(years) <= 45


@pytest.mark.parametrize("number", ["801399-14-5523", "8001015009088", "811218-98761", "990101-9999999"])
def test_a_number_without_a_date_or_its_check_digit_is_an_ordinary_code(number):
    dates = 0
    for name in range(12):
        made = replace_code(patient(f"p{name}"), number, frozenset())
        assert len(made) == len(number)
        dates += made[:2] == number[:2]
    assert dates < 6


def test_numbers_of_one_patient_differ_and_agree_with_the_date_of_birth():
    made = surrogates_of(
        "DOB <DATE>14/02/1978</DATE>, IC <IDNUM>780214-14-5523</IDNUM>, wife <IDNUM>780214-14-5525</IDNUM>"
    )

    day, month, year = made[0].split("/")
    assert made[1].startswith(f"{year[2:]}{month}{day}")
    assert len(set(made)) == len(made)
