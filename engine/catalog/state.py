"""Fitted state as bytes: a tree of JSON values and NumPy arrays, without pickle.

The form is an uncompressed ``.npz``: the member ``tree`` is the JSON text, in which ``{"__array__": i}`` stands for
the member ``i``. Earlier versions wrote a list of arrays as ``{"@arrays": {"0": ..., "1": ...}}``.
"""

import io
import json
import zipfile
from typing import Any

import numpy as np

_ARRAY = "__array__"
_EARLIER_LIST = "@arrays"
_DAMAGED = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    EOFError,
    OSError,
    RuntimeError,
    MemoryError,
)
"""Errors of NumPy, zipfile and json for bytes that ``pack`` did not make."""


def pack(tree: Any) -> bytes:
    """Return the bytes of a tree of dicts with string keys, lists, tuples (read back as lists), scalars and arrays.

    Arrays of objects become arrays of text. Raises TypeError for anything else, such as a random generator.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    text = json.dumps(_replace(tree, arrays), allow_nan=False)
    buffer = io.BytesIO()
    members = {str(number): array for number, array in enumerate(arrays)}
    np.savez(buffer, allow_pickle=False, tree=np.frombuffer(text.encode(), np.uint8), **members)
    return buffer.getvalue()


def unpack(data: bytes) -> Any:
    """Return the tree that ``pack`` packed; ValueError if the bytes are damaged, or would expand to many more."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            if sum(member.file_size for member in archive.zip.infolist()) > len(data):
                raise ValueError("its arrays are larger than the file")
            members = _Members(archive)
            return _restore(json.loads(members["tree"].tobytes()), members)
    except (*_DAMAGED, zipfile.BadZipFile) as error:
        raise ValueError(f"damaged state: {error}") from error


class _Members(dict[str, np.ndarray[Any, Any]]):
    """The arrays of an archive by name, each read once, however often the tree names it."""

    def __init__(self, archive: Any) -> None:
        super().__init__()
        self._archive = archive

    def __missing__(self, name: str) -> np.ndarray[Any, Any]:
        array = self._archive[name]
        if not isinstance(array, np.ndarray) or (array.size and not array.itemsize):
            raise ValueError(f"{name} is not an array")
        self[name] = array
        return array


def _replace(node: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    match node:
        case np.ndarray():
            if node.dtype.hasobject and not all(isinstance(item, str | int | float) for item in node.flat):
                raise TypeError("an array of objects other than texts and numbers cannot be stored")
            arrays.append(node.astype(str) if node.dtype.hasobject else node)
            return {_ARRAY: len(arrays) - 1}
        case dict():
            if not all(isinstance(key, str) and key not in (_ARRAY, _EARLIER_LIST) for key in node):
                raise TypeError(f"keys must be strings: {list(node)}")
            return {key: _replace(value, arrays) for key, value in node.items()}
        case list() | tuple():
            return [_replace(value, arrays) for value in node]
        case np.generic():
            return node.item()
        case None | bool() | int() | float() | str():
            return node
    raise TypeError(f"cannot store a {type(node).__name__}: give plain values or arrays")


def _restore(node: Any, members: Any) -> Any:
    if isinstance(node, dict):
        if _ARRAY in node:
            return members[str(node[_ARRAY])]
        if _EARLIER_LIST in node:
            items = node[_EARLIER_LIST]
            return [_restore(items[str(number)], members) for number in range(len(items))]
        return {key: _restore(value, members) for key, value in node.items()}
    if isinstance(node, list):
        return [_restore(value, members) for value in node]
    return node
