"""Test that notes in forms that hide text from the detectors are held back, and that readable notes pass."""

import json
import re
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from deid_runtime.annotations.tagged import read_tagged
from deid_runtime.cli.main import main
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Quarantined
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from deid_runtime.text.legibility import SIGNS, find_signs, illegible
from deid_runtime.text.reading.view import read_view
from tests.strategies import texts

ROOT = Path(__file__).resolve().parents[3]
PLAIN = "Pt seen for cough and fever since Monday. Lungs clear, no rales. BP 120/80, HR 72. Follow up in two weeks. "

#: The beginning of the reason after the count, and a text that causes it.
HIDDEN = [
    ("invisible characters inside words", "seen by Jo\u200bhn Quist"),
    ("invisible characters inside words", "seen by Jo\xadhn Quist"),
    ("invisible characters inside words", "seen by Jo\u202ehn Quist"),
    ("invisible characters inside words", "seen by J\U000e0041ohn Quist"),
    ("invisible characters inside words", "seen by Jo\ufe0fhn Quist"),
    ("invisible characters inside words", "seen by Jo\u200dhn Quist"),
    ("invisible characters inside words", "seen by Jo\x7fhn Quist"),
    ("invisible characters inside words", "call 55\U000e00415-1234"),
    ("invisible characters inside words", "call 555\u2060-1234 or 55\u20605-1234"),
    ("words shown backwards", "seen by \u202enhoJ\u202c Quist"),
    ("invisible characters", "seen by \u2068John\u2069 Quist"),
    ("invisible characters", "seen \u202aby\u202c John Quist"),
    ("invisible characters", "seen by\u200b \u200bJohn Quist"),
    ("HTML entities for letters or spaces", "seen by Jos&eacute; Quist"),
    ("HTML entities for letters or spaces", "seen by &#74;ohn Quist"),
    ("HTML entities for letters or spaces", "seen by O&#x27;Brien"),
    ("HTML entities for letters or spaces", "seen by John&nbsp;Quist"),
    ("HTML entities", "R&amp;D saw John &quot;Jo"),
    ("tags inside words", "seen by <pt>Jo</pt>hn Quist"),
    ("HTML tags", "seen by <b>John</b> Quist"),
    ("HTML tags", "<p class='note'>seen by</p> John Quist"),
    ("wrongly decoded characters in words", "seen by JosÃ© Quist"),
    ("wrongly decoded characters in words", "seen by Dr. Oâ€™Brien"),
    ("wrongly decoded characters in words", "seen by Jos√© Quist"),
    ("wrongly decoded characters in words", "seen by O\x92Brien"),
    ("wrongly decoded characters in words", "seen by Jos\ufffd Quist"),
    ("wrongly decoded characters in words", "seen by Ra√∫l Quist"),
    ("wrongly decoded characters in words", "call 55\x925-1234"),
    ("wrongly decoded characters", "37 Â°C, then 38 Â°C"),
    ("question marks inside words", "seen by Garc?a and Mu?oz"),
    ("question marks inside words", "SEEN BY GARC?A AND J?hn"),
    ("escape sequences", r"seen by Jos\u00e9 Quist"),
    ("escape sequences", r"seen by Jos\'e9 Quist"),
    ("control words of RTF", r"{\rtf1\ansi\f0\fs20 seen by John Quist\par}"),
    ("percent-encoded characters", "John%20Quist%2C%20MD"),
    ("quoted-printable characters", "seen=20by=20John=20Quist=2C=20MD"),
    ("words spelled with gaps between their letters", "seen by J o h n   S m i t h"),
    ("words spelled with gaps between their letters", "seen by J\xa0o\xa0h\xa0n"),
    ("words spelled with gaps between their letters", "seen by J.o.h.n"),
    ("words spelled with gaps between their letters", "seen by J_o_h_n"),
    ("letters with gaps between them", "S E E N  B Y  J O H N  Q U I S T  T O D A Y"),
    ("dates and numbers with gaps between their digits", "call 5 5 5 - 1 2 3 4 now"),
    ("dates and numbers with gaps between their digits", "seen 0 3 / 1 4 / 2 0 1 9 here"),
    ("dates and numbers with gaps between their digits", "seen 0 3/1 4/2 0 1 9 here"),
    ("rows of twelve digits or more", "MRN 4 4 1 7 8 2 9 0 0 1 3 5"),
    ("words broken by a hyphen at a line end", "seen by Hallo-\nwell and Okor-\r\n  afor"),
    ("accents apart from their letters", "seen by Jose\u0301 Garci\u0301a"),
    ("letters of other scripts in words", "seen by J\u043ehn Quist"),
    ("letters in other styles", "seen by Ｊｏｈｎ Quist"),
    ("letters in other styles", "seen by 𝐉𝐨𝐡𝐧 Quist"),
    ("letters in other styles", "seen by Ⓙⓞⓗⓝ Quist"),
    ("digits of other scripts", "MRN ４４１７８２９"),
    ("digits of other scripts", "MRN ٤٤١٧٨٢٩"),
    ("words joined by underscores", "seen_by_John_Quist_MD_for_cough_and_fever"),
]


@pytest.mark.parametrize(("form", "text"), HIDDEN)
def test_a_form_that_hides_text_is_told_without_the_text(form: str, text: str) -> None:
    reason = illegible(text)

    assert re.match(rf"\d+ {form}", reason)
    assert "expected fewer than" in reason
    assert not [word for word in ("John", "Quist", "Jos", "Garc", "Okor", "4417829") if word in reason]


@pytest.mark.parametrize("form", sorted({sign.form for sign in SIGNS}))
def test_every_form_has_a_case(form: str) -> None:
    assert [told for told, _ in HIDDEN if form.startswith(told)] or form == "digits with gaps between them"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("\ufeff" + PLAIN, id="byte-order-mark-first"),
        pytest.param(PLAIN.replace(" ", "\xa0"), id="no-break-spaces"),
        pytest.param(PLAIN + "\f" + PLAIN + "\v\x85\u2028", id="page-and-line-breaks"),
        pytest.param(
            "“Don’t – he said…” 37 °C, ½ tab, José Muñoz-Nuñez, KŘÍŽOVÁ, “JOSÉ”, né\xa0» É\xa0X", id="typography"
        ),
        pytest.param("thanks 🙏🏾 🤷‍♂️ ⚠️ ❤️ 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣", id="emoji"),
        pytest.param("Patient \u200fמשה כהן\u200f and علی\u200cرضا, क\u094dष and क\u094d\u200dष", id="other-scripts"),
        pytest.param("Лариса Петрова (Larisa), 李伟, βhCG <2, IFNγ, µg, 5 μmol", id="names-and-symbols"),
        pytest.param("R&D; AT&T, H&P, p<0.05 and >3, a < b > c, <john@example.org> <3", id="signs-of-html"),
        pytest.param("<enc csn='88'><pt>POKORNY</pt><dob>1/2/1950</dob></enc>", id="elements-around-values"),
        pytest.param(PLAIN * 3 + "C O P D, A B C, x x x x, V1 V2 V3, L x W x D c, X p.r.n", id="rows-of-letters"),
        pytest.param("reflexes 2 2 2 / 2 2 1, serial 3 3 4 4 3 4 1 1, 1 / 2 / 2019, 1.4 3.1 2.2", id="rows-of-digits"),
        pytest.param("S-O-U-Z-A, P E T T I B O N E spelled by the caller, " + PLAIN * 2, id="a-name-in-capitals"),
        pytest.param("Ofori-\nAtta saw but-\nPatient: yes. " + PLAIN + "the hus-\nband", id="a-few-hyphens"),
        pytest.param("https://example.org/labs?id=7&q=a%20b pain?no, BMI=20, MIC <=20<br>none", id="links-and-signs"),
        pytest.param(r"user BRK\hsaltz, nhs\wolstenho, C:\temp\notes", id="backslashes"),
        pytest.param("H2O, O2 sat, I10, 1l of fluid, 0.9% 2O19", id="digits-and-letters"),
    ],
)
def test_what_detectors_read_passes(text: str) -> None:
    assert illegible(text) == ""


def test_no_note_of_the_corpus_or_the_examples_is_held_back() -> None:
    notes = {
        note.id: note.text
        for path in (ROOT / "export" / "corpus" / "notes").rglob("*.txt")
        for note in read_tagged(path)
    }
    with (ROOT / "examples" / "notes.jsonl").open(encoding="utf-8") as lines:
        notes |= {row["id"]: row["text"] for row in map(json.loads, lines)}

    assert len(notes) > 11_000
    assert [note_id for note_id, text in notes.items() if illegible(text)] == []


@given(texts)
def test_a_gate_opens_for_every_mark(text: str) -> None:
    told = dict(find_signs(text))

    assert told == {sign: count for sign in SIGNS if (count := sign.count(text))}


@given(st.sampled_from(HIDDEN), st.integers(0, 3))
def test_a_gate_opens_for_every_form(case: tuple[str, str], copies: int) -> None:
    text = case[1] * copies

    assert dict(find_signs(text)) == {sign: count for sign in SIGNS if (count := sign.count(text))}


@pytest.mark.parametrize(
    "piece",
    [*(text for _, text in HIDDEN), "<", "<a ", "&", "&#", "a\u200b", "\u200b", "1 ", "a ", "A ", "1 - ", "-\n", "- ",
     "\\", "%2", "=2", "?a", "ÃÃ", "1O", "e\u0301", "\u0301", " ", "a", "Ａ"],
)  # fmt: skip
def test_time_grows_with_length_alone(piece: str) -> None:
    text = piece * (2**18 // len(piece))
    begun = time.process_time()

    list(find_signs(text))

    assert time.process_time() - begun < 30  # quadratic time takes many minutes


#: The text that the view gives for each text of :data:`HIDDEN` that it can make plain.
READ = {
    "seen by Jo\u200bhn Quist": "seen by John Quist",
    "seen by Jo\xadhn Quist": "seen by John Quist",
    "seen by J\U000e0041ohn Quist": "seen by John Quist",
    "seen by Jo\ufe0fhn Quist": "seen by John Quist",
    "seen by Jo\u200dhn Quist": "seen by John Quist",
    "call 55\U000e00415-1234": "call 555-1234",
    "call 555\u2060-1234 or 55\u20605-1234": "call 555-1234 or 555-1234",
    "seen by \u2068John\u2069 Quist": "seen by John Quist",
    "seen \u202aby\u202c John Quist": "seen by John Quist",
    "seen by\u200b \u200bJohn Quist": "seen by John Quist",
    "seen by Jos&eacute; Quist": "seen by José Quist",
    "seen by &#74;ohn Quist": "seen by John Quist",
    "seen by O&#x27;Brien": "seen by O'Brien",
    "seen by John&nbsp;Quist": "seen by John Quist",
    "R&amp;D saw John &quot;Jo": 'R&D saw John "Jo',
    "seen by <b>John</b> Quist": "seen by John Quist",
    "<p class='note'>seen by</p> John Quist": "\nseen by\n John Quist",
    "seen by J o h n   S m i t h": "seen by John Smith",
    "seen by J\xa0o\xa0h\xa0n": "seen by John",
    "seen by J.o.h.n": "seen by John",
    "seen by J_o_h_n": "seen by John",
    "S E E N  B Y  J O H N  Q U I S T  T O D A Y": "SEEN BY JOHN QUIST TODAY",
    "call 5 5 5 - 1 2 3 4 now": "call 555-1234 now",
    "seen 0 3 / 1 4 / 2 0 1 9 here": "seen 03/14/2019 here",
    "seen 0 3/1 4/2 0 1 9 here": "seen 03/14/2019 here",
    "MRN 4 4 1 7 8 2 9 0 0 1 3 5": "MRN 441782900135",
    "seen by Jose\u0301 Garci\u0301a": "seen by José García",
    "seen by J\u043ehn Quist": "seen by John Quist",
    "seen by Ｊｏｈｎ Quist": "seen by John Quist",
    "seen by 𝐉𝐨𝐡𝐧 Quist": "seen by John Quist",
    "seen by Ⓙⓞⓗⓝ Quist": "seen by John Quist",
    "MRN ４４１７８２９": "MRN 4417829",
    "MRN ٤٤١٧٨٢٩": "MRN 4417829",
}


@pytest.mark.parametrize(("form", "text"), HIDDEN)
def test_what_the_view_makes_plain_is_not_held_back_and_all_else_is(form: str, text: str) -> None:
    view = read_view(text).text

    assert view == READ.get(text, view)
    assert bool(illegible(view)) == (text not in READ)


def test_the_pipeline_holds_such_notes_back_unless_told_otherwise() -> None:
    notes = [Note("n1", PLAIN), Note("n2", "Seen=20by=20Jo=C3=B6rn."), Note("n3", "MRN 44\ufffd17829")]

    def outcomes(**options: bool) -> list[object]:
        with load_pipeline(Settings(use_models=False, **options), key=bytes(32), records={}) as pipeline:
            return [*pipeline.deidentify(notes), *pipeline.detect(notes), pipeline.describe()["hold_back_unreadable"]]

    first, second, third, *found, is_held = outcomes()
    assert isinstance(first, Deidentified)
    assert isinstance(second, Quarantined)
    assert (second.note_id, second.stage) == ("n2", "read")
    assert second.reason.startswith("3 quoted-printable characters")
    assert isinstance(third, Quarantined)
    assert [isinstance(outcome, Quarantined) for outcome in found] == [False, True, True]
    assert is_held is True
    assert not any(isinstance(outcome, Quarantined) for outcome in outcomes(hold_back_unreadable=False))


def test_the_option_of_the_command_is_loud_and_refused_with_safe_harbor(tmp_path: Path) -> None:
    notes, out = tmp_path / "notes.jsonl", tmp_path / "out.jsonl"
    notes.write_text(json.dumps({"id": "n1", "text": "Seen=20by=20Jo=C3=B6rn."}) + "\n", encoding="utf-8")

    def run(*options: str) -> Result:
        return CliRunner().invoke(
            main, ["run", str(notes), "-o", str(out), "--no-models", "--workers", "1", "--overwrite", *options]
        )

    held, allowed, refused = run(), run("--allow-unreadable-forms"), run("--allow-unreadable-forms", "--safe-harbor")
    assert (held.exit_code, allowed.exit_code, refused.exit_code) == (1, 0, 2)
    assert "WARNING: --allow-unreadable-forms" in allowed.stderr
    assert "--allow-unreadable-forms" in refused.stderr
    assert "Safe Harbor does not allow" in refused.stderr
