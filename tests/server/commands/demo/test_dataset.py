from pathlib import Path

import numpy as np
import pytest

from crossview.server.commands.demo.dataset import SIZE, STYLES, draw, write_pictures


def test_pictures_are_drawn_from_their_seed(tmp_path: Path) -> None:
    """The same seed draws the same pictures, another seed others, one file per picture in the folder of its class."""
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert write_pictures(tmp_path / folder, 1, seed) == len(STYLES)
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.jpg"))
    assert [name.parent.name for name in names] == sorted(STYLES)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert (tmp_path / "a" / name).read_bytes() != (tmp_path / "c" / name).read_bytes()


@pytest.mark.parametrize("name", sorted(STYLES))
def test_every_class_varies(name: str) -> None:
    """Two pictures of a class differ, and each shows a pattern."""
    rng = np.random.default_rng(0)
    first, second = draw(name, rng), draw(name, rng)
    assert first.size == SIZE
    assert np.abs(np.asarray(first, float) - np.asarray(second, float)).mean() > 5
    assert np.asarray(first.convert("L"), float).std() > 5
