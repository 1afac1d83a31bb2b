"""The description of the gateway for programs (OpenAPI 3.1), and a page of it that loads nothing from elsewhere."""

import html
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any, Final

_METHODS: Final = ("get", "post")


def description() -> bytes:
    """Return the description, JSON."""
    return _file("openapi.json")


def style() -> bytes:
    """Return the style sheet of the page."""
    return _file("docs.css")


def page() -> bytes:
    """Return the description as a page."""
    content = json.loads(description())
    about = content["info"]
    body = "".join(_operations(content))
    schemas = "".join(
        f'<section id="schema-{html.escape(name)}"><h3>{html.escape(name)}</h3>{_code(schema)}</section>'
        for name, schema in content["components"]["schemas"].items()
    )
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(about["title"])}</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/docs.css"></head><body><main>'
        f"<h1>{html.escape(about['title'])}</h1><p>{html.escape(about['description'])}</p>"
        '<p><a href="/openapi.json">openapi.json</a></p>'
        f"<h2>Addresses</h2>{body}<h2>Schemas</h2>{schemas}</main></body></html>\n"
    )
    return text.encode("utf-8")


def _operations(content: dict[str, Any]) -> Iterator[str]:
    for path, methods in content["paths"].items():
        for method in _METHODS:
            if method in methods:
                yield _operation(path, method, methods[method])


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parts = [
        f"<section><h3><code>{method.upper()} {html.escape(path)}</code> {html.escape(operation['summary'])}</h3>",
        f"<p>{html.escape(operation.get('description', ''))}</p>",
    ]
    parts += [
        f"<p>Parameter <code>{html.escape(each['name'])}</code> in {html.escape(each['in'])}: "
        f"{html.escape(each['description'])}</p>"
        for each in operation.get("parameters", [])
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Request, <code>{html.escape(kind)}</code></p>{_code(body)}")
    rows = "".join(
        f"<tr><td>{html.escape(status)}</td><td>{html.escape(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    return "".join([*parts, f"<table><tr><th>Status</th><th>Meaning</th></tr>{rows}</table></section>"])


def _code(value: object) -> str:
    return f"<pre>{html.escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def _file(name: str) -> bytes:
    return resources.files("deid_runtime").joinpath(f"data/gateway/{name}").read_bytes()
