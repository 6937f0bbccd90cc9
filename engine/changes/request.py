"""What is asked of a series of pictures, and what is found: values that are passed whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from crossview.engine.errors import InvalidInputError

Form = Literal["diagonal", "full", "structural"]
FORMS: tuple[Form, ...] = ("diagonal", "full", "structural")
EXTREME = 25
"""How many of the most, and of the least distant pairs are taken for important changes and for others (section 5.5)."""


@dataclass(frozen=True)
class PairLabel:
    """What a person said of two versions."""

    earlier: str
    """The key of an item, or the name of its file."""
    later: str
    important: bool | None
    """Whether an important change lies between them; None where they could not tell."""


@dataclass(frozen=True, kw_only=True)
class LearnedImportance:
    """What was learned of a series: enough to judge further versions of it."""

    view: str
    grid: int
    form: Form
    matrix: Sequence[float]
    """The metric on region distances: g^2 numbers of a diagonal one, else g^4, row by row."""
    weight: float
    """C, of the loss beside the norm."""
    order: float | None
    """Share of comparisons held out in time that the metric puts in order; None where too few could be held out."""
    weights: Sequence[float]
    """Of the distance and, where pages were saved, of the Jaccard distances of links and images."""
    threshold: float
    """Of the weighted sum."""
    quadruplets: int
    labels: int
    """How many pairs were learned from that a person labelled as important or not."""


@dataclass(frozen=True, kw_only=True)
class ChangesRequest:
    """Which changes of the pictures of a collection are important, learned from their times.

    Raises InvalidInputError from ``check``.
    """

    view: str = ""
    """A view ``gist``; "" for the only one, or the one with most cells."""
    period: str = ""
    """After how long most changes, such as 4h or 4steps; "" for four times the usual distance in time."""
    form: Form = "diagonal"
    labels: Sequence[PairLabel] = ()
    extreme: int = EXTREME
    """How many of the most, and of the least distant pairs the threshold takes for important, and for not."""
    structure: bool = True
    """Whether the HTML saved beside pictures counts, where all have some."""
    learned: LearnedImportance | None = None
    """What to judge by, in place of learning."""
    after: str = ""
    """The key of an item: with ``learned``, only changes after this version are looked at."""
    gone: Sequence[str] = ()
    """Keys of items that are left out because their files are gone, as ``ImportReport`` names them."""

    def check(self) -> None:
        """Raise InvalidInputError for what no series could answer."""
        if self.form not in FORMS:
            raise InvalidInputError(f"form must be one of {', '.join(FORMS)}, not {self.form!r}")
        if self.extreme < 1:
            raise InvalidInputError(f"extreme must be a positive number of pairs, not {self.extreme}")
        if self.after and self.learned is None:
            raise InvalidInputError("after needs learned: without it all versions are learned from")


@dataclass(frozen=True, kw_only=True)
class Change:
    """Two successive versions."""

    earlier: str
    later: str
    time: datetime
    """Of the later one."""
    hours: float
    """Between them."""
    importance: float
    """Weighted distance in units of the threshold: important above 1."""
    important: bool
    identical: bool
    """Whether no region differs at all."""
    regions: Sequence[float]
    """(g^2) the share of each region in the learned distance, row by row."""
    links: float | None = None
    """Jaccard distance of the pages' links; None without HTML."""
    images: float | None = None
    label: bool | None = None
    """What a person said."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What was found in a series."""

    versions: int
    first: datetime
    last: datetime
    source: str
    """What tells the times of the versions: names, EXIF data, or times of the files."""
    period: str
    learned: LearnedImportance
    importance: Sequence[float]
    """(g^2) how important each region is, row by row, not negative, with sum 1."""
    changes: Sequence[Change]
    """In the order of time."""
    questions: Sequence[int] = ()
    """Positions among the changes: those whose label would tell most, the first one most."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Sentences on what was left out or not assumed."""
