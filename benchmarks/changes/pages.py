"""Drawn pages as the benchmark needs them: described on several grids, by visual words and by their source."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.changes.designs import Block
from benchmarks.changes.history import HOURS_A_DAY, History
from benchmarks.changes.rendering import KEPT, render
from crossview.engine.findings.changes.decision import source_distances
from crossview.features.decode import decode
from crossview.features.descriptors import color_sift
from crossview.features.gist import Gist
from crossview.features.page import read_page
from crossview.features.sift import Sift
from crossview.features.words import count_words

GRIDS = (2, 4, 8, 10, 16)
DAYS_TO_LEARN = 5
TO_LEARN = DAYS_TO_LEARN * HOURS_A_DAY
"""Versions of the days that are learned from."""


@dataclass(frozen=True, eq=False)
class Page:
    """A drawn page, hour by hour.

    Attributes:
        history: what it shows, and which changes are important.
        rows: (versions, 32 g^2) GIST on a grid of g x g cells, by g.
        words: (versions, words) shares of colour-SIFT words, of a codebook of the first five days.
        structure: (versions - 1, 2) Jaccard distances of links and images of successive versions.
    """

    history: History
    rows: Mapping[int, NDArray[np.float32]]
    words: NDArray[np.float64]
    structure: NDArray[np.float64]

    def shares(self, importance: NDArray[np.float64]) -> dict[str, float]:
        """Return the importance of each kind of block; a cell is of the block that its centre lies in."""
        grid = round(len(importance) ** 0.5)
        shares: dict[str, float] = {}
        for place, weight in enumerate(importance):
            kind = _at(self.history.blocks, 100 * (place % grid + 0.5) / grid, 100 * (place // grid + 0.5) / grid)
            shares[kind] = shares.get(kind, 0.0) + float(weight)
        return shares


def page(design: str, seed: int, cache: Path) -> Page:
    """Return a page, drawn and described once; FileNotFoundError where there is no browser to draw it."""
    history = History(design, seed)
    folder = cache / "pages" / f"{design}-{seed}"
    paths = render(history, folder)
    described = folder / f"{_fingerprint(paths)}.npz"
    if not described.exists():
        _describe(paths, described)
    arrays = np.load(described)
    sources = [read_page(path.with_suffix(".html")) for path in paths]
    pairs = [source_distances(earlier, later) for earlier, later in pairwise(sources)]
    rows = {grid: arrays[f"gist{grid}"] for grid in GRIDS}
    return Page(history, rows, arrays["words"], np.array(pairs))


def gist_of(grid: int) -> Gist:
    """Return the extractor of a grid, which resizes pictures to about the size that they are kept at."""
    step = int(np.lcm(grid, 8))
    return Gist(grid=grid, size=step * round(KEPT / step))


def _describe(paths: Sequence[Path], target: Path) -> None:
    extractors = {grid: gist_of(grid) for grid in GRIDS}
    rows: dict[int, list[NDArray[np.float32]]] = {grid: [] for grid in GRIDS}
    descriptors = []
    for path in track(paths, f"Describing {target.parent.name}"):
        image = decode(path.read_bytes()).image
        for grid, extractor in extractors.items():
            rows[grid].append(extractor.row(image))
        descriptors.append(color_sift(image))
    centres = Sift().fit(descriptors[:TO_LEARN], 0).to_state()["centres"]
    counts = np.stack([count_words(descriptor, centres) for descriptor in descriptors]).astype(np.float64)
    words = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    part = target.with_suffix(".part.npz")  # an interrupted run leaves no incomplete target
    cells = {f"gist{grid}": np.stack(grid_rows) for grid, grid_rows in rows.items()}
    np.savez(part, allow_pickle=False, words=words, **cells)
    part.replace(target)


def _fingerprint(paths: Sequence[Path]) -> str:
    """Change with the pictures, and with the extractors: they show in the first one."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
    first = decode(paths[0].read_bytes()).image
    for grid in GRIDS:
        digest.update(gist_of(grid).row(first).tobytes())
    digest.update(color_sift(first).tobytes())
    return digest.hexdigest()[:16]


def _at(blocks: Sequence[Block], x: float, y: float) -> str:
    for block in blocks:
        if block.left <= x < block.left + block.width and block.top <= y < block.top + block.height:
            return block.kind
    return "nothing"
