"""Test an MPNet as an encoder: its hidden states for our tokens, and its export."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

import torch
from click.testing import CliRunner
from torch import nn
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, MPNetTokenizerFast

from deid_export.cli.main import main
from deid_export.data.gazetteers import load_gazetteers
from deid_export.model import coded
from deid_export.model.mpnet import bucket, is_mpnet, load_mpnet
from deid_export.model.tagger import BranchedTagger, Shape, config_to_save, load, load_base, save
from deid_export.onnx.assemble import assemble
from deid_export.onnx.export import export_fused
from deid_export.onnx.restore import restore
from deid_export.train.batches import StreamSettings, piece_counts
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS
from deid_runtime.text.windows import WordEncoder
from tests.deid_runtime.text.test_windows import small_tokenizer
from tests.export.lists import write_lists
from tests.export.tiny_model import annotated, write_base

UNKNOWN_THERE = "z"


@pytest.fixture(scope="module")
def pieces() -> dict[str, int]:
    found: dict[str, int] = small_tokenizer().get_vocab()
    return found


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory, pieces: dict[str, int]) -> Path:
    """Write an MPNet of three layers whose tokens have another order than ours, and lack one of ours."""
    folder = tmp_path_factory.mktemp("mpnet")
    common = sorted(set(pieces) - {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]", UNKNOWN_THERE}, reverse=True)
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", *common, "<mask>"]
    listed = folder / "vocab.txt"
    listed.write_text("".join(f"{piece}\n" for piece in vocabulary), encoding="utf-8")
    MPNetTokenizerFast(vocab_file=str(listed)).save_pretrained(folder)
    torch.manual_seed(3)
    config = MPNetConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=514,
    )
    model = MPNetModel(config, add_pooling_layer=False)
    nn.init.normal_(model.encoder.relative_attention_bias.weight, std=2.0)  # so that distances matter
    model.save_pretrained(folder)
    return folder


def test_an_mpnet_is_told_from_a_bert(mpnet: Path, tmp_path: Path) -> None:
    assert is_mpnet(str(mpnet))
    assert not is_mpnet(str(write_base(tmp_path)))


def test_hidden_states_are_those_of_the_mpnet(mpnet: Path, pieces: dict[str, int]) -> None:
    theirs = MPNetModel.from_pretrained(mpnet, add_pooling_layer=False).eval()
    bert, distances = load_mpnet(str(mpnet), pieces)
    last = "encoder.layer.2.output.LayerNorm"  # scaled for the classifiers
    bert.load_state_dict({name: v for name, v in theirs.state_dict().items() if name.startswith(last)}, strict=False)
    model = BranchedTagger(bert, Shape(3, ("name",)), joint=True, distances=distances).eval()
    letters = [piece for piece in pieces if len(piece) == 1 and piece != UNKNOWN_THERE]
    row = (letters * 8)[:120]
    vocabulary = MPNetTokenizerFast.from_pretrained(mpnet).get_vocab()
    ours = torch.tensor([[pieces["[CLS]"], *(pieces[letter] for letter in row), pieces["[SEP]"]]])
    there = torch.tensor([[vocabulary["<s>"], *(vocabulary[letter] for letter in row), vocabulary["</s>"]]])
    mask = torch.ones_like(ours)
    mask[0, 100:] = 0

    with torch.no_grad():
        hidden, _ = model.encode(ours, torch.zeros_like(ours), mask)
        expected = theirs(input_ids=there, attention_mask=mask).last_hidden_state

    assert torch.allclose(hidden[:, :100], expected[:, :100], atol=1e-5)


def test_an_unknown_piece_is_read_as_unknown(mpnet: Path, pieces: dict[str, int]) -> None:
    bert, _ = load_mpnet(str(mpnet), pieces)
    embedded = bert.embeddings.word_embeddings.weight

    assert torch.equal(embedded[pieces[UNKNOWN_THERE]], embedded[pieces["[UNK]"]])


def test_the_lowest_layers_are_kept(mpnet: Path, pieces: dict[str, int]) -> None:
    whole, _ = load_mpnet(str(mpnet), pieces)
    cut, _ = load_mpnet(str(mpnet), pieces, layers=2)

    found, there = cut.state_dict(), whole.state_dict()
    assert cut.config.num_hidden_layers == len(cut.encoder.layer) == 2
    assert torch.equal(found["encoder.layer.0.output.dense.weight"], there["encoder.layer.0.output.dense.weight"])
    assert found["encoder.layer.1.output.LayerNorm.weight"].abs().mean().item() == pytest.approx(1.0)


def test_near_distances_have_buckets_of_their_own() -> None:
    found = bucket(torch.tensor([0, -1, -7, -8, -128, -500, 1, 7, 500])).tolist()

    assert found == [0, 1, 7, 8, 15, 15, 17, 23, 31]


def test_codes_keep_what_is_often_met_closer() -> None:
    torch.manual_seed(5)
    embedding = nn.Embedding(2000, 16)
    counts = torch.zeros(2000)
    counts[:400] = 10_000
    made = coded.code(embedding, counts)
    ids = torch.arange(2000).reshape(4, 500)
    with torch.no_grad():
        error = (made(ids) - embedding(ids)).reshape(2000, 16).pow(2).mean(1)

    assert made(ids).shape == (4, 500, 16)
    assert error[:400].mean() < 0.5 * error[400:].mean()
    assert error.mean() < 0.2  # with a variance of 1
    assert made.codes.numel() * 4 == embedding.weight.numel()
    assert not any(parameter.requires_grad for parameter in made.parameters())


def test_embeddings_that_cannot_be_cut_are_refused() -> None:
    with pytest.raises(InputError, match="30 values cannot be divided into stretches of 4"):
        coded.code(nn.Embedding(10, 30), torch.ones(10))


def test_a_saved_model_with_codes_and_distances_is_read_back(
    mpnet: Path, pieces: dict[str, int], tmp_path: Path
) -> None:
    encoder = WordEncoder(small_tokenizer())
    bert, distances = load_mpnet(str(mpnet), pieces, layers=2)
    coded.code_pieces(bert, piece_counts(annotated(), encoder))
    model = BranchedTagger(bert, Shape(1, tuple(HEADS)), joint=True, distances=distances).eval()
    save(model, config_to_save(bert.config), tmp_path / "joint.pt")
    again = load(tmp_path / "joint.pt").eval()
    ids = torch.randint(0, len(pieces), (2, 24))
    mask = torch.ones_like(ids)

    with torch.no_grad():
        expected, found = model(ids, mask, mask), again(ids, mask, mask)

    assert all(torch.equal(expected[head], found[head]) for head in HEADS)


def test_the_exported_graph_scores_as_the_model_does_at_every_length(
    mpnet: Path, pieces: dict[str, int], tmp_path: Path
) -> None:
    bert, distances = load_mpnet(str(mpnet), pieces, layers=2)
    coded.code_pieces(bert, torch.ones(len(pieces)))
    model = BranchedTagger(bert, Shape(1, ("name",)), joint=True, distances=distances).eval()
    export_fused(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])

    for tokens in (9, 16, 128):
        ids = np.random.default_rng(tokens).integers(0, len(pieces), (3, tokens)).astype(np.int32)
        mask = np.ones_like(ids)
        mask[0, tokens // 2 :] = 0
        _, score = session.run(None, {"input_ids": ids, "token_type_ids": 0 * ids, "attention_mask": mask})
        with torch.no_grad():
            given = (torch.from_numpy(each).long() for each in (ids, 0 * ids, mask))
            expected = 1 - torch.softmax(model(*given)["name"], -1)[..., 0].numpy()
        assert np.abs(score - expected)[mask == 1].max() < 2e-3


@pytest.mark.parametrize("int8", [False, True])
def test_a_graph_gives_its_weights_back(mpnet: Path, pieces: dict[str, int], tmp_path: Path, int8: bool) -> None:
    torch.manual_seed(8)
    bert, distances = load_mpnet(str(mpnet), pieces, layers=2)
    coded.code_pieces(bert, torch.ones(len(pieces)))
    model = BranchedTagger(bert, Shape(2, tuple(HEADS)), joint=True, distances=distances).eval()
    for parameter in model.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)  # the exporter stores equal weights once
    save(model, config_to_save(bert.config), tmp_path / "joint.pt")
    small_tokenizer().save(str(tmp_path / "tokenizer.json"))
    assemble([tmp_path / "joint.pt"], tmp_path / "tokenizer.json", annotated(), tmp_path / "made", int8=int8)

    graph = tmp_path / "made" / "v0" / "1" / "model.onnx"
    again = restore(graph, str(mpnet), tmp_path / "again.pt", shared_layers=1).eval()

    ids = torch.randint(0, len(pieces), (2, 60))
    mask = torch.ones_like(ids)
    with torch.no_grad():
        expected, found = model(ids, mask, mask), again(ids, mask, mask)
    for head in HEADS:
        torch.testing.assert_close(found[head], expected[head], atol=0.1 if int8 else 1e-5, rtol=0)


def test_the_command_line_trains_one_and_goes_on_from_it(
    mpnet: Path, pieces: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = tmp_path / "packaged"
    packaged.mkdir()
    monkeypatch.setattr("deid_export.model.tagger.packaged_base", lambda: str(write_base(packaged)))
    (tmp_path / "notes").mkdir()
    line = "pt <PATIENT>alma orr</PATIENT> seen <DATE>3/14/2019</DATE>."
    (tmp_path / "notes" / "p.txt").write_text(f"%% patient id=p\n%% note id=n\n{line}\n", encoding="utf-8")
    lists = write_lists(tmp_path / "lists")
    common = ["--notes", str(tmp_path / "notes"), "--lists", str(lists), "--threads", "1", "--joint-tokens", "400",
              "--head-tokens", "0", "--batch-tokens", "128", "--shared-layers", "1"]  # fmt: skip

    result = CliRunner().invoke(
        main, ["train", *common, "--base", str(mpnet), "--layers", "2", "--coded-pieces", "-o", str(tmp_path / "a")]
    )
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(
        main, ["train", *common, "--start", str(tmp_path / "a" / "joint.pt"), "-o", str(tmp_path / "b")]
    )
    assert result.exit_code == 0, result.output
    first, second = (load(tmp_path / run / "joint.pt").state_dict() for run in "ab")

    kept = [name for name in first if "word_embeddings" in name]
    assert len(kept) == 2, "codes and their centres"
    assert all(torch.equal(first[name], second[name]) for name in kept)
    assert not torch.equal(first["distances.bias.weight"], second["distances.bias.weight"]), "distances are trained"


def test_a_bert_keeps_its_lowest_layers_too(tmp_path: Path) -> None:
    cut = load_base(str(write_base(tmp_path)), layers=1)

    assert cut.config.num_hidden_layers == len(cut.encoder.layer) == 1
    assert isinstance(BertModel(BertConfig(**config_to_save(cut.config))), BertModel)


def test_more_layers_than_the_base_has_are_refused(mpnet: Path, pieces: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 3 layers, so 4 cannot be kept"):
        load_mpnet(str(mpnet), pieces, layers=4)
    with pytest.raises(InputError, match="has 2 layers, so 3 cannot be kept"):
        load_base(str(write_base(tmp_path)), layers=3)


def test_the_shape_of_a_base_is_settled_when_its_training_begins(tmp_path: Path) -> None:
    data = Data([], [], load_gazetteers(write_lists(tmp_path / "lists")), [])
    for settings in (
        TrainSettings(base="", layers=2, start=tmp_path / "joint.pt"),
        TrainSettings(base="", coded_pieces=True, start=tmp_path / "joint.pt"),
    ):
        with pytest.raises(InputError, match="only when training starts"):
            train(data, WordEncoder(small_tokenizer()), settings, StreamSettings(), tmp_path / "run")


def test_distances_are_kept_while_heads_learn_apart(mpnet: Path, pieces: dict[str, int]) -> None:
    bert, distances = load_mpnet(str(mpnet), pieces, layers=2)
    model = BranchedTagger(bert, Shape(1, tuple(HEADS)), joint=True, distances=distances).branch_out()
    model.freeze_shared()

    assert {name.split(".")[0] for name, each in model.named_parameters() if each.requires_grad} == {"branches"}
