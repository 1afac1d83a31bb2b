import json
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid_runtime.detectors.inclusion import load_inclusion
from deid_runtime.detectors.patterns import find_patterns
from deid_runtime.detectors.templates import load_templates
from deid_runtime.errors import EngineError, ModelError, SettingsError
from deid_runtime.pipeline.loading import load_pipeline
from deid_runtime.pipeline.outcomes import Deidentified, Detected, Fault, Quarantined
from deid_runtime.pipeline.processing import Pipeline
from deid_runtime.settings import Settings
from deid_runtime.spans import Note, PatientRecord, Span
from deid_runtime.stages import PIPELINE_STAGES
from deid_runtime.surrogates import Surrogates
from tests.strategies import texts

KEY = bytes(range(32))
RECORDS = {"p1": PatientRecord("p1", {"given": "Rosalind", "family": "Okafor", "mrn": "4417829"})}
INCLUSION = load_inclusion(None, screen=find_patterns)
TEMPLATES = load_templates(None)
RULES = load_pipeline(Settings(use_models=False), key=KEY, records=RECORDS)


def with_tagger(tagger, **options):
    return Pipeline(
        inclusion=INCLUSION,
        templates=TEMPLATES,
        tagger=tagger,
        surrogates=Surrogates(KEY, operator="surrogate", date_shift_days=365),
        records=RECORDS,
        description={},
        resources=ExitStack(),
        **options,
    )


def find_quist(notes, sentences):
    """Tag one name, like a model that knows only this one."""
    return [
        [
            Span(at, at + 5, "DOCTOR", 0.9, ("model:name",))
            for sentence in row
            if (at := text.find("Quist", sentence.start, sentence.end)) >= 0
        ]
        for text, row in zip(notes, sentences, strict=True)
    ]


def values(note, outcome):
    return [(note.text[span.start : span.end], span.label) for span in outcome.spans]


def test_every_finder_is_heard():
    note = Note(
        "n1",
        "Dictated by: Ann Holm, MD\nRosalind ate, Quist saw her.\nCall 212-867-4410. Then quist, Quist left.",
        "p1",
    )

    [outcome] = with_tagger(find_quist).detect([note])

    assert isinstance(outcome, Detected)
    assert values(note, outcome) == [
        ("Ann Holm", "DOCTOR"),
        ("Rosalind", "PATIENT"),
        ("Quist", "DOCTOR"),
        ("212-867-4410", "PHONE"),
        ("quist", "DOCTOR"),  # from propagation: the rule for lone names knows no roles
        ("Quist", "DOCTOR"),
    ]
    assert {source for span in outcome.spans for source in span.sources} == {
        "template", "record", "model:name", "pattern", "rule:people", "rule:people:alone", "propagation",
    }  # fmt: skip


def test_what_all_models_deny_a_weak_pattern_alone_does_not_find():
    note = Note("n1", "See 3/17 note.\nSeen 03/04/2031.")

    [denied] = with_tagger(find_quist).detect([note])
    [ruled] = with_tagger(None).detect([note])

    assert values(note, denied) == [("03/04/2031", "DATE")]
    assert values(note, ruled) == [("3/17", "DATE"), ("03/04/2031", "DATE")]


def test_known_and_explained_sentences_are_not_shown_to_the_models():
    shown = []

    def record(notes, sentences):
        shown.extend(text[one.start : one.end] for text, row in zip(notes, sentences, strict=True) for one in row)
        return [[] for _ in notes]

    with_tagger(record).detect([Note("n1", "Assessment and plan:\nSigned by: Ann Holm, MD\nQuist saw her.\n")])

    assert shown == ["Quist saw her.\n"]


def test_a_failure_stops_its_note_and_no_other():
    def fail(notes, sentences):
        if any("Holm" in text for text in notes):
            raise ModelError("the engine gave up on a window of 128 tokens")
        return find_quist(notes, sentences)

    notes = [Note(f"n{i}", text) for i, text in enumerate(["Quist one.", "Holm two.", "Quist three."])]
    outcomes = with_tagger(fail).deidentify(notes)

    assert [type(outcome) for outcome in outcomes] == [Deidentified, Quarantined, Deidentified]
    assert [outcome.note_id for outcome in outcomes] == ["n0", "n1", "n2"]
    assert outcomes[1] == Quarantined("n1", "models", "the engine gave up on a window of 128 tokens")


def test_an_error_of_others_is_named_by_its_class_alone():
    def fail(notes, sentences):
        raise KeyError(notes[0])

    [outcome] = with_tagger(fail).detect([Note("n1", "Quist saw her.")])

    assert outcome == Quarantined("n1", "models", "unexpected KeyError")


@pytest.mark.parametrize(
    ("tagger", "stage"),
    [
        pytest.param(lambda notes, sentences: [], "models", id="missing-rows"),
        pytest.param(
            lambda notes, sentences: [[Span(0, 9999, "CITY")] for _ in notes], "fusion", id="outside-the-text"
        ),
    ],
)
def test_a_finder_that_breaks_its_promise_lets_nothing_through(tagger, stage):
    outcomes = with_tagger(tagger).deidentify([Note("n1", "Quist one."), Note("n2", "Quist two.")])

    assert [(type(outcome), outcome.stage) for outcome in outcomes] == [(Quarantined, stage)] * 2


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        pytest.param(Note("n1", "a\udc80b"), "lone surrogate", id="half-a-character"),
        pytest.param(Note("n\udc80", "a"), "the id has a lone surrogate", id="in-the-id"),
        pytest.param(Note("n1", "a", "p\udc80"), "the patient id has a lone surrogate", id="in-the-patient-id"),
        pytest.param(Note("n1", "S\0m\0i\0t\0h"), "null character at offset 1", id="null"),
        pytest.param(Note("n1", None), "type NoneType; expected str", id="no-text"),
        pytest.param(Note("n1", b"Smith"), "type bytes; expected str", id="bytes"),
    ],
)
def test_unreadable_notes_are_quarantined(note, reason):
    before, outcome, after = RULES.deidentify([Note("n0", "x"), note, Note("n2", "y")])

    assert (before.text, after.text) == ("x", "y")
    assert isinstance(outcome, Quarantined)
    assert outcome.stage == "read"
    assert reason in outcome.reason
    assert "mith" not in outcome.reason
    json.dumps(outcome.note_id, ensure_ascii=False).encode()


@pytest.mark.parametrize("text", ["", " ", "\r\n\t"])
def test_notes_without_words_pass_as_they_are(text):
    [outcome] = RULES.deidentify([Note("n1", text)])

    assert isinstance(outcome, Deidentified)
    assert (outcome.text, outcome.spans) == (text, ())


def test_identifiers_are_replaced_and_nothing_else():
    note = Note("n1", "MRN 4417829\r\n\tRosalind Okafor,\u2028 seen\u00a03/4/2031. BP 120/80\n\n", "p1")

    [outcome] = RULES.deidentify([note])

    assert isinstance(outcome, Deidentified)
    assert [note.text[span.start : span.end] for span in outcome.spans] == ["4417829", "Rosalind Okafor", "3/4/2031"]
    old = new = 0
    for span, (start, end) in zip(outcome.spans, outcome.replacements, strict=True):
        assert note.text[old : span.start] == outcome.text[new:start]
        assert note.text[span.start : span.end] != outcome.text[start:end]
        old, new = span.end, end
    assert note.text[old:] == outcome.text[new:]
    assert outcome.note_pseudonym not in ("", "n1")
    assert outcome.patient_pseudonym not in ("", "p1")


def test_a_note_of_no_patient_has_no_patient_pseudonym():
    [outcome] = RULES.deidentify([Note("n1", "x")])

    assert outcome.patient_pseudonym == ""


def test_outcomes_show_no_text():
    [outcome] = RULES.deidentify([Note("n1", "Rosalind Okafor", "p1")])

    assert "Rosalind" not in repr(outcome)
    assert outcome.text not in repr(outcome)


def test_without_a_key_notes_are_searched_but_not_rewritten():
    pipeline = load_pipeline(Settings(use_models=False), key=None, records=RECORDS)

    assert [outcome.note_id for outcome in pipeline.detect([Note("n1", "x")])] == ["n1"]
    with pytest.raises(SettingsError, match="deid key new"):
        pipeline.deidentify([Note("n1", "x")])


def test_a_wrong_list_is_an_error_on_loading(tmp_path):
    (tmp_path / "list.txt").write_text("No fever\nCall 212-867-4410\n", encoding="utf-8")

    with pytest.raises(SettingsError, match="line 2"):
        load_pipeline(Settings(use_models=False, inclusion=tmp_path / "list.txt"), key=None, records={})


def test_the_description_is_json_without_secrets():
    described = json.dumps(RULES.describe())

    assert KEY.hex() not in described
    assert "Okafor" not in described
    assert INCLUSION.sha256 in described
    assert TEMPLATES.sha256 in described


def test_time_is_told_by_stage():
    with load_pipeline(Settings(use_models=False), key=KEY, records={}) as pipeline:
        pipeline.deidentify([Note("n1", "Seen 3/4/2031.")])

        assert tuple(pipeline.stage_seconds) == PIPELINE_STAGES
        assert pipeline.stage_seconds["patterns"] > 0
        assert pipeline.stage_seconds["rewrite"] > 0


@settings(deadline=None, max_examples=50)
@given(st.lists(texts, max_size=4))
def test_a_note_is_answered_as_if_alone(bodies):
    pipeline = with_tagger(find_quist, hold_back_unreadable=False)
    notes = [Note(f"n{i}", body.replace("\0", ""), "p1" if i % 2 else "") for i, body in enumerate(bodies)]

    together = pipeline.deidentify(notes)

    assert together == [outcome for note in notes for outcome in pipeline.deidentify([note])]
    assert all(isinstance(outcome, Deidentified) for outcome in together)


@pytest.mark.parametrize(
    "line", ["seen 3/4/2031 by Rosalind Okafor. ", "Rosalind Okafor saw 4417829 at Elm Grove Clinic\n"]
)
def test_a_long_note_is_served(line):
    note = Note("n1", line * (100_000 // len(line)), "p1")

    [outcome] = RULES.detect([note])

    assert isinstance(outcome, Detected)
    assert len(outcome.spans) >= 2 * (100_000 // len(line)) - 1


def engine_fails(notes, sentences):
    if any("Holm" in text for text in notes):
        raise EngineError("the engine failed with RuntimeError")
    return find_quist(notes, sentences)


def memory_runs_out(notes, sentences):
    if any("Holm" in text for text in notes):
        raise MemoryError
    return find_quist(notes, sentences)


@pytest.mark.parametrize(
    ("tagger", "reason"),
    [
        pytest.param(engine_fails, "the engine failed with RuntimeError", id="engine"),
        pytest.param(memory_runs_out, "memory ran out", id="memory"),
    ],
)
@pytest.mark.parametrize("whole_patients", [False, True])
def test_nothing_is_taken_from_an_engine_after_it_failed(tagger, reason, whole_patients):
    pipeline = with_tagger(tagger)
    other = pipeline.with_surrogates(Surrogates(KEY, operator="tag", date_shift_days=365))
    notes = [Note(f"n{i}", text) for i, text in enumerate(["Quist one.", "Holm two.", "Quist three."])]
    assert pipeline.fault is None

    outcomes = pipeline.deidentify(notes, whole_patients=whole_patients)

    assert outcomes == [Quarantined(note.id, "models", reason) for note in notes]
    assert pipeline.fault == other.fault == Fault("models", reason)
    later = "the engine failed earlier; load a new pipeline"
    for each in (pipeline, other):
        assert each.deidentify([Note("n4", "x")]) == [Quarantined("n4", "models", later)]
        assert each.detect([Note("n4", "x")]) == [Quarantined("n4", "models", later)]


def test_memory_that_runs_out_in_the_surrogates_stops_all_notes():
    class Hungry(Surrogates):
        def replacements(self, *arguments, **more):
            raise MemoryError

    pipeline = RULES.with_surrogates(Hungry(KEY, operator="surrogate", date_shift_days=365))
    pipeline._faults = []  # other tests use RULES too

    outcomes = pipeline.deidentify([Note("n1", "Seen 3/4/2031."), Note("n2", "x")])

    assert outcomes == [Quarantined(name, "surrogates", "memory ran out") for name in ("n1", "n2")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(RuntimeError("of Ann Holm"), "the engine failed with RuntimeError", id="of-a-library"),
        pytest.param(ModelError("not numbers"), "not numbers", id="of-ours"),
    ],
)
def test_an_engine_that_raises_is_a_fault_of_the_engine(error, reason):
    with load_pipeline(Settings(), key=None, records={}) as pipeline:
        graph, engine = pipeline._finder._blocks._tagger._engines[0]

        class Broken:
            name = engine.name
            close = engine.close

            def __call__(self, *arrays):
                raise error

        pipeline._finder._blocks._tagger._engines = [(graph, Broken())]

        [outcome] = pipeline.detect([Note("n1", "Quist saw her.")])

        assert outcome == Quarantined("n1", "models", reason)
        assert pipeline.fault == Fault("models", reason)


def find_gallacher(texts, sentences):
    """Tag one name of two words, only where it is on one line."""
    return [
        [Span(at, at + 13, "DOCTOR", 0.9, ("model:name",)) for at in [text.find("Una Gallacher")] if at >= 0]
        for text in texts
    ]


@pytest.mark.parametrize(
    "written",
    [
        "Una\nGallacher", "Una\r\nGallacher", "Una \n   Gallacher", "Una Galla-\ncher", "Una&nbsp;Gallacher",
        "Una</b> <b>Gallacher", "U n a   G a l l a c h e r", "Una Galla\u200bcher", "Uｎa Gallacher",
        "Una\xa0G\u0430llacher",
    ],
)  # fmt: skip
def test_a_name_in_another_form_is_found_and_replaced_where_it_stands(written):
    before = "The patient was seen this morning on the ward and was dressed by Sister "
    text = f"{before}{written}, who was content with the wound.\n\nPlan:\n- home"

    with with_tagger(find_gallacher) as pipeline:
        [found] = pipeline.detect([Note("n1", text)])
        [made] = pipeline.deidentify([Note("n1", text)])
        [plain] = pipeline.deidentify([Note("n1", text.replace(written, "Una Gallacher"))])

    assert values(Note("n1", text), found) == [(written, "DOCTOR")]
    [(start, end)] = made.replacements
    assert made.text[:start] == text[: len(before)]
    assert made.text[end:] == text[len(before) + len(written) :]
    assert made.text[start:end].count("\n") == written.count("\n")
    [(first, last)] = plain.replacements
    assert "".join(made.text[start:end].split()) == "".join(plain.text[first:last].split())


@given(texts)
def test_what_no_span_covers_is_untouched_whatever_was_read(text):
    [outcome] = RULES.deidentify([Note("n1", text)])

    if isinstance(outcome, Deidentified):
        old = new = 0
        for span, (start, end) in zip(outcome.spans, outcome.replacements, strict=True):
            assert text[old : span.start] == outcome.text[new:start]
            old, new = span.end, end
        assert text[old:] == outcome.text[new:]
