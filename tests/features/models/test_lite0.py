"""Checkpoints are read as numbers alone: whatever else they name is refused, and never runs."""

import io
import pickle
import sys
from collections import OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crossview.features.errors import ModelError
from crossview.features.models.lite0 import read_checkpoint


class Storage:
    """The numbers of a tensor, as the writer of a checkpoint knows them."""

    def __init__(self, kind: str, values: Any) -> None:
        self.kind, self.values = kind, values


class Tensor:
    """A tensor, which a checkpoint describes by a call of PyTorch."""

    def __init__(self, storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.storage, self.shape, self.strides, self.offset = storage, shape, strides, offset

    def __reduce__(self) -> Any:
        arguments = self.storage, self.offset, self.shape, self.strides, False, OrderedDict()
        return vars(sys.modules["torch._utils"])["_rebuild_tensor_v2"], arguments


class Writer(pickle.Pickler):
    """Writes storages by their names."""

    count: int | None = None
    """The stated number of numbers; None: the true one."""

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, Storage):
            return None
        kind = getattr(sys.modules["torch"], obj.kind)
        return "storage", kind, str(id(obj)), "cpu", len(obj.values) if self.count is None else self.count, None


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of PyTorch that a checkpoint has, as far as a writer needs them."""
    torch, utils = ModuleType("torch"), ModuleType("torch._utils")
    for name in ("FloatStorage", "LongStorage", "HalfStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch", "__qualname__": name}))

    def _rebuild_tensor_v2() -> None: ...

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    vars(utils)["_rebuild_tensor_v2"] = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def written(tensors: Any, storages: list[Storage], magic: int = 0x1950A86A20F9469CFC6C) -> bytes:
    file = io.BytesIO()
    for value in (magic, 1001, {"little_endian": True}):
        pickle.dump(value, file, protocol=2)
    Writer(file, protocol=2).dump(tensors)
    pickle.dump([str(id(storage)) for storage in storages], file, protocol=2)
    for storage in storages:
        file.write(len(storage.values).to_bytes(8, "little") + storage.values.tobytes())
    return file.getvalue()


@pytest.mark.usefixtures("torch")
def test_tensors_have_their_numbers() -> None:
    """Also transposed ones, parts of a storage, and numbers without dimensions."""
    floats = Storage("FloatStorage", np.arange(6, dtype="<f4"))
    count = Storage("LongStorage", np.array([7], "<i8"))
    tensors = OrderedDict(
        whole=Tensor(floats, (2, 3), (3, 1)),
        turned=Tensor(floats, (3, 2), (1, 3)),
        part=Tensor(floats, (2,), (1,), offset=4),
        count=Tensor(count, (), ()),
    )
    read = read_checkpoint(written(tensors, [floats, count]))
    whole = np.arange(6).reshape(2, 3)
    assert {name: values.tolist() for name, values in read.items()} == {
        "whole": whole.tolist(),
        "turned": whole.T.tolist(),
        "part": [4, 5],
        "count": 7,
    }


class Attack:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("attacked"),)


@pytest.mark.usefixtures("torch")
def test_code_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names beside those of tensors are refused, and so are numbers of a kind that is not known."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="may contain only tensors"):
        read_checkpoint(written(Attack(), []))
    assert not (tmp_path / "attacked").exists()
    half = Storage("HalfStorage", np.zeros(2, "<f2"))
    with pytest.raises(ModelError, match=r"torch.HalfStorage, and may contain only tensors"):
        read_checkpoint(written({"a": Tensor(half, (2,), (1,))}, [half]))


@pytest.mark.usefixtures("torch")
def test_damaged_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut anywhere, of another format, or with tensors beyond their numbers."""
    floats = Storage("FloatStorage", np.arange(6, dtype="<f4"))
    data = written({"a": Tensor(floats, (2, 3), (3, 1))}, [floats])
    for length in (0, 10, 60, len(data) // 2, len(data) - 1):
        with pytest.raises(ModelError, match="damaged"):
            read_checkpoint(data[:length])
    with pytest.raises(ModelError, match=r"not a checkpoint of PyTorch before 1\.6"):
        read_checkpoint(written({}, [], magic=1))
    for shape, strides, offset in (((9,), (1,), 0), ((2, 3), (1 << 40, 1), 0), ((6,), (1,), 3), ((6,), (1,), -1)):
        beyond = {"a": Tensor(floats, shape, strides, offset)}
        with pytest.raises(ModelError, match="damaged"):
            read_checkpoint(written(beyond, [floats]))
    for count in (-1, 5, 1 << 60):
        monkeypatch.setattr(Writer, "count", count)
        with pytest.raises(ModelError, match="damaged"):
            read_checkpoint(written({"a": Tensor(floats, (2,), (1,))}, [floats]))
