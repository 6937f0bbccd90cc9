"""Attributes that a chain shares with its last step, because its embeddings are those of the last step."""

from typing import Any, Generic, TypeVar, cast

Value = TypeVar("Value")


class OfLastStep(Generic[Value]):
    """A descriptor for a class with ``steps``: an attribute or a method is the one of the last step.

    It reads the step each time, because a step learns the value in ``fit``, and settings can replace the steps. A chain
    without steps, and the class itself, have what the class inherits.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner
        self._name = name

    def __get__(self, chain: Any, kind: type) -> Value:
        if chain is not None and chain.steps:
            return cast(Value, getattr(chain.steps[-1], self._name))
        inherited = super(self._owner, kind if chain is None else chain)
        return cast(Value, getattr(inherited, self._name))
