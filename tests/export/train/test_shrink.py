"""Test a model shrunk to fewer layers and neurons: what is kept, that it loads, and that a teacher helps it."""

import dataclasses
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

import torch
from click.testing import CliRunner

from deid_export.cli.main import main
from deid_export.data.gazetteers import load_gazetteers
from deid_export.model.tagger import BranchedTagger, Shape, config_to_save, load, load_base, save
from deid_export.onnx.assemble import assemble
from deid_export.onnx.restore import restore
from deid_export.train.batches import Batch, StreamSettings, stream_batches
from deid_export.train.distil import Teacher, divergence
from deid_export.train.shrink import shrink
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.errors import InputError, ModelError
from deid_runtime.labels import HEADS
from deid_runtime.text.windows import WordEncoder
from deid_runtime.text.words import SHAPE_TYPE_COUNT, TYPE_COUNT
from tests.export.lists import write_lists
from tests.export.tiny_model import annotated, write_base, write_trained

_INPUTS = torch.arange(5, 14)[None], torch.zeros((1, 9), dtype=torch.long), torch.ones((1, 9))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def encoder(base: Path) -> WordEncoder:
    return WordEncoder.from_file(base / "tokenizer.json")


@pytest.fixture
def deep(base: Path, tmp_path: Path) -> Path:
    """Write a model of four layers: the second does nothing, the last little; half of the inner neurons are dead."""
    torch.manual_seed(5)
    bert = load_base(str(base))
    config = bert.config
    config.num_hidden_layers = 4
    bert = type(bert)(config, add_pooling_layer=False).eval()
    model = BranchedTagger(bert, Shape(1, tuple(HEADS)), joint=True)
    layers = bert.encoder.layer
    with torch.no_grad():
        for number, layer in enumerate(layers):
            for part in (layer.attention.output.dense, layer.output.dense):
                part.weight.mul_(0.0 if number == 1 else 30.0)
                part.bias.zero_()
            layer.output.dense.weight[:, ::2] = 0
    save(model, config_to_save(config), tmp_path / "deep.pt")
    return tmp_path / "deep.pt"


def test_layers_and_neurons_that_do_nothing_go_first(deep: Path, encoder: WordEncoder, tmp_path: Path) -> None:
    kept = shrink(deep, annotated(), encoder, tmp_path / "small.pt", layers=3, feed_forward=32)

    small = load(tmp_path / "small.pt").eval()
    assert kept == (0, 2, 3)
    assert all(layer.get_parameter("intermediate.dense.bias").shape == (32,) for layer in small.shared)
    with torch.inference_mode():
        for head, logits in load(deep).eval()(*_INPUTS).items():
            torch.testing.assert_close(small(*_INPUTS)[head], logits, rtol=1e-3, atol=1e-4)


def test_a_model_of_the_same_size_is_the_same(deep: Path, encoder: WordEncoder, tmp_path: Path) -> None:
    assert shrink(deep, annotated(), encoder, tmp_path / "same.pt", layers=4, feed_forward=64) == (0, 1, 2, 3)

    with torch.inference_mode():
        for head, logits in load(deep).eval()(*_INPUTS).items():
            torch.testing.assert_close(load(tmp_path / "same.pt").eval()(*_INPUTS)[head], logits)


def test_a_model_without_word_classes_can_be_shrunk(deep: Path, encoder: WordEncoder, tmp_path: Path) -> None:
    name = "embeddings.token_type_embeddings.weight"
    saved = torch.load(deep, weights_only=True)
    state = saved["state"] | {name: saved["state"][name][:SHAPE_TYPE_COUNT].clone()}
    torch.save(saved | {"state": state, "config": saved["config"] | {"type_vocab_size": SHAPE_TYPE_COUNT}}, deep)

    assert shrink(deep, annotated(), encoder, tmp_path / "small.pt", layers=3, feed_forward=32) == (0, 2, 3)
    assert len(load(tmp_path / "small.pt").state_dict()[name]) == TYPE_COUNT


def test_a_shrunk_model_comes_back_out_of_its_graph(
    deep: Path, encoder: WordEncoder, base: Path, tmp_path: Path
) -> None:
    shrink(deep, annotated(), encoder, tmp_path / "small.pt", layers=2, feed_forward=48)
    saved = torch.load(tmp_path / "small.pt", weights_only=True)
    torch.manual_seed(3)  # as after training: the exporter stores equal weights once
    state = {name: value + 0.05 * torch.randn_like(value) for name, value in saved["state"].items()}
    torch.save(saved | {"state": state}, tmp_path / "small.pt")
    assemble([tmp_path / "small.pt"], base / "tokenizer.json", annotated(), tmp_path / "repository", int8=False)

    again = restore(tmp_path / "repository" / "v0" / "1" / "model.onnx", str(base), tmp_path / "again.pt").eval()

    with torch.inference_mode():
        for head, logits in load(tmp_path / "small.pt").eval()(*_INPUTS).items():
            torch.testing.assert_close(again(*_INPUTS)[head], logits)


def test_what_cannot_be_shrunk_is_refused(deep: Path, encoder: WordEncoder, base: Path, tmp_path: Path) -> None:
    heads = write_trained(tmp_path / "heads.pt", base)

    with pytest.raises(InputError, match="4 layers of 64"):
        shrink(deep, annotated(), encoder, tmp_path / "x.pt", layers=5, feed_forward=64)
    with pytest.raises(ModelError, match="joint.pt"):
        shrink(heads, annotated(), encoder, tmp_path / "x.pt", layers=1, feed_forward=64)
    assert not (tmp_path / "x.pt").exists()


def test_the_divergence_is_none_between_equals_and_grows_with_the_difference(base: Path, encoder: WordEncoder) -> None:
    batch, logits = answered(base, encoder)
    near = {head: value + 0.1 * torch.eye(value.shape[-1])[0] for head, value in logits.items()}
    far = {head: value + 1.0 * torch.eye(value.shape[-1])[0] for head, value in logits.items()}

    assert float(divergence(logits, logits, batch.targets)) == pytest.approx(0, abs=1e-6)
    assert 0 < float(divergence(near, logits, batch.targets)) < float(divergence(far, logits, batch.targets))


def answered(base: Path, encoder: WordEncoder) -> tuple[Batch, dict[str, torch.Tensor]]:
    torch.manual_seed(2)
    model = BranchedTagger(load_base(str(base)), Shape(1, tuple(HEADS)), joint=True).eval()
    lists = (
        load_gazetteers(write_lists(base / "lists"))
        if not (base / "lists").exists()
        else load_gazetteers(base / "lists")
    )
    batch = next(stream_batches(annotated(), [], lists, encoder, tuple(HEADS), StreamSettings(negative_share=0)))
    with torch.inference_mode():
        return batch, model(batch.input_ids, batch.token_type_ids, batch.attention_mask)


def test_a_student_learns_what_its_teacher_says(deep: Path, encoder: WordEncoder, base: Path, tmp_path: Path) -> None:
    shrink(deep, annotated(), encoder, tmp_path / "small.pt", layers=1, feed_forward=32)
    batch, _ = answered(base, encoder)
    data = Data(annotated(), [["no fever.", "denies pain."]], load_gazetteers(base / "lists"), [])
    settings = TrainSettings(
        base=str(base), start=tmp_path / "small.pt", joint_tokens=40_000, head_tokens=0, threads=1, learning_rate=3e-3,
        shared_layers=1, dropout=0.0, checkpoint_every_s=600,
    )  # fmt: skip
    teacher = Teacher(deep, load(deep))

    def learnt(name: str, path: Path | None) -> float:
        train(data, encoder, dataclasses.replace(settings, teacher=path), StreamSettings(batch_tokens=512),
              tmp_path / name)  # fmt: skip
        student = load(tmp_path / name / "joint.pt").eval()
        with torch.inference_mode():
            answers = student(batch.input_ids, batch.token_type_ids, batch.attention_mask)
            return float(divergence(answers, teacher(batch), batch.targets))

    assert learnt("taught", deep) < 0.8 * learnt("alone", None)


def test_the_last_hidden_states_count_less_and_less(base: Path, deep: Path, encoder: WordEncoder) -> None:
    batch, _ = answered(base, encoder)
    student = load(deep).eval()
    teacher = Teacher(deep, student)

    def loss(progress: float) -> float:
        logits = student(batch.input_ids, batch.token_type_ids, batch.attention_mask)
        return float(teacher.loss(batch, logits, progress).detach())

    assert loss(0.0) == pytest.approx(0, abs=1e-4)  # the student equals its teacher
    with torch.no_grad():
        student.get_parameter("branches.name.layers.2.output.LayerNorm.bias").add_(0.5)
    first, middle, last = loss(0.0), loss(0.5), loss(1.0)
    assert first > middle > last > 0
    assert first - middle == pytest.approx(middle - last, rel=1e-3)


def test_a_teacher_must_have_the_heads_of_its_student(base: Path, deep: Path, tmp_path: Path) -> None:
    encoder = load_base(str(base))
    one = BranchedTagger(encoder, Shape(1, ("name",)), joint=True)
    save(one, config_to_save(encoder.config), tmp_path / "one.pt")

    with pytest.raises(InputError, match="location"):
        Teacher(tmp_path / "one.pt", load(deep))


def test_the_command_names_the_layers_kept(deep: Path, base: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    arguments = [
        "models",
        "shrink",
        str(deep),
        "-o",
        str(tmp_path / "small.pt"),
        "--base",
        str(base),
        "--notes",
        str(notes),
    ]
    notes.write_text(
        "%% patient id=p1\n%% note id=n1 type=Letter\nseen <DATE>3/14/2019</DATE> by dr. <DOCTOR>quist</DOCTOR>.\n"
    )

    told = CliRunner().invoke(main, [*arguments, "--layers", "3", "--feed-forward", "32"])
    refused = CliRunner().invoke(main, [*arguments, "--layers", "9", "--feed-forward", "32"])

    assert told.exit_code == 0, told.output
    assert "layers 0, 2, 3" in told.output
    assert refused.exit_code == 2
    assert len(refused.output.splitlines()) == 1
