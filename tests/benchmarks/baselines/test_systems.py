"""Test every baseline end to end: train on small notes, load again, and detect."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the neural baselines need torch")
pytest.importorskip("transformers", reason="the neural baselines need transformers")
pytest.importorskip("pycrfsuite", reason="the CRF needs python-crfsuite")

import torch

from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.audit.features import note_features
from deid_runtime.audit.gazetteer import make_gazetteer
from deid_runtime.audit.word_tags import sentence_words
from deid_runtime.errors import ModelError
from deid_runtime.spans import Detector
from tests.benchmarks.baselines.notes import gold_notes
from tests.benchmarks.scripts import load_script
from tests.export.lists import write_lists
from tests.export.tiny_model import write_base

systems = load_script("baselines/systems")
bilstm = load_script("baselines/bilstm_crf")
BertSettings = load_script("baselines/bert_bieso").BertSettings
BilstmSettings, Sizes = bilstm.BilstmSettings, bilstm.Sizes
CrfSettings = load_script("baselines/crf_baseline").CrfSettings
score_detector = load_script("baselines/fitting").score_detector

UNSEEN = "Patient Greta Moss seen on 5/14/2019 by Dr. Sand.\nLives in Oslo, age 71.\nDenies pain.\nMRN: 00711785\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"), layers=1)


@pytest.fixture(scope="module")
def notes() -> list[AnnotatedNote]:
    return gold_notes()


@pytest.fixture(scope="module")
def trained(base: Path, notes: list[AnnotatedNote], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("trained")
    common = {"held_out": 0.2, "threads": 1}
    settings = {
        "crf": CrfSettings(iterations=30, c1=0.0, c2=0.05),
        "bilstm-crf": BilstmSettings(tokens=20_000, learning_rate=1e-2, batch_sentences=8, base=str(base), **common),  # type: ignore[arg-type]
        "bert-bieso": BertSettings(tokens=60_000, learning_rate=5e-3, batch_tokens=512, base=str(base), **common),  # type: ignore[arg-type]
    }
    for system, chosen in settings.items():
        systems.train_baseline(system, notes, chosen, folder / system)
    return {system: folder / system for system in settings}


@pytest.mark.parametrize("system", ["crf", "bilstm-crf", "bert-bieso"])
def test_it_finds_what_it_learnt_in_texts_it_did_not(trained: dict[str, Path], system: str) -> None:
    detector = systems.load_baseline(trained[system])

    [spans, nothing] = detector([UNSEEN, ""])

    found = {(UNSEEN[span.start : span.end], span.label) for span in spans}
    assert ("71", "AGE") in found
    assert any(label == "DATE" for _, label in found)
    assert all(left.end <= right.start for left, right in pairwise(spans))
    assert nothing == []


@pytest.mark.parametrize("system", ["crf", "bilstm-crf", "bert-bieso"])
def test_a_text_is_answered_alike_whatever_stands_beside_it(trained: dict[str, Path], system: str) -> None:
    detector: Detector = systems.load_baseline(trained[system])
    texts = [UNSEEN, gold_notes(1)[0].text, "Age: 40"]

    together = detector(texts)

    assert together == [row for text in texts for row in detector([text])]


def test_what_was_trained_with_the_same_settings_is_not_trained_again(
    trained: dict[str, Path], notes: list[AnnotatedNote]
) -> None:
    model = trained["crf"] / "model.crfsuite"
    before = model.stat().st_mtime_ns
    systems.train_baseline("crf", notes, CrfSettings(iterations=30, c1=0.0, c2=0.05), trained["crf"])

    assert model.stat().st_mtime_ns == before


def test_other_settings_train_anew(notes: list[AnnotatedNote], tmp_path: Path) -> None:
    first = systems.train_baseline("crf", notes, CrfSettings(iterations=2), tmp_path)
    second = systems.train_baseline("crf", notes, CrfSettings(iterations=3), tmp_path)

    assert (first["training"]["iterations"], second["training"]["iterations"]) == (2, 3)
    assert systems.read_card(tmp_path) == second


def test_the_same_seed_gives_the_same_network(base: Path, notes: list[AnnotatedNote], tmp_path: Path) -> None:
    settings = BilstmSettings(tokens=2_000, batch_sentences=8, base=str(base), threads=1, held_out=0.2)
    for name in "ab":
        systems.train_baseline("bilstm-crf", notes, settings, tmp_path / name)
    first, second = (torch.load(tmp_path / name / "model.pt", weights_only=True)["state"] for name in "ab")

    assert all(torch.equal(first[key], second[key]) for key in first)


def test_cards_say_what_was_trained_on_what(trained: dict[str, Path]) -> None:
    card = systems.read_card(trained["bilstm-crf"])

    assert card["system"] == "bilstm-crf"
    assert card["notes"] == 30
    assert card["settings"]["base"].count("/") == 1, "the folder's name, not where it lies"
    assert card["training"]["held_out_notes"] == 6
    assert card["training"]["passes"][-1]["f1"] > 0.5


def test_the_union_covers_what_each_finds(trained: dict[str, Path]) -> None:
    folders = [trained["crf"], trained["bilstm-crf"]]
    [together] = systems.load_union(folders)([UNSEEN])

    for folder in folders:
        for span in systems.load_baseline(folder)([UNSEEN])[0]:
            assert any(wide.start <= span.start and span.end <= wide.end for wide in together)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read as JSON"), ("[]", "is no JSON object"), ('{"system": "hmm"}', "holds a 'hmm'")],
)
def test_folders_without_a_baseline_are_named(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "baseline.json").write_text(content)

    with pytest.raises(ModelError, match=message):
        systems.load_baseline(tmp_path)


@pytest.mark.parametrize("system", ["crf", "bilstm-crf", "bert-bieso"])
def test_folders_without_their_model_are_named(tmp_path: Path, system: str) -> None:
    (tmp_path / "baseline.json").write_text(json.dumps({"system": system}))

    with pytest.raises(ModelError, match="train (it|the baseline) again"):
        systems.load_baseline(tmp_path)


def test_the_network_has_the_sizes_of_the_paper() -> None:
    assert Sizes() == Sizes(characters=25, character_lstm=25, tokens=100, token_lstm=100, hidden=100, dropout=0.5)


def test_batches_hold_each_distinct_word_once() -> None:
    vocabulary = bilstm._numbered(["00", "orr", "seen"], list("Oerns"))
    batch = bilstm.make_batch([(["Seen", "Orr", "Orr"], [0, 3, 4]), (["43"], None)], vocabulary, frozenset({"seen"}))

    assert batch.words.tolist() == [0, 2, 1], "withheld, known, known by its form"
    assert batch.places.tolist() == [[0, 1, 1], [2, 0, 0]]
    assert batch.mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.tags.tolist() == [[0, 3, 4], [0, 0, 0]]
    assert batch.lengths.tolist() == [4, 3, 2]
    assert batch.characters[2].tolist() == [0, 0, 1, 1], "characters that training never met, then padding"


def test_embeddings_begin_as_the_pieces_of_the_base(base: Path) -> None:
    vectors = bilstm.projected_pieces(str(base), ["orr", "orr", "seen"], 8)

    assert vectors.shape == (3, 8)
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.allclose(vectors[0], vectors[2])


def test_all_learn_fresh_values_and_further_lists(base: Path, notes: list[AnnotatedNote], tmp_path: Path) -> None:
    lists = write_lists(tmp_path / "lists")
    neural = {"base": str(base), "held_out": 0.2, "threads": 1, "resample_from": lists, "minutes": 1}
    settings = {
        "crf": CrfSettings(iterations=25, lists=lists),
        "bilstm-crf": BilstmSettings(tokens=500, **neural),
        "bert-bieso": BertSettings(tokens=2_000, **neural),
    }
    for system, chosen in settings.items():
        assert systems.train_baseline(system, notes, chosen, tmp_path / system)["system"] == system

    assert (score_detector(systems.load_baseline(tmp_path / "crf"), notes).recall or 0) > 0.9


def test_further_lists_are_features_of_the_crf(tmp_path: Path) -> None:
    text = "to Elko General Hospital"
    gazetteer = make_gazetteer(load_script("baselines/crf_baseline").further_lists(write_lists(tmp_path / "lists")))
    [row] = note_features(text, sentence_words(text), gazetteer)

    assert "0g=hospital-large" in row[2]
