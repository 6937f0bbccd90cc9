"""The artists: what people answered, and their genres."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.frame.benchmark import read_arrays
from benchmarks.joint.people import Table, Triplets, drawn

FILE = "music_triplets.npz"


@dataclass(frozen=True, eq=False)
class Music:
    """n artists.

    Attributes:
        answers: (m, 3) triplets (a, b, c): a person found a more similar to b than to c.
        genres: (n, G) 1 if an artist has a genre, otherwise 0.
    """

    answers: Triplets
    genres: Table

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the set, without the answers that name an artist twice; MissingDataError names what is missing."""
        arrays = read_arrays(folder, FILE, "triplets", "genre_label_matrix")
        answers = arrays["triplets"].astype(np.int64)
        different = (answers != np.roll(answers, 1, axis=1)).all(axis=1)
        return cls(answers[different], arrays["genre_label_matrix"].astype(np.float64))

    @property
    def count(self) -> int:
        """How many artists there are."""
        return len(self.genres)

    def split(self, share: float, seed: int) -> tuple[Self, Triplets]:
        """Return the set with a part of the answers in random order, and the others, a share of all.

        Answers about the same three artists stay together, whichever of them was asked about.
        """
        _, about = np.unique(np.sort(self.answers, axis=1), axis=0, return_inverse=True)
        generator = np.random.default_rng(seed)
        held_out = (generator.permutation(about.max() + 1) < share * (about.max() + 1))[about.ravel()]
        order = generator.permutation(np.flatnonzero(~held_out))
        return replace(self, answers=self.answers[order]), self.answers[held_out]

    def unlike(self) -> Table:
        """Return the Jaccard distances of the artists' genres, (n, n); 1 to one without any."""
        distances = cdist(self.genres > 0, self.genres > 0, "jaccard")
        alone = ~self.genres.any(axis=1)
        distances[alone] = distances[:, alone] = 1.0
        return np.asarray(distances)

    def by_genres(self, count: int, seed: int) -> Triplets:
        """Return so many random triplets, (count, 3), of artists with genres, ordered by these; ties are left out."""
        artists = np.flatnonzero(self.genres.any(axis=1))
        triplets = drawn(self.unlike()[np.ix_(artists, artists)], count, np.random.default_rng([seed, 1]))
        return np.asarray(artists[triplets])


def order(distances: NDArray[np.float64], triplets: Triplets) -> NDArray[np.float64]:
    """Return how (n, n) distances order (m, 3) triplets: 1 as they are, -1 for the opposite order, 0 for a tie."""
    near, far = (distances[triplets[:, 0], triplets[:, place]] for place in (1, 2))
    return np.asarray(np.sign(far - near))
