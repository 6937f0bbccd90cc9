"""Duplicates as values: the request, the groups of copies and of bursts, and the judgements of people on pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from crossview.engine.values.conditions.filter import EVERY_ITEM, FilterForm
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import let_one_be_several
from crossview.engine.values.numbers import check_count

Relation = Literal[
    "identical",
    "recompressed",
    "resized",
    "greyscale",
    "cropped",
    "rotated",
    "mirrored",
    "edited",
    "judged",
    "burst",
]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
"""The relations of a picture to the keeper of its group, the least change first. ``judged`` is a person's judgement,
and ``burst`` another photograph of the same moment."""


@dataclass(frozen=True, kw_only=True)
class DuplicatesRequest:
    """A request for the groups of pictures that show the same photograph. Raises InvalidInputError from ``check``."""

    against: str = ""
    """Another collection of the same home: only pairs of a picture with one of that collection, which is the keeper."""
    filter: FilterForm = EVERY_ITEM
    """The items to compare; of the other collection, all are."""
    relations: Sequence[Relation] = ()
    """Only pictures that are one of these to their keeper [default: all]."""
    limit: int = 0
    """Maximum number of groups, those that take the most bytes first [default: 0, all]."""
    seed: int = 0
    """Seed of the pictures that the rule is fitted on."""

    def __post_init__(self) -> None:
        let_one_be_several(self, "relations")

    def check(self) -> None:
        """Raise InvalidInputError for an unknown relation, and for a negative limit."""
        for relation in self.relations:
            if relation not in RELATIONS:
                raise InvalidInputError(f"a relation is one of {', '.join(RELATIONS)}, not {relation!r}")
        check_count("limit", self.limit, 0)


@dataclass(frozen=True, kw_only=True)
class DuplicatePicture:
    """A picture of a group."""

    key: str
    collection: str = ""
    """The collection of the item if it is the one that a request compares against; otherwise empty."""
    relations: Sequence[Relation] = ()
    """Its relations to the keeper; empty for the keeper."""
    degrees: float = 0.0
    """Angle by which the keeper must be turned clockwise to have the direction of the picture, after mirroring."""
    share: float = 1.0
    """Share of the keeper's area that the picture shows."""
    confidence: float = 1.0
    """Probability, by the fitted rule, that both show the same photograph."""
    width: int = 0
    height: int = 0
    size: int = 0
    """Bytes of its file."""
    source: str = ""
    """Absolute path of its file; "" without a file."""


@dataclass(frozen=True, kw_only=True)
class DuplicateGroup:
    """Pictures that show the same photograph as their keeper, or were taken in the same moment."""

    kind: Literal["copies", "burst"]
    keeper: DuplicatePicture
    reason: str
    """Why it is proposed to keep this one."""
    members: Sequence[DuplicatePicture]
    """The others, each compared with the keeper, the surest first."""

    @property
    def size(self) -> int:
        """Bytes of the members' files."""
        return sum(member.size for member in self.members)


@dataclass(frozen=True, kw_only=True)
class Duplicates:
    """The duplicates of a collection."""

    pictures: int
    """Number of compared pictures."""
    groups: Sequence[DuplicateGroup]
    """Groups of copies, those that take the most bytes first, then bursts."""
    notes: Sequence[str] = ()
    """Sentences about pictures and pairs that were not compared."""


@dataclass(frozen=True, kw_only=True)
class PairJudgement:
    """A person's judgement of two pictures, which every later search for duplicates honours."""

    first: str
    """Key of an item."""
    second: str
    same: bool
    """Whether they are the same photograph."""
    person: str
    id: int = 0
    """Number of the judgement, larger than those of earlier judgements."""
    created: str = ""
    """Time of storage, ISO 8601 in UTC."""
