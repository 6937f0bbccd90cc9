"""The hashers that only the hashing benchmark has: SCRATCH, random codes of classes, ITQ to many bits."""

import numpy as np
import pytest

from benchmarks.hashing.class_codes import ClassCodes
from benchmarks.hashing.scratch import MatrixFactorizationHashing


def views(count=90):
    """Return three classes in two views."""
    generator, labels = np.random.default_rng(0), np.arange(count) % 3
    rows = [generator.normal(size=(3, width))[labels] + 0.1 * generator.normal(size=(count, width)) for width in (5, 4)]
    return rows, labels


@pytest.mark.parametrize("learner", [MatrixFactorizationHashing(32, random_state=0), ClassCodes(32, random_state=0)])
def test_rows_meet_the_codes_that_were_learned_from_labels(learner):
    """The nearest learned code to the code of a row, in either view, is that of an item of its class."""
    rows, labels = views()
    learner.fit([x[:60] for x in rows], labels[:60])
    stored = learner.codes_of_classes(labels[:60]) if isinstance(learner, ClassCodes) else learner.codes_
    assert stored.shape == (60, 32)
    for view in (0, 1):
        asked = learner.transform(rows[view][60:], view=view)
        nearest = (asked[:, None] != stored[None]).sum(axis=2).argmin(axis=1)
        assert np.mean(labels[:60][nearest] == labels[60:]) > 0.95


def test_scratch_lowers_its_objective():
    """More turns leave less of the labels and of the rows unexplained by the codes."""
    rows, labels = views()
    members = np.eye(3)[labels]

    def unexplained(turns):
        learner = MatrixFactorizationHashing(16, max_iter=turns, random_state=0).fit(rows, labels)
        codes = 2 * learner.codes_ - 1
        wanted = np.hstack([members, *(x - x.mean(axis=0) for x in rows)])
        return np.square(wanted - codes @ np.linalg.lstsq(codes, wanted, rcond=None)[0]).sum()

    assert unexplained(20) < 0.5 * unexplained(1)
