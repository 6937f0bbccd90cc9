"""The manifest of a model: its towers, and how pictures and texts become their inputs."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

from crossview.features.base import Input
from crossview.features.errors import ModelError
from crossview.features.extras import lacking

Pooling = Literal["none", "first", "mean"]
POOLINGS: tuple[Pooling, ...] = ("none", "first", "mean")
MOST_TOKENS = 100_000
"""Maximum number of tokens of a text; files of tokenizers state a far larger one for "any"."""
_MOST_SIDE, _COLORS, _MOST_MEMORY = 4_096, 3, 1 << 40
MOST_DIM = 65_536
"""Maximum length of a row."""
RESAMPLINGS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""Names of the filters, in the order of their numbers in image processors, which are Pillow's."""


@dataclass(frozen=True)
class Pixels:
    """How a picture becomes the input of a tower, as image processors do.

    A picture is resized with antialiasing, cut from its centre, and scaled: ``(value * scale - mean) / std`` for each
    of red, green and blue.
    """

    height: int
    width: int
    """The size of the input."""
    shortest: int = 0
    """Length of the shorter side after resizing; 0 resizes to ``height`` and ``width``, in any proportions."""
    resampling: str = "bicubic"
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        """Check the values; ValueError names a wrong one."""
        if not (0 < self.height <= _MOST_SIDE and 0 < self.width <= _MOST_SIDE and 0 <= self.shortest <= _MOST_SIDE):
            raise ValueError(f"the sides of a picture are 1 to {_MOST_SIDE:,} pixels")
        if self.resampling not in RESAMPLINGS:
            raise ValueError(f"resampling is one of {', '.join(RESAMPLINGS)}, not {self.resampling!r}")
        if len(self.mean) != _COLORS or len(self.std) != _COLORS or not all(self.std):
            raise ValueError("mean and std have a number for each of red, green and blue, and std no 0")
        if not all(map(math.isfinite, (self.scale, *self.mean, *self.std))):
            raise ValueError("scale, mean and std are finite numbers")


@dataclass(frozen=True)
class Tokens:
    """How a text becomes the inputs of a tower."""

    file: str
    """The file of the tokenizer."""
    longest: int
    """Maximum number of tokens; the end of a longer text is cut off."""
    padded: int = 0
    """Number of tokens that shorter texts are filled up to; 0 for none."""
    padding: int = 0
    """The token that fills up."""

    def __post_init__(self) -> None:
        """Check the values; ValueError names a wrong one."""
        if not (0 < self.longest <= MOST_TOKENS and 0 <= self.padded <= self.longest):
            raise ValueError(f"longest is 1 to {MOST_TOKENS:,} tokens, and padded at most that")


@dataclass(frozen=True)
class Tower:
    """A graph that makes a row of a picture or of a text."""

    file: str
    """The ONNX file."""
    inputs: Mapping[str, str]
    """Names of the graph's inputs by role: ``pixels``, or ``ids`` and perhaps ``mask`` and ``types``."""
    output: str
    pooling: Pooling
    """The row of an output with a vector for each token: the ``first``, or the ``mean``; ``none`` for one with rows."""
    dim: int
    """Length of a row."""
    pixels: Pixels | None = None
    tokens: Tokens | None = None

    def __post_init__(self) -> None:
        """Check the length of a row; ValueError."""
        if not 0 <= self.dim <= MOST_DIM:
            raise ValueError(f"a row has at most {MOST_DIM:,} values, not {self.dim:,}")


@dataclass(frozen=True)
class Manifest:
    """A model of one tower, or of two, for pictures and for texts."""

    towers: Mapping[Input, Tower]
    shared: bool = False
    """Whether both towers have one space, so that texts find pictures."""
    licence: str = ""
    """The name of the licence, or its first line; empty if the folder states none."""
    classes: str = ""
    """The file that names the classes of the picture tower's ``logits``, a line each; empty without classes."""
    logits: str = ""
    """The output of the picture tower with the logits of the classes; empty without."""
    class_count: int = 0
    """Number of classes."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file, hexadecimal, by name."""
    memory_bytes: int = 0
    """Address space that its first run took on a processor; 0 if unknown."""

    def __post_init__(self) -> None:
        """Check what the digest does not contain; ValueError."""
        if not isinstance(self.memory_bytes, int) or not 0 <= self.memory_bytes <= _MOST_MEMORY:
            raise ValueError(f"the memory of a model is up to {_MOST_MEMORY:,} bytes, not {self.memory_bytes!r}")
        if not isinstance(self.licence, str):
            raise ValueError(f"the licence is a text, not {self.licence!r}")

    def located(self) -> "Manifest":
        """Return the manifest with the names under which a home keeps the files: the SHA-256 of each."""
        towers = dict[Input, Tower]()
        for kind, tower in self.towers.items():
            tokens = None if tower.tokens is None else replace(tower.tokens, file=self.files[tower.tokens.file])
            towers[kind] = replace(tower, file=self.files[tower.file], tokens=tokens)
        return replace(self, towers=towers, classes=self.files.get(self.classes, ""))

    def digest(self) -> str:
        """Return the SHA-256, hexadecimal, of what rows depend on: the towers, and the content of their files.

        The licence, the names of the files and the memory, which varies between runs, do not count, so that a folder
        with a new licence or another layout is the same model. Fields with their default do not count either: a field
        that a later version adds changes no digest.
        """
        rows = replace(self.located(), licence="", files={}, memory_bytes=0)
        return hashlib.sha256(json.dumps(_stated(rows), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Manifest":
        """Return the manifest of ``to_json``; ModelError for other values."""
        try:
            towers = {kind: _tower(tower) for kind, tower in value["towers"].items()}
            return cls(**{**value, "towers": towers})
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ModelError(f"the manifest of the model is damaged: {error}") from error


def installed(library: str) -> bool:
    """Return whether a library can be imported."""
    try:
        return find_spec(library) is not None
    except ImportError:
        return False


def not_installed() -> ModelError:
    """Return the error of a program without the libraries that run models."""
    return lacking(ModelError, "models need onnxruntime and tokenizers", "onnx")


def _tower(value: Mapping[str, Any]) -> Tower:
    pixels, tokens = value.get("pixels"), value.get("tokens")
    own: dict[str, Any] = {name: tuple(raw) if isinstance(raw, list) else raw for name, raw in (pixels or {}).items()}
    return Tower(
        **{**value, "pixels": Pixels(**own) if pixels else None, "tokens": Tokens(**tokens) if tokens else None}
    )


def _stated(value: Any) -> Any:
    """Return a value as JSON values, without the fields that have their default."""
    if is_dataclass(value):
        values = {
            part.name: getattr(value, part.name) for part in fields(value) if getattr(value, part.name) != part.default
        }
        return {name: _stated(part) for name, part in values.items()}
    if isinstance(value, Mapping):
        return {name: _stated(part) for name, part in value.items()}
    return value
