"""Test check digits and calendars with published or computed examples."""

import pytest

from deid_runtime.detectors.patterns import validators


@pytest.mark.parametrize(
    ("month", "day", "expected"), [(2, 29, True), (2, 30, False), (4, 31, False), (0, 1, False), (12, 31, True)]
)
def test_month_and_day(month, day, expected):
    assert validators.is_month_day(month, day) is expected


def test_day_of_year_takes_either_order():
    assert validators.is_day_of_year(3, 14)
    assert validators.is_day_of_year(14, 3)
    assert not validators.is_day_of_year(14, 13)


@pytest.mark.parametrize(
    ("check", "valid", "invalid"),
    [
        (validators.is_luhn, "79927398713", "79927398710"),
        (validators.is_npi, "1234567893", "1234567894"),  # the example of the US standard
        (validators.is_dea, "AB1234563", "AB1234564"),
        (validators.is_vin, "1HGCM82633A004352", "1HGCM82633A004353"),
        (validators.is_vin, "11111111111111111", "1IO11111111111111"),
        (validators.is_nhs_number, "9434765919", "9434765918"),
        (validators.is_ssn, "219099999", "219090000"),
        (validators.is_ipv4, "10.44.17.203", "10.44.17.256"),
        (validators.is_ipv4, "0.0.0.0", "01.2.3.4"),
    ],
)
def test_check(check, valid, invalid):
    assert check(valid)
    assert not check(invalid)


@pytest.mark.parametrize("number", ["", "3234567893", "12345678", "123456789a"])
def test_npi_has_ten_digits_and_begins_with_one_or_two(number):
    assert not validators.is_npi(number)
