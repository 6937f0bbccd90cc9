"""The request for the changes of a series of pictures, and the answer, as values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from crossview.engine.values.errors import InvalidInputError

Form = Literal["diagonal", "full", "structural"]
FORMS: tuple[Form, ...] = ("diagonal", "full", "structural")
EXTREME = 25
"""Number of most distant pairs assumed to be important, and of least distant assumed not to be (section 5.5)."""


@dataclass(frozen=True)
class PairLabel:
    """A person's label of two versions."""

    earlier: str
    """The key of an item, or the name of its file."""
    later: str
    important: bool | None
    """Whether the change between them is important; None if the person could not decide."""


@dataclass(frozen=True, kw_only=True)
class LearnedImportance:
    """The learned state of a series, with which it can judge further versions."""

    view: str
    grid: int
    form: Form
    matrix: Sequence[float]
    """The metric on region distances: g^2 numbers for a diagonal metric, otherwise g^4, row by row."""
    weight: float
    """C, the weight of the loss relative to the norm."""
    order: float | None
    """Share of held-out comparisons that the metric puts in order; None if too few could be held out."""
    weights: Sequence[float]
    """Weights of the distance and, with saved pages, of the Jaccard distances of links and images."""
    threshold: float
    """Threshold of the weighted sum."""
    quadruplets: int
    labels: int
    """Number of pairs with a person's label that it learned from."""


@dataclass(frozen=True, kw_only=True)
class ChangesRequest:
    """A request for the important changes of the pictures of a collection, learned from their times.

    Raises InvalidInputError from ``check``.
    """

    view: str = ""
    """A view ``gist``; "" for the only one, or the one with most cells."""
    period: str = ""
    """Time after which most of a page changes, such as 4h or 4steps; "" for four times the time between versions."""
    form: Form = "diagonal"
    labels: Sequence[PairLabel] = ()
    extreme: int = EXTREME
    """Number of most and of least distant pairs that the threshold assumes to be important and unimportant."""
    structure: bool = True
    """Whether the HTML beside pictures counts, if all pictures have HTML."""
    learned: LearnedImportance | None = None
    """A learned state to judge by, instead of learning."""
    after: str = ""
    """The key of an item: with ``learned``, only changes after this version are judged."""
    gone: Sequence[str] = ()
    """Keys of items to leave out because their files have disappeared, from ``ImportReport``."""

    def check(self) -> None:
        """Raise InvalidInputError for a request that no series can answer."""
        if self.form not in FORMS:
            raise InvalidInputError(f"form must be one of {', '.join(FORMS)}, not {self.form!r}")
        if self.extreme < 1:
            raise InvalidInputError(f"extreme must be a positive number of pairs, not {self.extreme}")
        if self.after and self.learned is None:
            raise InvalidInputError("after needs learned, because without learned all versions are training data")


@dataclass(frozen=True, kw_only=True)
class Change:
    """Two successive versions."""

    earlier: str
    later: str
    time: datetime
    """Time of the later version."""
    hours: float
    """Hours between them."""
    importance: float
    """Weighted distance in units of the threshold: important above 1."""
    important: bool
    identical: bool
    """Whether the versions are equal in every region."""
    regions: Sequence[float]
    """(g^2) the share of each region in the learned distance, row by row."""
    links: float | None = None
    """Jaccard distance of the pages' links; None without HTML."""
    images: float | None = None
    label: bool | None = None
    """A person's label, if any."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The changes of a series."""

    versions: int
    first: datetime
    last: datetime
    source: str
    """The source of the versions' times: names, EXIF data, or times of the files."""
    period: str
    learned: LearnedImportance
    importance: Sequence[float]
    """(g^2) the importance of each region, row by row, not negative, with sum 1."""
    changes: Sequence[Change]
    """In the order of time."""
    questions: Sequence[int] = ()
    """Positions of the changes to label next, the most informative first."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Sentences about left-out versions and missing assumptions."""
