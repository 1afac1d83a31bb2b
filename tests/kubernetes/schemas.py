"""Check documents against the schemas of Kubernetes and of the kinds that others add, with unknown fields refused.

The schemas come from packages that their projects or others keep up to date: those of Kubernetes from
``kubernetes-validate``, those of the Prometheus operator and of cert-manager from models of ``cloudcoil``, those of
KServe from KServe's own SDK. The SDK is read and not imported: its import asks for a web framework and much else.
"""

import ast
import functools
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.manifests import Document

jsonschema = pytest.importorskip("jsonschema", reason="needs requirements/kubernetes.txt")
kubernetes_validate = pytest.importorskip("kubernetes_validate.utils", reason="needs requirements/kubernetes.txt")

_KNOWN = sorted({tuple(map(int, version.split("."))) for version in kubernetes_validate.all_versions()})
#: The versions of Kubernetes whose schemas must take our documents: that which the page asks for, and the newest known.
VERSIONS = tuple(".".join(map(str, version)) for version in ((1, 31, 0), _KNOWN[-1]))
_NEWEST = Path(kubernetes_validate.__file__).parent / f"kubernetes-json-schema/v{VERSIONS[-1]}-local-strict"
_MUST = re.compile(r"Invalid value for `(\w+)`, must not be `None`")
_PLAIN = {"str": "string", "int": "integer", "bool": "boolean", "float": "number"}

#: Module and class of cloudcoil for each kind.
_CLOUDCOIL = {
    "PodMonitor": ("cloudcoil.models.prometheus_operator.v1", "PodMonitor"),
    "PrometheusRule": ("cloudcoil.models.prometheus_operator.v1", "PrometheusRule"),
    "Certificate": ("cloudcoil.models.cert_manager.v1", "Certificate"),
    "Issuer": ("cloudcoil.models.cert_manager.v1", "Issuer"),
}
_KSERVE = {"ServingRuntime": "V1alpha1ServingRuntime", "InferenceService": "V1beta1InferenceService"}


def errors(document: Document, version: str = VERSIONS[-1]) -> list[str]:
    """Return what a cluster of this version would refuse in a document, one line each."""
    kind = document["kind"]
    if kind in _CLOUDCOIL:
        return _problems(_cloudcoil_schema(kind), document)
    if kind in _KSERVE:
        return _problems(kserve_schema(kind), document)
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [error.message]
    return []


def _problems(schema: Document, document: Document) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def _closed(schema: Any) -> Any:
    """Return a schema in which no object with named fields takes others."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed


@functools.cache
def _cloudcoil_schema(kind: str) -> Document:
    module, name = _CLOUDCOIL[kind]
    model = getattr(importlib.import_module(module), name)
    schema: Document = _closed(model.model_json_schema(by_alias=True))
    return schema


@functools.cache
def kserve_schema(kind: str) -> Document:
    """Return the JSON schema of one of KServe's kinds, made from the classes of its SDK and the types of Kubernetes."""
    definitions = json.loads((_NEWEST / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    classes = _kserve_classes()
    for name, (fields, required) in classes.items():
        definitions[name] = {
            "type": "object",
            "properties": {key: _type(declared, classes, definitions) for key, declared in fields.items()},
            "required": sorted(required),
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{_KSERVE[kind]}", "$defs": definitions}


def _kserve_classes() -> dict[str, tuple[dict[str, str], set[str]]]:
    """Return, for each class of KServe's SDK, its fields with their types, by name in JSON, and the required ones."""
    spec = importlib.util.find_spec("kserve")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs requirements/kserve.txt")
    found = {}
    for file in sorted((Path(spec.submodule_search_locations[0]) / "models").glob("v1*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if not isinstance(node, ast.ClassDef):
                continue
            tables = {
                target.id: ast.literal_eval(line.value)
                for line in node.body
                if isinstance(line, ast.Assign) and isinstance(target := line.targets[0], ast.Name)
            }
            names, types = tables["attribute_map"], tables["openapi_types"]
            fields = {names[attribute]: declared for attribute, declared in types.items()}
            found[node.name] = fields, {names[attribute] for attribute in _MUST.findall(text)}
    return found


def _type(declared: str, classes: Any, definitions: Document) -> Document:
    """Return the schema of a type as the SDK writes it. A type that neither KServe nor Kubernetes has is any value."""
    if match := re.fullmatch(r"list\[(.+)\]", declared):
        return {"type": "array", "items": _type(match[1], classes, definitions)}
    if match := re.fullmatch(r"dict\(str, (.+)\)", declared):
        return {"type": "object", "additionalProperties": _type(match[1], classes, definitions)}
    if declared in _PLAIN:
        return {"type": _PLAIN[declared]}
    if declared in classes:
        return {"$ref": f"#/$defs/{declared}"}
    if match := re.fullmatch(r"(V\d+(?:(?:alpha|beta)\d+)?)(\w+)", declared):
        ending = f".{match[1].lower()}.{match[2]}"
        for name in sorted(definitions):
            if name.endswith(ending):
                return {"$ref": f"#/$defs/{name}"}
    return {}
