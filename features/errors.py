"""The errors of reading pictures: each names what is wrong with one file and never stops a run."""


class ImageError(ValueError):
    """A picture that cannot be used; the message states why, in words for the person who owns the file."""


class EmptyImageError(ImageError):
    """The file holds no bytes."""


class NotAnImageError(ImageError):
    """The bytes are of no picture format that is read here."""


class TruncatedImageError(ImageError):
    """The picture's bytes end early or are damaged."""


class ImageTooLargeError(ImageError):
    """The picture declares more pixels than the limit; its pixels were not decoded."""


class NotFittedError(ValueError):
    """Rows were wanted of an extractor that must be fitted first."""
