"""Reading pictures: from encoded bytes or files to the results of a function, in this process or in others."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from crossview.features.errors import Argument, ImageError, ImageTooLargeError
from crossview.features.files import open_regular

if TYPE_CHECKING:
    from crossview.features.base import ImageExtractor

MAX_PIXELS = 100_000_000
"""Default for the maximum number of pixels of a picture in memory."""
MAX_FILE_BYTES = 1 << 29
"""Maximum size of a picture file, unless the limit of pixels needs more bytes."""
_BYTES_A_PIXEL = 4

Result = TypeVar("Result")
Work = Callable[[bytes, Mapping[str, "ImageExtractor"], int], Result]
"""A function of a module. It takes the bytes of a picture file, extractors, and the maximum number of pixels; it raises
ImageError for a picture that cannot be read."""
Checkpoint = Callable[[], None]
"""A function that raises an error if the result is no longer needed."""


class PictureTask(NamedTuple):
    """One picture, and the extractors of the views to compute from it."""

    image: bytes | Path
    """The encoded picture, or its file. The process that decodes the picture reads the file."""
    extractors: Mapping[str, "ImageExtractor"]
    """Extractors by view; they must not change after the task is made."""

    def encoded(self, max_pixels: int) -> bytes:
        """Return the encoded picture; ImageError if its file cannot be read."""
        return self.image if isinstance(self.image, bytes) else encoded_picture(self.image, max_pixels)


@dataclass(frozen=True)
class PictureLimits:
    """Limits for reading pictures in a pool of processes. The defaults suit pictures from untrusted users."""

    pixels: int = 25_000_000
    """Maximum number of pixels; the header decides, before decoding."""
    largest_at_once: int = 2
    """Number of pictures of maximum size that the pool decodes at once; it decodes more if pictures are smaller."""
    seconds: float = 30.0
    """Maximum time for one picture."""
    trusted: bool = False
    """Whether ``pixels`` limits the pixels in memory, which are fewer than those in the file for most JPEGs and TIFFs.
    Otherwise it limits the pixels that the file declares."""

    @property
    def pixels_at_once(self) -> int:
        """Maximum number of pixels of all pictures that the pool decodes at once."""
        return self.largest_at_once * self.pixels

    @property
    def memory_bytes(self) -> int:
        """Maximum memory for one picture, somewhat more than the formats need (WebP needs 22 bytes per pixel)."""
        # A large TIFF is read strip by strip: its file takes more memory than the pixels of a strip.
        return 24 * self.pixels + (1 << 28) + (max_file_bytes(self.pixels) if self.trusted else 0)


class Pictures(Protocol):
    """A place that reads pictures: this process or a pool of processes."""

    @property
    def max_pixels(self) -> int:
        """The maximum number of pixels of a picture: in memory for trusted pictures, otherwise as the file declares."""

    def stream(
        self, work: Work[Result], tasks: Iterable[PictureTask], checkpoint: Checkpoint
    ) -> Iterator[Result | ImageError]:
        """Yield the result of ``work`` for each task, in order, or the reason why the picture cannot be read.

        Takes tasks as it needs them. Raises the errors of ``checkpoint``, which it calls for every picture and about
        ten times a second, and the errors of ``work`` other than ImageError.
        """

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """Return all results of ``stream``. In this process, ``at_once`` threads share the tasks."""


@dataclass(frozen=True)
class InProcess:
    """Reads pictures in this process, without limits of time and memory: for programs that trust their pictures."""

    max_pixels: int = MAX_PIXELS
    """Maximum number of pixels in memory; most JPEGs and TIFFs are read at a reduced size."""

    def stream(
        self, work: Work[Result], tasks: Iterable[PictureTask], checkpoint: Checkpoint
    ) -> Iterator[Result | ImageError]:
        """See ``Pictures.stream``."""
        for task in tasks:
            checkpoint()
            yield self._read(work, task)

    def run(
        self, work: Work[Result], tasks: Sequence[PictureTask], checkpoint: Checkpoint, at_once: int = 1
    ) -> list[Result | ImageError]:
        """See ``Pictures.run``."""
        if at_once == 1:
            return list(self.stream(work, tasks, checkpoint))
        results: list[Result | ImageError] = []
        with ThreadPoolExecutor(at_once) as pool:
            for result in pool.map(lambda task: self._read(work, task), tasks):
                checkpoint()  # an error here leaves the loop, and the pool drops the tasks that have not begun
                results.append(result)
        return results

    def _read(self, work: Work[Result], task: PictureTask) -> Result | ImageError:
        try:
            return work(task.encoded(self.max_pixels), task.extractors, self.max_pixels)
        except ImageError as error:
            return error


IN_PROCESS = InProcess()


def read_file(path: Path, max_pixels: int = MAX_PIXELS) -> bytes:
    """Return the bytes of a picture file; ImageError if it is too large or not a file, OSError if reading fails."""
    with open_regular(path) as file:
        check_file_bytes(os.fstat(file.fileno()).st_size, max_pixels)
        return file.read()


def check_file_bytes(size: int, max_pixels: int) -> None:
    """Raise ImageTooLargeError for a picture file of more bytes than it may have."""
    if size > max_file_bytes(max_pixels):
        needed = math.ceil(size / _BYTES_A_PIXEL)
        raise ImageTooLargeError(
            f"{size:,} bytes are more than a picture file may have ({max_file_bytes(max_pixels):,}): raise "
            "the limit with ",
            Argument("max_pixels", needed),
            ", or save the picture smaller",
        )


def max_file_bytes(max_pixels: int) -> int:
    """Return the maximum size of the file of a picture with at most ``max_pixels`` pixels."""
    return max(MAX_FILE_BYTES, int(_BYTES_A_PIXEL * max_pixels))


def encoded_picture(path: Path, max_pixels: int) -> bytes:
    """Return the bytes of a picture file; ImageError if the file cannot be read for any reason."""
    try:
        return read_file(path, max_pixels)
    except OSError as error:
        raise ImageError(error.strerror or str(error)) from error
