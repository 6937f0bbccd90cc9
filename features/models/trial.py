"""A first run of a model, in a process with limits of time and memory: the lengths of its rows, and its speed."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crossview.features.base import FeatureRows, Input
from crossview.features.errors import ModelError
from crossview.features.image import Image
from crossview.features.models.device import Device
from crossview.features.models.manifest import MOST_DIM, Manifest, installed, not_installed
from crossview.features.models.session import open_session, row_of_picture, row_of_text
from crossview.features.models.tokens import Tokenizer

SECONDS, MEMORY_BYTES = 120.0, 6 << 30
"""Maximum time and memory of a first run."""
TEXTS = ("a dog in the snow", "a red flower")
_SIDES = (300, 200)
_PROGRAM = "import sys; from crossview.features.models.trial import main; main(*sys.argv[1:])"
_LOOK_SECONDS = 0.1
_TIMED = 3
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Trial(NamedTuple):
    """The result of a first run of a tower."""

    dim: int
    """Length of a row."""
    norms: tuple[float, float]
    """Lengths (Euclidean) of the rows of two inputs."""
    cosine: float
    """Cosine of the angle between these rows."""
    milliseconds: float
    """Time for one input, on one core or on the device."""
    class_count: int = 0
    """Number of classes; 0 without classes."""
    memory_bytes: int = 0
    """Growth of the process's address space by this tower and those before it; 0 except on Linux."""


def try_model(folder: Path, manifest: Manifest, device: Device = "cpu") -> dict[Input, Trial]:
    """Return what the towers of a model in a folder do with two pictures and two texts.

    A home stores the results of a processor, which every machine has. Raises ModelError for a model that fails, takes
    too much time or memory, or has different rows for equal inputs, and without onnxruntime or the library of the
    tokenizers.
    """
    check_installed(manifest)
    with tempfile.TemporaryFile() as errors:
        command = [sys.executable, "-P", "-c", _PROGRAM, str(folder), json.dumps(manifest.to_json()), device]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        )
        try:
            _watch(process)
            printed = process.stdout.read() if process.stdout is not None else ""
        finally:
            process.kill()
            process.communicate()
        if process.returncode:
            errors.seek(0)
            raise ModelError(
                "running the model ended its process", detail=errors.read()[-2_000:].decode(errors="replace")
            )
    answer = json.loads(printed)
    if "error" in answer:
        raise ModelError(answer["error"])
    return {kind: Trial(**{**tree, "norms": tuple(tree["norms"])}) for kind, tree in answer.items()}


def check_installed(manifest: Manifest) -> None:
    """Raise ModelError if a library that the model needs is not installed, without loading it."""
    needed = ["onnxruntime", *(["tokenizers"] if "text" in manifest.towers else [])]
    if not all(installed(library) for library in needed):
        raise not_installed()


def _watch(process: "subprocess.Popen[str]") -> None:
    """Wait for the end of a process; ModelError if it takes too much time or memory."""
    until = time.monotonic() + SECONDS
    while process.poll() is None:
        if time.monotonic() > until:
            raise ModelError(f"a first run of the model takes more than {SECONDS:g} seconds")
        if _resident(process.pid) > MEMORY_BYTES:
            raise ModelError(f"a first run of the model takes more than {MEMORY_BYTES >> 30} GB of memory")
        time.sleep(_LOOK_SECONDS)


def _resident(pid: int) -> int:
    """Return the bytes of a process in memory; 0 if it has ended, or where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


def main(folder: str, manifest: str, device: Device) -> None:
    """Run a model on a device and print what its towers did, or the error, as JSON."""
    # The process also ends by itself, because the process that watches it may be killed.
    resource.setrlimit(resource.RLIMIT_CPU, (round(SECONDS), round(SECONDS)))
    try:
        trials = _run(Path(folder), Manifest.from_json(json.loads(manifest)), device)
        print(json.dumps({kind: trial._asdict() for kind, trial in trials.items()}))
    except ModelError as error:
        print(json.dumps({"error": error.message}))


def _run(folder: Path, manifest: Manifest, device: Device) -> dict[Input, Trial]:
    trials: dict[Input, Trial] = {}
    before = _address_space("VmSize")
    for kind, tower in manifest.towers.items():
        session = open_session((folder / tower.file).read_bytes(), device=device)
        if kind == "image":
            trials[kind] = _measured(partial(row_of_picture, session, tower), _pictures())
            if manifest.logits:
                classes = len((folder / manifest.classes).read_text(encoding="utf-8", errors="replace").splitlines())
                logits = len(row_of_picture(session, tower, _pictures()[0], manifest.logits))
                if classes != logits:
                    raise ModelError(f"the model has {logits:,} classes, and its list names {classes:,}")
                trials[kind] = trials[kind]._replace(class_count=classes)
        elif tower.tokens is not None:
            words = Tokenizer((folder / tower.tokens.file).read_bytes(), tower.tokens)
            trials[kind] = _measured(partial(row_of_text, session, tower, words), TEXTS)
        trials[kind] = trials[kind]._replace(memory_bytes=max(0, _address_space("VmPeak") - before))
    return trials


def _address_space(kind: str) -> int:
    """Return the bytes of this process's address space, now (VmSize) or at most so far (VmPeak); 0 except on Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii", errors="replace").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(f"{kind}:")), 0)


def _pictures() -> list[Image]:
    noise = np.random.default_rng(0).integers(0, 256, (*_SIDES, 3), np.uint8)
    return [noise, np.full((*_SIDES, 3), 127, np.uint8)]


def _measured(row_of: Callable[[Any], FeatureRows], samples: Sequence[Any]) -> Trial:
    """Return what a tower did with two inputs."""
    first, second = map(row_of, samples)
    if first.ndim != 1 or first.shape != second.shape or not 0 < len(first) <= MOST_DIM:
        raise ModelError(f"the rows of the model have the shapes {first.shape} and {second.shape}, not one length")
    began = time.monotonic()
    again = [row_of(samples[0]) for _ in range(_TIMED)]
    seconds = (time.monotonic() - began) / _TIMED
    if not all(np.allclose(first, row, rtol=1e-4, atol=1e-5) for row in again):
        raise ModelError("the model returns different rows for equal inputs")
    norms = float(np.linalg.norm(first)), float(np.linalg.norm(second))
    cosine = float(first @ second / max(1e-12, norms[0] * norms[1]))
    return Trial(len(first), norms, cosine, 1_000 * seconds)


def with_dims(manifest: Manifest, trials: Mapping[Input, Trial]) -> Manifest:
    """Return the manifest with what the first run found; ModelError if rows of one space have several lengths."""
    towers = {kind: replace(tower, dim=trials[kind].dim) for kind, tower in manifest.towers.items()}
    if manifest.shared and len({tower.dim for tower in towers.values()}) > 1:
        dims = " and ".join(str(tower.dim) for tower in towers.values())
        raise ModelError(f"the towers have rows of {dims} numbers, so not one space: register them as two models")
    return replace(
        manifest,
        towers=towers,
        class_count=max(trial.class_count for trial in trials.values()),
        memory_bytes=max(trial.memory_bytes for trial in trials.values()),
    )
