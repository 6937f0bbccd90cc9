"""Comparisons of items by key, and the questions and answers of people that they come from."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.comparisons import KINDS, AnyComparisons, Comparisons, MixedComparisons
from crossview.engine.values.errors import InvalidInputError, NotFoundError, few
from crossview.features.vectors import MAX_VALUE

SINGLE, GRID = "single", "grid"
QUESTIONS = {SINGLE: 2, GRID: 9}
"""Number of candidates of each kind of question."""
LONGEST_PERSON = 100
"""Maximum number of characters of a person's name."""
_COLUMNS = ("similar", "weights", "margins")
PLAIN_NAME = re.compile(r"\w[\w.-]{0,39}")
"""A name that people choose and type: of a notion, or of feedback."""


def check_notion(name: str) -> str:
    """Return the name of a notion of similarity; InvalidInputError if it is not valid."""
    if not PLAIN_NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot name a notion: use 1 to 40 letters, digits, '_', '-' and '.', such as color or head"
        )
    return name


def check_person(name: str) -> str:
    """Return the name of a person who answers or judges; InvalidInputError if it is not valid."""
    if not name.strip() or len(name) > LONGEST_PERSON or not name.isprintable():
        raise InvalidInputError(f"{name!r} cannot name a person: use 1 to {LONGEST_PERSON} printable characters")
    return name


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question: which of two candidates is nearer to the anchor in a notion, or which of nine candidates are near."""

    notion: str
    anchor: str
    candidates: tuple[str, ...]
    """Keys of items; ``anchor`` is a key too."""


@dataclass(frozen=True, kw_only=True)
class QuestionRequest:
    """The options of the next question: its notion, its person, and how the candidates are chosen."""

    notion: str
    person: str
    kind: str = GRID
    """One of ``QUESTIONS``."""
    view: str = ""
    """The view whose rows determine the most informative question, among the items with the view [default: "", random
    questions]. Random questions suit notions to which no view is related."""
    seed: int | None = None
    """Seed of the random choice [default: None, a different choice each time]."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A person's answer: each item of ``near`` is nearer to the anchor in the notion than each item of ``far``.

    If ``near`` or ``far`` is empty, the answer contains no comparison, because the person could not decide.
    """

    notion: str
    anchor: str
    near: tuple[str, ...] = ()
    far: tuple[str, ...] = ()
    person: str
    id: int = 0
    """Number of the answer, larger than those of earlier answers; 0 before the answer is stored."""
    created: str = ""
    """Time of storage, ISO 8601 in UTC."""
    feedback: str = ""
    """The feedback whose judgements the answer was made from; "" for the answer to a question."""

    @property
    def kind(self) -> str:
        """The kind of the answered question, one of ``QUESTIONS``."""
        return SINGLE if len(self.near) + len(self.far) == QUESTIONS[SINGLE] else GRID

    @property
    def triplets(self) -> list[tuple[str, str, str]]:
        """The comparisons (anchor, near, far) that the answer stands for: up to 20 for a grid of nine."""
        return [(self.anchor, near, far) for near in self.near for far in self.far]

    def check(self) -> None:
        """Raise InvalidInputError unless this can be the answer to a question."""
        check_notion(self.notion)
        check_person(self.person)
        candidates = (*self.near, *self.far)
        least, most = QUESTIONS.values()
        if not least <= len(candidates) <= most:
            raise InvalidInputError(
                f"an answer has {least} to {most} candidates, near and far together, not {len(candidates)}"
            )
        if len({self.anchor, *candidates}) <= len(candidates):
            raise InvalidInputError("an answer must name the anchor and each candidate exactly once")


@dataclass(frozen=True, eq=False)
class ItemComparisons:
    """Pairs, triplets or quadruplets of items; further kinds are in ``others``.

    Raises InvalidInputError for arrays of different lengths, repeated keys, positions without a key, and sets of which
    only some name notions.
    """

    keys: tuple[str, ...]
    """The keys of the compared items, each once."""
    comparisons: Comparisons
    """The comparisons; items are positions in ``keys``."""
    lines: NDArray[np.int64] | None = None
    """Line numbers of the comparisons in their file, (n,), for messages; None without a file."""
    others: tuple["ItemComparisons", ...] = ()
    """Further sets of other kinds or weights; a learner uses all sets together."""

    def __post_init__(self) -> None:
        items, count = self.comparisons.items, len(self.comparisons)
        if items.ndim != 2 or items.shape[1] not in KINDS or not count:
            raise InvalidInputError(
                f"give at least one of {', '.join(KINDS.values())}, not an array of shape {items.shape}"
            )
        columns = {name: getattr(self.comparisons, name) for name in (*_COLUMNS, "notions")} | {"lines": self.lines}
        for name, values in columns.items():
            if values is not None and values.shape != (count,):
                raise InvalidInputError(
                    f"{name} of {self.comparisons.kind} must have shape ({count},), one value each, not {values.shape}"
                )
        if (items.shape[1] == 2) != (self.comparisons.similar is not None):
            raise InvalidInputError("give the column similar with pairs, and leave it out with other kinds")
        if items.shape[1] == 2 and self.comparisons.margins is not None:
            raise InvalidInputError(
                "pairs have no margins: the learner's settings upper and lower bound their distances"
            )
        if len(set(self.keys)) < len(self.keys):
            raise InvalidInputError("keys must be distinct: list each item once")
        if items.min() < 0 or items.max() >= len(self.keys):
            raise InvalidInputError(f"items of constraints are positions in keys, from 0 to {len(self.keys) - 1}")
        for name in self.notions:
            check_notion(name)
        if len({bool(part.notions) for part in self.sets}) > 1:
            raise InvalidInputError("some constraints have a notion and some do not: give a notion to all or none")

    @property
    def sets(self) -> tuple["ItemComparisons", ...]:
        """This set and the others, each of one kind."""
        return (self, *self.others)

    @property
    def kind(self) -> str:
        """The kinds in words, such as "pairs and quadruplets"."""
        return " and ".join(dict.fromkeys(part.comparisons.kind for part in self.sets))

    def weighted(self, weight: float) -> Self:
        """Return the comparisons of this set with their weights multiplied by ``weight``."""
        own = self.comparisons.weights
        weights = np.full(len(self.comparisons), float(weight)) if own is None else own * weight
        return replace(self, comparisons=replace(self.comparisons, weights=weights))

    @classmethod
    def of_answers(cls, answers: Iterable[Answer]) -> Self:
        """Return the triplets that answers stand for; InvalidInputError if there are none."""
        rows = [(*triplet, answer.notion) for answer in answers for triplet in answer.triplets]
        positions: dict[str, int] = {}
        items = [[positions.setdefault(key, len(positions)) for key in row[:3]] for row in rows]
        notions = np.array([notion for *_, notion in rows])
        return cls(tuple(positions), Comparisons(np.array(items, np.int64).reshape(-1, 3), notions=notions))

    @cached_property
    def notions(self) -> tuple[str, ...]:
        """The notions of this set, sorted; empty if the comparisons have no notion."""
        notions = self.comparisons.notions
        return () if notions is None else tuple(np.unique(notions.astype(str)).tolist())

    @property
    def notion_codes(self) -> NDArray[np.int64]:
        """The position in ``notions`` of the notion of each comparison, (n,); shape (0,) without notions."""
        notions = self.comparisons.notions
        return np.empty(0, np.int64) if notions is None else np.searchsorted(self.notions, notions.astype(str))

    def __len__(self) -> int:
        return sum(len(part.comparisons) for part in self.sets)

    def of_known(self, known_keys: Collection[str]) -> tuple["ItemComparisons", str]:
        """Return the comparisons of known keys, and a sentence about the other comparisons, "" if there are none.

        Raises NotFoundError if no comparison has only known keys.
        """
        parts = [part._only(known_keys) for part in self.sets]
        sets = [part for part in parts if part is not None]
        if not sets:
            raise NotFoundError(f"{self._where(0)}: there is no item {next(self._unknown(known_keys))!r}")
        comparisons = replace(sets[0], others=tuple(sets[1:]))
        unknown = dict.fromkeys(key for part in self.sets for key in part._unknown(known_keys))
        return comparisons, left_out(self.kind, len(self) - len(comparisons), len(self), unknown)

    def _unknown(self, known_keys: Collection[str]) -> Iterator[str]:
        """Yield the unknown keys of this set, in the order of its comparisons."""
        used = dict.fromkeys(self.comparisons.items.ravel().tolist())
        return (self.keys[item] for item in used if self.keys[item] not in known_keys)

    def _only(self, known_keys: Collection[str]) -> Self | None:
        """Return the comparisons of this set that have only known keys; None if there are none."""
        is_known = np.array([key in known_keys for key in self.keys], bool)
        mask = is_known[self.comparisons.items].all(axis=1)
        if mask.all():
            return replace(self, others=())
        if not mask.any():
            return None
        columns = {name: getattr(self.comparisons, name) for name in (*_COLUMNS, "notions")}
        masked = {name: values if values is None else values[mask] for name, values in columns.items()}
        comparisons = Comparisons(self.comparisons.items[mask], **masked)
        return replace(self, comparisons=comparisons, lines=None if self.lines is None else self.lines[mask], others=())

    def check(self) -> None:
        """Raise InvalidInputError for comparisons that no learner can use.

        Triplets and quadruplets may contradict each other, because people disagree. A pair must not be both similar
        and dissimilar.
        """
        for part in self.others:
            part.check()
        for name in ("weights", "margins"):
            values = getattr(self.comparisons, name)
            if values is not None and (row := _first(~(np.abs(values) < MAX_VALUE))) is not None:
                raise InvalidInputError(
                    f"{self._where(row)}: {name[:-1]} {values[row]:g} is not a finite number below {MAX_VALUE:g}"
                )
        if (weights := self.comparisons.weights) is not None:
            if (row := _first(weights < 0)) is not None:
                raise InvalidInputError(f"{self._where(row)}: weight {weights[row]} is negative")
            if not weights.any():
                raise InvalidInputError("every constraint has weight 0: give at least one constraint a positive weight")
        self._check_items()

    def _check_items(self) -> None:
        """Raise InvalidInputError for an item or a pair compared with itself, and for contradictory pairs."""
        near, far = self.comparisons.near, self.comparisons.far
        if (row := _first((near[:, 0] == near[:, 1]) | (far[:, 0] == far[:, 1]))) is not None:
            pair = near[row] if near[row, 0] == near[row, 1] else far[row]
            raise InvalidInputError(f"{self._where(row)}: {self.keys[pair[0]]!r} is compared with itself")
        if self.comparisons.similar is not None:
            self._check_pairs(np.sort(near, axis=1), self.comparisons.similar)
        elif (row := _first((np.sort(near, axis=1) == np.sort(far, axis=1)).all(axis=1))) is not None:
            names = " and ".join(repr(self.keys[item]) for item in near[row])
            raise InvalidInputError(f"{self._where(row)}: the pair {names} is compared with itself")

    def _check_pairs(self, pairs: NDArray[np.int64], similar: NDArray[np.bool_]) -> None:
        codes = pairs[:, 0] * len(self.keys) + pairs[:, 1]
        if self.notions:  # a pair can be similar in one notion and dissimilar in another
            codes += len(self.keys) ** 2 * self.notion_codes
        both = np.intersect1d(codes[similar], codes[~similar])
        if len(both):
            first, second = (int(np.flatnonzero((codes == both[0]) & (similar == value))[0]) for value in (True, False))
            names = " and ".join(repr(self.keys[item]) for item in pairs[first])
            raise InvalidInputError(
                f"{names} are similar by {self._where(first)} and dissimilar by {self._where(second)}: "
                "leave one of them out"
            )

    def _where(self, row: int) -> str:
        return f"constraint {row + 1}" if self.lines is None else f"constraints, line {self.lines[row]}"

    def of(self, keys: Sequence[str]) -> AnyComparisons:
        """Return the comparisons whose items all have one of these keys; items become positions in ``keys``."""
        places = {key: place for place, key in enumerate(keys)}
        parts = tuple(part._at(places) for part in self.sets)
        return parts[0] if len(parts) == 1 else MixedComparisons(parts)

    def _at(self, places: Mapping[str, int]) -> Comparisons:
        positions = np.array([places.get(key, -1) for key in self.keys], np.int64)
        present = positions >= 0
        comparisons = self.comparisons.among(present, len(self.keys))
        return replace(comparisons, items=positions[present][comparisons.items])

    def naming(self, keys: Collection[str]) -> int:
        """Return the number of comparisons that name at least one of these keys."""
        is_named = np.array([key in keys for key in self.keys], bool)
        own = int(is_named[self.comparisons.items].any(axis=1).sum())
        return own + sum(part.naming(keys) for part in self.others)

    def to_state(self) -> dict[str, Any]:
        """Return keys and arrays by name, without ``lines``, which serve only messages about a file."""
        items = self.comparisons.items.astype(
            np.int32
        )  # half the size: with a million comparisons, this array is most of the state
        columns = {name: getattr(self.comparisons, name) for name in _COLUMNS}
        if self.notions:
            columns["notions"] = {"names": self.notions, "codes": self.notion_codes.astype(np.int32)}
        others = {"others": [part.to_state() for part in self.others]} if self.others else {}
        return {"keys": self.keys, "items": items} | columns | others

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the comparisons of a state; states of earlier versions lack notions and others."""
        columns = {name: state[name] for name in _COLUMNS}
        if notions := state.get("notions"):
            columns["notions"] = np.array(notions["names"])[notions["codes"]]
        comparisons = Comparisons(state["items"].astype(np.int64), **columns)
        others = tuple(cls.from_state(tree) for tree in state.get("others", ()))
        return cls(tuple(state["keys"]), comparisons, others=others)


def left_out(kind: str, count: int, total: int, keys: Iterable[str]) -> str:
    """Return a sentence about the comparisons left out because of keys without an item; "" if none was left out."""
    return f"{count} of {total} {kind} left out: there is no item {few(map(repr, keys))}" if count else ""


def _first(mask: Any) -> int | None:
    """Return the first true position of a mask, (n,); None if no value is true."""
    places = np.flatnonzero(mask)
    return int(places[0]) if len(places) else None
