"""Write the rules of docker/observability for the Prometheus operator, as docker/kubernetes/common/server-rules.yaml.

python scripts/kubernetes_rules.py
"""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "docker" / "observability" / "rules.yml"
TARGET: Final = ROOT / "docker" / "kubernetes" / "common" / "server-rules.yaml"

_HEAD: Final = """# Made by scripts/kubernetes_rules.py from docker/observability/rules.yml: change that file.
# docs/how-to/monitoring.md says what to do for each alert.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: deid-server
  labels: {app.kubernetes.io/name: deid-server, app.kubernetes.io/part-of: deid}
spec:
"""


def written(rules: str) -> str:
    """Return the content of the file for the operator. ``rules`` is a file of rules for Prometheus.

    Raises ValueError when it does not begin with its groups: then the file needs more than an indent.
    """
    lines = rules.splitlines()
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    if not lines or lines[0] != "groups:":
        raise ValueError(f"{SOURCE} does not begin with `groups:`")
    return _HEAD + "".join(f"  {line}".rstrip() + "\n" for line in lines)


def main() -> None:
    """Write the file."""
    TARGET.write_text(written(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
