"""The MuSL benchmark: training pictures stay apart from test ones, votes are counted as said, every figure is there."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import planted

from benchmarks.musl import benchmark as musl
from benchmarks.musl import features as musl_features
from benchmarks.musl import trial as musl_trial
from benchmarks.musl.features import Pictures, pictures
from benchmarks.musl.report import stability
from benchmarks.musl.trial import KMEANS, METHODS, MUSL, ONE, ONE_CHOSEN, ONE_WIDE, PER_CLASS, PRINTED, RETRAINED
from engine.learners.musl.musl import MuSL
from features.forest import Forest

KINDS = {"a": "flower", "b": "object", "c": "texture"}


def write(folder, size=16):
    """Writes a folder of pictures of twelve classes of three kinds, and returns planted rows in their order."""
    import cv2

    rows, labels, _ = planted(size=size)
    order = np.argsort(labels, kind="stable")
    rows, names = np.maximum(rows[order] + 1, 0), [f"{KINDS[name[0]]}_{name[1]}" for name in labels[order]]
    generator = np.random.default_rng(0)
    for number, name in enumerate(names):
        path = folder / "images" / name / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), generator.integers(256, size=(40, 40, 3)).astype(np.uint8))
    return rows


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder of pictures whose words are planted rows; 12 of each class train."""
    rows = write(tmp_path)
    monkeypatch.setattr(Pictures, "words", lambda self, train, seed: rows)
    monkeypatch.setattr(musl_trial, "TRAIN", 12)
    monkeypatch.setattr(musl, "TRAIN", 12)
    return tmp_path


def test_a_split_has_as_many_training_pictures_of_every_class_and_differs_by_seed():
    """Thirty pictures of each class train, all others are asked with."""
    labels = np.repeat(["a", "b"], [40, 50])
    (train, test), (other, _) = (musl_trial.split(labels, seed) for seed in (0, 1))
    assert np.unique(labels[train], return_counts=True)[1].tolist() == [30, 30]
    assert sorted([*train, *test]) == list(range(90))
    assert set(train) != set(other)


def test_words_are_learned_from_the_training_pictures_alone(tmp_path, monkeypatch):
    """Other test pictures change no training picture's words."""
    monkeypatch.setattr(musl_features, "Forest", partial(Forest, words=40))
    write(tmp_path, size=4)
    found = pictures(tmp_path)
    train = np.arange(0, len(found.paths), 2)
    before = found.words(train, 0)
    found.paths[1].write_bytes(found.paths[0].read_bytes())
    after = found.words(train, 0)
    assert before.shape == (len(found.paths), 40)
    np.testing.assert_array_equal(before[train], after[train])
    np.testing.assert_array_equal(after[1], after[0])


def test_kinds_are_what_names_begin_with(tmp_path):
    """Where three classes or more share what their names begin with, these are kinds; else there are none."""
    named = [f"{kind}_{number}" for kind in ("rose", "tree") for number in range(3)]
    assert Pictures((), np.array(named)).kinds.tolist() == ["rose"] * 3 + ["tree"] * 3
    assert set(Pictures((), np.array(["0_sea", "1_sky"])).kinds) == {""}


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
def test_votes_of_ties_are_shared(seed, k):
    """The votes are the mean over all orders that ties could come in."""
    generator = np.random.default_rng(seed)
    distances, codes = generator.integers(4, size=(1, 9)).astype(float), generator.integers(3, size=9)
    codes[:3] = range(3)
    expected = np.zeros(3)
    for _ in range(400):
        shuffled = generator.permutation(9)
        nearest = shuffled[np.argsort(distances[0, shuffled], kind="stable")][:k]
        expected += np.bincount(codes[nearest], minlength=3) / 400
    found = musl_trial.votes(distances, codes, k)[0]
    assert found.sum() == pytest.approx(k, abs=1e-4)
    np.testing.assert_allclose(found, expected, atol=0.35)


def test_a_picture_is_compared_under_its_class_s_metric():
    """Rows of a class are reached by the bits of its own metric, whatever the others say."""
    rows, labels, _ = planted()
    learner = MuSL(n_metrics=3, random_state=0).fit(rows, labels)
    right = musl_trial.measure(learner, rows, labels, rows, labels)
    learner.assignments_[0] = (learner.assignments_[0] + 1) % 3
    wrong = musl_trial.measure(learner, rows, labels, rows, labels)
    assert right["1-NN"] > 0.9 > wrong["5-NN"]


def test_writes_figures_of_every_method(data, tmp_path, monkeypatch):
    """Every method has its figures on learned classes, groups and novel classes, and the report shows them."""
    monkeypatch.setattr(musl, "COUNTS", (3, 5))
    monkeypatch.setattr(musl, "NOVEL_COUNTS", (1, 3))
    monkeypatch.setattr(musl_trial, "ALPHAS", (0.3, 0.6))
    out = tmp_path / "out.json"
    arguments = ["--data", str(data), "--trials", "2", "--first-seed", "1000", "--workers", "1", "--json", str(out)]
    assert musl.BENCHMARK.main([*arguments, "--report", str(tmp_path)]) == 0
    document = json.loads(out.read_text())
    trials = document["trials"]
    assert [trial["seed"] for trial in trials] == [1000, 1001]
    for trial in trials:
        assert {row["method"] for row in trial["curve"]} == {ONE, ONE_CHOSEN, PER_CLASS, *PRINTED, *METHODS}
        assert {(row["method"], row["metrics"]) for row in trial["novel"]} == {
            (RETRAINED, 1),
            (PRINTED[0], 1),
            (ONE_WIDE, 1),
            (RETRAINED, 3),
            (KMEANS, 3),
            (RETRAINED, 6),
        }
        assert len(musl_trial.unseen_classes(pictures(data), trial["seed"])) == 6
    assert stability(trials, MUSL, 3) == [1.0]
    metrics = {(row["part"], row["metric"]) for row in document["rows"]}
    assert {("curve", "1-NN"), ("curve", "seconds"), ("groupings", "stability"), ("novel", "5-NN, all")} <= metrics
    text = (tmp_path / "musl.md").read_text()
    assert "almost 25" in text
    assert "| 5 | " in text
    assert (tmp_path / "musl.png").stat().st_size > 1000


def test_missing_pictures_are_named(tmp_path):
    """A folder without pictures, and classes with too few, end with a message that says so."""
    arguments = ["--data", str(tmp_path), "--json", str(tmp_path / "out.json")]
    with pytest.raises(SystemExit, match="holds no pictures"):
        musl.BENCHMARK.main(arguments)
    write(tmp_path, size=4)
    with pytest.raises(SystemExit, match="no more than 30 pictures of: flower_0"):
        musl.BENCHMARK.main(arguments)
