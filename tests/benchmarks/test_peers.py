"""Learners of metric-learn run beside ours under another interpreter."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import peers

pytestmark = pytest.mark.skipif(not peers.available(), reason="metric-learn's environment is not there: make peers")


def test_a_supervised_peer_comes_back_with_its_metric_and_the_time_of_its_fit() -> None:
    """A metric that is fitted under the other interpreter is usable under ours."""
    rows, labels = load_iris(return_X_y=True)
    peer = peers.fit("LMNN", rows, {"n_neighbors": 3, "max_iter": 20}, labels=labels)
    assert peer.components.shape == (4, 4)
    assert peer.seconds > 0
    assert peer.peak_mib > 10


def test_a_peer_learns_from_tuples_of_positions() -> None:
    """Pairs name rows by position, and are similar or not."""
    rows = np.array([[0.0, 0.0], [0.1, 5.0], [3.0, 0.0], [3.1, 5.0]])
    peer = peers.fit("ITML", rows, tuples=[[0, 1], [2, 3], [0, 2], [1, 3]], similar=[1, 1, -1, -1])
    matrix = peer.components.T @ peer.components
    assert matrix[0, 0] > matrix[1, 1]


def test_what_a_peer_refuses_is_said() -> None:
    """A failure of the peer is an error here, with its reason."""
    with pytest.raises(RuntimeError, match="no settings"):
        peers.fit("LMNN", np.zeros((4, 2)), {"colour": 1}, labels=[0, 0, 1, 1])
