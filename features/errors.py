"""The root of all errors, and the errors of reading pictures: each describes the problem of one file.

The root is here because every room that raises one of them may import ``features``.
"""


class CrossviewError(Exception):
    """Base of every error that a user can cause and correct.

    ``detail`` is for the person who runs the program: a path, a process or a command. A server writes it to its log
    only.
    """

    def __init__(self, *args: object, detail: object = None) -> None:
        super().__init__(*args)
        self.detail = detail

    @property
    def message(self) -> str:
        """The message without the detail."""
        return super().__str__()

    def __str__(self) -> str:
        return self.message if self.detail is None else f"{self.message} ({self.detail})"


class ImageError(CrossviewError, ValueError):
    """A picture that cannot be used; the message states the reason to the owner of the file."""


class EmptyImageError(ImageError):
    """The file is empty."""


class NotAnImageError(ImageError):
    """The bytes do not have a supported picture format."""


class TruncatedImageError(ImageError):
    """The picture's bytes end early or are damaged."""


class ImageTooLargeError(ImageError):
    """The picture declares more pixels than the limit; its pixels were not decoded."""


class NotEnoughMemoryError(CrossviewError, MemoryError):
    """The work needs more memory, processes or threads than there are; the message states the way out."""


class NotFittedError(ValueError):
    """An extractor must be fitted before it can compute rows."""


class ExtractorError(CrossviewError, ValueError):
    """An extractor of another package failed, or breaks its contract; the message states how, to its author."""


class ModelError(CrossviewError, ValueError):
    """A model that cannot be used; the message states the reason to its owner."""


class ModelInputError(ModelError):
    """A model that fails on one picture or text: it may be usable with others."""
