"""The convolutional tagger: trained as the BERT is, saved, exported beside it, its answers the same in any batch."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

import torch
from torch import Tensor

from deid_export.data.gazetteers import load_gazetteers
from deid_export.data.split import split
from deid_export.model import tagger as bert
from deid_export.model import trained
from deid_export.model.convolutional import ConvSizes, ConvTagger, begin
from deid_export.model.tagger import Shape, tags_of
from deid_export.onnx.assemble import assemble
from deid_export.train.batches import StreamSettings
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS
from deid_runtime.models.engines import load_engine, load_session
from deid_runtime.models.manifest import INPUTS, read_manifest
from deid_runtime.models.tagger import load_tagger, pad
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import Window, WordEncoder, make_windows
from tests.export.lists import write_lists
from tests.export.tiny_model import annotated, write_base, write_trained

SMALL = ConvSizes(pieces=40, types=4, width=24, hidden=16, dilations=(1, 2, 4), dropout=0.1)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    lists = load_gazetteers(write_lists(tmp_path_factory.mktemp("lists") / "lists"))
    return Data(annotated(24), [["no fever.", "denies pain."]], lists, annotated(3))


def settings(base: Path, **changes: object) -> TrainSettings:
    wanted = {"base": str(base), "architecture": "convolutional", "joint_tokens": 12_000, "threads": 1,
              "learning_rate": 3e-3, "checkpoint_every_s": 0.0} | changes  # fmt: skip
    return TrainSettings(**wanted)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def joint(base: Path, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    return train(data, encoder, settings(base), StreamSettings(batch_tokens=512), tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def repository(base: Path, joint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    first = write_trained(folder / "bert.pt", base, joint=True)
    assemble([first, joint], base / "tokenizer.json", annotated(24), folder / "models")
    return folder / "models"


def random_inputs(rows: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(30, (rows, tokens), generator=generator)
    types = torch.randint(12, (rows, tokens), generator=generator)
    return ids, types, torch.ones((rows, tokens), dtype=torch.long)


def windows(encoder: WordEncoder) -> list[Window]:
    return [window for note in annotated(9) for window in make_windows(note.text, split_sentences(note.text), encoder)]


def test_what_stands_behind_the_end_of_a_row_changes_nothing() -> None:
    torch.manual_seed(0)
    model = ConvTagger(30, Shape(0, ("name",)), SMALL).eval()
    ids, types, mask = random_inputs(2, 12)
    longer = [torch.cat([each, torch.full((2, 9), fill)], dim=1) for each, fill in ((ids, 7), (types, 3), (mask, 0))]

    with torch.no_grad():
        short, padded = model(ids, types, mask)["name"], model(*longer)["name"]

    assert torch.allclose(short, padded[:, :12], atol=1e-5)


def test_a_word_is_read_with_neighbours_on_both_sides_as_far_as_the_dilations_reach() -> None:
    torch.manual_seed(0)
    model = ConvTagger(30, Shape(0, ("age",)), SMALL).eval()
    ids, types, mask = random_inputs(1, 40)
    changed = ids.clone()
    changed[0, 20] = (ids[0, 20] + 1) % 30

    with torch.no_grad():
        differs = (model(ids, types, mask)["age"] != model(changed, types, mask)["age"]).any(-1)[0]

    reach = sum(SMALL.dilations)
    assert differs.nonzero().flatten().tolist() == list(range(20 - reach, 21 + reach))


def test_it_begins_with_the_piece_embeddings_of_the_base_on_their_main_axes(base: Path) -> None:
    pieces = bert.load_base(str(base)).embeddings.word_embeddings.weight.detach()
    begun = begin(str(base), Shape(0, tuple(HEADS)), SMALL).pieces.weight.detach()[:, : pieces.shape[1]]

    # A rotation and one factor: distances between pieces keep their proportions.
    before, after = torch.pdist(pieces), torch.pdist(begun)
    assert torch.allclose(after / after.mean(), before / before.mean(), atol=1e-4)
    assert float(begun.std()) == pytest.approx(0.4, rel=1e-3)


def test_training_learns(joint: Path) -> None:
    rows = [json.loads(line) for line in (joint.parent / "log.jsonl").read_text().splitlines()]

    assert joint.name == "joint.pt"
    # Precision and recall: at first it finds nothing or everything.
    assert min(rows[-1]["identifier"]["0.5"]) > 0.5 > min(rows[0]["identifier"]["0.5"])


def test_training_goes_on_from_a_finished_model(base: Path, data: Data, joint: Path, tmp_path: Path) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    path = train(
        data, encoder, settings(base, start=joint, joint_tokens=600), StreamSettings(batch_tokens=512), tmp_path
    )
    first, second = trained.load(joint).state_dict(), trained.load(path).state_dict()

    moved = {name: float((first[name] - second[name]).abs().max()) for name in first}
    assert 0 < max(moved.values()) < 0.05


def test_a_model_of_one_architecture_is_not_gone_on_with_as_another(
    base: Path, data: Data, joint: Path, tmp_path: Path
) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    other = write_trained(tmp_path / "bert.pt", base, joint=True)

    with pytest.raises(InputError, match="is a BERT"):
        train(data, encoder, settings(base, start=other), StreamSettings(), tmp_path / "a")
    with pytest.raises(InputError, match="is no BERT"):
        train(data, encoder, settings(base, start=joint, architecture="bert"), StreamSettings(), tmp_path / "b")
    with pytest.raises(InputError, match="is no BERT"):
        bert.load(joint)


def test_a_model_file_is_read_back_whatever_its_architecture(base: Path, joint: Path, tmp_path: Path) -> None:
    loaded = trained.load(joint)
    assert isinstance(loaded, ConvTagger)
    assert {head: len(layer.bias) for head, layer in loaded.classifiers.items()} == {
        head: len(tags_of(head)) for head in HEADS
    }
    assert isinstance(trained.load(write_trained(tmp_path / "bert.pt", base)), bert.BranchedTagger)


def test_a_repository_serves_it_beside_a_bert(repository: Path) -> None:
    manifest = read_manifest(repository)
    assert [graph.name for graph in manifest.profiles["full"].graphs] == ["v0", "v1"]

    with load_tagger(
        Settings(models=repository, trust_models=True, profile="full", thresholds=dict.fromkeys(HEADS, 0.05))
    ) as tagger:
        texts = [note.text for note in annotated(4)]
        found = tagger(texts, [split_sentences(text) for text in texts])
    assert any(span.label == "DATE" for row in found for span in row)


def test_its_graph_can_be_served_in_parts(repository: Path, tmp_path: Path) -> None:
    graph = read_manifest(repository).graphs["v1"]
    parts = split(graph, tmp_path)
    rows = pad(windows(WordEncoder.from_file(repository / "tokenizer.json"))[:2], 0)
    names = [f"{version.output}_score" for version in graph.heads]
    whole = load_session("onnxruntime", graph.file, INPUTS, names, 1)(*rows)

    [hidden] = load_session("onnxruntime", parts.encoder, INPUTS, ["hidden"], 1)(*rows)
    for version, score in zip(graph.heads, whole, strict=True):
        head = load_session("onnxruntime", parts.heads[version.output], ["hidden"], [f"{version.output}_score"], 1)
        [own] = head(hidden)
        off = np.abs(score.astype(np.float32) - own.astype(np.float32))
        assert off[rows[2] > 0].max() <= 0.02  # behind the end of a row it means nothing


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_int8_answers_do_not_depend_on_the_batch(repository: Path, engine: str) -> None:
    encoder = WordEncoder.from_file(repository / "tokenizer.json")
    rows = windows(encoder)
    graph = read_manifest(repository).graphs["v1"]
    run = load_engine(engine, graph.file, [version.output for version in graph.heads], 1)
    together = run(*pad(rows, encoder.pad))
    alone = [run(*pad([window], encoder.pad)) for window in rows]

    for number, answer in enumerate(together):
        for row, answers in enumerate(alone):
            one = answers[number]
            length = one.scores.shape[1]
            real = len(rows[row].ids)
            assert np.array_equal(answer.scores[row, : min(real, length)], one.scores[0, : min(real, length)])
            assert np.array_equal(answer.tags[row, : min(real, length)], one.tags[0, : min(real, length)])
