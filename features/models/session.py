"""Running a tower: from pictures or texts to rows, with limits on threads."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from crossview.features.base import FeatureRows
from crossview.features.errors import ModelError, ModelInputError
from crossview.features.image import Image, check_image
from crossview.features.models.device import PROVIDERS, VARIABLE, Device, checked_device, chosen_device
from crossview.features.models.graph import read_graph
from crossview.features.models.manifest import RESAMPLINGS, Pixels, Tower, not_installed
from crossview.features.models.stored import ModelFile


def pixels_of(image: Image, spec: Pixels) -> NDArray[np.float32]:
    """Return the input, (1, 3, height, width) float32, of a picture, (h, w, 3) BGR uint8.

    Pillow resizes the picture, with antialiasing; then it is cut from its centre, and black surrounds a smaller one.
    """
    check_image(image)
    data = np.ascontiguousarray(image)
    picture = Pillow.frombuffer("RGB", (image.shape[1], image.shape[0]), data, "raw", "BGR", 0, 1)
    resampling = Pillow.Resampling(RESAMPLINGS.index(spec.resampling))
    if spec.shortest:
        picture = picture.resize(_proportional(*picture.size, spec.shortest), resampling)
        left, top = (picture.width - spec.width) // 2, (picture.height - spec.height) // 2
        picture = picture.crop((left, top, left + spec.width, top + spec.height))
    else:
        picture = picture.resize((spec.width, spec.height), resampling)
    planes = np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))
    std, mean = (np.array(values, np.float32)[:, None, None] for values in (spec.std, spec.mean))
    scaled: NDArray[np.float32] = np.multiply(planes, np.float32(spec.scale) / std, dtype=np.float32)
    scaled -= mean / std
    return np.expand_dims(scaled, 0)


def _proportional(width: int, height: int, shortest: int) -> tuple[int, int]:
    """Return the width and height of a picture whose shorter side gets a length."""
    if width <= height:
        return shortest, max(shortest, int(shortest * height / width))
    return max(shortest, int(shortest * width / height)), shortest


_SILENT = "ORT_DISABLE_TELEMETRY"
"""The variable by which onnxruntime reports nothing to its maker; it is read when the package is imported."""
_KEPT = 4
"""Number of sessions that a process keeps; it closes the one that was used least recently."""
Array = NDArray[Any]


class Sessions:
    """The sessions of a process, by the digest of their file. Several threads may call the methods at once."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, file: ModelFile) -> Any:
        """Return the session of a file; ModelError if it is damaged, cannot be opened or is not safe to run."""
        with self._lock:
            session = self._sessions.pop(file.sha256, None) or open_session(file.read(), device=chosen_device())
            self._sessions[file.sha256] = session
            while len(self._sessions) > _KEPT:
                self._sessions.popitem(last=False)
        return session


SESSIONS = Sessions()


def open_session(data: bytes, threads: int = 1, device: Device = "cpu") -> Any:
    """Return a session of onnxruntime for the bytes of a model.

    The session gets bytes and no path, so that the model cannot name other files. Raises ModelError, also for a device
    that cannot be used.
    """
    onnxruntime = _onnxruntime(device)
    read_graph(data)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.load_model_format", "ONNX")  # the format that read_graph reads
    try:
        session = onnxruntime.InferenceSession(data, options, providers=[PROVIDERS[device]])
    except Exception as error:  # its errors have no common base
        raise ModelError(f"onnxruntime cannot open the model: {_first_line(error)}") from error
    if PROVIDERS[device] not in session.get_providers():  # it went on without: there is no card, or no library for it
        raise ModelError(f"onnxruntime cannot start the device {device} on this machine: check its driver and CUDA")
    return session


def use_device(name: str) -> None:
    """Let this process, and those that it starts, run models on a device; ModelError if onnxruntime cannot."""
    device = checked_device(name)
    _onnxruntime(device)
    os.environ[VARIABLE] = device


def _onnxruntime(device: Device) -> Any:
    """Return the package; ModelError without it, or if it was built without the device."""
    # Its wheels write the identity of the device into the person's folder, and try to send what they observe.
    os.environ[_SILENT] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise not_installed() from error
    if PROVIDERS[device] not in onnxruntime.get_available_providers():
        raise ModelError(
            f"the installed onnxruntime cannot use the device {device}: replace it by one that can, with: "
            "pip uninstall onnxruntime && pip install onnxruntime-gpu"
        )
    return onnxruntime


def row_of_picture(session: Any, tower: Tower, image: Image, output: str = "") -> FeatureRows:
    """Return the row of a picture, (dim,) float32; ModelInputError if the model fails on it.

    One picture at a time: on a processor, a batch of pictures takes as long, and no row depends on other pictures.
    """
    if tower.pixels is None:
        raise ModelError("the model has no tower for pictures")
    return _run(session, tower, {tower.inputs["pixels"]: pixels_of(image, tower.pixels)}, None, output)


def row_of_text(
    session: Any, tower: Tower, tokens: Callable[[str], tuple[Sequence[int], Sequence[int]]], text: str
) -> FeatureRows:
    """Return the row of a text, (dim,) float32; ModelInputError if the model fails on it."""
    ids, mask = (np.array([numbers], np.int64) for numbers in tokens(text))
    inputs: dict[str, Array] = {"ids": ids, "mask": mask, "types": np.zeros_like(ids)}
    return _run(session, tower, {name: inputs[role] for role, name in tower.inputs.items()}, mask, "")


def _run(session: Any, tower: Tower, inputs: Mapping[str, Array], mask: Array | None, output: str) -> FeatureRows:
    kinds = {entry.name: entry.type for entry in session.get_inputs()}
    arrays = {name: value.astype(_DTYPES.get(kinds[name], value.dtype), copy=False) for name, value in inputs.items()}
    try:
        (result,) = session.run([output or tower.output], arrays)
        row = np.asarray(_pooled(result, "none" if output else tower.pooling, mask), np.float32)
    except Exception as error:
        raise ModelInputError(f"the model fails: {_first_line(error)}") from error
    if not np.isfinite(row).all():
        raise ModelInputError("the model returns numbers that are not finite")
    return row


_DTYPES: Mapping[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}


def _pooled(result: Array, pooling: str, mask: Array | None) -> Array:
    """Return one row, (dim,), of an output for one input: (1, dim), (1, dim, 1, 1), or (1, tokens, dim)."""
    if pooling == "none" or result.ndim < 3:
        return np.asarray(result.reshape(result.shape[0], -1)[0])
    if pooling == "first":
        return np.asarray(result[0, 0])
    weights = np.ones(result.shape[1]) if mask is None else mask[0]
    return np.asarray(np.average(result[0], axis=0, weights=weights))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
