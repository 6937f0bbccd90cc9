"""Planted faces: a data set in the form of the real file of PubFig."""

from pathlib import Path

import numpy as np


def planted(folder: Path, n: int = 120) -> Path:
    """Four people whose two views tell them apart, in the form of the real file."""
    generator = np.random.default_rng(0)
    y = np.arange(n) % 4
    rows = generator.normal(0, 1, (n, 542)).astype(np.float32)
    rows[:, :40] += generator.normal(0, 2, (4, 40))[y]
    rows[:, 512:] += generator.normal(0, 2, (4, 30))[y]
    (folder / "pubfig_relattr").mkdir(parents=True)
    np.savez(folder / "pubfig_relattr/pubfig_relattr.npz", X=rows, y=y)
    return folder
