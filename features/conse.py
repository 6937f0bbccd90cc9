"""The view ``conse``: pictures by the names of their classes, in a space of sentences."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crossview.features.base import FeatureRows, Labels
from crossview.features.errors import ModelError
from crossview.features.models.extractor import ModelExtractor
from crossview.features.models.towers import Towers

TEMPERATURE = 3.0
_MOST_TEMPERATURE = 1_000.0


class Conse(ModelExtractor):
    """Convex combinations of semantic embeddings (ConSE; Norouzi et al., ICLR 2014, equation 3).

    A model of pictures gives the probability of each of its classes, and a model of texts a vector for the name of each
    class. The row of a picture is the mean of these vectors, weighted by the probabilities, and the row of a text is
    its own vector. So texts find pictures without a caption or any other pair, by two models that share no space.

    Unlike the paper, all classes count, not the ten most probable, and the probabilities are those of the logits
    divided by a temperature: models are too certain of pictures unlike those that they learned from. All rows are
    relative to the mean of the names' vectors, which is what all names have in common.

    Args:
        pictures, texts: the names of the models in the home.
        digest, texts_digest: the digests of these models, hexadecimal.
        dim: length of a row.
        temperature: divides the logits.
        rows: see ``Onnx``.
    """

    name: ClassVar[str] = "conse"

    def __init__(
        self,
        *,
        pictures: str,
        texts: str,
        digest: str,
        texts_digest: str,
        dim: int,
        temperature: float = TEMPERATURE,
        rows: Sequence[str] = (),
    ) -> None:
        """Keep the parameters; ValueError for those that no such view has."""
        if not isinstance(temperature, int | float) or not 0 < temperature <= _MOST_TEMPERATURE:
            raise ValueError(f"temperature must be a number above 0, up to {_MOST_TEMPERATURE:g}, not {temperature!r}")
        models = {"pictures": pictures, "texts": texts, "digest": digest, "texts_digest": texts_digest}
        settings = {"dim": dim, "temperature": float(temperature), "rows": list(rows)}
        super().__init__([Towers(pictures, digest), Towers(texts, texts_digest)], {**models, **settings})
        self._names: NDArray[np.float32] | None = None

    @property
    def variant(self) -> str:
        """The model of texts, and the temperature."""
        return f"conse {self._params['texts_digest']} {self._params['temperature']}"

    @property
    def fitted(self) -> bool:
        """Whether it has the vectors of the names."""
        return self._names is not None

    def fit(self, samples: Sequence[Any], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn nothing; ValueError, because the models alone determine the view."""
        raise ValueError(f"{self.name} has the names of its model's classes, and learns nothing from items")

    def with_names(self, vectors: NDArray[np.float32]) -> Self:
        """Give the extractor the vector of each class name, (classes, dim); ValueError for another shape."""
        if vectors.ndim != 2 or vectors.shape[1] != self.dim or not len(vectors) or not np.isfinite(vectors).all():
            raise ValueError(f"the names have vectors of the shape {vectors.shape}, not (classes, {self.dim})")
        self._names = np.asarray(vectors, np.float32)
        return self

    @property
    def names(self) -> NDArray[np.float32]:
        """The rows of the names of the classes, as those of texts, (classes, dim); ModelError without them."""
        names = self._known_names()
        return np.asarray(names - names.mean(axis=0))

    def _known_names(self) -> NDArray[np.float32]:
        if self._names is None:
            raise ModelError("the view lacks the vectors of its class names: delete it, and add it again")
        return self._names

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return the vectors of the names."""
        return {} if self._names is None else {"names": self._names}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Load the vectors of the names; ValueError for others, KeyError without them."""
        return self.with_names(state["names"])

    def row(self, sample: Any) -> FeatureRows:
        """Return the row of a picture or of a text, (dim,) float32; see the base."""
        names, (pictures, texts) = self._known_names(), self.towers
        mean = names.mean(axis=0)
        if isinstance(sample, str):
            return np.asarray(texts.row(sample) - mean)
        logits = pictures.row(sample, pictures.find().manifest.logits).astype(np.float64)
        if len(logits) != len(names):
            raise ModelError(f"the model {pictures.name!r} has other classes than the view")
        weights = np.exp((logits - logits.max()) / self._params["temperature"])
        return np.asarray(weights / weights.sum() @ names - mean, np.float32)
