"""The check of extractors that authors call accepts sound ones, and names the promise that another one breaks."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pytest

from crossview.extractors import (
    Extraction,
    FeatureRows,
    Image,
    ImageExtractor,
    Labels,
    Part,
    TextExtractor,
    check_extractor,
    check_image,
)
from crossview.features.base import Extractor
from crossview.features.text import Text


class Mean(ImageExtractor):
    """The mean colour, less a learned one."""

    name: ClassVar[str] = "mean"

    def __init__(self, *, scale: float = 2.0) -> None:
        self.scale, self.learned = scale, np.zeros(0, np.float32)

    @property
    def dim(self) -> int:
        return 3

    @property
    def fitted(self) -> bool:
        return len(self.learned) > 0

    def params(self) -> dict[str, Any]:
        return {"scale": self.scale}

    def sample(self, image: Image) -> FeatureRows:
        return image.reshape(-1, 3)[:9].astype(np.float32)

    def fit(self, samples: Sequence[FeatureRows], seed: int = 0, labels: Labels | None = None) -> Self:
        self.learned = np.concatenate(samples).mean(axis=0)
        return self

    def to_state(self) -> dict[str, Any]:
        return {"learned": self.learned}

    def load_state(self, state: Mapping[str, Any]) -> Self:
        self.learned = state["learned"]
        return self

    def row(self, image: Image) -> FeatureRows:
        return np.asarray(self.scale * (check_image(image).mean(axis=(0, 1)) - self.learned), np.float32)


class Both(Mean, TextExtractor):
    """An extractor of pictures and of texts."""

    inputs = frozenset({"image", "text"})

    def row(self, sample: Any) -> FeatureRows:
        if isinstance(sample, str):
            return np.full(3, len(sample), np.float32)
        return super().row(sample)


@pytest.mark.parametrize("sound", [Mean, Mean(scale=3.0), Both, Text(dim=4), Text(model="lda", dim=3)])
def test_sound_extractors_pass(sound: Extractor | type[Extractor]) -> None:
    """It extracts from pictures, texts or both, and is a class, or an extractor with parameters."""
    check_extractor(sound)


def _written(self: Mean, image: Image) -> FeatureRows:
    found = Mean.row(self, image)
    image[0, 0] = 0
    return found


def _by_batch(self: Mean, batch: Sequence[Image]) -> Extraction:
    found = Mean.extract(self, batch)
    return Extraction(found.rows + np.float32(len(batch)), found.present)


def _by_thread(self: Mean, image: Image) -> FeatureRows:
    return Mean.row(self, image) + np.float32(threading.current_thread() is not threading.main_thread())


def _by_layout(self: Mean, image: Image) -> FeatureRows:
    check_image(image)
    return np.asarray(image.strides, np.float32)


def _growing(self: Mean, samples: Sequence[FeatureRows], seed: int = 0, labels: Labels | None = None) -> Mean:
    Mean.scale_ = getattr(Mean, "scale_", 0) + 1  # type: ignore[attr-defined]
    self.learned = np.full(3, Mean.scale_, np.float32)  # type: ignore[attr-defined]
    return self


def _positional(self: Mean, scale: float = 2.0) -> None:
    Mean.__init__(self, scale=scale)


def _row(value: Any) -> Callable[[Mean, Image], Any]:
    def row(self: Mean, image: Image) -> Any:
        check_image(image)
        return value

    return row


BROKEN: Mapping[str, tuple[str, Any]] = {
    "its name must be": ("name", "Mean colour"),
    "its inputs must be those of its bases": ("inputs", frozenset({"text"})),
    "its steps must be a tuple of some of l1, l2, sqrt": ("steps", ("whiten",)),
    "its robust must be True or False": ("robust", 1),
    "only parameters by keyword": ("__init__", _positional),
    "dim must be a whole number": ("dim", 0),
    "must be JSON values": ("params", lambda self: {"scale": np.float32(2)}),
    "must make an equal extractor": ("params", lambda self: {"scale": self.scale + 1}),
    "must make the extractor fitted": ("fit", lambda self, *given, **named: self),
    "a fit on equal samples with an equal seed must have equal rows": ("fit", _growing),
    r"rows must be \(\d+, 3\) float32, not \(\d+, 4\) float32": ("row", _row(np.zeros(4, np.float32))),
    r"rows must be \(\d+, 3\) float32, not \(\d+, 3\) float64": ("row", _row(np.zeros(3))),
    "rows must be finite": ("row", _row(np.array([0, np.nan, 0], np.float32))),
    r"rows must be finite and smaller than 1e\+16": ("row", _row(np.array([0, 1e17, 0], np.float32))),
    "must return an Extraction": ("extract", lambda self, batch: np.zeros((len(batch), 3), np.float32)),
    "present must be": ("extract", lambda self, batch: Extraction(np.zeros((0, 3), np.float32), np.zeros(0, bool))),
    r"failed \(KeyError": ("row", lambda self, image: {}["key"]),
    "must not write into its inputs": ("row", _written),
    "a batch must have the rows of its inputs alone": ("extract", _by_batch),
    "equal in every thread": ("row", _by_thread),
    "column by column must have an equal row": ("row", _by_layout),
    "must be refused with ValueError": ("row", lambda self, image: np.zeros(3, np.float32)),
    "arrays of numbers or texts by name": ("to_state", lambda self: {"learned": np.array([{}])}),
    "must make an equal extractor fitted": ("load_state", lambda self, state: self),
    "receive the extractor pickled": ("__getstate__", lambda self: {"lock": threading.Lock()}),
    "columns of parts must be from 0 to 2": ("parts", lambda self: (Part("red", (3,)),)),
    "must not have negative values": ("parts", lambda self: (Part("red", (0,)),)),
}
"""The message for each attribute that breaks a promise."""


@pytest.mark.parametrize("message", BROKEN)
def test_a_broken_promise_is_named(message: str) -> None:
    """Each of these extractors breaks one promise."""
    name, value = BROKEN[message]
    broken = type("Broken", (Mean,), {name: value})
    globals()["Broken"] = broken  # by its name, so that it can be pickled
    broken.__module__ = __name__
    with pytest.raises(AssertionError, match=message):
        check_extractor(broken)


def test_a_class_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="must be an ImageExtractor or a TextExtractor"):
        check_extractor(type("Nothing", (Extractor,), {"name": "nothing", "dim": 3}))
