"""Rows of pictures by a model and by hand-made extractors, computed by a home once."""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import MissingDataError
from benchmarks.frame.record import usable_cores
from benchmarks.frame.workers import each
from crossview.engine.catalog.model_views import model_extractor
from crossview.engine.catalog.models import FOLDER
from crossview.engine.collections.home import Home
from crossview.features.color import Color
from crossview.features.copy_kinds import EXACT, copies
from crossview.features.gist import Gist
from crossview.features.onnx import Onnx
from crossview.features.reading import rows

MODEL = "lite0"
"""EfficientNet-Lite0, trained on ImageNet: the name of its folder, of the model and of its view."""
COLOR, GIST = "color", "gist"
IMAGENET = (
    "ImageNet, from which Lite0 learned, may contain these pictures or the same kinds of things: its own figures may "
    "be too good, and differences are what counts."
)
_AT_ONCE = 50

Rows = Mapping[str, NDArray[np.float32]]
"""By view, (kinds, n, d): a block for each kind of copy."""


def model_folder(models: Path) -> Path:
    """Return the folder of the model; MissingDataError without it."""
    if not (models / MODEL).is_dir():
        raise MissingDataError(f"{models} holds no {MODEL}")
    return models / MODEL


def rows_of(files: Sequence[Path], model: Path, cache: Path, kinds: Sequence[str] = (EXACT,)) -> Rows:
    """Return the rows of pictures and of their copies of these kinds, as collections store them.

    The folder ``cache`` keeps them, by the contents of all pictures and of the model.

    Raises ModelError without onnxruntime, ImageError for an unreadable picture.
    """
    path = cache / f"rows-{_fingerprint([*files, *sorted(model.iterdir())], kinds)}.npz"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            home = Home(folder)
            home.models.add(MODEL, model)
            by_model = model_extractor(Onnx.name, {"model": MODEL}, home.path).of(home.path / FOLDER)
            extractors = {MODEL: by_model, COLOR: Color(), GIST: Gist()}
            parts = {str(start): files[start : start + _AT_ONCE] for start in range(0, len(files), _AT_ONCE)}
            described = dict(each(parts, _rows, extractors, kinds, workers=usable_cores()))
        whole: dict[str, Any] = {
            view: np.concatenate([described[part][view] for part in parts], axis=1) for view in extractors
        }
        np.savez(path, **whole)
    with np.load(path) as arrays:
        return dict(arrays)


def _rows(files: Sequence[Path], extractors: Mapping[str, Any], kinds: Sequence[str]) -> Rows:
    by_view: dict[str, list[NDArray[np.float32]]] = {view: [] for view in extractors}
    for path in files:
        data = path.read_bytes()
        encoded = {EXACT: data} if set(kinds) == {EXACT} else copies(data)
        by_kind = [rows(encoded[kind], extractors) for kind in kinds]
        for view, of_view in by_view.items():
            of_view.append(np.stack([of_kind[view] for of_kind in by_kind]))
    return {view: np.stack(of_view, axis=1) for view, of_view in by_view.items()}


def _fingerprint(files: Sequence[Path], kinds: Sequence[str]) -> str:
    digest = hashlib.sha256(repr(tuple(kinds)).encode())
    for path in files:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
