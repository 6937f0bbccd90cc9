"""The extractor: what turns pictures or texts into the feature rows of one view."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from features.image import Image

Rows = NDArray[np.float32]
Input = Literal["image", "text", "vector"]
Labels = Sequence[tuple[str, ...]]
"""The set of labels of each sample, sorted; () where it has none."""


class Extractor(ABC):
    """Makes the rows of one view, ``dim`` floats each; equal input gives equal rows in every thread and process.

    A new extractor is an ImageExtractor or a TextExtractor with ``name``, ``dim`` and ``extract``, keyword-only
    constructor parameters that are JSON values, and an entry in ``features.registry``. One that learns also has
    ``fitted``, ``fit`` and its state.
    """

    name: ClassVar[str]
    input: ClassVar[Input]
    """What its rows are computed from: pictures, texts, or nothing ("vector": they come from outside)."""
    learns_labels: ClassVar[bool] = False
    """Whether ``fit`` learns from the labels that its samples have."""
    steps: ClassVar[tuple[str, ...]] = ()
    """Normalisation steps that spaces apply to the rows first, such as ("l1",) for counts; () if rows are ready."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of a row, known before fitting."""

    @property
    def fitted(self) -> bool:
        """Whether rows can be extracted; always true of an extractor that learns nothing."""
        return True

    def params(self) -> dict[str, Any]:
        """The constructor's parameters, as JSON values: ``type(self)(**self.params())`` is its equal, unfitted."""
        return {}

    def fit(self, samples: Sequence[Any], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn from texts, or from what ``sample`` gave of pictures; few extractors look at the samples' labels.

        ValueError says what is missing in too few.
        """
        return self

    def to_state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays; {} where that is nothing."""
        return {}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Take what ``to_state`` of an extractor with equal parameters gave. ValueError where it does not fit."""
        if state:
            raise ValueError(f"{self.name} learns nothing, but the state holds {', '.join(sorted(state))}")
        return self


class ImageExtractor(Extractor):
    """Computes rows from pictures; one with a codebook also has ``sample``."""

    input: ClassVar[Input] = "image"

    @abstractmethod
    def extract(self, image: "Image") -> Rows:
        """The image's row, (dim,) float32.

        ``image`` is (height, width, 3) BGR uint8 of at least one pixel, anything else is a ValueError;
        NotFittedError where fitting must come first.
        """

    def sample(self, image: "Image") -> Rows:
        """What ``fit`` learns from in one training picture, (n, d) float32; (0, 0) where nothing is learned."""
        return np.zeros((0, 0), np.float32)


class TextExtractor(Extractor):
    """Computes rows from texts; it is fitted on the texts themselves."""

    input: ClassVar[Input] = "text"

    @abstractmethod
    def extract(self, text: str) -> Rows | None:
        """The text's row, (dim,) float32; None where the text says nothing that was learned, never a row of zeros.

        NotFittedError where fitting must come first.
        """
