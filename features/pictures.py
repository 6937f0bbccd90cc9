"""Reading pictures: encoded ones to whatever is computed of them, in this process or in others."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from crossview.features.errors import ImageError

if TYPE_CHECKING:
    from crossview.features.base import ImageExtractor

MAX_PIXELS = 100_000_000
"""Pixels that a picture may have in memory at once, unless told."""

Result = TypeVar("Result")
Work = Callable[[bytes, Mapping[str, "ImageExtractor"], int], Result]
"""Takes a picture file, extractors, and the most pixels it may have; raises ImageError. A function of a module."""
Checkpoint = Callable[[], None]
"""Raises an error where the result is not wanted any more."""


class PictureTask(NamedTuple):
    """One picture, and the extractors of the views that are wanted of it."""

    image: bytes
    extractors: Mapping[str, "ImageExtractor"]
    """They do not change any more."""


@dataclass(frozen=True)
class PictureLimits:
    """What pictures from anyone may take."""

    pixels: int = 25_000_000
    """Larger pictures are refused by their header."""
    largest_at_once: int = 2
    """How many of that size are decoded at once, or more that are smaller."""
    seconds: float = 30.0
    """How long one picture may take."""

    @property
    def pixels_at_once(self) -> int:
        """What is decoded at once, of all pictures."""
        return self.largest_at_once * self.pixels

    @property
    def memory_bytes(self) -> int:
        """What one picture may take: somewhat more than the formats do, up to 22 bytes a pixel (WebP)."""
        return 24 * self.pixels + (1 << 28)


class Pictures(Protocol):
    """Where pictures are read."""

    @property
    def max_pixels(self) -> int:
        """The most pixels that a picture may have: in memory at once where it is trusted, else as it declares."""

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """Return what ``work`` gives of each task, in their order, or why its picture cannot be read.

        Raises what ``checkpoint`` raises, which is called about ten times a second, and what ``work`` raises besides
        ImageError. ``at_once`` is how many threads share the tasks where they are done in this process.
        """


@dataclass(frozen=True)
class InProcess:
    """Reads pictures in this process: for programs that trust their pictures."""

    max_pixels: int = MAX_PIXELS
    """Those that a picture may have in memory at once; most JPEGs and TIFFs are read at a reduced size."""

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """See ``Pictures.run``."""

        def done(task: PictureTask) -> Result | ImageError:
            try:
                return work(task.image, task.extractors, self.max_pixels)
            except ImageError as error:
                return error

        results: list[Result | ImageError] = []
        if at_once == 1:
            for task in tasks:
                checkpoint()
                results.append(done(task))
            return results
        with ThreadPoolExecutor(at_once) as pool:
            for result in pool.map(done, tasks):
                checkpoint()  # leaving the loop, what the pool has not begun is dropped
                results.append(result)
        return results


IN_PROCESS = InProcess()
