"""Test all steps from annotated notes to a model repository that the runtime loads, with a very small real BERT."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs torch, which the runtime does without")
pytest.importorskip("transformers", reason="training needs transformers, which the runtime does without")
pytest.importorskip("nncf", reason="quantising needs nncf")

import torch

from deid_export.data.gazetteers import load_gazetteers
from deid_export.model.tagger import BranchedTagger, Shape, load, load_base, tags_of
from deid_export.onnx.assemble import assemble
from deid_export.onnx.export import FusedGraph, export_fused
from deid_export.train.batches import IGNORED, StreamSettings, stream_batches, window_targets
from deid_export.train.training import Data, TrainSettings, train
from deid_runtime.annotations.note import AnnotatedNote
from deid_runtime.annotations.tagged import parse_tagged
from deid_runtime.errors import InputError
from deid_runtime.labels import HEADS
from deid_runtime.models.batching import pad
from deid_runtime.models.engines import load_engine
from deid_runtime.models.manifest import read_manifest
from deid_runtime.models.tagger import load_tagger
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences
from deid_runtime.text.windows import WordEncoder, make_windows
from deid_runtime.text.words import without_class
from tests.commands import read_rows
from tests.deid_runtime.text.test_windows import small_tokenizer
from tests.export.lists import write_lists
from tests.export.tiny_model import write_base

LINES = (
    "pt <PATIENT>alma orr</PATIENT>, age <AGE>67</AGE>, seen <DATE>3/14/2019</DATE> by dr. <DOCTOR>quist</DOCTOR>.",
    "lives at <STREET>14 quarry st</STREET>, <CITY>elko</CITY>.\nworks at <ORGANIZATION>falk foods</ORGANIZATION>.",
    "admitted to <HOSPITAL>elko general</HOSPITAL>, mrn <MEDICALRECORD>0044178</MEDICALRECORD>.",
)


def gold_notes(count: int = 24) -> list[AnnotatedNote]:
    notes = []
    for number in range(count):
        text, spans = parse_tagged("\n".join(LINES[number % 3 :] + LINES[: number % 3]))
        notes.append(AnnotatedNote(f"n{number}", f"p{number}", "", text, spans))
    return notes


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    lists = load_gazetteers(write_lists(tmp_path_factory.mktemp("lists") / "lists"))
    return Data(gold_notes(), [["no fever.", "denies pain."]], lists, gold_notes(3))


def settings(base: Path, **changes: int | float) -> TrainSettings:
    return TrainSettings(
        **{"base": str(base), "joint_tokens": 30_000, "head_tokens": 8_000, "shared_layers": 1, "threads": 1,
           "learning_rate": 3e-3, "checkpoint_every_s": 0.0} | changes  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(base: Path, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    return train(data, encoder, settings(base), StreamSettings(batch_tokens=512), tmp_path_factory.mktemp("run"))


def test_targets_follow_the_spans() -> None:
    note = gold_notes(1)[0]
    encoder = WordEncoder(small_tokenizer())
    [window] = make_windows(note.text, split_sentences(note.text)[:1], encoder)
    targets = window_targets(window, note.spans, tuple(HEADS))

    tagged = [
        (note.text[a:b], tags_of("name")[tag])
        for a, b, tag in zip(window.starts, window.ends, targets["name"], strict=True)
        if tag
    ]
    assert tagged == [("alma", "B-PATIENT"), ("orr", "I-PATIENT"), ("quist", "B-DOCTOR")]
    assert [tags_of("identifier")[t] for t in targets["identifier"] if t] == ["B-DATE", *["I-DATE"] * 4]


def test_the_stream_depends_on_its_settings_alone(base: Path, data: Data) -> None:
    def first(seed: int) -> list[torch.Tensor]:
        encoder = WordEncoder.from_file(base / "tokenizer.json")
        stream = stream_batches(
            data.notes, data.negatives, data.lists, encoder, tuple(HEADS), StreamSettings(seed=seed)
        )
        return [batch.input_ids for batch, _ in zip(stream, range(4), strict=False)]

    same = zip(first(1), first(1), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    assert not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(first(1), first(2), strict=True))


def test_a_share_of_the_notes_is_shown_as_they_stand(base: Path, data: Data) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    record = [i for i, tag in enumerate(tags_of("identifier")) if tag.endswith("MEDICALRECORD")]
    as_written = encoder.encode("0044178")[0]

    def kept(share: float) -> float:
        still = StreamSettings(resample=share, negative_share=0, short_windows=0, word_dropout=0)
        stream = stream_batches(gold_notes(90), [], data.lists, encoder, ("identifier",), still)
        numbers = [
            tuple(ids[place : place + len(as_written)].tolist())
            for batch in (next(stream) for _ in range(8))
            for ids, tags in zip(batch.input_ids, batch.targets["identifier"], strict=True)
            for place in torch.isin(tags, torch.tensor(record)).nonzero().flatten().tolist()
        ]
        assert len(numbers) > 30
        return numbers.count(as_written) / len(numbers)

    assert kept(0) == 1
    assert kept(1) < 0.5 < kept(0.5) < 0.85  # a resampled note keeps a quarter of its values


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_words_are_shown_as_if_in_no_list(base: Path, data: Data, share: float) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    still = StreamSettings(negative_share=0, class_dropout=share)
    batch = next(stream_batches(data.notes, [], data.lists, encoder, ("name",), still))
    of_words = batch.targets["name"] != IGNORED
    unlisted = torch.tensor([[without_class(kind) for kind in row] for row in batch.token_type_ids.tolist()])

    assert bool((batch.token_type_ids != unlisted)[of_words].any()) == (share == 0)


def test_only_the_first_piece_of_a_word_is_scored(base: Path, data: Data) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    batch = next(stream_batches(data.notes, [], data.lists, encoder, ("name",), StreamSettings(negative_share=0)))
    scored = batch.targets["name"] != IGNORED

    assert 0 < int(scored.sum()) < int(batch.attention_mask.sum())
    assert not bool((scored & (batch.attention_mask == 0)).any())


def test_training_learns_and_freezes_what_the_heads_share(trained: Path) -> None:
    log = read_rows(trained.parent / "log.jsonl")
    joint, heads = load(trained.parent / "joint.pt"), load(trained)

    assert log[-1]["identifier"]["0.2"][1] > 0.5
    assert not heads.joint
    for a, b in zip(joint.shared.parameters(), heads.shared.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(heads.branches["name"].classifier.weight, joint.branches["name"].classifier.weight)


class Interrupting(list[AnnotatedNote]):
    """Notes that raise KeyboardInterrupt when they are read for the fourth time, as Ctrl-C does."""

    reads = 0

    def __iter__(self) -> Iterator[AnnotatedNote]:
        self.reads += 1
        if self.reads == 4:
            raise KeyboardInterrupt
        return super().__iter__()


def test_an_interrupted_training_goes_on_to_the_same_weights(
    base: Path, data: Data, trained: Path, tmp_path: Path
) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    cut = Data(Interrupting(data.notes), data.negatives, data.lists, data.dev)
    with pytest.raises(KeyboardInterrupt):
        train(cut, encoder, settings(base), StreamSettings(batch_tokens=512), tmp_path)
    assert (tmp_path / "joint.checkpoint.pt").is_file()

    again = train(data, encoder, settings(base), StreamSettings(batch_tokens=512), tmp_path)

    expected, got = load(trained).state_dict(), load(again).state_dict()
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert not (tmp_path / "joint.checkpoint.pt").exists()


def test_a_phase_begun_by_another_run_learns_the_same(base: Path, data: Data, trained: Path, tmp_path: Path) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    for name in ("settings.json", "joint.pt"):
        shutil.copy(trained.parent / name, tmp_path)

    again = train(data, encoder, settings(base), StreamSettings(batch_tokens=512), tmp_path)

    expected, got = load(trained).state_dict(), load(again).state_dict()
    assert all(torch.equal(expected[name], got[name]) for name in expected)


@pytest.mark.parametrize(
    ("changes", "named"), [({"seed": 99}, "seed"), ({"joint_tokens": 31_000}, "joint_tokens"), ({}, "corpus_sha256")]
)
def test_another_training_does_not_go_on_in_the_folder(
    base: Path, data: Data, trained: Path, tmp_path: Path, changes: dict[str, int], named: str
) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    for name in ("settings.json", "joint.pt"):
        shutil.copy(trained.parent / name, tmp_path)
    before = (tmp_path / "settings.json").read_bytes()
    other = data if changes else Data(gold_notes(23), data.negatives, data.lists, data.dev)

    with pytest.raises(InputError, match=f"another training: {named} differ"):
        train(other, encoder, settings(base, **changes), StreamSettings(batch_tokens=512), tmp_path)

    assert (tmp_path / "settings.json").read_bytes() == before


def test_a_phase_that_is_not_done_may_be_cut_short(base: Path, data: Data, trained: Path, tmp_path: Path) -> None:
    encoder = WordEncoder.from_file(base / "tokenizer.json")
    for name in ("settings.json", "joint.pt"):
        shutil.copy(trained.parent / name, tmp_path)

    train(data, encoder, settings(base, head_tokens=600, threads=2), StreamSettings(batch_tokens=512), tmp_path)

    assert json.loads((tmp_path / "settings.json").read_text())["train"]["head_tokens"] == 600


def test_the_exported_graph_answers_as_torch_does(trained: Path, tmp_path: Path) -> None:
    model = load(trained).eval()
    path = tmp_path / "model.onnx"
    export_fused(model, path)
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 60, (3, 48), dtype=np.int32)
    types = rng.integers(0, 18, (3, 48), dtype=np.int32)
    mask = np.ones_like(ids)
    mask[1, 20:] = 0
    with torch.inference_mode():
        expected = FusedGraph(model)(*(torch.from_numpy(a) for a in (ids, types, mask)))
    answers = load_engine("onnxruntime", path, model.shape.heads, 1)(ids, types, mask)

    seen = mask.astype(bool)
    for answer, label, score in zip(answers, expected[::2], expected[1::2], strict=True):
        assert np.abs(answer.scores - score.numpy().astype(np.float32))[seen].max() < 2e-3
        assert (answer.tags == label.numpy())[seen].mean() > 0.99


def test_a_graph_that_does_not_answer_as_the_model_is_refused(trained: Path, tmp_path: Path) -> None:
    model = load(trained).eval()
    classifier = next(iter(model.branches.values())).classifier
    classifier.register_forward_hook(lambda module, given, logits: logits + 9 * torch.rand_like(logits))

    with pytest.raises(ValueError, match="tolerance"):
        export_fused(model, tmp_path / "model.onnx")


@pytest.fixture(scope="module")
def repository(trained: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("repository")
    assemble([trained], base / "tokenizer.json", gold_notes(), out)
    return out


def test_two_trainings_make_a_full_profile_that_averages_them(trained: Path, base: Path, tmp_path: Path) -> None:
    joint = trained.parent / "joint.pt"
    assemble([trained, joint], base / "tokenizer.json", gold_notes(), tmp_path, int8=False)
    manifest = read_manifest(tmp_path)
    assert [graph.name for graph in manifest.profiles["fast"].graphs] == ["v0"]
    assert [graph.name for graph in manifest.profiles["full"].graphs] == ["v0", "v1"]

    text = "seen 3/4/2019 by Smith"
    with load_tagger(Settings(models=tmp_path, trust_models=True, engine="onnxruntime", profile="full")) as tagger:
        [scored] = tagger.scored([text], [split_sentences(text)])
    [(_, window)] = scored.batch
    both = scored.answers["identifier"].scores
    alone = [
        load_engine("onnxruntime", graph.file, [version.output for version in graph.heads], 1)(*pad([window], 0))[4]
        for graph in manifest.graphs.values()
    ]
    one, other = (np.clip(answer.scores, 2**-12, 1 - 2**-12) for answer in alone)
    odds = np.sqrt(one / (1 - one) * other / (1 - other))
    assert np.allclose(both, odds / (1 + odds), atol=1e-4)
    assert not np.allclose(alone[0].scores, alone[1].scores, atol=1e-3)


@pytest.mark.parametrize("engine", ["openvino", "onnxruntime"])
def test_the_quantised_repository_is_loaded_and_finds_what_was_learnt(repository: Path, engine: str) -> None:
    note = gold_notes(1)[0]
    with load_tagger(
        Settings(models=repository, trust_models=True, engine=engine, thresholds=dict.fromkeys(HEADS, 0.2))
    ) as tagger:  # type: ignore[arg-type]
        [spans] = tagger([note.text], [split_sentences(note.text)])

    assert any(span.label == "DATE" for span in spans)
    assert all(span.sources[0].startswith("model:") for span in spans)


def test_the_repository_is_smaller_than_float32(repository: Path, trained: Path, base: Path, tmp_path: Path) -> None:
    assemble([trained], base / "tokenizer.json", gold_notes(), tmp_path, int8=False)
    small, large = (read_manifest(folder).graphs["v0"].file for folder in (repository, tmp_path))

    assert small.stat().st_size < large.stat().st_size


def test_heads_share_one_copy_until_they_branch(base: Path) -> None:
    shape = Shape(1, ("name", "age"))
    model = BranchedTagger(load_base(str(base)), shape, joint=True)
    before = sum(p.numel() for p in model.parameters())
    ids = torch.ones((1, 8), dtype=torch.long)
    model.eval()
    joint = model(ids, ids, ids)
    apart = model.branch_out()(ids, ids, ids)

    assert sum(p.numel() for p in model.parameters()) > before
    for head in shape.heads:
        assert torch.allclose(joint[head], apart[head], atol=1e-6)


def test_command_line_trains_and_exports(base: Path, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from deid_export.cli.main import main

    lists = write_lists(tmp_path / "lists")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "p.txt").write_text("%% patient id=p\n%% note id=n\n" + "\n".join(LINES), encoding="utf-8")
    shutil.copytree(base, tmp_path / "base")
    common = ["--notes", str(tmp_path / "notes"), "--base", str(tmp_path / "base")]
    result = CliRunner().invoke(
        main,
        ["train", *common, "--lists", str(lists), "-o", str(tmp_path / "run"), "--joint-tokens", "600",
         "--head-tokens", "600",
         "--shared-layers", "1", "--threads", "1"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output

    result = CliRunner().invoke(
        main, ["models", "onnx", str(tmp_path / "run" / "heads.pt"), *common, "-o", str(tmp_path / "out"), "--float32"]
    )

    assert result.exit_code == 0, result.output
    assert read_manifest(tmp_path / "out").graphs["v0"].file.is_file()
