"""Checkpoints of PyTorch before its version 1.6: tensors by name, read without running what the file says."""

import io
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from crossview.features.errors import ModelError

Tensors = dict[str, NDArray[Any]]
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_STORAGES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class _Storage:
    """The numbers of a tensor, which follow the pickles in the file."""

    def __init__(self, kind: str, count: int) -> None:
        self.values: NDArray[Any] = np.empty(count, _STORAGES[kind])


def _tensor(storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> Any:
    """Stand in for the function by which PyTorch makes a tensor; the numbers come later."""
    last = offset + sum((side - 1) * stride for side, stride in zip(shape, strides, strict=True))
    if min(offset, *shape, *strides, 1) < 0 or (0 not in shape and last >= len(storage.values)):
        raise ValueError("a tensor lies outside its numbers")
    width = storage.values.itemsize
    return lambda: as_strided(storage.values[offset:], shape, [width * each for each in strides], writeable=False)


class _Unpickler(pickle.Unpickler):
    """Makes tensors and mappings alone: any other name in the file is refused."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}
        self._bytes = file.getbuffer().nbytes

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return name
        raise ModelError(f"the checkpoint names {module}.{name}, which is no tensor")

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _, count, *_ = pid
        if not 0 <= count < self._bytes:
            raise ValueError("a tensor has more numbers than the file has bytes")
        return self.storages.setdefault(key, _Storage(kind, count))


def read_checkpoint(path: Path) -> Tensors:
    """Return the tensors of a checkpoint by name; ModelError if it is damaged or contains anything else."""
    try:
        file = io.BytesIO(path.read_bytes())
        if (_Unpickler(file).load(), _Unpickler(file).load()) != (_MAGIC, _PROTOCOL):
            raise ModelError(f"{path.name} is no checkpoint of PyTorch before 1.6")
        _Unpickler(file).load()  # the system that wrote it
        described = _Unpickler(file)
        tensors = described.load()
        for key in _Unpickler(file).load():
            storage = described.storages[key].values
            count = int.from_bytes(file.read(8), "little")
            if count != len(storage):
                raise ModelError(f"{path.name} is damaged: a tensor has {count} numbers instead of {len(storage)}")
            storage[:] = np.frombuffer(file.read(storage.nbytes), storage.dtype)
        return {name: tensor() for name, tensor in tensors.items()}
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelError(f"{path.name} is a damaged checkpoint: {error}") from error
