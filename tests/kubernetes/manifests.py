"""Build the manifests of docker/kubernetes as a cluster would get them, and find the pods in them."""

import copy
import functools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docker" / "kubernetes"
#: Every folder that a user applies, and for one overlay the same pods with cert-manager.
APPLIED = (
    "overlays/cpu",
    "overlays/cpu-models",
    "overlays/gpu",
    "overlays/mtls",
    "overlays/kserve",
    "batch",
    "gateway",
    "common",
)

Document = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """The pod that a document makes. ``labels`` are those that selectors see."""

    kind: str
    name: str
    spec: Document
    labels: Document

    @property
    def containers(self) -> list[Document]:
        """All containers, init containers among them."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]


def tool(name: str) -> str:
    """Return the path of a program beside the Python in use, or of one on the path; skip the test without it."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; scripts/test.sh installs it")
    return found


def build(folder: Path) -> str:
    """Return the text that ``kubectl apply -k`` would send. Raises AssertionError with what kustomize says."""
    done = subprocess.run([tool("kubectl"), "kustomize", str(folder)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr  # warnings of fields that are going to be removed
    return done.stdout


@functools.cache
def _built(folder: str) -> tuple[Document, ...]:
    return tuple(yaml.safe_load_all(build(FOLDER / folder)))


def built(folder: str) -> list[Document]:
    """Return the documents of one folder of :data:`APPLIED`, free to be changed."""
    return copy.deepcopy(list(_built(folder)))


def one(documents: list[Document], kind: str, name: str = "") -> Document:
    """Return the only document of a kind, or the one with this name."""
    [found] = [each for each in documents if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return found


def pods(documents: list[Document]) -> Iterator[Pod]:
    """Yield the pods that these documents make; under KServe, a runtime and a service make one together."""
    for document in documents:
        kind, name = document["kind"], document["metadata"]["name"]
        if kind in ("Deployment", "Job", "StatefulSet", "DaemonSet"):
            template = document["spec"]["template"]
            yield Pod(kind, name, template["spec"], template["metadata"]["labels"])
        elif kind == "CronJob":
            template = document["spec"]["jobTemplate"]["spec"]["template"]
            yield Pod(kind, name, template["spec"], template["metadata"]["labels"])
        elif kind == "Pod":
            yield Pod(kind, name, document["spec"], document["metadata"].get("labels", {}))
        elif kind == "InferenceService":
            predictor = {key: value for key, value in document["spec"]["predictor"].items() if key != "model"}
            runtime = one(documents, "ServingRuntime", document["spec"]["predictor"]["model"]["runtime"])["spec"]
            labels = {"serving.kserve.io/inferenceservice": name, **document["metadata"].get("labels", {})}
            yield Pod(kind, name, {**runtime, **predictor}, labels)
