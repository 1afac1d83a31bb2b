"""What a manifest must and must not have: the Pod Security Standard `restricted`, and rules of this project on top.

Each rule yields one line for what breaks it, so that a list of lines is the verdict, and an empty one is a pass.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.kubernetes.manifests import Document, Pod, pods

_TAG = re.compile(r"[^@\s]+(?::(?P<tag>[\w][\w.-]{0,127})|@sha256:[0-9a-f]{64})")
_SECRET_NAME = re.compile(r"passw|secret|token|credential|private|(?:^|[_-])key(?:$|[_-])", re.IGNORECASE)
#: Names of variables that hold the path of a file or a flag, never a secret.
_PATHS = ("DEID_SERVE_KEYS", "DEID_SERVE_ALLOW_SHARED_KEY", "DEID_SERVE_MODELS_KEY")
#: 0440: readable by the owner and the group of the pod.
_MOST_MODE = 0o440
_IN_MEMORY = ("/tmp", "/dev/shm")
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_RIGHTS = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")

Lines = Iterator[str]


def violations(documents: list[Document]) -> list[str]:
    """Return what breaks a rule in these documents, one line each."""
    found: list[str] = []
    for pod in pods(documents):
        for rule in POD_RULES:
            found += [f"{pod.kind} {pod.name}: {line}" for line in rule(pod)]
        for container in pod.containers:
            for container_rule in CONTAINER_RULES:
                found += [
                    f"{pod.kind} {pod.name}/{container['name']}: {line}" for line in container_rule(container, pod)
                ]
    for document_rule in DOCUMENT_RULES:
        found += document_rule(documents)
    return found


def _image(container: Document, pod: Pod) -> Lines:
    match = _TAG.fullmatch(container.get("image", ""))
    if match is None:
        yield "the image has neither a version nor a digest"
    elif match["tag"] == "latest":
        yield "the image is `latest`"


def _rights(container: Document, pod: Pod) -> Lines:
    context = container.get("securityContext", {})
    if context.get("allowPrivilegeEscalation") is not False:
        yield "may gain privileges"
    if context.get("readOnlyRootFilesystem") is not True:
        yield "may write to its root"
    if context.get("capabilities") != {"drop": ["ALL"]}:
        yield "has capabilities"
    if context.get("privileged"):
        yield "is privileged"
    both = {**pod.spec.get("securityContext", {}), **context}
    if both.get("runAsNonRoot") is not True or not both.get("runAsUser") or not both.get("runAsGroup"):
        yield "may run as root"
    if both.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "has no seccomp profile"


def _resources(container: Document, pod: Pod) -> Lines:
    resources = container.get("resources", {})
    for name in ("cpu", "memory"):
        for kind in ("requests", "limits"):
            if name not in resources.get(kind, {}):
                yield f"has no {name} in {kind}"
    if resources.get("requests", {}).get("memory") != resources.get("limits", {}).get("memory"):
        yield "requests less memory than it may use, and would be ended first"


def _environment(container: Document, pod: Pod) -> Lines:
    if container.get("envFrom"):
        yield "takes its environment from elsewhere"
    for variable in container.get("env", ()):
        if "secretKeyRef" in variable.get("valueFrom", {}):
            yield f"has a secret in the variable {variable['name']}"
        elif _SECRET_NAME.search(variable["name"]) and variable["name"] not in _PATHS:
            yield f"seems to have a secret in the variable {variable['name']}"
    for argument in (*container.get("command", ()), *container.get("args", ())):
        name, _, value = argument.partition("=")
        if _SECRET_NAME.search(name) and value and not value.startswith("/"):
            yield f"seems to have a secret in the argument {name}"


def _mounts(container: Document, pod: Pod) -> Lines:
    volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
    mounted = {mount["mountPath"]: mount for mount in container.get("volumeMounts", ())}
    for path, mount in mounted.items():
        volume = volumes.get(mount["name"])
        if volume is None:
            yield f"mounts {mount['name']}, which is no volume"
        elif ("secret" in volume or "configMap" in volume) and mount.get("readOnly") is not True:
            yield f"may write to {path}"
    for path in _IN_MEMORY:
        if path in mounted and volumes.get(mounted[path]["name"], {}).get("emptyDir", {}).get("medium") != "Memory":
            yield f"has {path} on a disk of the node"


def _ports(container: Document, pod: Pod) -> Lines:
    if any("hostPort" in port for port in container.get("ports", ())):
        yield "takes a port of the node"


def _probes(pod: Pod) -> Lines:
    if pod.kind in ("Job", "CronJob"):
        return
    for container in pod.spec["containers"]:
        for probe in _PROBES:
            if probe not in container:
                yield f"{container['name']} has no {probe}"


def _hosts(pod: Pod) -> Lines:
    for name in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"):
        if pod.spec.get(name):
            yield f"has {name}"
    if pod.spec.get("hostUsers") is True:
        yield "has hostUsers"


def _account(pod: Pod) -> Lines:
    if pod.spec.get("automountServiceAccountToken") is not False:
        yield "has a token of the cluster"
    if pod.spec.get("serviceAccountName") in (None, "default"):
        yield "has the default account"
    if pod.spec.get("enableServiceLinks") is not False:
        yield "has the addresses of other services in its environment"


def _volumes(pod: Pod) -> Lines:
    allowed = {"secret", "configMap", "emptyDir", "persistentVolumeClaim", "projected", "downwardAPI", "csi"}
    for volume in pod.spec.get("volumes", ()):
        [kind] = volume.keys() - {"name"}
        if kind not in allowed:
            yield f"the volume {volume['name']} is a {kind}"
        if kind == "secret" and volume[kind].get("defaultMode", 0o644) & ~_MOST_MODE:
            yield f"the secret {volume['name']} can be read by others"
        if kind == "emptyDir" and "sizeLimit" not in volume[kind]:
            yield f"the volume {volume['name']} has no limit"


def _no_rights_in_the_cluster(documents: list[Document]) -> list[str]:
    return [f"{each['kind']} {each['metadata']['name']}: gives rights" for each in documents if each["kind"] in _RIGHTS]


def _no_secrets_in_files(documents: list[Document]) -> list[str]:
    return [
        f"Secret {each['metadata']['name']}: a secret is in a file" for each in documents if each["kind"] == "Secret"
    ]


def _closed_networks(documents: list[Document]) -> list[str]:
    """Return a line unless all traffic of the namespace is denied, where the documents make one."""
    if not any(each["kind"] == "Namespace" for each in documents):
        return []
    policies = [each["spec"] for each in documents if each["kind"] == "NetworkPolicy"]
    everything: Any = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    lines = [] if everything in policies else ["no network policy denies all traffic"]
    for policy in policies:
        for rule in (*policy.get("ingress", ()), *policy.get("egress", ())):
            if not (rule.get("from") or rule.get("to")) or not rule.get("ports"):
                lines.append("a network policy is open to everybody, or on every port")
    return lines


def _restricted_namespace(documents: list[Document]) -> list[str]:
    enforce = "pod-security.kubernetes.io/enforce"
    return [
        f"Namespace {each['metadata']['name']}: does not enforce `restricted`"
        for each in documents
        if each["kind"] == "Namespace" and each["metadata"].get("labels", {}).get(enforce) != "restricted"
    ]


POD_RULES: tuple[Callable[[Pod], Lines], ...] = (_hosts, _account, _volumes, _probes)
CONTAINER_RULES: tuple[Callable[[Document, Pod], Lines], ...] = (
    _image,
    _rights,
    _resources,
    _environment,
    _mounts,
    _ports,
)
DOCUMENT_RULES: tuple[Callable[[list[Document]], list[str]], ...] = (
    _no_rights_in_the_cluster,
    _no_secrets_in_files,
    _closed_networks,
    _restricted_namespace,
)
