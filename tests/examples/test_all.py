"""Every example has a page, is in the list of examples, and uses only public names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import crossview

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


def test_every_folder_is_described() -> None:
    """Each has a README, and a line of the list."""
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"__pycache__"}
    listed = re.findall(r"^\| \[(\S+)\]\((\S+)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.M)
    assert {name for name, _ in listed} == folders | {"waterfall.py"}
    assert all((EXAMPLES / link).exists() for _, link in listed)
    assert set(FOLDERS) == folders


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_of_an_example_states_how_to_run_it(name: str) -> None:
    """It also states what the example prints, and its links lead to files."""
    page = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    assert {"## Run", "## Output"} <= set(page.splitlines())
    links = [link.partition("#")[0] for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page)]
    assert [link for link in links if not (EXAMPLES / name / link).exists()] == []


def used_names(program: str) -> Iterator[tuple[str, str]]:
    """Yield each module of crossview that a program imports, or "crossview", with the name that it uses there."""
    for node in ast.walk(ast.parse(program)):
        match node:
            case ast.Attribute(value=ast.Name("crossview"), attr=name):
                yield "crossview", name
            case ast.Import(names=names):
                yield from ((one.name, "") for one in names if one.name.partition(".")[0] == "crossview")
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] == "crossview":
                yield from ((module, one.name) for one in names)


def test_examples_use_only_public_names() -> None:
    """Programs import from ``crossview``, ``crossview.extractors`` and ``crossview.learners``."""
    public = {
        "crossview": {"", "open", *crossview.__all__},
        "crossview.extractors": set(crossview.extractors.__all__),
        "crossview.learners": set(crossview.learners.__all__),
    }
    used = {
        (path.name, module, name)
        for path in EXAMPLES.rglob("*.py")
        for module, name in used_names(path.read_text(encoding="utf-8"))
    }
    assert {(path, module, name) for path, module, name in used if name not in public.get(module, ())} == set()
    assert len({module for _, module, _ in used}) == 3
