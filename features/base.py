"""The extractor: what turns pictures or texts into the feature rows of one view."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from crossview.features.image import Image

Rows = NDArray[np.float32]
Input = Literal["image", "text"]
Labels = Sequence[tuple[str, ...]]
"""The set of labels of each sample, sorted; () where it has none."""


class Extraction(NamedTuple):
    """The rows of a batch."""

    rows: Rows
    """(m, dim) float32: those of the inputs that have one, in their order."""
    present: NDArray[np.bool_]
    """(n,), which of the batch have a row."""


class Extractor(ABC):
    """Makes the rows of one view, ``dim`` floats each; equal input gives equal rows in every thread and process.

    A new extractor is an ImageExtractor, a TextExtractor, or both at once where one model takes either, with ``name``,
    ``dim``, ``row``, keyword-only constructor parameters that are JSON values, and an entry in ``features.registry``.
    One that is faster on many inputs together also has ``extract``; one that learns ``fitted``, ``fit`` and its state.
    """

    name: ClassVar[str]
    inputs: ClassVar[frozenset[Input]] = frozenset()
    """What its rows can be computed from; nothing where they come from outside."""
    learns_labels: ClassVar[bool] = False
    """Whether ``fit`` learns from the labels that its samples have."""
    steps: ClassVar[tuple[str, ...]] = ()
    """Normalisation steps that spaces apply to the rows first, such as ("l1",) for counts; () if rows are ready."""
    earlier_params: ClassVar[Mapping[str, Any]] = {}
    """What views that were stored before a parameter was there were made with, where that is not its usual value."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of a row, known before fitting."""

    @property
    def fitted(self) -> bool:
        """Whether rows can be extracted; always true of an extractor that learns nothing."""
        return True

    def extract(self, batch: Sequence[Any]) -> Extraction:
        """The rows of inputs that ``row`` takes, each as it would be alone; errors are ``row``'s."""
        found = [self.row(sample) for sample in batch]
        rows = [row for row in found if row is not None]
        present = np.array([row is not None for row in found], bool)
        return Extraction(np.stack(rows) if rows else np.empty((0, self.dim), np.float32), present)

    def row(self, sample: Any) -> Rows | None:
        """The row of one input, (dim,) float32; None where it has none.

        TypeError for a view that computes nothing, NotFittedError where fitting must come first.
        """
        raise TypeError(f"{self.name} computes no rows: they come from outside")

    def params(self) -> dict[str, Any]:
        """The constructor's parameters, as JSON values: ``type(self)(**self.params())`` is its equal, unfitted."""
        return {}

    def fit(self, samples: Sequence[Any], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn from texts, or from what ``sample`` gave of pictures; few extractors look at the samples' labels.

        ValueError states what is missing where they are too few.
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

    inputs: ClassVar[frozenset[Input]] = frozenset({"image"})

    @abstractmethod
    def row(self, image: "Image") -> Rows:
        """The image's row, (dim,) float32.

        ``image`` is (height, width, 3) BGR uint8 of at least one pixel, anything else is a ValueError;
        NotFittedError where fitting must come first.
        """

    def sample(self, image: "Image") -> Rows:
        """What ``fit`` learns from in one training picture, (n, d) float32; (0, 0) where nothing is learned."""
        return np.zeros((0, 0), np.float32)


class TextExtractor(Extractor):
    """Computes rows from texts; it is fitted on the texts themselves."""

    inputs: ClassVar[frozenset[Input]] = frozenset({"text"})

    @abstractmethod
    def row(self, text: str) -> Rows | None:
        """The text's row, (dim,) float32; None where it has no word that was learned, never a row of zeros.

        NotFittedError where fitting must come first.
        """
