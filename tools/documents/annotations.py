"""Annotations of types as a reader would write them: Sphinx shows them evaluated, with all their parts."""

import functools
import inspect
import operator
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike


def shorten(value: Any, names: dict[str, Any]) -> None:
    """Shorten the annotations of a function, or of a class, its bases and their methods, in this process.

    ``names`` are those that only type checkers import.
    """
    classes = (
        [base for base in value.__mro__ if base.__module__.startswith("crossview.")] if inspect.isclass(value) else ()
    )
    functions = [function for cls in classes for attribute in vars(cls).values() for function in _functions(attribute)]
    for owner in (*classes, *functions) or (value,):
        own = vars(owner).get("__annotations__") if inspect.isclass(owner) else getattr(owner, "__annotations__", None)
        if own:
            owner.__annotations__ = {name: short(hint) for name, hint in _evaluated(owner, own, names).items()}


def short(hint: Any) -> Any:
    """Return an annotation with arrays by the names of ``numpy.typing``, and without the limits of settings."""
    if hint == ArrayLike:
        return _named("ArrayLike")
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return short(parts[0])
    if origin is np.ndarray:
        kinds = get_args(parts[1])
        return _named(f"NDArray[{getattr(kinds[0], '__name__', 'Any') if kinds else 'Any'}]")
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(operator.or_, map(short, parts))
    if origin is None or origin is typing.Literal or not parts:
        return hint
    return _rebuilt(hint, parts)


def _rebuilt(hint: Any, parts: tuple[Any, ...]) -> Any:
    """Return a generic type with short parts."""
    if isinstance(parts[0], list):
        return typing.Callable[[short(part) for part in parts[0]], short(parts[1])]
    shortened = tuple(map(short, parts))
    return hint.copy_with(shortened) if hasattr(hint, "copy_with") else get_origin(hint)[shortened]


@functools.cache
def _named(name: str) -> type:
    """Return a class of which Sphinx shows only the name."""
    return type(name, (), {"__module__": "builtins"})


def _functions(value: Any) -> Iterator[Any]:
    """Yield the functions of an attribute of a class."""
    inner = getattr(value, "__func__", getattr(value, "func", getattr(value, "fget", value)))
    if inspect.isfunction(inner):
        yield inner


def _evaluated(owner: Any, own: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return the own annotations of a function or a class, evaluated if all of their names are known."""
    try:
        hints = typing.get_type_hints(owner, localns=names, include_extras=True)
    except (NameError, TypeError):
        return own
    return {name: hints.get(name, hint) for name, hint in own.items()}
