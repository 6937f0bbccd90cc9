"""The benchmark of more or less: orderings are the paper's, queries unseen, and every figure is written."""

import json
from dataclasses import dataclass

import numpy as np

from benchmarks.more_less import benchmark as more_less
from benchmarks.more_less.orderings import ATTRIBUTES, ranks_of, ranks_of_classes


@dataclass(frozen=True)
class Scenes:
    """Stand for photographs: 35 of each class, whose rows show the ranks in every attribute."""

    @property
    def labels(self):
        return np.repeat(sorted(ranks_of_classes()), 35)

    @property
    def gist(self):
        ranks = ranks_of(self.labels.tolist())
        rows = np.random.default_rng(0).uniform(0, 0.2, (len(ranks), 512))
        rows[:, : len(ATTRIBUTES)] += ranks
        return rows.astype(np.float32)


def test_classes_are_ranked_from_0_and_equal_ones_share_a_rank():
    ranks = ranks_of_classes()
    assert len(ranks) == 8
    assert ranks["tallbuilding"] == [0, 0, 6, 5, 6, 3]
    assert ranks["insidecity"][0] == ranks["street"][0] == 1
    assert [max(column) for column in zip(*ranks.values(), strict=True)] == [3, 4, 6, 5, 6, 3]


def test_figures_of_both_directions_and_times_are_written(tmp_path, monkeypatch):
    """Scenes whose rows show the ranks get more, and less, of nearly all attributes."""
    monkeypatch.setattr(more_less, "photographs", lambda data, cache: Scenes())
    out = tmp_path / "out.json"
    arguments = ["--data", tmp_path, "--json", out, "--trials", 1, "--workers", 1, "--queries", 16, "--items", 300]
    assert more_less.BENCHMARK.main([str(one) for one in arguments]) == 0
    document = json.loads(out.read_text())
    raised = [row["value"] for row in document["rows"] if row["metric"] == "raised"]
    assert len(raised) == 2 * len(ATTRIBUTES)
    assert np.mean(raised) > 0.8
    assert {one["where"] for one in document["times"]} == {"in process", "over gRPC"}
    assert all(len(one["seconds"]) == more_less.SEARCHES for one in document["times"])


def test_queries_are_of_no_training_photograph():
    scenes = Scenes()
    training = more_less.training_items(scenes.labels, np.random.default_rng(0))
    assert len(set(training.tolist())) == 8 * more_less.TRAIN
    assert np.bincount(np.unique(scenes.labels[training], return_inverse=True)[1]).tolist() == [more_less.TRAIN] * 8
