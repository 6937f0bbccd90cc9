"""Models without crossview: the loops over onnxruntime, Pillow and tokenizers that a program would write itself."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import tokenizers
from numpy.typing import NDArray
from PIL import Image

Row = NDArray[np.float32]


def session(path: Path, threads: int = 1) -> Any:
    """Return a session on the processor."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


class BarePictures:
    """EfficientNet-Lite0 in its folder."""

    def __init__(self, folder: Path) -> None:
        self._session = session(folder / "model.onnx")
        config = json.loads((folder / "preprocessor_config.json").read_text(encoding="utf-8"))
        self._side, self._shortest = config["crop_size"]["height"], config["size"]["shortest_edge"]
        self._scale = np.float32(config["rescale_factor"])
        self._mean, self._std = (np.array(config[name], np.float32) for name in ("image_mean", "image_std"))

    def row(self, data: bytes) -> Row:
        """Return the row of an encoded picture, (1280,)."""
        return np.asarray(self._session.run(["embedding"], {"pixels": self.pixels(data)})[0][0])

    def pixels(self, data: bytes) -> Row:
        """Return the input of the model, (1, 3, 224, 224)."""
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        width, height = picture.size
        factor = min(width, height)
        wide, high = int(self._shortest * width / factor), int(self._shortest * height / factor)
        left, top = (wide - self._side) // 2, (high - self._side) // 2
        cut = picture.resize((wide, high), Image.Resampling.BICUBIC).crop(
            (left, top, left + self._side, top + self._side)
        )
        scaled = (np.asarray(cut, np.float32) * self._scale - self._mean) / self._std
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])


class BareSentences:
    """all-MiniLM-L6-v2 in its folder."""

    def __init__(self, folder: Path) -> None:
        self._session = session(folder / "model.onnx")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()

    def row(self, text: str) -> Row:
        """Return the row of a sentence, (384,): the mean of the vectors of its tokens."""
        encoding = self._tokenizer.encode(text)
        ids, mask = np.array([encoding.ids], np.int64), np.array([encoding.attention_mask], np.int64)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (vectors,) = self._session.run(["last_hidden_state"], inputs)
        return np.asarray((vectors[0] * mask[0][:, None]).sum(axis=0) / mask.sum(), np.float32)
