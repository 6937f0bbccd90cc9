"""metric-learn beside ours: it needs an older scikit-learn, so it runs under an interpreter of its own."""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

PYTHON = Path(__file__).resolve().parents[2] / ".venv-peers" / "bin" / "python"
_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A metric that metric-learn fitted.

    Attributes:
        components: (r, d) float64, L of the metric L^T L.
        seconds: wall time of its ``fit`` alone, without imports and files.
        iterations: how many it took, where it reports them.
        peak_mib: peak memory of the process, data and imports included.
        warnings: what it warned of, such as an end before convergence.
    """

    components: NDArray[np.float64]
    seconds: float
    iterations: int | None
    peak_mib: float
    warnings: tuple[str, ...]


def available() -> bool:
    """Return whether the peers' environment has been made."""
    return PYTHON.exists()


def fit(
    learner: str,
    rows: ArrayLike,
    settings: Mapping[str, Any] | None = None,
    *,
    labels: ArrayLike | None = None,
    tuples: ArrayLike | None = None,
    similar: ArrayLike | None = None,
    timeout: float | None = None,
) -> Peer:
    """Fit one of metric-learn's learners, by its class: "LMNN", "NCA", "ITML" or "LSML".

    Args:
        learner: the class.
        rows: (n, d).
        settings: arguments of its constructor, JSON values.
        labels: (n,) classes, for learners that are supervised.
        tuples: (m, t) positions of rows, for the others.
        similar: (m,) 1 or -1, for those that learn from pairs.
        timeout: most seconds; None: no limit.

    Raises:
        FileNotFoundError: if the peers' environment has not been made; the message has the remedy.
        RuntimeError: if the fit failed, with the last line that metric-learn wrote.
        subprocess.TimeoutExpired: if it took longer than it may.
    """
    if not available():
        raise FileNotFoundError("metric-learn's environment is missing; make it with: make peers")
    values = {"rows": rows, "labels": labels, "tuples": tuples, "similar": similar}
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = Path(folder, "in.npz"), Path(folder, "out.npz")
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in values.items() if value is not None}
        np.savez(inputs, **arrays)
        command = [str(PYTHON), str(_WORKER), learner, json.dumps(dict(settings or {})), str(inputs), str(outputs)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode:
            raise RuntimeError(f"metric-learn's {learner} failed: {done.stderr.strip().splitlines()[-1:]}")
        with np.load(outputs) as archive:
            components = np.asarray(archive["components"], dtype=np.float64)
    report = json.loads(done.stdout)
    return Peer(**{**report, "components": components, "warnings": tuple(report["warnings"])})
