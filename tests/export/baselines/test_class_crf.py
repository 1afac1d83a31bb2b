"""The CRF over classes: its chain against all sequences counted out, its loss against CRFsuite's, its cuts by note."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the CRF over classes sums in torch")
pytest.importorskip("pycrfsuite", reason="the loss is compared with python-crfsuite's")

import pycrfsuite

from deid_export.baselines.class_crf import TAGS, ClassCrfSettings, Encoded, _expect, _in_time, encode, train
from deid_export.baselines.features import note_features
from deid_export.baselines.gazetteer import make_gazetteer
from deid_export.baselines.tags import sentence_words, tag_words
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged
from deid_runtime.errors import SourceError
from deid_runtime.labels import HEAD_OF, HEADS
from tests.export.baselines.notes import gold_notes

UNSEEN = (
    "Patient <PATIENT>Greta Moss</PATIENT> seen on <DATE>5/14/2019</DATE> by Dr. <DOCTOR>Sand</DOCTOR>.\n"
    "Lives in <CITY>Oslo</CITY>, age <AGE>71</AGE>.\nDenies pain, fever and cough."
)

ALL_TAGS = (
    "<DATE>5/14</DATE> <PATIENT>Orr Lund</PATIENT> <HOSPITAL>Elm Clinic</HOSPITAL> <CITY>Dell Rapids</CITY> "
    "<AGE>71 years</AGE>"
)


@pytest.fixture(scope="module")
def encoded() -> Encoded:
    """Thirty notes to learn from, and one that has other names."""
    return encode([*gold_notes(30), _note("unseen", UNSEEN)], make_gazetteer())


def _note(note_id: str, tagged: str) -> AnnotatedNote:
    text, spans = parse_tagged(tagged)
    return AnnotatedNote(note_id, "", "", text, spans)


def test_the_chain_expects_what_all_sequences_together_say() -> None:
    rng = np.random.default_rng(3)
    lengths = np.array([2, 3, 1], np.int32)
    tags = 4
    emissions = rng.normal(size=(6, tags)).astype(np.float32)
    transitions = rng.normal(size=(tags, tags)).astype(np.float32)
    chain = _in_time(lengths)

    expected = _expect(emissions[chain.words], transitions, chain.alive)

    log_sum, of_words, of_pairs = 0.0, np.zeros((6, tags)), np.zeros((tags, tags))
    for first, length in zip((0, 2, 5), lengths, strict=True):
        rows = {}
        for sequence in product(range(tags), repeat=int(length)):
            weight = sum(emissions[first + place, tag] for place, tag in enumerate(sequence))
            rows[sequence] = np.exp(weight + sum(transitions[a, b] for a, b in pairwise(sequence)))
        total = sum(rows.values())
        log_sum += np.log(total)
        for sequence, weight in rows.items():
            for place, tag in enumerate(sequence):
                of_words[first + place, tag] += weight / total
            for pair in pairwise(sequence):
                of_pairs[pair] += weight / total
    assert expected.log_sum == pytest.approx(log_sum, rel=1e-5)
    assert expected.tags == pytest.approx(of_words[chain.words], abs=1e-5)
    assert expected.pairs == pytest.approx(of_pairs, abs=1e-5)


def test_the_loss_falls_as_far_as_that_of_crfsuite(tmp_path: Path) -> None:
    # CRFsuite knows the tags that it met, so it must meet all.
    notes, gazetteer = [*gold_notes(20), _note("all", ALL_TAGS)], make_gazetteer()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for note in notes:
        pieces = sentence_words(note.text)
        for words, rows in zip(pieces, note_features(note.text, pieces, gazetteer), strict=True):
            tags = [tag.partition("-") for tag in tag_words(words, note.spans, "BIO")]
            trainer.append(rows, [f"{prefix}-{HEAD_OF[label]}" if label else "O" for prefix, _, label in tags])
    # CRFsuite counts pairs of tags as features, and would leave out those that never met.
    trainer.set_params({"c2": 0.3, "feature.minfreq": 0, "feature.possible_transitions": True})
    trainer.train(str(tmp_path / "model"))

    model = train(encode(notes, gazetteer), ClassCrfSettings(iterations=150, tolerance=1e-6, min_count=1))

    assert model.loss == pytest.approx(trainer.logparser.last_iteration["loss"], rel=0.002)


def test_words_of_notes_it_never_met_are_found(encoded: Encoded) -> None:
    model = train(encoded.part(range(30)), ClassCrfSettings(iterations=40))
    words = model.score(encoded.part([30]))

    assert set(words.scores) == set(HEADS)
    found = np.stack([words.scores[head] for head in HEADS])
    gold = np.stack([words.gold[head] for head in HEADS])
    assert gold.sum() == 10, "three words of names, five of the date with its strokes, town and age"
    assert ((found >= 0.5) & gold).sum() >= 8
    assert ((found >= 0.5) & ~gold).sum() <= 1
    assert found.sum(0).max() <= 1 + 1e-5


def test_a_note_is_scored_alike_whatever_stands_beside_it(encoded: Encoded) -> None:
    model = train(encoded.part(range(10)), ClassCrfSettings(iterations=20))

    together = model.score(encoded.part([30, 4, 12]))

    apart = [model.score(encoded.part([note])) for note in (30, 4, 12)]
    for head in HEADS:
        assert together.scores[head] == pytest.approx(np.concatenate([one.scores[head] for one in apart]), abs=1e-5)
        assert (together.gold[head] == np.concatenate([one.gold[head] for one in apart])).all()


def test_a_part_is_what_its_notes_alone_are(encoded: Encoded) -> None:
    part = encoded.part([7, 3])
    again = encoded.part(range(len(encoded.notes)))

    assert part.notes.tolist() == encoded.notes[[7, 3]].tolist()
    assert (part.part([1]).features == encoded.part([3]).features).all()
    assert part.sizes.sum() == len(part.features)
    assert part.lengths.sum() == len(part.tags)
    assert all((a == b).all() for a, b in zip(vars(again).values(), vars(encoded).values(), strict=True))


def test_the_same_notes_give_the_same_model(encoded: Encoded) -> None:
    first, second = (train(encoded.part(range(8)), ClassCrfSettings(iterations=10)) for _ in range(2))

    assert first.table.equal(second.table)
    assert (first.transitions == second.transitions).all()


def test_a_tag_of_every_class_begins_and_goes_on() -> None:
    assert len(TAGS) == 1 + 2 * len(HEADS)


def test_no_notes_are_an_error(encoded: Encoded) -> None:
    with pytest.raises(SourceError, match="no note"):
        encoded.part([])
