"""Make the pages of the documentation that other files hold; a hook of mkdocs.

Made are the command reference (from ``--help``), the Python reference (from docstrings), the tables of figures (from
the committed results), and the pages that stand elsewhere in the repository, such as ``benchmarks/README.md``. Links
between files of the repository become links between pages; a file that is no page is named as code.
"""

import ast
import contextlib
import dataclasses
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import click
from click.testing import CliRunner

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = (ROOT, ROOT / "client", ROOT / "export", ROOT / "scripts")

#: Files of the repository that are pages of the site.
PAGES: Final = {
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/hostile/README.md": "project/attacks.md",
    "model_repository/MODEL_CARD.md": "project/model-card.md",
    "export/corpus/README.md": "project/corpus.md",
    "export/corpus/GUIDELINES.md": "project/guidelines.md",
    "export/README.md": "project/training.md",
    "docker/README.md": "project/containers.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "README.md": "index.md",
}

#: What the Python reference shows, by module; all names of ``deid_runtime`` come from its ``__all__``.
CLIENT_NAMES: Final = (
    ("deid_client.server", "TritonServer"),
    ("deid_client.settings", "ServerSettings"),
    ("deid_client.settings", "Tls"),
    ("deid_client.notes", "DeidClient"),
    ("deid_client.notes", "SyncDeidClient"),
)

#: Classes that other functions make: their constructors are not for users.
NOT_CONSTRUCTED: Final = frozenset({"Pipeline"})

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_FENCE: Final = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
_TABLE: Final = re.compile(r"<!-- TABLE: (\w+) -->")
_ROLE: Final = re.compile(r":(?:class|meth|mod|func|data|attr):`~?([^`<]+)`")
_HELP_COLUMNS: Final = 100


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages that are made, before mkdocs reads any."""
    file = importlib.import_module("mkdocs.structure.files").File
    for path, text in made_pages().items():
        files.append(file.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Fill in the tables of a page of ``docs/`` and turn its links to files of the repository into links to pages."""
    made = {"reference/deid.md", "reference/deid-export.md", "reference/python.md", *PAGES.values()} - {"index.md"}
    if page.file.src_uri in made:
        return markdown
    return relinked(with_tables(markdown), f"docs/{page.file.src_uri}", page.file.src_uri)


def made_pages() -> dict[str, str]:
    """Return the pages that are made, path in the site to Markdown."""
    _put_on_path()
    pages = {
        page: relinked((ROOT / source).read_text(encoding="utf-8"), source, page)
        for source, page in PAGES.items()
        if page != "index.md"
    }
    pages["reference/deid.md"] = command_page("deid", "deid_runtime.cli.main")
    pages["reference/deid-export.md"] = command_page("deid-export", "deid_export.cli.main")
    pages["reference/python.md"] = python_page()
    return pages


def with_tables(markdown: str) -> str:
    """Replace ``<!-- TABLE: NAME -->`` by the table of that name, rendered from the committed results."""
    if not _TABLE.search(markdown):
        return markdown
    _put_on_path()
    tables = importlib.import_module("figures").tables()
    return _TABLE.sub(lambda match: tables[match[1]], markdown)


def relinked(markdown: str, source: str, page: str) -> str:
    """Return the Markdown of file ``source`` of the repository with its links as ``page`` of the site needs them.

    Links to a web address and inside the page stay. Raises ValueError for a link to a file that does not exist.
    """

    def link(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match[0]
        named = os.path.normpath(str(PurePosixPath(source).parent / path))
        to = PAGES.get(named, named.removeprefix("docs/") if named.startswith("docs/") else None)
        if to is None:
            if not (ROOT / named).exists() and named.removeprefix("docs/") not in _made_paths():
                raise ValueError(f"{source} links to {path}, which does not exist")
            shown = text.replace("`", "")
            return f"`{named}`" if shown in (path, named) or image else f"{text} (`{named}`)"
        return f"{image}[{text}]({os.path.relpath(to, PurePosixPath(page).parent)}{'#' if anchor else ''}{anchor})"

    parts = _FENCE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def command_page(name: str, module: str) -> str:
    """Return the reference of a command line: what ``--help`` says of it and of every command below it."""
    main = importlib.import_module(module).main
    parts = [
        f"# `{name}`",
        f"On this page you look up every option of `{name}`. It is what `--help` printed when the site was built.",
    ]
    for words in _commands((name,), main):
        shown = CliRunner().invoke(
            main, [*words[1:], "--help"], prog_name=name, terminal_width=_HELP_COLUMNS, max_content_width=_HELP_COLUMNS
        )
        if shown.exit_code:
            raise RuntimeError(f"`{' '.join(words)} --help` ended with {shown.exit_code}")
        if len(words) > 1:
            parts.append(f"{'#' * len(words)} {' '.join(words)}")
        parts.append(f"```text\n{click.unstyle(shown.output).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _commands(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    """Yield the words that call a command, and those of all below it."""
    if command.hidden:
        return
    yield words
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from _commands((*words, name), below)


def python_page() -> str:
    """Return the reference of the Python library: signatures and docstrings of its public names."""
    library = importlib.import_module("deid_runtime")
    parts = [
        "# Python",
        "On this page you look up the public names of `deid_runtime` and `deid_client`, from their docstrings.",
        "## `deid_runtime`",
        _prose(inspect.getdoc(library) or ""),
    ]
    parts += [_described("deid_runtime", name, getattr(library, name)) for name in library.__all__]
    parts.append("## `deid_client`")
    parts.append("The client of a model server. It needs the extra `client`.")
    for module, name in CLIENT_NAMES:
        with contextlib.suppress(ImportError):  # the extra is not installed where the site is built
            parts.append(_described(module, name, getattr(importlib.import_module(module), name)))
    return "\n\n".join(parts) + "\n"


def _described(module: str, name: str, thing: Any) -> str:
    """Return the section of one public name."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        value = ", ".join(f"`{each}`" for each in thing) if isinstance(thing, tuple) else f"`{thing!r}`"
        return f"### `{name}`\n\n`{module}.{name}`: {value}"
    parts = [f"### `{name}`", _signature(f"{module}.{name}", thing), _prose(inspect.getdoc(thing) or "")]
    if dataclasses.is_dataclass(thing):
        parts.append(_fields(thing))
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        for member, value in vars(thing).items():
            if member.startswith("_"):
                continue
            function = value.fget if isinstance(value, property) else value
            if inspect.isfunction(function):
                kind = "" if not isinstance(value, property) else " (property)"
                parts.append(f"#### `{name}.{member}`{kind}")
                parts.append(_signature(member, function) if not kind else "")
                parts.append(_prose(inspect.getdoc(function) or ""))
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, thing: Any) -> str:
    if inspect.isclass(thing) and (
        dataclasses.is_dataclass(thing) or issubclass(thing, Exception) or thing.__name__ in NOT_CONSTRUCTED
    ):
        return ""
    signature = str(inspect.signature(thing)).replace("self, ", "").replace("(self)", "()")
    for prefix in ("deid_runtime.", "deid_client.", "collections.abc."):
        signature = re.sub(rf"\b{re.escape(prefix)}(?:\w+\.)*", "", signature)
    return f"```python\n{name}{signature}\n```"


def _fields(thing: Any) -> str:
    """Return a table of the fields of a dataclass: type, default, and the comment that stands at or above them."""
    lines, _ = inspect.getsourcelines(thing)
    [body] = ast.parse(inspect.cleandoc("".join(lines)) if lines[0].startswith(" ") else "".join(lines)).body
    assert isinstance(body, ast.ClassDef)
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    for node in body.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        default = ast.unparse(node.value) if node.value is not None else "required"
        default = re.sub(r"field\(.*default_factory=(\w+).*\)", r"\1()", default)
        default = "required" if default.startswith("field(") and "default=" not in default else default
        default = re.sub(r"field\(.*?default=([^,)]+).*\)", r"\1", default)
        cells = [node.target.id, ast.unparse(node.annotation), default]
        shown = [f"`{cell}`".replace("|", "\\|") for cell in cells]
        rows.append(f"| {' | '.join(shown)} | {_comment(lines, node)} |")
    return "\n".join(rows) if len(rows) > 2 else ""


def _comment(lines: list[str], node: ast.AnnAssign) -> str:
    """Return the comment behind a field, or the lines of comment above it."""
    end = node.end_lineno or node.lineno
    behind = " ".join(
        line.rpartition("  # ")[2].strip()
        for line in lines[node.lineno - 1 : end]
        if "  # " in line and "= '" not in line
    )
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.lstrip().startswith("#"):
            break
        above.insert(0, line.strip().lstrip("#: "))
    return " ".join(part for part in (" ".join(above), behind) if part).replace("``", "`").replace("|", "\\|")


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown: roles as code, what follows ``::`` as a block."""
    text = _ROLE.sub(lambda match: f"`{match[1]}`", docstring).replace("``", "`")
    text = re.sub(r"^=+(?: +=+)+$", "", text, flags=re.MULTILINE)
    out: list[str] = []
    inside = False
    for block in text.split("\n\n"):
        if inside and block.startswith("    "):
            out.append("```text\n" + inspect.cleandoc(block) + "\n```")
            continue
        inside = block.rstrip().endswith("::")
        block = re.sub(r":?:$", "", block.rstrip()) if block.strip() == "::" else re.sub(r"::$", ":", block.rstrip())
        if block:
            out.append(block)
    return "\n\n".join(out)


def _made_paths() -> frozenset[str]:
    return frozenset({"reference/deid.md", "reference/deid-export.md", "reference/python.md", *PAGES.values()})


def _put_on_path() -> None:
    for folder in FOLDERS:
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
