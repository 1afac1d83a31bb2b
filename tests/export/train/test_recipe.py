"""Test recipes: steps in order, none twice, inputs checked by digest."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deid_export.train.recipe import Recipe, Step, read_recipe, run_recipe
from deid_runtime.errors import InputError, SourceError

PROJECT = Path(__file__).parents[3]


class Kitchen:
    """Runs steps of the form ``write FILE TEXT`` and records them."""

    def __init__(self, folder: Path) -> None:
        self.folders = {"data": folder / "data", "out": folder / "out", "project": PROJECT}
        self.folders["data"].mkdir()
        self.ran: list[str] = []
        self.said: list[str] = []

    def export(self, arguments: Sequence[str]) -> None:
        self.ran.append(arguments[0])
        if arguments[0] == "write":
            Path(arguments[1]).write_text(arguments[2])

    def run(self, recipe: Recipe, until: str | None = None) -> None:
        run_recipe(recipe, self.folders, self.export, self.said.append, until=until)


def write(name: str, text: str) -> Step:
    return Step(name, ("write", f"{{out}}/{name}", text), {}, (f"{{out}}/{name}",))


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    return Kitchen(tmp_path)


def test_steps_run_in_order_and_once(kitchen: Kitchen) -> None:
    recipe = Recipe({}, (write("a", "1"), write("b", "2")))

    kitchen.run(recipe)
    kitchen.run(recipe)

    assert kitchen.ran == ["write", "write"]
    assert kitchen.said[-1] == "2/2 b: done before"


def test_a_changed_step_and_all_after_it_run_again(kitchen: Kitchen) -> None:
    kitchen.run(Recipe({}, (write("a", "1"), write("b", "2"), write("c", "3"))))
    kitchen.run(Recipe({}, (write("a", "1"), write("b", "changed"), write("c", "3"))))

    assert len(kitchen.ran) == 5


def test_what_was_damaged_is_made_again(kitchen: Kitchen) -> None:
    recipe = Recipe({}, (write("a", "1"),))
    kitchen.run(recipe)
    (kitchen.folders["out"] / "a").write_text("damaged")
    kitchen.run(recipe)

    assert (kitchen.folders["out"] / "a").read_text() == "1"


def test_it_stops_behind_the_step_asked_for(kitchen: Kitchen) -> None:
    kitchen.run(Recipe({}, (write("a", "1"), write("b", "2"))), until="a")

    assert not (kitchen.folders["out"] / "b").exists()


def test_a_step_that_makes_nothing_stops_the_run(kitchen: Kitchen) -> None:
    with pytest.raises(InputError, match="step lazy did not make"):
        kitchen.run(Recipe({}, (Step("lazy", ("nothing",), {}, ("{out}/x",)),)))


def test_an_input_of_another_digest_is_refused_before_any_step(kitchen: Kitchen) -> None:
    (kitchen.folders["data"] / "lists.txt").write_text("other")
    digest = hashlib.sha256(b"right").hexdigest()

    with pytest.raises(SourceError, match="not the file of the recipe"):
        kitchen.run(Recipe({"lists.txt": digest}, (write("a", "1"),)))
    assert kitchen.ran == []


def test_a_file_of_an_earlier_commit_is_taken_by_digest(kitchen: Kitchen) -> None:
    licence = subprocess.run(
        ["git", "-C", str(PROJECT), "show", "HEAD:LICENSE"], capture_output=True, check=True
    ).stdout
    git = {"commit": "HEAD", "path": "LICENSE", "sha256": hashlib.sha256(licence).hexdigest()}

    kitchen.run(Recipe({}, (Step("take", (), git, ("{out}/licence",)),)))
    assert (kitchen.folders["out"] / "licence").read_bytes() == licence

    with pytest.raises(SourceError, match="not in this clone"):
        kitchen.run(Recipe({}, (Step("take", (), {**git, "sha256": "0" * 64}, ("{out}/other",)),)))


@pytest.mark.parametrize(
    "content", ["", "[[step]]\nname = 'x'\n", "[[step]]\nname = 'x'\nrun = []\ngit = {}\nmakes = ['y']\n", "no toml"]
)
def test_a_recipe_that_lacks_a_part_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(content)

    with pytest.raises(SourceError):
        read_recipe(path)


def test_the_recipes_that_ship_can_be_read() -> None:
    for path in sorted((PROJECT / "export" / "recipes").glob("*.toml")):
        recipe = read_recipe(path)
        assert recipe.inputs
        assert recipe.steps
