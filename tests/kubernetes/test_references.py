"""Test that the parts name each other rightly: what a schema cannot see, and a cluster takes without a word."""

import re
from pathlib import Path
from typing import Any

import click
import pytest

from deid_runtime.cli.exits import ExitCode
from deid_runtime.cli.main import main
from deid_runtime.gateway.options import Timeouts
from deid_runtime.serving.server_options import ServerOptions, ServerTls, arguments
from tests.kubernetes.manifests import APPLIED, FOLDER, Document, built, one, pods, yaml

SERVED = [folder for folder in APPLIED if folder.startswith("overlays/")]


def selected(selector: dict[str, str], documents: list[Document]) -> list[str]:
    """Return the names of the pods that have all labels of a selector."""
    return [pod.name for pod in pods(documents) if selector.items() <= pod.labels.items()]


@pytest.mark.parametrize("folder", SERVED)
def test_every_selector_finds_the_servers_and_nothing_else(folder: str) -> None:
    documents = built(folder)
    server = "deid" if folder == "overlays/kserve" else "deid-server"
    selectors: dict[str, Any] = {}
    for each in documents:
        spec = each.get("spec", {})
        if each["kind"] == "Service":
            selectors["Service"] = spec["selector"]
        elif each["kind"] in ("PodDisruptionBudget", "PodMonitor", "Deployment"):
            selectors[each["kind"]] = spec["selector"]["matchLabels"]
        elif each["kind"] == "NetworkPolicy" and each["metadata"]["name"] == "deid-server":
            selectors["NetworkPolicy"] = spec["podSelector"]["matchLabels"]

    assert {"PodDisruptionBudget", "PodMonitor", "NetworkPolicy"} <= selectors.keys()
    assert {name: selected(selector, documents) for name, selector in selectors.items()} == {
        name: [server] for name in selectors
    }
    for pod in pods(documents):
        for spread in pod.spec.get("topologySpreadConstraints", ()):
            assert selected(spread["labelSelector"]["matchLabels"], documents) == [server]


@pytest.mark.parametrize("folder", SERVED)
def test_ports_are_those_that_are_named(folder: str) -> None:
    documents = built(folder)
    [server] = [pod for pod in pods(documents) if pod.kind in ("Deployment", "InferenceService")]
    [container] = server.spec["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert set(ports.values()) == {8001, 8002}
    [endpoint] = one(documents, "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert ports[endpoint["port"]] == 8002
    for each in documents:
        if each["kind"] == "Service":
            assert [ports[port["targetPort"]] for port in each["spec"]["ports"]] == [8001]
            assert each["spec"]["clusterIP"] == "None"  # clients balance themselves, over all addresses
    policy = one(documents, "NetworkPolicy", "deid-server")["spec"]
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [8001, 8002]
    assert policy["egress"] == []


@pytest.mark.parametrize("folder", SERVED)
def test_the_autoscaler_scales_what_is_there_by_series_that_are_recorded(folder: str) -> None:
    documents = built(folder)
    autoscaler = one(documents, "HorizontalPodAutoscaler")["spec"]
    adapter = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text(encoding="utf-8"))
    given = {rule["name"]["as"]: rule["seriesQuery"].partition("{")[0] for rule in adapter["rules"]["custom"]}
    recorded = {
        rule["record"]
        for group in one(documents, "PrometheusRule", "deid-kubernetes")["spec"]["groups"]
        for rule in group["rules"]
        if "record" in rule
    }

    names = [metric["pods"]["metric"]["name"] for metric in autoscaler["metrics"]]
    assert names == ["deid_queue_to_compute_ratio", "deid_pending_requests"]
    assert {given[name] for name in names} <= recorded
    target = autoscaler["scaleTargetRef"]["name"]
    if folder == "overlays/kserve":
        service = one(documents, "InferenceService")
        assert target == f"{service['metadata']['name']}-predictor"
        assert service["metadata"]["annotations"]["serving.kserve.io/autoscalerClass"] == "external"
        assert service["spec"]["predictor"]["maxReplicas"] == autoscaler["maxReplicas"]
    else:
        assert one(documents, "Deployment")["metadata"]["name"] == target
        assert "replicas" not in one(documents, "Deployment")["spec"]


@pytest.mark.parametrize("folder", APPLIED)
def test_all_is_in_one_namespace_and_no_account_is_missing(folder: str) -> None:
    documents = [*built("common"), *built(folder)]

    for each in documents:
        name = each["metadata"]["name"] if each["kind"] == "Namespace" else each["metadata"].get("namespace")
        assert name == "deid", each["kind"]
    accounts = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ServiceAccount"}
    assert all(account["automountServiceAccountToken"] is False for account in accounts.values())
    assert {pod.spec["serviceAccountName"] for pod in pods(documents)} <= accounts.keys()


@pytest.mark.parametrize("folder", APPLIED)
def test_what_a_user_must_make_is_told(folder: str) -> None:
    documents = built(folder)
    made = {each["spec"].get("secretName") for each in documents if each["kind"] == "Certificate"}
    made |= {each["metadata"]["name"] for each in documents if each["kind"] in ("ConfigMap", "PersistentVolumeClaim")}
    page = (FOLDER.parents[1] / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([a-z-]+)` \| (?:secret|config map) ", page, re.MULTILINE))

    for pod in pods(documents):
        for volume in pod.spec["volumes"]:
            source = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
            source = source or volume.get("persistentVolumeClaim", {}).get("claimName")
            assert source is None or source in made | told, source


def test_the_certificate_fits_the_name_of_the_service_and_the_probe() -> None:
    documents = built("overlays/mtls")
    certificate = one(documents, "Certificate", "deid-server")["spec"]
    service = one(documents, "Service")["metadata"]

    assert {service["name"], f"{service['name']}.{service['namespace']}.svc"} <= set(certificate["dnsNames"])
    assert certificate["ipAddresses"] == ["127.0.0.1"]
    assert {"server auth", "client auth"} <= set(certificate["usages"])
    issuers = {each["metadata"]["name"] for each in documents if each["kind"] == "Issuer"}
    for each in documents:
        if each["kind"] == "Certificate":
            assert each["spec"]["issuerRef"]["name"] in issuers


@pytest.mark.parametrize("folder", SERVED)
def test_a_server_takes_clients_with_a_certificate_alone_and_gives_them_models_alone(folder: str) -> None:
    [server] = [pod for pod in pods(built(folder)) if pod.kind in ("Deployment", "InferenceService")]
    [container] = server.spec["containers"]
    given = set(container["args"])

    if container["command"][0] == "deid":  # `deid serve` closes the rest by itself
        assert {"--tls-cert=/tls/tls.crt", "--tls-key=/tls/tls.key", "--tls-client-ca=/tls/ca.crt"} <= given
        assert not [argument for argument in given if argument.startswith("--http")]
        return
    options = ServerOptions(repository=Path("/models"), tls=ServerTls(Path("/a"), Path("/b"), Path("/c")))
    closed = [each for each in arguments(options, Path("/"), "") if each.startswith("--grpc-restricted-protocol=")]
    assert len(closed) == 1
    assert {*closed, "--allow-http=false", "--grpc-use-ssl=true", "--grpc-use-ssl-mutual=true"} <= given
    assert {
        "--grpc-server-cert=/tls/tls.crt",
        "--grpc-server-key=/tls/tls.key",
        "--grpc-root-cert=/tls/ca.crt",
    } <= given


def test_a_batch_is_tried_again_as_its_exit_code_says() -> None:
    documents = built("batch")
    for job in (one(documents, "Job")["spec"], one(documents, "CronJob")["spec"]["jobTemplate"]["spec"]):
        rules = job["podFailurePolicy"]["rules"]
        [failing] = [rule["onExitCodes"] for rule in rules if rule["action"] == "FailJob"]

        assert failing["values"] == [ExitCode.HELD_BACK, ExitCode.WRONG_USE]
        assert failing["containerName"] == job["template"]["spec"]["containers"][0]["name"]
        assert job["template"]["spec"]["restartPolicy"] == "Never"  # otherwise exit codes are not looked at
        assert job["podReplacementPolicy"] == "Failed"
        assert job["backoffLimit"] > 0
    assert one(documents, "CronJob")["spec"]["concurrencyPolicy"] == "Forbid"


def test_the_parts_of_the_gateway_name_each_other_and_the_servers() -> None:
    documents = built("gateway")
    [gateway] = pods(documents)
    [container] = gateway.spec["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    given = dict(argument.partition("=")[::2] for argument in container["args"])

    for each in documents:
        spec = each["spec"]
        selector = spec.get("podSelector", spec.get("selector", {}))
        if each["metadata"]["name"] == "deid-gateway":
            assert selected(selector.get("matchLabels", selector), documents) == ["deid-gateway"], each["kind"]
    for spread in gateway.spec["topologySpreadConstraints"]:
        assert selected(spread["labelSelector"]["matchLabels"], documents) == ["deid-gateway"]
    assert given["--port"] == str(ports["https"])
    assert given["--monitor-port"] == str(ports["monitor"])
    assert one(documents, "Service")["spec"]["ports"][0]["targetPort"] == "https"
    [endpoint] = one(documents, "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == "monitor"
    taken = one(documents, "NetworkPolicy", "deid-gateway")["spec"]["ingress"]
    assert [port["port"] for rule in taken for port in rule["ports"]] == [ports["https"], ports["monitor"]]
    probes = {name: container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}
    assert {name: probe["httpGet"] for name, probe in probes.items()} == {
        "startup": {"path": "/healthz", "port": "monitor"},
        "readiness": {"path": "/readyz", "port": "monitor"},
        "liveness": {"path": "/healthz", "port": "monitor"},
    }
    assert probes["readiness"]["timeoutSeconds"] > Timeouts().ready_s  # else a slow no would be no answer
    # A gateway is a client of the servers: what lets clients reach them holds for it.
    servers = built("overlays/cpu")
    [client] = [each["spec"] for each in servers if each["metadata"]["name"] == "deid-client"]
    assert client["podSelector"]["matchLabels"].items() <= gateway.labels.items()
    host, _, port = given["--server"].rpartition(":")
    service = one(servers, "Service")
    assert host == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert int(port) == service["spec"]["ports"][0]["port"]
    assert given["--audit-log"] == "-"


def command_of(line: list[str]) -> click.Command:
    """Return the command that a command line calls, below the groups that it names."""
    found: click.Command = main
    for word in line[1:]:
        if not isinstance(found, click.Group):
            break
        found = found.commands[word]
    return found


@pytest.mark.parametrize("folder", [*SERVED, "batch", "gateway"])
def test_options_are_those_of_the_commands(folder: str) -> None:
    """Every option of ``deid`` in a manifest exists, and files that it names are in a volume that is mounted."""
    for pod in pods(built(folder)):
        for container in pod.containers:
            lines = [[*container.get("command", ()), *container.get("args", ())]]
            lines += [
                container[p]["exec"]["command"] for p in container if p.endswith("Probe") and "exec" in container[p]
            ]
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            for line in lines:
                files = [part.partition("=")[2] or part for part in line if part.startswith("/") or "=/" in part]
                known = ("/opt", "/models", "/mnt/models", *mounts)
                assert all(file.startswith(tuple(known)) for file in files), (container["name"], files)
                if line and line[0] != "deid":
                    continue
                if not line:
                    continue
                command = command_of(line)
                options = {
                    name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
                }
                assert {part.partition("=")[0] for part in line if part.startswith("--")} <= options
