"""Errors of reading pictures: each describes the problem of one file and never stops a run."""


class ImageError(ValueError):
    """A picture that cannot be used; the message states the reason to the owner of the file."""


class EmptyImageError(ImageError):
    """The file is empty."""


class NotAnImageError(ImageError):
    """The bytes do not have a supported picture format."""


class TruncatedImageError(ImageError):
    """The picture's bytes end early or are damaged."""


class ImageTooLargeError(ImageError):
    """The picture declares more pixels than the limit; its pixels were not decoded."""


class NotFittedError(ValueError):
    """An extractor must be fitted before it can compute rows."""
