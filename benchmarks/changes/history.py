"""The content of a drawn page hour by hour, and its important changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.changes.designs import DESIGNS, IMPORTANT, STILL, Block

HOURS_A_DAY = 24
DAYS = 50
IDENTICAL, SIMILAR, DISSIMILAR, AMBIGUOUS = "identical", "similar", "dissimilar", "ambiguous"
"""The kind of two successive versions, in the words of the paper."""
_NEWS_BY_DAY, _NEWS_BY_NIGHT = 0.35, 0.05
_MAJOR = 0.4
_CORRECTED = 0.04
_ADVERTS, _VISITS = 30, 0.7
_IN_TURN, _PICTURES = 4, 5
_LINES = {"headlines": 8, "ranking": 6}

Shown = tuple[int, ...]
"""The content of a block: the numbers of its news, pictures or adverts."""


@dataclass(frozen=True)
class History:
    """A page of a design, visited every hour.

    News comes by chance, more by day than by night; a share is major. Some major news gets another picture an
    hour later or after: such a version is neither clearly similar to the last nor clearly dissimilar.
    """

    design: str
    seed: int
    versions: int = DAYS * HOURS_A_DAY

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the page."""
        return DESIGNS[self.design]

    def shown(self, block: int, hour: int) -> Shown:
        """Return what a block, by its place in ``blocks``, shows in an hour."""
        kind = self.blocks[block].kind
        draw = np.random.default_rng([self.seed, block, hour])
        if kind in STILL:
            return ()
        if kind == "story":
            return int(self._major[hour]), int(self._pictures[hour])
        if kind == "headlines":
            newest = int(self._news[hour])
            return tuple(range(newest, newest - _LINES[kind], -1))
        if kind == "advert":
            last = next(back for back in range(hour + 1) if not back or draw.random() < _VISITS)
            return (int(np.random.default_rng([self.seed, block, hour - last, 1]).integers(_ADVERTS)),)
        if kind == "ranking":
            return tuple(draw.permutation(2 * _LINES[kind])[: _LINES[kind]].tolist())
        if kind == "clock":
            return hour % HOURS_A_DAY, int(draw.integers(10))
        if kind == "gallery":
            return (int(draw.integers(_PICTURES)),)
        return (hour % _IN_TURN,)

    def label(self, hour: int) -> str:
        """Return what the versions of an hour and of the next are to each other."""
        changed = [place for place in range(len(self.blocks)) if self.shown(place, hour) != self.shown(place, hour + 1)]
        news = [place for place in changed if self.blocks[place].kind in IMPORTANT]
        if any(self._text(place, hour) != self._text(place, hour + 1) for place in news):
            return DISSIMILAR
        if news:
            return AMBIGUOUS
        return SIMILAR if changed else IDENTICAL

    def labels(self) -> Sequence[str]:
        """Return what each version and the next are to each other, one less than there are versions."""
        return [self.label(hour) for hour in range(self.versions - 1)]

    def _text(self, block: int, hour: int) -> Shown:
        """Return the news that a block shows, without its pictures."""
        content = self.shown(block, hour)
        return content[:1] if self.blocks[block].kind == "story" else content

    @cached_property
    def _draws(self) -> NDArray[np.float64]:
        """Chances of news, of its being major and of another picture, (hours, 3)."""
        return np.random.default_rng([self.seed, len(self.blocks), 7]).random((self.versions, 3))

    @cached_property
    def _arrived(self) -> NDArray[np.bool_]:
        hours = np.arange(self.versions) % HOURS_A_DAY
        return np.asarray(self._draws[:, 0] < np.where((hours >= 7) & (hours < 22), _NEWS_BY_DAY, _NEWS_BY_NIGHT))

    @cached_property
    def _news(self) -> NDArray[np.int64]:
        """The number of the newest news of each hour."""
        return np.asarray(100 + np.cumsum(self._arrived))

    @cached_property
    def _major(self) -> NDArray[np.int64]:
        """The number of the newest major news of each hour."""
        major = np.where(self._arrived & (self._draws[:, 1] < _MAJOR), self._news, 100)
        return np.asarray(np.maximum.accumulate(major))

    @cached_property
    def _pictures(self) -> NDArray[np.int64]:
        """The number of the story's picture of each hour."""
        again = ~self._arrived & (self._draws[:, 2] < _CORRECTED)
        return np.asarray(1000 * self._major + np.cumsum(again))
