"""The same promises against the real server: identical answers by every way of asking, and no note lost to SIGKILL."""

import json
import os
import signal
import threading

import pytest

from deid_client.notes import DeidClient, SyncDeidClient
from deid_client.settings import ServerSettings
from deid_runtime.contract import find_models
from deid_runtime.errors import ModelError
from deid_runtime.pipeline import Deidentified
from deid_runtime.sentences import split_sentences
from deid_runtime.serving.supervisor import RestartPolicy
from deid_runtime.settings import Settings
from deid_runtime.spans import Note
from tests.client.conftest import ROOT, embedded, read_rows
from tests.running_server import supervised

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def sample_texts():
    """The sample notes, with what makes windows differ: capitals, a line far too long, a note of many windows."""
    texts = [row["text"] for row in read_rows(ROOT / "examples" / "notes.jsonl")]
    return [
        *texts,
        texts[0].upper(),
        " ".join(texts[1].split()) * 3,
        *(f"{number}: {texts[2]}" for number in range(12)),
    ]


@pytest.mark.parametrize(
    ("profile", "changes"),
    [
        pytest.param("fast", {}, id="fast"),
        pytest.param("full", {}, id="full"),
        pytest.param("fast", {"is_streaming": True}, id="fast-stream"),
        pytest.param("full", {"is_streaming": True, "request_tokens": 300}, id="full-stream"),
    ],
)
def test_answers_are_those_of_the_embedded_engine(triton, models, sample_texts, profile, changes):
    settings = Settings(profile=profile)
    texts = sample_texts if profile == "fast" else sample_texts[:8]
    sentences = [split_sentences(text) for text in texts]
    expected = embedded(models, settings)(texts, sentences)

    with ServerSettings(endpoints=(triton.options.grpc,), **changes).connect(settings) as tagger:
        assert tagger(texts, sentences) == expected


def test_a_server_of_other_models_is_refused(triton, tmp_path):
    for path in find_models(None).iterdir():
        (tmp_path / path.name).symlink_to(path)
    content = json.loads((tmp_path / "manifest.json").read_text())
    content["graphs"]["v0"], content["graphs"]["v1"] = content["graphs"]["v1"], content["graphs"]["v0"]
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "manifest.json").write_text(json.dumps(content))

    with pytest.raises(ModelError, match="graph_sha256"):
        ServerSettings(endpoints=(triton.options.grpc,)).connect(Settings(models=tmp_path))


@pytest.mark.parametrize("is_streaming", [pytest.param(False, id="unary"), pytest.param(True, id="stream")])
def test_a_server_killed_on_the_way_costs_no_note(served_folder, models, sample_texts, is_streaming):
    texts = [f"{number}. {sample_texts[number % 8]}" for number in range(40)]
    sentences = [split_sentences(text) for text in texts]
    notes = [Note(f"n{number}", text, f"p{number % 7}") for number, text in enumerate(texts)]
    expected = embedded(models, Settings())(texts, sentences)

    with supervised(served_folder.options(), RestartPolicy(first_delay_s=0.1)) as running:
        server = ServerSettings(
            endpoints=(running.server.options.grpc,),
            is_streaming=is_streaming,
            request_tokens=512,
            call_seconds=60.0,
            batch_seconds=300.0,  # a busy machine takes its time to start a server
        )
        with server.connect(Settings()) as tagger:
            found = tagger(texts[:10], sentences[:10])
            killer = threading.Timer(0.2, lambda: os.kill(running.server.pid, signal.SIGKILL))
            killer.start()
            found += tagger(texts[10:], sentences[10:])
            killer.join()
            running.wait_started(2)
            again = tagger(texts[:2], sentences[:2])
        with DeidClient(server, key=KEY, threads=1) as client:
            outcomes = []
            for note, outcome in SyncDeidClient(client).deidentify(notes):
                outcomes.append((note.id, outcome))
                if len(outcomes) == 10:
                    os.kill(running.server.pid, signal.SIGKILL)

    assert found == expected
    assert again == expected[:2]
    assert [note_id for note_id, _ in outcomes] == [note.id for note in notes]
    assert all(isinstance(outcome, Deidentified) for _, outcome in outcomes)
