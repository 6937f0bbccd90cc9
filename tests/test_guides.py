"""The examples of guides that say so run as they stand."""

from pathlib import Path

import pytest
from test_readme import blocks, run


@pytest.mark.slow
def test_same_or_different(tmp_path: Path) -> None:
    """On drawn pictures: a threshold, two that are the same, and figures of pairs that did not set it."""
    (guide,) = blocks("docs/guides/same-or-different.md", "sh")
    output = run(["bash", "-euc", guide], tmp_path)
    assert "calibrated on 20 similar and 20 dissimilar stated pairs" in output
    assert "\nsame: distance" in output
    assert "of 40 pairs are the same" in output
    assert "true_accept_rate_0.01" in output
    assert "accuracy is that at its threshold" in output
