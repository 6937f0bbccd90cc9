"""Base classes of extractors, which turn pictures or texts into the feature rows of one view."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from crossview.features.image import Image

FeatureRows = NDArray[np.float32]
Input = Literal["image", "text"]
READING = 1
"""The present reading of pictures: 1 with the colour profiles of their files, 0 without."""
Labels = Sequence[tuple[str, ...]]
"""The sorted set of labels of each sample; () without labels."""


@dataclass(frozen=True)
class QueryWords:
    """The words of a text query without stop words, each once, in order."""

    known: tuple[str, ...]
    """The words in the vocabulary of the view, which determine the row."""
    unknown: tuple[str, ...]


class Extraction(NamedTuple):
    """The rows of a batch."""

    rows: FeatureRows
    """(m, dim) float32: the rows of the inputs that have one, in their order."""
    present: NDArray[np.bool_]
    """(n,), which inputs of the batch have a row."""


class Part(NamedTuple):
    """Columns of a row that a person can understand together, such as a colour, a visual word or a place."""

    name: str
    columns: tuple[int, ...]
    color: str = ""
    """The colour that it stands for, as in #a0b0c0; "" for no colour."""
    box: tuple[float, ...] = ()
    """The place that it stands for: left, top, right, bottom, as shares of the picture; () for the whole picture."""


class Extractor(ABC):
    """Makes the rows of one view, ``dim`` floats each; equal input gives equal rows in every thread and process.

    A new extractor derives from ImageExtractor, TextExtractor, or both if one model accepts either. It has ``name``,
    ``dim``, ``row``, keyword-only constructor parameters that are JSON values, and an entry in ``features.registry``.
    Override ``extract`` if it is faster on many inputs together; override ``fitted``, ``fit`` and the state methods if
    it learns.
    """

    name: ClassVar[str]
    inputs: ClassVar[frozenset[Input]] = frozenset()
    """Kinds of input for its rows; empty if another program makes the rows."""
    learns_labels: ClassVar[bool] = False
    """Whether ``fit`` learns from the labels of its samples."""
    steps: ClassVar[tuple[str, ...]] = ()
    """Normalisation steps that spaces apply to the rows first, such as ("l1",) for counts; () if rows are ready."""
    robust: ClassVar[bool] = False
    """Whether rows hardly change if a picture is resized, recompressed, cropped a little or turned to grey."""
    earlier_params: ClassVar[Mapping[str, Any]] = {}
    """Values of parameters for views stored before these parameters existed, if they differ from the defaults."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of a row, known before fitting."""

    @property
    def memory(self) -> Mapping[str, int]:
        """Bytes that a process needs for what it loads, such as a model, by name; extractors share equal names."""
        return {}

    @property
    def fitted(self) -> bool:
        """Whether rows can be extracted; always true for an extractor that learns nothing."""
        return True

    def extract(self, batch: Sequence[Any]) -> Extraction:
        """Return the rows of inputs of ``row``, each the same as alone; raises the errors of ``row``."""
        computed = [self.row(sample) for sample in batch]
        rows = [row for row in computed if row is not None]
        present = np.array([row is not None for row in computed], bool)
        return Extraction(np.stack(rows) if rows else np.empty((0, self.dim), np.float32), present)

    def row(self, sample: Any) -> FeatureRows | None:
        """Return the row of one input, (dim,) float32; None if it has no row.

        Raises TypeError for a view that computes nothing, NotFittedError before fitting.
        """
        raise TypeError(f"{self.name} does not compute rows: another program makes them")

    def parts(self) -> tuple[Part, ...]:
        """Return the parts of a row, which share its columns; () if columns mean nothing to a person.

        A row with parts has no negative values.
        """
        return ()

    def params(self) -> dict[str, Any]:
        """Return the constructor's parameters as JSON values: ``type(self)(**self.params())`` is its unfitted equal."""
        return {}

    def fit(self, samples: Sequence[Any], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn from texts, or from the results of ``sample`` for pictures; few extractors use the samples' labels.

        Raises ValueError for too few samples.
        """
        return self

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return the learned state as named arrays; {} if nothing was learned."""
        return {}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Load the ``to_state`` of an extractor with equal parameters; ValueError for a state that does not fit."""
        if state:
            raise ValueError(f"{self.name} learns nothing, but the state contains {', '.join(sorted(state))}")
        return self


class ImageExtractor(Extractor):
    """An extractor of rows from pictures; one with a codebook also has ``sample``."""

    inputs: ClassVar[frozenset[Input]] = frozenset({"image"})
    reading: int = READING
    """The reading of its pictures; a view keeps that of its revision."""

    @abstractmethod
    def row(self, image: "Image") -> FeatureRows:
        """Return the image's row, (dim,) float32.

        ``image`` is (height, width, 3) BGR uint8 with at least one pixel; anything else raises ValueError. Raises
        NotFittedError before fitting.
        """

    def sample(self, image: "Image") -> FeatureRows:
        """Return the rows of one training picture for ``fit``, (n, d) float32; (0, 0) if nothing is learned."""
        return np.zeros((0, 0), np.float32)

    def points(self, image: "Image") -> FeatureRows:
        """Return the places that a row counts, (n, 4) float32: x, y, diameter, and the number of the part.

        x is a share of the width, y of the height, and the diameter of the longest side. Other views have none, (0, 4).
        """
        return np.zeros((0, 4), np.float32)


class TextExtractor(Extractor):
    """An extractor of rows from texts, fitted on texts."""

    inputs: ClassVar[frozenset[Input]] = frozenset({"text"})

    @abstractmethod
    def row(self, text: str) -> FeatureRows | None:
        """Return the text's row, (dim,) float32; None, never a row of zeros, for a text without a learned word.

        Raises NotFittedError before fitting.
        """

    def query_text(self, text: str) -> str:
        """Return the part of a query that determines its row, such as the text without its stop words."""
        return text

    def words_of_query(self, text: str) -> QueryWords | None:
        """Return the words of a query that the extractor knows, and the others; None without a vocabulary of words."""
        return None

    def word_weights(self, text: str) -> dict[str, float]:
        """Return the share of each known word in a text; the shares sum to 1. {} without a known word."""
        return {}

    def frequent_words(self) -> tuple[str, ...]:
        """Return a few frequent words that the extractor knows, for a message."""
        return ()
