"""The contract of extractors where a program meets it: their classes, their parameters and lengths, and their rows.

``features.checks`` has the whole contract, as a test for authors.
"""

import inspect
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.features.base import Extraction, Extractor, ImageExtractor, Input, TextExtractor
from crossview.features.errors import CrossviewError, ExtractorError, NotFittedError
from crossview.features.vectors import MAX_DIM, MAX_VALUE

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
"""The names of views; a view has the name of its extractor by default."""
STEPS = ("l1", "l2", "sqrt")
"""The normalisation steps that an extractor can name: they learn nothing from rows."""
_INPUTS: tuple[tuple[Input, type[Extractor]], ...] = (("image", ImageExtractor), ("text", TextExtractor))


def check_class(kind: type[Extractor]) -> None:
    """Raise ValueError unless a class of another package states its name, inputs, steps and parameters soundly."""
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"its name must be at most 63 of a-z, 0-9, '-' and '_', starting with a letter, not {name!r}")
    if lacking := sorted(kind.__abstractmethods__):
        raise ValueError(f"it must define {', '.join(lacking)}")
    inputs = frozenset(role for role, base in _INPUTS if issubclass(kind, base))
    if kind.inputs != inputs:
        raise ValueError(f"its inputs must be those of its bases, {sorted(inputs)}, not {kind.inputs!r}")
    if not isinstance(kind.steps, tuple) or not set(kind.steps) <= set(STEPS):
        raise ValueError(f"its steps must be a tuple of some of {', '.join(STEPS)}, not {kind.steps!r}")
    for flag in ("robust", "learns_labels"):
        if not isinstance(getattr(kind, flag), bool):
            raise ValueError(f"its {flag} must be True or False, not {getattr(kind, flag)!r}")
    for parameter in [] if kind.__init__ is object.__init__ else inspect.signature(kind).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            raise ValueError(f"its constructor must take only parameters by keyword, after '*', not {parameter}")


def check_made(extractor: Extractor) -> None:
    """Raise ValueError unless an extractor of another package has a length of rows, and parameters that make its equal.

    A constructor of one of its parameters can raise further errors.
    """
    if isinstance(extractor.dim, bool) or not isinstance(extractor.dim, int) or not 1 <= extractor.dim <= MAX_DIM:
        raise ValueError(f"{extractor.name}: dim must be a whole number from 1 to {MAX_DIM:,}, not {extractor.dim!r}")
    own = extractor.params()
    try:
        restored = json.loads(json.dumps(own, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{extractor.name}: params() must be JSON values ({error}), not {own!r}") from error
    equal = type(extractor)(**restored)
    if (equal.params(), equal.dim) != (own, extractor.dim):
        raise ValueError(f"{extractor.name}: params() must make an equal extractor; {own!r} makes {equal.params()!r}")


def extracted(extractor: Extractor, batch: Sequence[Any]) -> Extraction:
    """Return ``extractor.extract(batch)`` after a check of its rows.

    Raises ExtractorError if the rows are not (m, dim) finite float32, or if the code of another package fails;
    otherwise as ``extract``.
    """
    try:
        extraction = extractor.extract(batch)
    except (CrossviewError, NotFittedError, MemoryError):
        raise
    except Exception as error:
        if type(extractor).__module__.partition(".")[0] == "crossview":
            raise
        raise ExtractorError(
            f"extractor {extractor.name!r} failed ({type(error).__name__}: {error}): report it to the authors of its "
            f"package, {type(extractor).__module__.partition('.')[0]}"
        ) from error
    if wrong := _wrong(extractor, extraction, len(batch)):
        raise ExtractorError(f"extractor {extractor.name!r} breaks its contract: {wrong}")
    return extraction


def _wrong(extractor: Extractor, extraction: Extraction, count: int) -> str:
    """Return what is wrong with the rows of a batch of ``count`` inputs; "" for sound rows."""
    if not isinstance(extraction, Extraction) or not all(isinstance(array, np.ndarray) for array in extraction):
        return f"extract must return an Extraction of two arrays, not {type(extraction).__name__}"
    rows, present = extraction
    if present.shape != (count,) or present.dtype != bool:
        return f"present must be ({count},) bool, not {present.shape} {present.dtype}"
    shape = (int(present.sum()), extractor.dim)
    if rows.shape != shape or rows.dtype != np.float32:
        return f"rows must be {shape} float32, not {rows.shape} {rows.dtype}"
    if not (np.abs(rows) < MAX_VALUE).all():  # also for NaN, which is not smaller
        return f"rows must be finite and smaller than {MAX_VALUE:g}"
    return ""
