"""Reading of encoded pictures and computations on them, in this process or in others."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from crossview.features.errors import ImageError

if TYPE_CHECKING:
    from crossview.features.base import ImageExtractor

MAX_PIXELS = 100_000_000
"""Default of the most pixels that a picture may have in memory at once."""

Result = TypeVar("Result")
Work = Callable[[bytes, Mapping[str, "ImageExtractor"], int], Result]
"""A function of a picture file, extractors and the most pixels; it raises ImageError. It must belong to a module, so
that other processes can import it."""
Checkpoint = Callable[[], None]
"""A function that raises an error if the work is cancelled."""


class PictureTask(NamedTuple):
    """One picture, and the extractors of the wanted views."""

    image: bytes
    extractors: Mapping[str, "ImageExtractor"]
    """Fitted extractors, which do not change any more."""


@dataclass(frozen=True)
class PictureLimits:
    """Limits of untrusted pictures."""

    pixels: int = 25_000_000
    """Most pixels; the header of a larger picture is enough to refuse it."""
    largest_at_once: int = 2
    """Number of pictures of this size that are decoded at once, or more smaller ones."""
    seconds: float = 30.0
    """Most seconds for one picture."""

    @property
    def pixels_at_once(self) -> int:
        """Most pixels of all pictures that are decoded at once."""
        return self.largest_at_once * self.pixels

    @property
    def memory_bytes(self) -> int:
        """Most bytes of one picture: somewhat more than the formats need, up to 22 bytes a pixel (WebP)."""
        return 24 * self.pixels + (1 << 28)


class Pictures(Protocol):
    """A reader of pictures."""

    @property
    def max_pixels(self) -> int:
        """The most pixels of a picture: in memory at once for trusted pictures, otherwise in its header."""

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """Return the result of ``work`` for each task in order, or the ImageError of its picture.

        Raises the errors of ``checkpoint``, which is called about ten times a second, and errors of ``work`` other than
        ImageError. ``at_once`` is the number of threads that share the tasks if they run in this process.
        """


@dataclass(frozen=True)
class InProcess:
    """A reader of pictures in this process, for programs that trust their pictures."""

    max_pixels: int = MAX_PIXELS
    """Most pixels of a picture in memory at once; most JPEGs and TIFFs are read at a reduced size."""

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
                checkpoint()  # an error here leaves the loop and drops the tasks that the pool has not begun
                results.append(result)
        return results


IN_PROCESS = InProcess()
