"""Test `deid-export release`: a signed copy that names version, corpus, recipes and card, or nothing at all."""

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deid_export.cli.main import main
from deid_runtime.cli.main import main as deid
from deid_runtime.models.manifest import find_models, read_manifest
from deid_runtime.models.trust import read_trusted
from deid_runtime.system.signatures import write_signing_pair

pytest.importorskip("cryptography")

ROOT = Path(__file__).resolve().parents[3]
RECIPE = ROOT / "export" / "recipes" / "release.toml"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    write_signing_pair(tmp_path / "maker.pem")
    return tmp_path / "maker.pem"


def release(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["release", *map(str, arguments)])


def test_a_release_is_whole_signed_and_says_what_it_was_made_from(tmp_path: Path, key: Path) -> None:
    out = tmp_path / "out"
    made = release(find_models(None), "-o", out, "--key", key, "--release", "2.0.0", "--recipe", RECIPE)
    checked = CliRunner().invoke(deid, ["models", "verify", str(out), "--key", f"{key}.pub", "--release", "2.0.0"])
    content = json.loads((out / "release.json").read_text())
    manifest = read_trusted(out, key=Path(f"{key}.pub"))

    assert (made.exit_code, checked.exit_code) == (0, 0), (made.output, checked.output)
    assert manifest.profile_sha256("full") in made.output
    assert content["version"] == "2.0.0"
    assert content["corpus_sha256"] == manifest.content["corpus_sha256"]
    assert content["recipes"] == {"release.toml": hashlib.sha256(RECIPE.read_bytes()).hexdigest()}
    assert content["card"] == "MODEL_CARD.md"
    assert content["graphs"] == {name: graph.sha256 for name, graph in manifest.graphs.items()}
    assert content["files"].keys() == {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()
    } - {"release.json", "release.json.sig"}


def test_a_release_of_links_holds_files(tmp_path: Path, key: Path) -> None:
    """Test models whose files are links, such as `site-models/current`: a release has their content."""
    linked = tmp_path / "linked"
    linked.mkdir()
    for path in find_models(None).iterdir():
        (linked / path.name).symlink_to(path)

    made = release(linked, "-o", tmp_path / "out", "--key", key, "--release", "1")

    assert made.exit_code == 0, made.output
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    assert read_manifest(tmp_path / "out").graphs.keys() == read_manifest(linked).graphs.keys()


def test_what_cannot_be_released_leaves_nothing_behind(tmp_path: Path, key: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "bare").mkdir()
    for path in find_models(None).iterdir():
        if path.name != "MODEL_CARD.md":
            (tmp_path / "bare" / path.name).symlink_to(path)
    before = set(tmp_path.iterdir())
    ours = find_models(None)

    for source, out, used_key, message in (
        (ours, "taken", key, "a release is never overwritten"),
        (tmp_path / "bare", "out", key, "has no MODEL_CARD.md"),
        (ours, "out", Path(f"{key}.pub"), "contains a secret and is open"),
        (tmp_path / "taken", "out", key, "manifest.json"),
    ):
        result = release(source, "-o", tmp_path / out, "--key", used_key, "--release", "1")
        assert result.exit_code == 2
        assert message in result.output
    assert set(tmp_path.iterdir()) == before
