"""Settings of learners: the values that the annotations of their constructors allow, and groups of settings.

A number may have bounds (``Annotated[float, Between(0, 1)]``), a text is one of a ``Literal``'s, and None, lists and
unions have their usual meaning. Whole numbers are numbers too; booleans, NaN and infinity are not.

Related settings are a group: a constructor takes them as one frozen dataclass or, like ``set_params``, by the names of
its fields. A learner's class names its groups and their default values; a group of None has the default value. Field
names are unique within a learner, so that ``--set``, grids and stored states contain only settings, never groups.
"""

import inspect
import types
from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.utils import check_random_state


@dataclass(frozen=True)
class Between:
    """A number from ``least`` to ``most``; with ``above``, greater than ``least``."""

    least: float
    most: float
    above: bool = False

    def takes(self, value: Any) -> bool:
        """Return whether a number is within the bounds."""
        return bool(self.least <= value <= self.most) and not (self.above and value == self.least)

    def words(self, kind: str) -> str:
        """Return the bounds in words, for a kind of number in words."""
        least, most = _in_words(self.least), _in_words(self.most)
        return f"{kind} above {least}, up to {most}" if self.above else f"{kind} from {least} to {most}"


@dataclass(frozen=True)
class ViewNumber:
    """A view, counted from 0; users give its name."""

    def takes(self, value: Any) -> bool:
        """Return whether a whole number can be the number of a view."""
        return bool(value >= 0)

    def words(self, kind: str) -> str:
        """Return the setting in the words of users, who give the name of a view."""
        return "a view"


@dataclass(frozen=True)
class Arrays:
    """Arrays of finite numbers, in a list or by name; ``meaning`` describes them."""

    dimensions: int
    meaning: str

    def takes(self, value: Any) -> bool:
        """Return whether there is at least one array, and all are such arrays."""
        arrays = list(value.values()) if isinstance(value, Mapping) else list(value)
        return bool(arrays) and all(map(self._takes_one, arrays))

    def _takes_one(self, value: Any) -> bool:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return False
        return array.ndim == self.dimensions and bool(np.isfinite(array).all())

    def words(self, kind: str) -> str:
        """Return the meaning."""
        return self.meaning


MOST_DIMENSIONS = 65_536
"""Maximum number of dimensions of an embedding."""

Dimensions = Annotated[int, Between(1, MOST_DIMENSIONS)]
Bits = Annotated[int, Between(1, 4096)]
Count = Annotated[int, Between(1, 1_000_000)]
Steps = Annotated[int, Between(0, 1_000_000)]
PairRows = Annotated[int, Between(2, 16_384)]
"""Number of rows whose pairs are all computed; memory grows with its square."""
Weight = Annotated[float, Between(0, 1e9)]
Positive = Annotated[float, Between(0, 1e9, above=True)]
Share = Annotated[float, Between(0, 1)]
Tolerance = Annotated[float, Between(1e-12, 1)]
Seed = Annotated[int, Between(0, 2**32 - 1)] | np.random.RandomState | None
"""The ``random_state`` of scikit-learn: a seed, a generator to draw from, or None for other draws in each fit."""
OneView = Annotated[int, ViewNumber()]


def drawn_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a ``random_state`` as a seed; of a generator, or of None, a drawn one."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31))
    return random_state


class GroupedSettings(ABCMeta):
    """The type of classes whose constructors also take the fields of groups, as in ``Fantope(max_iter=50)``."""

    groups: Mapping[str, Any]

    def __call__(cls, *arguments: Any, **settings: Any) -> Any:
        """Return an instance; fields of a group replace those of the group's value."""
        flat = {name: settings.pop(name) for name in cls._fields() if name in settings}
        instance = super().__call__(*arguments, **settings)
        with suppress(ValueError):  # of a group of a wrong type, which ``fit`` reports: constructors raise no errors
            instance.set_params(**flat)
        return instance

    @property
    def __signature__(cls) -> inspect.Signature:
        """The parameters of the constructor and the fields of its groups."""
        # Without it, the signature of a class would be that of ``__call__``.
        own = inspect.signature(cls.__init__)  # type: ignore[misc]  # of the class itself, not of an instance
        parameters = list(own.parameters.values())[1:]
        kind = inspect.Parameter.KEYWORD_ONLY
        flat = [inspect.Parameter(name, kind, default=value) for name, value in cls._fields().items()]
        return own.replace(parameters=[*parameters, *flat])

    def _fields(cls) -> dict[str, Any]:
        """Return the default values of the fields of all groups by name."""
        return {name: value for group in cls.groups.values() for name, value in vars(group).items()}


def check_settings(learner: Any, names: Mapping[str, str] | None = None) -> None:
    """Check the values of an estimator's settings.

    Args:
        learner: the estimator.
        names: names for the message, of settings that users set by other names than the constructor's.

    Raises:
        ValueError: for the first value that the constructor's annotations do not allow, with its name and the allowed
            values.
    """
    # Annotations are the only statement of the bounds: documents, command line and checks read the same.
    values = learner.settings()
    for name, kind in setting_types(type(learner)).items():
        if not takes(kind, values[name]):
            bounds = takes(kind, values[name], bounds=False)  # bounds would only distract from a wrong type
            called = (names or {}).get(name, name)
            raise ValueError(f"{called} must be {words(kind, bounds)}, not {_shown(values[name])}")


def setting_types(learner: Any) -> dict[str, Any]:
    """Return the annotations of the settings of a learner's class by name, in their order."""
    hints = get_type_hints(learner.__init__, include_extras=True)
    kinds: dict[str, Any] = {}
    for name, kind in hints.items():
        if name in learner.groups:
            kinds |= get_type_hints(type(learner.groups[name]), include_extras=True)
        elif name != "return":
            kinds[name] = kind
    return kinds


def takes(kind: Any, value: Any, bounds: bool = True) -> bool:
    """Return whether a value is of a kind, such as ``int | None``; without ``bounds``, check only its type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(takes(part, value, bounds) for part in parts)
    if origin is Annotated:
        return takes(parts[0], value, bounds) and (not bounds or parts[1].takes(value))
    if origin is Literal:
        return any(isinstance(value, type(choice)) and value == choice for choice in parts)
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is Sequence:
        is_list = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
        return is_list and all(takes(parts[0], entry, bounds) for entry in value)
    return _PLAIN[kind](value) if kind in _PLAIN else isinstance(value, kind)


def words(kind: Any, bounds: bool = True) -> str:
    """Return a kind of values in words, such as "a whole number from 1 to 10 or null"."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        alternatives = [words(part, bounds) for part in parts if part in _WORDS or get_origin(part) is not None]
        *first, last = alternatives
        return f"{', '.join(first)} or {last}" if first else last
    if origin is Annotated:
        plain = isinstance(parts[1], Between) and not bounds
        return words(parts[0]) if plain else parts[1].words(words(parts[0]))
    if origin is Literal:
        return f"one of {', '.join(parts)}" if len(parts) > 1 else repr(parts[0])
    if origin is Sequence:
        return f"a list, each {words(parts[0], bounds)}"
    return _WORDS.get(kind, "a value")


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
    except OverflowError:
        return False


_PLAIN: Mapping[Any, Callable[[Any], bool]] = {
    int: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    float: _is_number,
    bool: lambda value: isinstance(value, bool | np.bool_),
    Any: lambda value: True,
}
_WORDS: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", types.NoneType: "null"}


def _in_words(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:g}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def group(learner: Any, name: str) -> Any:
    """Return the value of a learner's group.

    Raises:
        ValueError: if the value is not of the group's type.
    """
    value, usual = getattr(learner, name), learner.groups[name]
    if value is not None and not isinstance(value, type(usual)):
        raise ValueError(f"{name} must be None or a value of {type(usual).__name__}, not {value!r}")
    return usual if value is None else value


def flattened(learner: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a learner's parameters by name, with the fields of each group instead of the group."""
    flat: dict[str, Any] = {}
    for name, value in params.items():
        if name in learner.groups:
            flat |= vars(group(learner, name))
        else:
            flat[name] = value
    return flat


def grouped(learner: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return new parameters of a learner, with the fields of each group in one new value of the group.

    If the new value of the group is not of its type, its fields are left out, and ``fit`` reports the type.
    """
    merged = dict(params)
    for name, usual in learner.groups.items():
        changed = {field.name: merged.pop(field.name) for field in fields(usual) if field.name in merged}
        current = merged.get(name)
        if changed and (current is None or isinstance(current, type(usual))):
            value = replace(group(learner, name) if current is None else current, **changed)
            merged[name] = None if value == usual else value
    return merged
