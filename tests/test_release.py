"""The checks of a release find faults in a wheel, in its metadata and in the files beside it."""

import zipfile
from pathlib import Path

import pytest
from release import (
    FIELDS,
    ROOT,
    contents,
    metadata_of,
    metadata_problems,
    version_problems,
    wheel_problems,
)

GOOD = ("crossview/__init__.py", "crossview/py.typed", "crossview-9.dist-info/licenses/LICENSE")


def wheel(folder: Path, *names: str, metadata: str = "Name: crossview\n") -> Path:
    """Return a wheel of empty files."""
    path = folder / "crossview-9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "")
        file.writestr("crossview-9.dist-info/METADATA", metadata)
        file.writestr("crossview-9.dist-info/RECORD", "".join(f"{name},sha256={name.upper()},0\n" for name in names))
    return path


def test_a_wheel_has_one_package(tmp_path: Path) -> None:
    """It also has its types and its licence, and no tests."""
    assert list(wheel_problems(wheel(tmp_path, *GOOD))) == []
    assert list(wheel_problems(wheel(tmp_path, *GOOD, "server/__init__.py"))) == [
        "the wheel installs crossview, server, not crossview alone"
    ]
    assert list(wheel_problems(wheel(tmp_path, GOOD[0]))) == [
        "the wheel lacks crossview/py.typed",
        "the wheel lacks licenses/LICENSE",
    ]
    for test in ("crossview/tests/helper.py", "crossview/test_a.py", "crossview/engine/conftest.py"):
        assert list(wheel_problems(wheel(tmp_path, *GOOD, test))) == [f"the wheel contains the test {test}"]


def test_contents_are_told_apart_by_their_hashes(tmp_path: Path) -> None:
    """The wheel records the hash of each file."""
    assert contents(wheel(tmp_path, *GOOD[:1])) == {GOOD[0]: f"sha256={GOOD[0].upper()}"}


def test_metadata_has_every_field(tmp_path: Path) -> None:
    """It has a classifier for each version of Python from the oldest to the newest that a classifier states."""
    fields = dict.fromkeys(FIELDS, "text") | {"Requires-Python": ">=3.11", "License-File": "LICENSE"}
    lines = [f"{name}: {value}\n" for name, value in fields.items()]
    lines += [f"Classifier: Programming Language :: Python :: 3.{minor}\n" for minor in (11, 13)]
    metadata = metadata_of(wheel(tmp_path, metadata="".join(lines)))
    assert list(metadata_problems(metadata)) == ["no classifier states Python 3.12"]
    del metadata["Keywords"]
    assert "the metadata lacks Keywords" in list(metadata_problems(metadata))


@pytest.mark.parametrize("wrong", ["pyproject.toml", "CITATION.cff", "CHANGELOG.md"])
def test_every_file_states_the_version_of_the_wheel(tmp_path: Path, wrong: str) -> None:
    """The changelog states it in its first heading with a number."""
    texts = {
        "pyproject.toml": 'version = "{}"\n',
        "CITATION.cff": "version: {}\n",
        "CHANGELOG.md": "## Unreleased\n\n## {} - 2026-11-28\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text.format("1.2.3"))
    assert list(version_problems(tmp_path, "1.2.3")) == []
    (tmp_path / wrong).write_text(texts[wrong].format("1.2.2"))
    assert list(version_problems(tmp_path, "1.2.3")) == [f"{wrong} states version 1.2.2, and the wheel 1.2.3"]


def test_the_files_of_this_project_agree() -> None:
    """Their version is that of the installed package, which is that of pyproject.toml."""
    import crossview

    assert list(version_problems(ROOT, crossview.__version__)) == []
