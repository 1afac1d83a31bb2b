import random
from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("pycrfsuite", reason="the attackers learn with CRFsuite")

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.gain import Gain, measure_gain
from deid_runtime.audit.gate import ATTACKERS, GateSettings, judge, key_of_draw
from deid_runtime.audit.knowing import KnowingAttacker, as_marked, attack_knowing, gather_knowledge, mark_unlisted
from deid_runtime.audit.marked_words import MarkedNote, marked_words
from deid_runtime.audit.our_lists import is_near, listed_forms, lists_with
from deid_runtime.audit.plant import Released, plant
from deid_runtime.audit.traits import code_look, repeat_look
from deid_runtime.errors import SourceError
from deid_runtime.resynthesis.notes import replace_spans
from deid_runtime.spans import Span
from deid_runtime.surrogates import Surrogates
from deid_runtime.surrogates.lists import read_rows
from tests.deid_runtime.audit.notes import annotated

KEY = b"k" * 32
FAMILIES = sorted({row[0] for row in read_rows("family_names.tsv")})


def release(leak: Callable[[random.Random], str], *, patients: int = 150) -> list[Released]:
    """Return notes of four names each, surrogates as our code makes them; a tenth are leaks, as ``leak`` makes them."""
    generator = random.Random(11)
    surrogates = Surrogates(KEY)
    released = []
    for number in range(patients):
        names = [generator.choice(FAMILIES) for _ in range(4)]
        note = named(number, names)
        made = replace_spans(note, note.spans, surrogates, None, ())
        is_leak = [generator.random() < 0.1 for _ in names]
        new = [made.text[span.start : span.end] for span in made.spans]
        note = named(number, [leak(generator) if out else name for out, name in zip(is_leak, new, strict=True)])
        rows = list(zip(note.spans, is_leak, strict=True))
        leaks = tuple(span for span, out in rows if out)
        kept = tuple(span for span, out in rows if not out)
        released.append(Released(note.id, note.patient, note.text, kept, leaks, tuple(range(len(leaks)))))
    return released


def named(number: int, names: list[str]) -> AnnotatedNote:
    text, spans = "", []
    for name in names:
        text += "Seen by "
        spans.append(Span(len(text), len(text) + len(name), "DOCTOR"))
        text += name + " today.\n"
    return AnnotatedNote(f"n{number}", f"p{number}", "", text, tuple(spans))


def gain_of(attacker: KnowingAttacker, released: list[Released]) -> Gain:
    knowledge = gather_knowledge(attacker, as_marked(released), {}, seed=0)
    return measure_gain([(released, attack_knowing(released, knowledge))])


def unlisted(generator: random.Random) -> str:
    return "".join(generator.choice("qxzjw") + generator.choice("aeiou") for _ in range(4)).title()


def test_who_has_our_code_finds_leaks_that_it_would_not_make() -> None:
    gain = gain_of("code", release(unlisted))

    assert gain.gain is not None
    assert gain.gain > 4
    assert gain.verdict(1.2) == "fail"


def test_who_has_our_lists_marks_what_is_in_none_of_them() -> None:
    generator = random.Random(2)
    released = release(unlisted)
    plain = [named(number, [generator.choice(FAMILIES) for _ in range(4)]) for number in range(20)]
    listed = [Released(note.id, note.patient, note.text, note.spans) for note in plain]
    assert not any(made.guessed.any() for made in mark_unlisted(listed))

    made = mark_unlisted(released)

    gain = measure_gain([(released, made)])
    assert all(made.guessed[made.leak >= 0].all() for made in made)
    assert gain.gain is not None
    assert gain.gain > 1.5
    assert gain.verdict(1.2) == "fail"


def test_initials_and_abbreviations_are_in_no_list_and_not_marked() -> None:
    text = "JQ of XQZV, Zqvorx"
    note = Released("n", "p", text, (Span(0, 2, "PATIENT"), Span(6, 10, "HOSPITAL"), Span(12, 18, "PATIENT")))

    [made] = mark_unlisted([note])

    assert made.guessed.tolist() == [False, False, False, True]


def test_who_counts_finds_a_leak_that_many_patients_share() -> None:
    gain = gain_of("frequency", release(lambda generator: generator.choice(FAMILIES[:2])))

    assert gain.gain is not None
    assert gain.gain > 3
    assert gain.verdict(1.2) == "fail"


@pytest.mark.parametrize("attacker", ["code", "frequency"])
def test_nobody_finds_leaks_that_are_drawn_as_surrogates_are(attacker: KnowingAttacker) -> None:
    surrogates = Surrogates(b"other" * 6 + b"!!")

    def alike(generator: random.Random) -> str:
        note = named(generator.randrange(10**6), [generator.choice(FAMILIES)])
        made = replace_spans(note, note.spans, surrogates, None, ())
        return made.text[made.spans[0].start : made.spans[0].end]

    gain = gain_of(attacker, release(alike))

    assert gain.interval is not None
    assert gain.interval.low < 1.2
    assert gain.gain is not None
    assert gain.gain < 2


def test_as_many_words_are_marked_as_are_leaked_unless_scores_are_equal() -> None:
    released = release(unlisted, patients=60)
    knowledge = gather_knowledge("code", as_marked(released), {}, seed=0)

    made = attack_knowing(released, knowledge)

    leaked = sum(int(((note.leak >= 0) & note.may_be).sum()) for note in made)
    assert leaked <= sum(int(note.guessed.sum()) for note in made) <= 1.5 * leaked
    assert not any((note.guessed & ~note.may_be).any() for note in made)
    again = attack_knowing(released, knowledge)
    assert all((one.guessed == other.guessed).all() for one, other in zip(made, again, strict=True))


def test_only_words_of_names_and_places_are_marked() -> None:
    text = "Ann O'Brien-Lee, 44, of Elko on 3/4/2019"
    spans = (Span(0, 15, "PATIENT"), Span(17, 19, "AGE"), Span(24, 28, "CITY"), Span(32, 40, "DATE"))

    words = marked_words(MarkedNote("p", text, spans))

    assert [(word.text, word.place, word.words) for word in words] == [
        ("Ann", 0, 3),
        ("O'Brien", 1, 3),
        ("Lee", 2, 3),
        ("Elko", 0, 1),
    ]
    assert "Brien" not in repr(words) + repr(MarkedNote("p", text, spans))


def test_a_mark_of_any_length_has_few_words() -> None:
    text = "ab " * 5_000 + "x" * 100_000

    assert len(marked_words(MarkedNote("p", text, (Span(0, len(text), "PATIENT"),)))) == 24


@pytest.mark.parametrize(("form", "near"), [("smithh", True), ("smtih", True), ("smth", True), ("zqvorx", False)])
def test_a_misspelt_listed_name_is_near(form: str, near: bool) -> None:
    assert not lists_with(form)
    assert is_near(form) is near


def test_our_lists_are_read_by_file() -> None:
    assert lists_with("smith")
    assert lists_with("springfield")
    assert all("" not in forms for forms in listed_forms().values())


def test_traits_tell_lists_and_repeats() -> None:
    note = MarkedNote("p", "Smith Zqvorx", (Span(0, 5, "DOCTOR"), Span(6, 12, "DOCTOR")))
    other = MarkedNote("q", "Smith", (Span(0, 5, "DOCTOR"),))

    [[smith, odd]] = code_look([note, other])([note])
    assert any(trait.startswith("DOCTOR lists=") and "names" in trait for trait in smith)
    assert "DOCTOR lists=" in odd
    assert "DOCTOR made=2" in smith
    assert "DOCTOR made=1" in odd
    [[smith, odd], _] = repeat_look([note, other])
    assert "DOCTOR value patients=2" in smith
    assert "DOCTOR value patients=1" in odd


def test_a_value_is_left_with_all_patients_who_share_it() -> None:
    notes = [named(number, ["Shared", f"Own{'abcdefghij'[number]}"]) for number in range(10)]

    released = plant(notes, {}, Surrogates(KEY), share=0.01, seed=4, is_everywhere=True)

    values = {note.text[leak.start : leak.end] for note in released for leak in note.leaks}
    assert len(values) == 1
    assert sum(len(note.leaks) for note in released) == (10 if values == {"Shared"} else 1)


def test_the_gate_judges_each_attacker_at_each_share() -> None:
    settings = GateSettings(draws=2, iterations=2, is_informed=True)

    judged = judge(annotated(16), {}, [0.1, 0.2], settings, key=KEY)

    assert [(each.attacker, each.share) for each in judged] == [(a, s) for a in ATTACKERS for s in (0.1, 0.2)]
    assert [each.score is not None for each in judged] == [True, True] + [False] * 6
    assert all(each.gain.words > 0 for each in judged)


def test_each_draw_has_surrogates_of_another_key() -> None:
    keys = [key_of_draw(KEY, draw) for draw in range(4)]

    assert keys[0] == KEY
    assert len(set(keys)) == 4
    assert {len(key) for key in keys} == {32}
    assert keys == [key_of_draw(KEY, draw) for draw in range(4)]


def test_what_cannot_be_attacked_is_said() -> None:
    bare = [Released(str(number), "", "text", ()) for number in range(4)]

    with pytest.raises(SourceError, match="no name and no place"):
        gain_of("code", bare)
    with pytest.raises(SourceError, match="1 patients for 2 folds"):
        gain_of("code", release(unlisted, patients=1))


def test_guesses_have_one_entry_for_each_token() -> None:
    [note] = release(unlisted, patients=2)[:1]
    [made, _] = attack_knowing(
        release(unlisted, patients=2), gather_knowledge("code", as_marked(release(unlisted, patients=2)), {}, seed=0)
    )

    assert len({len(each) for each in (made.may_be, made.guessed, made.looks_like, made.leak)}) == 1
    assert int(np.unique(made.leak).size) == len(note.leaks) + 1
