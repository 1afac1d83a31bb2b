from datetime import date

import pytest

from deid_runtime.records.birth_dates import date_of_birth

BORN = date(1931, 2, 8)


@pytest.mark.parametrize(
    "written",
    [
        "1931-02-08", "1931-2-8", "1931/02/08", "19310208", "02/08/1931", "2/8/1931", "2-8-1931", "08.02.1931",
        "8 Feb 1931", "08-FEB-1931", "8 February 1931", "8th of February, 1931", "February 8, 1931", "Feb. 8 1931",
        "2/8/1931 0:00", "2/8/1931 12:00:00 AM", "1931-02-08 00:00:00", "1931-02-08T00:00:00Z",
        "1931-02-08T00:00:00.000+00:00", " 1931-02-08 ",
    ],
)  # fmt: skip
def test_dates_of_birth_as_records_write_them(written):
    assert date_of_birth(written) == BORN


def test_which_number_is_the_month():
    assert (
        date_of_birth("28/02/1931") == date_of_birth("28.02.1931") == date_of_birth("02/28/1931") == date(1931, 2, 28)
    )


@pytest.mark.parametrize(
    "written", ["1931", "02/1931", "02/08/31", "31/31/1931", "", "unknown", "1931-02", "193128", "8 Foo 1931", "9" * 99]
)
def test_what_is_no_whole_date_is_none(written):
    assert date_of_birth(written) is None
