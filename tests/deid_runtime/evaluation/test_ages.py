import pytest

from deid_runtime.evaluation.ages import age_years


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("67", 67),
        ("3.5", 3.5),
        ("3 and a half", 3),
        ("90s", 90),
        ("nineties", 90),
        ("eighties", 80),
        ("ninety-two", 92),
        ("Ninety Two", 92),
        ("NINETY-TWO", 92),
        ("a hundred and one", 101),
        ("one hundred two", 102),
        ("hundred", 100),
        ("nineteen", 19),
        pytest.param("88-92", 92, id="a-range-counts-as-its-oldest"),
        pytest.param("eighty to ninety", 90, id="two-numbers-do-not-add-up"),
        pytest.param("twelve thirteen", 13, id="neither-do-these"),
        pytest.param("²", None, id="a-superscript-is-a-digit-but-no-number"),
        pytest.param("geriatric", None, id="no-number"),
        pytest.param("", None, id="empty"),
    ],
)
def test_age_years(text, years):
    assert age_years(text) == years
