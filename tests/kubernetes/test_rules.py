"""Test the rules for Prometheus with promtool: what is recorded, and each alert with data for it and against it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.alerts import ALERTS, RECORDED
from tests.kubernetes.manifests import FOLDER, ROOT, Document, built, one, tool, yaml


@pytest.fixture(scope="module")
def rules() -> Document:
    spec: Document = one(built("common"), "PrometheusRule", "deid-kubernetes")["spec"]
    return spec


def promtool(folder: Path, rules: Document, tests: list[Document] | None = None) -> str:
    """Run promtool on rules, with ``tests`` on these tests; return what it complains of, "" for nothing."""
    for group in rules["groups"]:
        group.pop("interval", None)  # those of the tests are enough, and faster
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    arguments = ["check", "rules", "rules.yaml"]
    if tests is not None:
        content = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
        (folder / "tests.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        arguments = ["test", "rules", "tests.yaml"]
    done = subprocess.run([tool("promtool"), *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def series(named: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in named.items()]


def firing(alert: str, given: dict[str, str], minutes: int, *, is_firing: bool) -> Document:
    """Return a test that the alert fires, or does not, after ``minutes`` of these series."""
    samples = [{"labels": "{}", "value": 1}] if is_firing else []
    expression = f'max(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return {
        "name": f"{alert} {'with' if is_firing else 'without'} cause",
        "interval": "1m",
        "input_series": series(given),
        "promql_expr_test": [{"expr": expression, "eval_time": f"{minutes}m", "exp_samples": samples}],
    }


def test_the_rules_are_read_by_prometheus(rules: Document, tmp_path: Path) -> None:
    assert promtool(tmp_path, rules) == ""


def test_series_are_recorded_as_meant(rules: Document, tmp_path: Path) -> None:
    tests = [
        {
            "name": case["name"],
            "interval": "1m",
            "input_series": series(case["series"]),
            "promql_expr_test": [
                {
                    "expr": case["expr"],
                    "eval_time": "20m",
                    "exp_samples": [{"labels": labels, "value": value} for labels, value in case["expected"].items()],
                }
            ],
        }
        for case in RECORDED
    ]

    assert promtool(tmp_path, rules, tests) == ""


def test_every_alert_fires_with_its_cause_alone(rules: Document, tmp_path: Path) -> None:
    tests = []
    for alert, (minutes, cause, peace) in ALERTS.items():
        tests.append(firing(alert, cause, minutes, is_firing=True))
        tests += [firing(alert, each, minutes, is_firing=False) for each in peace]

    assert promtool(tmp_path, rules, tests) == ""


def test_every_alert_has_a_test_and_a_row_in_the_page(rules: Document) -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    alerts = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]

    assert {rule["alert"] for rule in alerts} == ALERTS.keys()
    for rule in alerts:
        assert rule["labels"]["severity"] in ("warning", "critical")
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert (ROOT / path).exists()
        assert anchor == rule["alert"].lower()
        assert f'<a id="{anchor}"></a>`{rule["alert"]}`' in page


def test_no_rule_holds_text_of_a_note_or_an_id(rules: Document) -> None:
    """Labels come from closed lists: a rule that names a patient or a note would be a leak in the making."""
    text = yaml.safe_dump(rules)

    assert not [word for word in ("note_id", "patient", "text=", "key_name=") if word in text]


@pytest.mark.parametrize(
    ("alert", "old", "new"),
    [
        ("DeidRequestsWait", "> 4", "> 400"),
        ("DeidNoServer", "absent(", "count("),
        ("DeidJobLate", "36 * 3600", "360 * 3600"),
        ("DeidServerStalled", "and", "unless"),
    ],
)
def test_a_wrong_rule_is_noticed(rules: Document, tmp_path: Path, alert: str, old: str, new: str) -> None:
    changed: Any = yaml.safe_load(yaml.safe_dump(rules))
    [rule] = [each for group in changed["groups"] for each in group["rules"] if each.get("alert") == alert]
    assert old in rule["expr"]
    rule["expr"] = rule["expr"].replace(old, new)
    minutes, cause, _ = ALERTS[alert]

    assert alert in promtool(tmp_path, changed, [firing(alert, cause, minutes, is_firing=True)])


def test_a_rule_that_is_no_query_is_refused(rules: Document, tmp_path: Path) -> None:
    changed: Any = yaml.safe_load(yaml.safe_dump(rules))
    changed["groups"][0]["rules"][0]["expr"] = "sum by (pod (rate(x[2m]))"

    assert "parse error" in promtool(tmp_path, changed)


def test_the_queries_of_the_adapter_are_queries(tmp_path: Path) -> None:
    adapter = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text(encoding="utf-8"))
    queries = []
    for rule in adapter["rules"]["custom"]:
        name, _, matchers = rule["seriesQuery"].partition("{")
        query = rule["metricsQuery"].replace("<<.Series>>", name).replace("<<.GroupBy>>", "pod")
        queries.append(query.replace("<<.LabelMatchers>>", matchers.rstrip("}")))
        assert "<<" not in queries[-1]

    rules = [{"record": f"adapter:{number}", "expr": query} for number, query in enumerate(queries)]
    assert len(rules) == 2
    assert promtool(tmp_path, {"groups": [{"name": "adapter", "rules": rules}]}) == ""


def test_the_rules_about_servers_are_those_that_everybody_has() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import kubernetes_rules
    finally:
        sys.path.pop(0)
    written = kubernetes_rules.written(kubernetes_rules.SOURCE.read_text(encoding="utf-8"))

    assert kubernetes_rules.TARGET.read_text(encoding="utf-8") == written, "run python scripts/kubernetes_rules.py"


def test_no_two_rules_have_one_name() -> None:
    specs = [each["spec"] for each in built("common") if each["kind"] == "PrometheusRule"]
    names = [
        rule.get("alert") or rule["record"] for spec in specs for group in spec["groups"] for rule in group["rules"]
    ]

    assert len(specs) == 2
    assert [name for name in set(names) if names.count(name) > 1] == []
