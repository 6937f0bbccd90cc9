"""From a text to the tokens of a tower, by the tokenizer of its model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from crossview.features.errors import ModelError, ModelInputError
from crossview.features.models.manifest import Tokens, not_installed

_MOST_CHARACTERS = 100_000
"""Maximum number of characters of a text that are looked at; the longest input of a model has far fewer."""


class Tokenizer:
    """The tokens of texts. Several threads may call it at once."""

    def __init__(self, data: bytes, settings: Tokens) -> None:
        """Read the file of a tokenizer; ModelError if it is none."""
        try:
            import tokenizers
        except ImportError as error:
            raise not_installed() from error
        with _failing("the file of the tokenizer is not a tokenizer", ModelError):
            self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
        self._tokenizer.enable_truncation(settings.longest)
        if settings.padded:
            self._tokenizer.enable_padding(pad_id=settings.padding, length=settings.padded)
        else:
            self._tokenizer.no_padding()

    def __call__(self, text: str) -> tuple[Sequence[int], Sequence[int]]:
        """Return the numbers of the tokens, and 1 for each of them but 0 for those that fill up; ModelInputError."""
        with _failing("the tokenizer of the model fails", ModelInputError):
            encoding = self._tokenizer.encode(text[:_MOST_CHARACTERS])
        return encoding.ids, encoding.attention_mask


@contextmanager
def _failing(how: str, kind: type[ModelError]) -> Iterator[None]:
    """Turn what the package raises into our error: bare exceptions, and panics, which are not even exceptions."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise kind(f"{how}: {str(error)[:300]}") from error
