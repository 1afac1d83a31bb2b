"""Test that no manifest asks for more rights than it needs, and that the check of this refuses manifests that do."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kubernetes.manifests import APPLIED, Document, built, one, pods
from tests.kubernetes.policy import violations


@pytest.mark.parametrize("folder", APPLIED)
def test_what_is_applied_keeps_the_policy(folder: str) -> None:
    assert violations(built(folder)) == []


def _server(documents: list[Document]) -> Document:
    return one(documents, "Deployment")["spec"]["template"]["spec"]


def _container(documents: list[Document]) -> Document:
    [container] = _server(documents)["containers"]
    return container


def _set(*path: Any, value: Any) -> Callable[[list[Document]], None]:
    """Return a change that sets one field of the container."""

    def change(documents: list[Document]) -> None:
        place: Any = _container(documents)
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def _set_in_pod(*path: Any, value: Any) -> Callable[[list[Document]], None]:
    def change(documents: list[Document]) -> None:
        place: Any = _server(documents)
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def _drop(name: str) -> Callable[[list[Document]], None]:
    return lambda documents: _container(documents).pop(name)


def _drop_from_pod(name: str) -> Callable[[list[Document]], None]:
    return lambda documents: _server(documents).pop(name)


def _add(document: Document) -> Callable[[list[Document]], None]:
    return lambda documents: documents.append(document)


def _without(kind: str, name: str) -> Callable[[list[Document]], None]:
    return lambda documents: documents.remove(one(documents, kind, name))


def _volume(name: str, **fields: Any) -> Callable[[list[Document]], None]:
    def change(documents: list[Document]) -> None:
        volumes = _server(documents)["volumes"]
        [volume] = [each for each in volumes if each["name"] == name]
        volume.clear()
        volume.update(name=name, **fields)

    return change


_SECRET = {"secretKeyRef": {"name": "deid-keys", "key": "study.key"}}

#: A change that makes a good manifest bad, and the words by which the policy refuses it.
BAD = {
    "latest": (_set("image", value="deid-server-cpu:latest"), "`latest`"),
    "no version": (_set("image", value="deid-server-cpu"), "neither a version nor a digest"),
    "a port is no version": (_set("image", value="registry.example:5000/deid-server-cpu"), "neither a version"),
    "root": (_set_in_pod("securityContext", "runAsUser", value=0), "may run as root"),
    "root by default": (_set_in_pod("securityContext", "runAsNonRoot", value=False), "may run as root"),
    "root in the container": (_set("securityContext", "runAsUser", value=0), "may run as root"),
    "no seccomp": (_set_in_pod("securityContext", "seccompProfile", value={"type": "Unconfined"}), "seccomp"),
    "writable root": (_set("securityContext", "readOnlyRootFilesystem", value=False), "write to its root"),
    "privilege escalation": (_set("securityContext", "allowPrivilegeEscalation", value=True), "gain privileges"),
    "privileged": (_set("securityContext", "privileged", value=True), "is privileged"),
    "a capability": (_set("securityContext", "capabilities", "add", value=["NET_ADMIN"]), "capabilities"),
    "no security context": (_drop("securityContext"), "capabilities"),
    "no limits": (_set("resources", "limits", value={}), "no memory in limits"),
    "no resources": (_drop("resources"), "no cpu in requests"),
    "less memory": (_set("resources", "requests", "memory", value="1Gi"), "ended first"),
    "no readiness": (_drop("readinessProbe"), "no readinessProbe"),
    "no liveness": (_drop("livenessProbe"), "no livenessProbe"),
    "no startup": (_drop("startupProbe"), "no startupProbe"),
    "secret in a variable": (_set("env", value=[{"name": "STUDY", "valueFrom": _SECRET}]), "secret in the variable"),
    "secret in plain": (_set("env", value=[{"name": "ADMIN_TOKEN", "value": "4f"}]), "secret in the variable"),
    "all secrets": (_set("envFrom", value=[{"secretRef": {"name": "deid-keys"}}]), "environment from elsewhere"),
    "secret in an argument": (_set("args", value=["--admin-token=4f"]), "secret in the argument"),
    "network of the node": (_set_in_pod("hostNetwork", value=True), "hostNetwork"),
    "processes of the node": (_set_in_pod("hostPID", value=True), "hostPID"),
    "memory of the node": (_set_in_pod("hostIPC", value=True), "hostIPC"),
    "port of the node": (_set("ports", value=[{"containerPort": 8001, "hostPort": 8001}]), "port of the node"),
    "folder of the node": (_volume("scratch", hostPath={"path": "/var"}), "is a hostPath"),
    "disk of the node": (_volume("scratch", emptyDir={"sizeLimit": "1Gi"}), "/tmp on a disk"),
    "no limit": (_volume("scratch", emptyDir={"medium": "Memory"}), "no limit"),
    "open secret": (_volume("keys", secret={"secretName": "deid-keys"}), "read by others"),
    "writable secret": (_set("volumeMounts", 0, "readOnly", value=False), "may write to"),
    "no volume": (_set("volumeMounts", 0, "name", value="elsewhere"), "which is no volume"),
    "a token": (_drop_from_pod("automountServiceAccountToken"), "token of the cluster"),
    "default account": (_drop_from_pod("serviceAccountName"), "default account"),
    "a role": (_add({"kind": "Role", "metadata": {"name": "deid"}}), "gives rights"),
    "secret in a file": (_add({"kind": "Secret", "metadata": {"name": "deid-keys"}}), "secret is in a file"),
    "open network": (_without("NetworkPolicy", "deny-all"), "denies all traffic"),
    "open namespace": (
        lambda documents: one(documents, "Namespace")["metadata"].pop("labels"),
        "does not enforce `restricted`",
    ),
    "open policy": (
        lambda documents: one(documents, "NetworkPolicy", "deid-server")["spec"]["ingress"].append({}),
        "open to everybody",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_manifest_is_refused(name: str) -> None:
    documents = built("overlays/cpu")
    change, words = BAD[name]
    change(documents)

    assert [line for line in violations(documents) if words in line], violations(documents)


@pytest.mark.parametrize("folder", ["batch", "gateway", "overlays/kserve", "overlays/gpu"])
def test_every_kind_of_pod_is_looked_at(folder: str) -> None:
    documents = built(folder)
    names = {f"{pod.kind} {pod.name}" for pod in pods(documents)}
    for pod in pods(documents):
        for container in pod.containers:
            container["securityContext"]["allowPrivilegeEscalation"] = True

    lines = violations(documents)
    assert {line.partition("/")[0] for line in lines if "may gain privileges" in line} == names
    assert len(names) == {"batch": 2, "gateway": 1, "overlays/kserve": 2, "overlays/gpu": 1}[folder]
