"""The demo of attributes draws its pictures, and its searches find more or less of them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crossview.engine.catalog.ingest.orderings_file import read_orderings
from crossview.server.client.client import Client
from crossview.server.commands.demo.attributes import (
    ATTRIBUTES,
    CLASSES,
    run_attributes,
    write_moods,
    write_orderings,
)


def test_pictures_are_as_light_as_their_class(tmp_path: Path) -> None:
    assert write_moods(tmp_path, 2, seed=0) == 2 * len(CLASSES) == len(list(tmp_path.rglob("*.jpg")))
    light = {name: np.asarray(Image.open(tmp_path / name / f"{name}-00.jpg"), float).max(2).mean() for name in CLASSES}
    assert max(light, key=light.__getitem__) in ("snow", "sand")
    assert min(light, key=light.__getitem__) in ("night", "dusk")


def test_the_orderings_are_those_of_the_classes(tmp_path: Path) -> None:
    orderings = read_orderings(write_orderings(tmp_path / "orderings.txt"))
    assert orderings.names == ATTRIBUTES
    assert orderings.levels == CLASSES


@pytest.mark.long
def test_more_of_an_attribute_finds_classes_that_have_more(tmp_path: Path) -> None:
    """This holds over gRPC; with all others held, these change less."""
    lines: list[str] = []
    run_attributes(tmp_path, tmp_path / "sheet.png", lines.append, Client)
    changes = {}
    for line in lines:
        if line.startswith("  --more"):
            flags, _, levels = line.strip().partition(": ")
            changes[flags] = np.array([float(one.split()[1]) for one in levels.split(", ")])
    for at, attribute in enumerate(ATTRIBUTES):
        free, held = changes[f"--more {attribute}"], changes[f"--more {attribute} --hold all"]
        others = np.arange(len(ATTRIBUTES)) != at
        assert free[at] > 0.5
        assert held[at] > 0.3
        assert np.abs(held[others]).sum() < np.abs(free[others]).sum()
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 1000
