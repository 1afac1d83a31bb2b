import re
import time

import pytest

from deid_runtime.merging.propagation import propagate
from deid_runtime.merging.usernames import UsernameFinder
from deid_runtime.spans import Span


def found(text, *names):
    """Return, as texts, the usernames found in ``text`` next to the first occurrences of ``names``."""
    spans = [Span(text.index(name), text.index(name) + len(name), "DOCTOR", 0.9, ("model:name",)) for name in names]
    words = [match.span() for match in re.finditer(r"[^\W_]+", text)]
    return [text[span.start : span.end] for span in UsernameFinder(text, spans).find(words)]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        pytest.param("Katya Ostrowe, by kostrowe", "Katya Ostrowe", ["kostrowe"], id="initial-and-family-name"),
        pytest.param("OSTROWE, KATYA kostrowe2", "OSTROWE, KATYA", ["kostrowe2"], id="family-name-first"),
        pytest.param("Katya Ostrowe KOSTROWE", "Katya Ostrowe", ["KOSTROWE"], id="capitals"),
        pytest.param("Katya Ostrowe kostr9 kostr", "Katya Ostrowe", ["kostr9"], id="cut-off-with-digits"),
        pytest.param("Katya Ostrowe kostrow kostro", "Katya Ostrowe", ["kostrow"], id="cut-off-late-enough"),
        pytest.param("Katya Ostrowe kost7 kos7", "Katya Ostrowe", ["kost7"], id="cut-off-too-early"),
        pytest.param("Katya Ostrowe ostrowek1", "Katya Ostrowe", ["ostrowek1"], id="initial-behind"),
        pytest.param("Rory O'Keefe rokeefe", "Rory O'Keefe", ["rokeefe"], id="apostrophe"),
        pytest.param("Ana Joy-Baptiste: ajoybap, abaptiste", "Ana Joy-Baptiste", ["ajoybap", "abaptiste"], id="hyphen"),
        pytest.param("Élise Bénard ebenard", "Élise Bénard", ["ebenard"], id="accents"),
        pytest.param("Dr. Ostrowe: kostrowe2, fevers", "Ostrowe", ["kostrowe2"], id="any-letter-with-digits"),
        pytest.param("Dr. Evers: fevers", "Evers", [], id="any-letter-needs-digits"),
        pytest.param("Sol Hunt: shunt, shunt2", "Sol Hunt", ["shunt2"], id="short-names-need-digits"),
        pytest.param("Mo Arion and Marion", "Mo Arion", [], id="title-case"),
        pytest.param("G. Race: grace", "G. Race", [], id="an-ordinary-word"),
        pytest.param("G. Race: grace2", "G. Race", ["grace2"], id="an-ordinary-word-with-digits"),
        pytest.param("Dr. Wilson: kwilson2", "Wilson", ["kwilson2"], id="an-eponym-that-is-a-name-first"),
        pytest.param("Katya Ostrowe kostrowe2x", "Katya Ostrowe", [], id="more-behind"),
        pytest.param("Vera de la Cruz lcruz vcruz7", "Vera de la Cruz", ["vcruz7"], id="particles"),
    ],
)
def test_log_in_names_made_of_a_name(text, name, expected):
    assert found(text, name) == expected


def test_a_name_of_the_note_is_not_made_of_another():
    assert found("Lena Dahl, Dr. ldahl", "Lena Dahl", "ldahl") == []


def test_what_is_propagated_has_the_score_of_the_name():
    text = "Katya Ostrowe, by kostrowe2"

    assert propagate(text, [Span(0, 13, "DOCTOR", 0.8, ("model:name",))]) == [
        Span(18, 27, "USERNAME", 0.8, ("propagation",))
    ]


def test_time_is_linear_in_names_and_words():
    def seconds(count):
        text = " ".join(f"Ka{number:x} Ostrowe{number:x} kostrowe{number}" for number in range(count))
        spans = [
            Span(match.start(), match.end(), "DOCTOR", 0.9, ("model:name",))
            for match in re.finditer(r"Ka\w+ O\w+", text)
        ]
        words = [match.span() for match in re.finditer(r"[^\W_]+", text)]
        start = time.perf_counter()
        list(UsernameFinder(text, spans).find(words))
        return time.perf_counter() - start

    assert min(seconds(8000) for _ in range(3)) < 20 * min(seconds(1000) for _ in range(3))
