"""Commands on models ask before a view loses its model and name damaged ones, and the doctor checks all."""

import shutil
from pathlib import Path

import pytest
import tiny_models as tiny
from terminal import done, result_of, run

from crossview.engine.collections.home import Home

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    (tiny.picture_folder(folder / "used") / "LICENSE").write_text("Apache License 2.0\n")
    home = Home(folder / "home")
    home.models.add("used", folder / "used")
    home.models.add("unused", tiny.picture_folder(folder / "unused", dim=7))
    home.create("art", ["color", "first=onnx:used", "second=onnx:used"]).close()
    return home.path


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    """A copy, whose files the tests damage."""
    return Path(shutil.copytree(made, tmp_path / "home"))


def checks(home: Path, status: int = 0) -> dict[str, dict[str, str]]:
    (home.parent / "crossview.toml").write_text("port = 0")
    found = result_of("doctor", "--home", home, "--config", home.parent / "crossview.toml", status=status)["checks"]
    return {one["check"]: one for one in found if one["check"].startswith("model")}


def test_removing_names_the_views_and_asks(home: Path) -> None:
    refused = run("model", "remove", "used", "--home", home)
    assert refused.exit_code == 1
    users = "view first of art, view second of art"
    assert f"deleting model used (needed for new rows of {users}) needs --yes" in refused.output
    assert "deleting model unused needs --yes" in run("model", "remove", "unused", "--home", home).output
    assert len(result_of("model", "list", "--home", home)) == 2
    said = done("model", "remove", "used", "--yes", "--home", home)
    assert said == f"deleted model used; the stored rows of {users} stay\n"
    assert [one["name"] for one in result_of("model", "list", "--home", home)] == ["unused"]


def test_a_damaged_model_hides_no_other(home: Path) -> None:
    (home / ".models" / "used.json").write_text("{")
    listed = run("model", "list", "--home", home)
    assert listed.exit_code == 0
    assert "unused" in listed.stdout
    assert f"remove it with: crossview model remove used --home {home}" in listed.stderr
    refused = run("model", "remove", "used", "--home", home)
    assert "view first of art" in refused.output
    done("model", "remove", "used", "--yes", "--home", home)
    assert run("model", "list", "--home", home).stderr == ""


def test_the_doctor_compares_the_files_of_each_model(home: Path) -> None:
    healthy = checks(home)
    assert {name: one["level"] for name, one in healthy.items()} == dict.fromkeys(
        ("models", "model unused", "model used"), "ok"
    )
    weights = max((home / ".models" / "files").iterdir(), key=lambda file: file.stat().st_size)
    weights.write_bytes(weights.read_bytes()[:-1])
    found = checks(home, status=1)
    assert [name for name, one in found.items() if one["level"] == "error"] == ["model unused"]
    assert "one of its files has changed" in found["model unused"]["message"]
    assert "`" not in found["model unused"]["message"]
    weights.unlink()
    assert "one of its files cannot be read: No such file" in checks(home, status=1)["model unused"]["message"]


def test_the_doctor_names_the_views_whose_model_is_gone(home: Path) -> None:
    done("model", "remove", "used", "--yes", "--home", home)
    (home.parent / "crossview.toml").write_text("port = 0")
    found = result_of("doctor", "--home", home, "--config", home.parent / "crossview.toml")["checks"]
    views = {one["check"]: one for one in found if one["check"].startswith("view ")}
    assert views.keys() == {"view first of art", "view second of art"}
    for one in views.values():
        assert one["level"] == "warning"
        assert f"add it with: crossview model add used FOLDER --home {home}" in one["message"]


def test_show_names_the_licence(home: Path) -> None:
    assert "licence: Apache License 2.0" in done("model", "show", "used", "--home", home)
    assert "licence: the folder states none" in done("model", "show", "unused", "--home", home)


def test_the_help_of_views_names_models() -> None:
    assert "clip=onnx:MODEL" in done("create", "--help")
    assert "clip=onnx:MODEL" in done("view", "add", "--help")
