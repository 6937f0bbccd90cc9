"""EfficientNet-Lite0: its weights in a checkpoint of PyTorch, and its network as an ONNX file."""

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
PREPROCESSING = {
    "do_resize": True,
    "size": {"shortest_edge": 224},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [127 / 255] * 3,
    "image_std": [128 / 255] * 3,
}
"""As it was trained: (pixel - 127) / 128."""
_BLOCKS = 16
_HALVING = (1, 3, 5, 11)
"""Numbers of the blocks that halve the sides."""
_VARIANCE = 1e-3
"""Added to the variances of the normalisations, as in its training."""
_SIDE, _OPSET = 224, 13


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
        raise ModelError(f"the checkpoint contains {module}.{name}, and may contain only tensors")

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _, count, *_ = pid
        if not 0 <= count < self._bytes:
            raise ValueError("a tensor has more numbers than the file has bytes")
        return self.storages.setdefault(key, _Storage(kind, count))


def read_checkpoint(data: bytes) -> Tensors:
    """Return the tensors of a checkpoint by name; ModelError if it is damaged or contains anything else.

    The form is that of PyTorch before 1.6: pickles, and then the numbers. Nothing that the pickles name runs.
    """
    try:
        file = io.BytesIO(data)
        if (_Unpickler(file).load(), _Unpickler(file).load()) != (_MAGIC, _PROTOCOL):
            raise ModelError("the file is not a checkpoint of PyTorch before 1.6")
        _Unpickler(file).load()  # the system that wrote it
        described = _Unpickler(file)
        tensors = described.load()
        for key in _Unpickler(file).load():
            storage = described.storages[key].values
            count = int.from_bytes(file.read(8), "little")
            if count != len(storage):
                raise ModelError(f"the checkpoint is damaged: a tensor has {count} numbers instead of {len(storage)}")
            storage[:] = np.frombuffer(file.read(storage.nbytes), storage.dtype)
        return {name: tensor() for name, tensor in tensors.items()}
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ModelError(f"the checkpoint is damaged: {error}") from error


class _Graph:
    """A graph in the making: each method adds nodes and returns the name of the last one's output."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors, self.nodes, self.weights = tensors, list[Any](), list[Any]()
        self._bounds = self.constant("least", np.array(0.0)), self.constant("most", np.array(6.0))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convolved(self, source: str, name: str, norm: str, stride: int = 1, bounded: bool = True) -> str:
        """Add a convolution, into whose weights the normalisation after it goes; bounded: limited to 0 to 6."""
        weights = self._tensors[f"{name}.weight"]
        scale = self._tensors[f"{norm}.weight"] / np.sqrt(self._tensors[f"{norm}.running_var"] + _VARIANCE)
        shift = self._tensors[f"{norm}.bias"] - self._tensors[f"{norm}.running_mean"] * scale
        inputs = [source, self.constant(f"{name}.w", weights * scale[:, None, None, None])]
        inputs.append(self.constant(f"{name}.b", shift))
        group = len(weights) if weights.shape[1] == 1 else 1
        result = self.node(
            "Conv",
            inputs,
            f"{name}.y",
            kernel_shape=weights.shape[2:],
            strides=[stride, stride],
            group=group,
            auto_pad="SAME_UPPER",
        )
        return self.node("Clip", [result, *self._bounds], f"{name}.r") if bounded else result

    def block(self, source: str, number: int) -> str:
        """Add a block: widen, filter each channel, and narrow; its input is added where the form stays the same."""
        name, stride = f"_blocks.{number}", 2 if number in _HALVING else 1
        wide = source
        if f"{name}._expand_conv.weight" in self._tensors:
            wide = self.convolved(source, f"{name}._expand_conv", f"{name}._bn0")
        filtered = self.convolved(wide, f"{name}._depthwise_conv", f"{name}._bn1", stride)
        narrow = self.convolved(filtered, f"{name}._project_conv", f"{name}._bn2", bounded=False)
        first = f"{name}._expand_conv.weight" if wide != source else f"{name}._depthwise_conv.weight"
        width = self._tensors[first].shape[1 if wide != source else 0]
        same = stride == 1 and width == len(self._tensors[f"{name}._project_conv.weight"])
        return self.node("Add", [source, narrow], f"{name}.sum") if same else narrow


def write_lite0(tensors: Tensors, path: Path) -> None:
    """Write the graph: ``pixels`` (n, 3, 224, 224), float32, to ``embedding`` (n, 1280) and ``logits`` (n, 1000).

    The architecture: Tan and Le, ICML 2019, table 1, in the form without squeezing and with bounded activations.
    Raises ModelError if a tensor is missing.
    """
    from onnx import TensorProto, helper

    try:
        graph = _Graph(tensors)
        last = graph.convolved("pixels", "_conv_stem", "_bn0", stride=2)
        for number in range(_BLOCKS):
            last = graph.block(last, number)
        last = graph.convolved(last, "_conv_head", "_bn1")
        graph.node("GlobalAveragePool", [last], "mean")
        graph.node("Flatten", ["mean"], "embedding")
        classes = graph.constant("fc.w", tensors["_fc.weight"]), graph.constant("fc.b", tensors["_fc.bias"])
        graph.node("Gemm", ["embedding", *classes], "logits", transB=1)
        width, count = tensors["_fc.weight"].shape[1], len(tensors["_fc.bias"])
    except KeyError as error:
        raise ModelError(f"the checkpoint has no tensor {error.args[0]!r}") from error
    values = helper.make_tensor_value_info
    made = helper.make_graph(
        graph.nodes,
        "efficientnet-lite0",
        [values("pixels", TensorProto.FLOAT, ["n", 3, _SIDE, _SIDE])],
        [values("embedding", TensorProto.FLOAT, ["n", width]), values("logits", TensorProto.FLOAT, ["n", count])],
        graph.weights,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    path.write_bytes(model.SerializeToString())
