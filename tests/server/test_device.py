"""The option --device is for models on this machine, refused with a remedy if onnxruntime cannot use the device."""

import sys
from pathlib import Path

import pytest
import tiny_models as tiny
from terminal import done, run

from crossview.engine.collections.home import Home
from crossview.features.models.device import chosen_device
from crossview.server.edge import processes
from crossview.server.wire.settings import ServerSettings

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture(autouse=True)
def without_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSVIEW_DEVICE", "cpu")
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.models.add("small", tiny.picture_folder(tmp_path / "small"))
    return made


def test_commands_refuse_a_device_that_onnxruntime_cannot_use(home: Home, tmp_path: Path) -> None:
    """They refuse before they read a picture; a processor is always there."""
    for command in (("model", "check", "small"), ("index", "art", tmp_path), ("serve", "--port", 0)):
        result = run(*command, "--home", home.path, "--device", "cuda")
        assert (result.exit_code, "pip install onnxruntime-gpu" in result.stderr) == (1, True)
    assert "ms each" in done("model", "check", "small", "--home", home.path, "--device", "cpu")


def test_a_check_runs_on_the_device_of_the_environment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first run of a model is always on a processor, because the home stores its results."""
    monkeypatch.setenv("CROSSVIEW_DEVICE", "cuda")
    home.models.add("again", home.path.parent / "small")
    result = run("model", "check", "small", "--home", home.path)
    assert (result.exit_code, "cannot use the device cuda" in result.stderr) == (1, True)


def test_the_device_of_a_server_is_its_own() -> None:
    result = run("index", "art", "pictures", "--server", "localhost:1", "--device", "cuda")
    assert result.exit_code == 2
    assert "crossview serve --device cuda" in " ".join(result.stderr.replace("│", " ").split())


def test_a_server_lets_its_processes_run_models_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    for name in ("raise_descriptors", "keep_memory_together", "log_to_stderr"):
        monkeypatch.setattr(processes, name, lambda *_: None)  # this process goes on with other tests
    monkeypatch.setattr(sys, "setswitchinterval", lambda _: None)
    processes.prepare_process(ServerSettings(device="cuda"))
    assert chosen_device() == "cuda"
