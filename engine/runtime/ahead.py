"""Values made ahead: a thread makes the next value while the caller works with the last one."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

Value = TypeVar("Value")

_END: Any = object()


def ahead(values: Iterable[Value]) -> Iterator[Value]:
    """Yield values in order; a thread makes the next one while the caller works, for example waits for the disk.

    The thread sees the context variables of the caller, so that cancellation reaches it. The error of a value is raised
    in its place. A caller that stops waits for at most one value.
    """
    iterator, context = iter(values), copy_context()

    def following() -> Value:
        return context.run(next, iterator, _END)

    with ThreadPoolExecutor(1, "ahead") as pool:
        coming = pool.submit(following)
        while (value := coming.result()) is not _END:
            coming = pool.submit(following)
            yield value
