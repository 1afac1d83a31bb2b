"""Test an exchange of models on two real servers, one after the other, and back, while clients of both models work."""

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deid_client.server import TritonServer
from deid_client.tagger import TritonTagger
from deid_runtime.models.batching import width_of
from deid_runtime.models.manifest import Manifest, find_models, read_manifest, served_version, sha256_of
from deid_runtime.serving.graph_models import GraphModels, ServingOptions
from deid_runtime.serving.repository import repository_folder, write_graph_model
from deid_runtime.serving.server import Server
from deid_runtime.serving.server_options import ServerOptions
from deid_runtime.settings import Settings
from deid_runtime.text.sentences import split_sentences
from tests.deid_runtime.serving.requests import grpc, token_inputs, tokens, windows
from tests.running_server import changed_models, fast_alone, free_ports, installation

onnx = pytest.importorskip("onnx")

TEXT = "Ms. Halvorsen, 87, seen 3/11/2019 by Dr. Lindqvist in Dundas."


@dataclass(frozen=True)
class Release:
    """Models, and a repository to serve them."""

    models: Path
    repository: Path

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.models)

    @property
    def version(self) -> str:
        """The version number of the graph in answers of a server."""
        return served_version(self.manifest.graphs["v0"].sha256)


def make_release(folder: Path, mark: str) -> Release:
    """Write models whose graph has ``mark`` in a comment, so that its digest is its own, and the repository of it."""
    (folder / "models").mkdir(parents=True)
    graph = folder / "model.onnx"
    model = onnx.load(str(find_models(None) / "v0" / "1" / "model.onnx"))
    model.doc_string = mark
    onnx.save(model, str(graph))

    def name_it(content: dict[str, object]) -> None:
        fast_alone(content)
        content["graphs"]["v0"] |= {"sha256": sha256_of(graph), "file": "model.onnx"}  # type: ignore[index]

    changed_models(folder / "models", name_it)
    shutil.copyfile(graph, folder / "models" / "model.onnx")
    manifest = read_manifest(folder / "models")
    with repository_folder(manifest, folder / "repository"):
        config = GraphModels(manifest, ServingOptions(call_rows=1)).whole(manifest.graphs["v0"])
        write_graph_model(folder / "repository", config, graph)
    return Release(folder / "models", folder / "repository")


class Place:
    """A server at one address that is exchanged for another one."""

    def __init__(self) -> None:
        grpc_port, metrics_port = free_ports(2)
        self.options = ServerOptions(repository=Path(), grpc_port=grpc_port, metrics_port=metrics_port)
        self.server: Server | None = None

    def exchange(self, release: Release) -> None:
        """Stop the server, as a platform does, and start one with ``release``."""
        self.stop()
        self.server = Server(installation(), replace(self.options, repository=release.repository))
        self.server.wait_ready()

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server = None


def connect(places: tuple[Place, ...], release: Release) -> TritonTagger:
    server = TritonServer(
        endpoints=tuple(place.options.grpc for place in places),
        first_pause_seconds=0.05,
        longest_pause_seconds=0.5,
        connect_seconds=20.0,
    )
    return server.connect(Settings(models=release.models, trust_models=True, window_cache_bytes=0))


def check_version(place: Place, release: Release) -> None:
    """Check that an answer names the graph that made it, and that a request for another version gets none."""
    row = next(each for each in windows() if width_of(len(each.ids)) == 32)
    inputs = token_inputs(tokens([row], 32))
    with grpc.InferenceServerClient(place.options.grpc) as client:
        assert client.infer("v0", inputs).get_response().model_version == release.version
        with pytest.raises(grpc.InferenceServerException, match="not found"):
            client.infer("v0", inputs, model_version="1")


def test_no_note_fails_while_two_servers_are_exchanged_and_rolled_back(tmp_path: Path) -> None:
    installation()
    old, new = make_release(tmp_path / "old", "old"), make_release(tmp_path / "new", "new")
    first, second = Place(), Place()
    sentences = [split_sentences(TEXT)]
    with ExitStack() as resources:
        for place in (first, second):
            resources.callback(place.stop)
            place.exchange(old)
        check_version(first, old)
        with connect((first, second), old) as tagger:
            expected = tagger([TEXT], sentences)
            first.exchange(new)
            assert tagger([TEXT], sentences) == expected  # of the second server; the first has other models now
            with connect((first, second), new) as newer:  # leaves the second server out
                assert newer([TEXT], sentences) == expected
                assert newer.manifest["models_sha256"] != tagger.manifest["models_sha256"]
                first.exchange(old)  # roll back; the client of the new models has no server left
                second.stop()
                assert tagger([TEXT], sentences) == expected  # of the first server, with the old models again
