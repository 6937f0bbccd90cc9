"""The outcomes of extracting and of sampling."""

from dataclasses import dataclass

from crossview.engine.values.item import Failure


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The outcome of an extraction."""

    rows: str
    """The folder of the rows."""
    items: int
    """Pictures in the partitions of this call that have rows."""
    bad: int
    """Pictures in the partitions of this call that cannot be read."""
    partitions: int
    """Number of partitions that this call finished."""
    kept: int
    """Number of partitions that were finished before."""
    failures: tuple[Failure, ...] = ()
    """The first bad pictures, with the reasons."""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The outcome of drawing a sample."""

    collection: str
    rows: int
    """Number of all rows."""
    items: int
    """Number of items in the collection."""
    labels: int
    """Number of labels in the sample."""
    failures: tuple[Failure, ...] = ()
    """Rows that cannot be used, with the reasons."""
    seconds: float = 0.0
