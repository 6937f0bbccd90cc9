"""Models run on the device of the machine; one that it does not have is refused with the remedy."""

from pathlib import Path

import pytest
import tiny_models as tiny

from crossview.features.errors import ModelError
from crossview.features.models import device as devices
from crossview.features.models.session import open_session, use_device

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture
def model(tmp_path: Path) -> bytes:
    return (tiny.picture_folder(tmp_path / "model") / "vision_model.onnx").read_bytes()


def test_the_device_is_a_processor_unless_another_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes inherit the choice."""
    monkeypatch.setenv(devices.VARIABLE, "")
    assert devices.chosen_device() == "cpu"
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: list(devices.PROVIDERS.values()))
    use_device("cuda")
    assert devices.chosen_device() == "cuda"
    assert devices.on_graphics_card()


def test_an_unknown_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, "tpu")
    for choose in (devices.chosen_device, lambda: use_device("tpu")):
        with pytest.raises(ModelError, match=r"'tpu' is not a device .*CROSSVIEW_DEVICE.*: choose cpu or cuda"):
            choose()


def test_an_onnxruntime_without_cuda_is_named_with_the_one_that_has_it(
    model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    for use in (lambda: open_session(model, device="cuda"), lambda: use_device("cuda")):
        with pytest.raises(ModelError, match=r"cannot use the device cuda: .* pip install onnxruntime-gpu"):
            use()
    assert not devices.on_graphics_card()


def test_a_card_that_does_not_start_is_an_error(model: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime goes on without a card, many times slower, and only warns."""
    plain = onnxruntime.InferenceSession
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: list(devices.PROVIDERS.values()))
    monkeypatch.setattr(
        onnxruntime, "InferenceSession", lambda data, options, providers: plain(data, options, ["CPUExecutionProvider"])
    )
    with pytest.raises(ModelError, match="cannot start the device cuda"):
        open_session(model, device="cuda")
