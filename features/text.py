"""The text view: captions, tags or documents as directions of meaning, or as topics."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma
from threadpoolctl import threadpool_limits

from crossview.features.base import FeatureRows, Labels, QueryWords, TextExtractor
from crossview.features.errors import NotFittedError

Array = NDArray[np.float64]

DIM = 100
WORDS = 20_000
MODELS = ("tfidf", "lda")
STOP_WORDS = ("none", "english")
MAX_DIM, MAX_WORDS = 4_096, 1_000_000

_FEW_TEXTS = 5_000
"""Maximum number of texts that LDA learns from at once, in 20 passes; it learns from more texts in small batches, in 5
passes."""
_ROUNDS, _CHANGE, _TINY = 100, 1e-3, np.finfo(np.float64).eps
"""Tolerance and most iterations for the topics of one text, as in scikit-learn's LatentDirichletAllocation."""
LONGEST_WORD = 40
"""Maximum number of letters of a word; longer runs are addresses and noise, and would make vocabularies large."""
_FREQUENT = 5
"""Number of words in a message."""
_RUN = re.compile(r"[^\W_]+")
_WEAK = 1e-6
"""Share of the strongest direction below which directions and rows are rounding errors."""


class Text(TextExtractor):
    """A text's place in a space learned from the collection's texts; every row has unit length.

    ``model="tfidf"``: latent semantic analysis (Deerwester et al., 1990), that is word counts, 1 + ln(count), weighted
    by inverse document frequency, projected on their strongest ``dim`` singular directions; Euclidean distance orders
    as the cosine does. ``model="lda"``: square roots of the shares of ``dim`` topics (latent Dirichlet allocation, Blei
    et al., 2003, by variational Bayes); Euclidean distance is Hellinger's. Where the texts have fewer directions than
    ``dim``, zeros follow. ``words`` bounds the vocabulary by the most frequent; ``stop_words="english"`` leaves out
    scikit-learn's list.
    """

    model: str
    words: int
    stop_words: str

    name: ClassVar[str] = "text"

    def __init__(self, *, model: str = "tfidf", dim: int = DIM, words: int = WORDS, stop_words: str = "none") -> None:
        for name, value, choices in (("model", model, MODELS), ("stop_words", stop_words, STOP_WORDS)):
            if value not in choices:
                raise ValueError(f"text: {name} must be one of {', '.join(choices)}, not {value!r}")
        for name, number, least, most in (("dim", dim, 1, MAX_DIM), ("words", words, 2, MAX_WORDS)):
            if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
                raise ValueError(f"text: {name} must be a whole number from {least} to {most}, not {number!r}")
        self.model, self.words, self.stop_words = model, words, stop_words
        self._dim = dim
        self._state: dict[str, NDArray[Any]] = {}
        self._positions: dict[str, int] = {}

    @property
    def dim(self) -> int:
        """The number of directions or topics, 100 by default."""
        return self._dim

    @property
    def fitted(self) -> bool:
        """Whether there is a vocabulary."""
        return bool(self._state)

    def params(self) -> dict[str, Any]:
        """Return ``model``, ``dim``, ``words`` and ``stop_words``."""
        return {"model": self.model, "dim": self._dim, "words": self.words, "stop_words": self.stop_words}

    def fit(self, samples: Sequence[str], seed: int = 0, labels: Labels | None = None) -> Self:
        """Learn vocabulary and space from texts; the same texts and seed give the same ones.

        Raises ValueError for fewer than two texts with words, or fewer than two different words.
        """
        # deferred, because the import takes half a second and only fitting needs it
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

        stops = ENGLISH_STOP_WORDS if self.stop_words == "english" else frozenset()
        texts = [words for words in ([w for w in words_of(text) if w not in stops] for text in samples) if words]
        if len(texts) < 2 or len({word for text in texts for word in text}) < 2:
            raise ValueError(f"fitting needs at least 2 texts and 2 different words, and {len(texts)} texts have words")
        vectorizer = CountVectorizer(analyzer=list, max_features=self.words)
        counts = vectorizer.fit_transform(texts)
        learned = {"vocabulary": np.array(vectorizer.get_feature_names_out(), dtype=np.str_)}
        # One thread: several threads add their sums in the order in which they finish, which changes the last bit of
        # rows.
        with threadpool_limits(limits=1):
            learned |= self._directions(counts, seed) if self.model == "tfidf" else self._topics(counts, seed)
        return self.load_state(learned)

    def row(self, text: str) -> FeatureRows | None:
        """Return the text's row, (dim,) float32 of unit length; None if no word is known."""
        if not self._state:
            raise NotFittedError("the text view has no vocabulary yet: fit it on texts first")
        counted = Counter(self._positions[word] for word in words_of(text) if word in self._positions)
        if not counted:
            return None
        positions = np.array(sorted(counted))
        counts = np.array([counted[word] for word in positions.tolist()], np.float64)
        row = self._project(positions, counts) if self.model == "tfidf" else self._shares(positions, counts)
        length = np.linalg.norm(row)
        return None if length < _WEAK else np.asarray(row / length, np.float32)

    def query_text(self, text: str) -> str:
        """Return the words of a query without stop words, which the row of an item counts.

        A word that most texts contain is not a stop word for this reason: it may be their subject.
        """
        return " ".join(word for word in words_of(text) if not is_stop_word(word))

    def words_of_query(self, text: str) -> QueryWords:
        """Return the words of a query that are in the vocabulary, and the others, both without stop words."""
        words = list(dict.fromkeys(words_of(self.query_text(text))))
        known_words = tuple(word for word in words if word in self._positions)
        return QueryWords(known_words, tuple(word for word in words if word not in self._positions))

    def word_weights(self, text: str) -> dict[str, float]:
        """Return the share of each known word in a text: of its weighted counts or, without weights, of its counts."""
        counted = Counter(word for word in words_of(text) if word in self._positions)
        positions = np.array([self._positions[word] for word in counted], np.int64)
        counts = np.array(list(counted.values()), np.float64)
        if "weights" in self._state:
            counts = (1 + np.log(counts)) * self._state["weights"][positions]
        return dict(zip(counted, (counts / counts.sum()).tolist(), strict=True))

    def frequent_words(self) -> tuple[str, ...]:
        """Return the most frequent words of the vocabulary, without stop words and numbers."""
        if not self._state:
            return ()
        frequent = -self._state["weights"] if self.model == "tfidf" else self._state["topics"].sum(axis=0)
        words = self._state["vocabulary"][np.argsort(-frequent, kind="stable")].tolist()
        return tuple(islice((word for word in words if not is_stop_word(word) and not word.isdigit()), _FREQUENT))

    def to_state(self) -> dict[str, NDArray[Any]]:
        """Return ``vocabulary`` (V,), with ``weights`` (V,) and ``axes`` (dim, V), or ``topics`` (dim, V)."""
        return {name: array.copy() for name, array in self._state.items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Load a learned state, or none from {}; ValueError for arrays of another model."""
        if state:
            size = state["vocabulary"].shape if "vocabulary" in state else (0,)
            table = (self._dim, *size)
            learned = {"weights": size, "axes": table} if self.model == "tfidf" else {"topics": table}
            shapes = {"vocabulary": size, **learned}
            typed = all(array.dtype.kind == ("U" if name == "vocabulary" else "f") for name, array in state.items())
            if {name: array.shape for name, array in state.items()} != shapes or len(size) != 1 or not typed:
                described = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in sorted(state.items()))
                raise ValueError(f"text: the state must contain {', '.join(shapes)} of one vocabulary, not {described}")
        self._state = dict(state)
        words = state["vocabulary"].tolist() if state else []
        self._positions = {word: position for position, word in enumerate(words)}
        return self

    def _directions(self, counts: Any, seed: int) -> dict[str, NDArray[Any]]:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfTransformer

        weighting = TfidfTransformer(sublinear_tf=True)
        weighted = weighting.fit_transform(counts)
        with np.errstate(invalid="ignore"):  # equal texts have variance 0, and its shares are 0 / 0
            svd = TruncatedSVD(min(self._dim, *counts.shape), random_state=seed).fit(weighted)
        strong = svd.singular_values_ > _WEAK * svd.singular_values_[0]
        axes = np.zeros((self._dim, counts.shape[1]), np.float32)
        axes[: strong.sum()] = svd.components_[strong]
        return {"weights": weighting.idf_, "axes": axes}

    def _topics(self, counts: Any, seed: int) -> dict[str, NDArray[Any]]:
        from sklearn.decomposition import LatentDirichletAllocation

        method, passes = ("batch", 20) if counts.shape[0] <= _FEW_TEXTS else ("online", 5)
        lda = LatentDirichletAllocation(
            self._dim, learning_method=method, max_iter=passes, batch_size=512, random_state=seed
        ).fit(counts)
        return {"topics": np.asarray(lda.exp_dirichlet_component_, np.float32)}

    def _project(self, positions: NDArray[np.int64], counts: Array) -> Array:
        """Return the projection of known words, with their counts, on the directions, (dim,)."""
        weighted = (1 + np.log(counts)) * self._state["weights"][positions]
        row: Array = self._state["axes"][:, positions] @ (weighted / np.linalg.norm(weighted))
        return row

    def _shares(self, positions: NDArray[np.int64], counts: Array) -> Array:
        """Return square roots of topic shares, (dim,): the mean of q(theta), Blei et al., equations (6) and (7)."""
        topics = self._state["topics"][:, positions].astype(np.float64)
        strength = np.ones(self._dim)
        for _ in range(_ROUNDS):
            before = strength
            weights = np.exp(digamma(strength) - digamma(strength.sum()))
            strength = 1 / self._dim + weights * (topics @ (counts / (weights @ topics + _TINY)))
            if np.abs(strength - before).mean() < _CHANGE:
                break
        shares: Array = np.sqrt(strength / strength.sum())
        return shares


@cache
def _stop_words() -> frozenset[str]:
    listed = json.loads(Path(__file__).with_name("stop_words.json").read_text(encoding="utf-8"))
    return frozenset(word for words in listed.values() for word in words.split())


def is_stop_word(word: str) -> bool:
    """Return whether a word is a stop word, such as an article, a preposition or a letter of an elision (l'eau).

    The list has seven languages, without words that mean a thing in another of them, such as the German "hat": a query
    of a hat must find hats.
    """
    return word in _stop_words() or (len(word) == 1 and word.isascii() and word.isalpha())


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order: runs of letters and digits of any script, lower case, without accents.

    ``Red_flower, CAFÉ-bar`` gives red, flower, cafe, bar.
    """
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    return [word for word in _RUN.findall(unicodedata.normalize("NFKC", plain)) if len(word) <= LONGEST_WORD]
