"""The verification benchmark draws pairs as stated, chooses settings in the training part, and writes every figure."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from benchmarks.verification import benchmark as verification
from benchmarks.verification import data as verification_data
from benchmarks.verification import methods as verification_methods
from benchmarks.verification import product
from benchmarks.verification.data import Pairs, Split, Trial
from benchmarks.verification.methods import hinge, logistic
from benchmarks.verification.trial import Bench


@dataclass(frozen=True)
class Images:
    """Stand for photographs: ten classes of six, whose views are noisy copies of their class's."""

    fingerprint: str = "images"

    @property
    def labels(self):
        return np.repeat([f"class {i}" for i in range(10)], 6)

    @property
    def color(self):
        return self._view(0, 8)

    @property
    def gist(self):
        return self._view(1, 12)

    def words(self, train, seed):
        assert len(train) == 36  # the codebook is of the training classes
        return self._view(2, 10)

    def _view(self, seed, width):
        generator = np.random.default_rng(seed)
        return np.repeat(generator.uniform(size=(10, width)), 6, axis=0) + generator.uniform(size=(60, width))


@pytest.fixture
def images(monkeypatch, tmp_path):
    """Replace the extraction of images."""

    def photographs(data, cache):
        (cache / "images").mkdir(parents=True, exist_ok=True)
        return Images()

    for module in (verification, verification_data):
        monkeypatch.setattr(module, "photographs", photographs)
    return tmp_path / "cache"


def kin(folder):
    """Write a small file of kinship pairs: 30 rows and as many pairs in five folds, half of them kin."""
    generator = np.random.default_rng(0)
    arrays = {}
    for relation in verification_data.RELATIONS:
        partner = np.concatenate([np.arange(15, 30), (np.arange(15) + 1) % 15 + 15])
        arrays[f"{relation}_HOG"] = generator.uniform(size=(30, 9)).astype(np.float32)
        arrays[f"{relation}_LBP"] = generator.uniform(size=(30, 7)).astype(np.float32)
        arrays[f"{relation}_idxa"], arrays[f"{relation}_idxb"] = np.tile(np.arange(15), 2), partner
        arrays[f"{relation}_fold"] = np.arange(30) % 5 + 1
        arrays[f"{relation}_match"] = np.arange(30) < 15
    folder.mkdir()
    np.savez(folder / verification_data.KINSHIP_FILE, **arrays)


def test_classes_of_the_test_are_unseen(images):
    """Training, validation and test pairs share no class; half of each are alike; a seed draws the same again."""
    trial = verification_data.unseen(images, images, 1000, 40)
    labels = Images().labels

    def classes(pairs):
        assert len(pairs.alike) == 40
        assert pairs.alike.sum() == 20
        same = labels[pairs.items[:, 0]] == labels[pairs.items[:, 1]]
        np.testing.assert_array_equal(same, pairs.alike)
        return set(labels[pairs.items].ravel())

    known, tested = classes(trial.outer.fit), classes(trial.outer.check)
    assert not known & tested
    assert (len(known), len(tested)) == (6, 4)
    held = [classes(split.check) for split in trial.inner]
    assert all(not classes(split.fit) & mine for split, mine in zip(trial.inner, held, strict=True))
    assert set().union(*held) == known
    again = verification_data.unseen(images, images, 1000, 40)
    np.testing.assert_array_equal(again.outer.fit.items, trial.outer.fit.items)


def test_views_are_joined_as_a_space_joins_them(images):
    """Rows are roots of three histograms, each scaled by the images that are learned from."""
    split = verification_data.unseen(images, images, 1000, 40).outer
    known = np.unique(split.fit.items)
    views = [np.sqrt(one / one.sum(axis=1, keepdims=True)) for one in np.split(split.rows, [8, 18], axis=1)]
    lengths = [np.sqrt(np.square(one[known] - one[known].mean(axis=0)).sum(axis=1).mean()) for one in views]
    joined = np.hstack([one / length for one, length in zip(views, lengths, strict=True)]) / np.sqrt(3)
    np.testing.assert_allclose(pdist(split.reduced().rows), pdist(joined), rtol=1e-6)


def test_kinship_folds(tmp_path):
    """A trial is a relation and a fold; no inner split has the test fold's pairs, and all others are checked once."""
    kin(tmp_path / "kin")
    trials = verification_data.kinship(tmp_path / "kin")
    assert len(trials) == 20
    for trial in trials:
        tested = {tuple(pair) for pair in trial.outer.check.items}
        known = {tuple(pair) for pair in trial.outer.fit.items}
        assert (len(tested), len(known)) == (6, 24)
        assert not tested & known
        checked = [tuple(pair) for split in trial.inner for pair in split.check.items]
        assert sorted(checked) == sorted(known)
        for split in trial.inner:
            assert {tuple(pair) for pair in split.fit.items} == known - {tuple(pair) for pair in split.check.items}


def separable(seed=0):
    """Return pairs that the first of six columns decides."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(80, 6))
    rows[:, 0] = np.where(np.arange(80) % 2, 2.0, -2.0) + 0.1 * generator.normal(size=80)
    items = generator.integers(80, size=(300, 2))
    alike = (items[:, 0] % 2) == (items[:, 1] % 2)
    return Split(rows, Pairs(items[:200], alike[:200]), Pairs(items[200:], alike[200:])).reduced()


@pytest.mark.parametrize("full", [False, True])
def test_logistic_baselines_reach_their_minimum(full):
    """PCCA and the logistic discriminant lower their loss, and end where no small step lowers it."""
    split = separable()
    signs = np.where(split.fit.alike, 1.0, -1.0)
    gaps = split.rows[split.fit.items[:, 0]] - split.rows[split.fit.items[:, 1]]

    def loss(factor):
        squared = np.square(gaps @ factor.T).sum(axis=1)
        return np.logaddexp(0.0, 3.0 * signs * (squared - 1.0)).mean()

    start, ended = (logistic(split, rank=2, beta=3.0, steps=steps, full=full).factor for steps in (0, 2_000))
    assert loss(ended) < 0.7 * loss(start)
    generator = np.random.default_rng(0)
    for _ in range(20):
        nearby = ended + 1e-3 * generator.normal(size=ended.shape)
        assert loss(nearby) > loss(ended) - 1e-6


def test_verifies_what_is_learned():
    """The Fantope verifies nearly all pairs that a column decides, at the calibrated threshold and at 1."""
    split = separable()
    bench = Bench.of(Trial("toy", split, [split]), None)
    (method,) = (m for m in verification_methods.METHODS if m.name == verification_methods.FANTOPE)
    found = bench.tested(method, bench.validated(method, {"rank": 2, "steps": 100, "mu": 1.0}))
    assert min(found["accuracy"], found["fixed"], found["auc"]) > 0.95
    assert found["rank"] <= 2


def test_learns_from_known_rows_only():
    """The metric is the same for any rows that no pair to learn from names."""
    split = separable()
    split = replace(split, fit=Pairs(split.fit.items // 2, split.fit.alike))
    others = split.rows.copy()
    others[40:] *= 100
    learned = [hinge(replace(split, rows=rows), rank=2, steps=20, mu=1.0).factor for rows in (split.rows, others)]
    np.testing.assert_array_equal(*learned)


def test_the_product_verifies_as_the_benchmark(images):
    """Both learn the same metric from the same rows, and rank the pairs equally; thresholds are of unseen classes."""
    trial = verification_data.unseen(images, images, 1000, 200)
    bench = Bench.of(trial, 0.9)
    (method,) = (m for m in verification_methods.METHODS if m.name == verification_methods.FANTOPE)
    chosen = {"rank": 3, "steps": 50, "mu": 1.0}
    expected = bench.tested(method, bench.validated(method, chosen))
    found = product.through_the_product(trial, chosen, 0.9)
    assert list(found) == [*product.NAMES]
    assert found[product.REFIT]["auc"] == found[product.OWN]["auc"] == pytest.approx(expected["auc"], abs=0.01)
    assert found[product.REFIT]["rank"] == expected["rank"]


def test_writes_figures_of_every_method(images, tmp_path, monkeypatch):
    """Every set and method has its figures, the curves their points, and the report the paper's beside them."""
    kin(tmp_path / "kinfacew_I")
    small = {"RANKS": (2, 3), "MUS": (1.0,), "GAMMAS": (1e-3,), "BETAS": (3.0,), "STEPS": (2, 5), "LONG": (5,)}
    for name, value in small.items():
        monkeypatch.setattr(verification_methods, name, value)
    monkeypatch.setattr(verification, "ITERATIONS", (2, 5))
    monkeypatch.setattr(verification, "MUS", (0.0, 1.0))
    monkeypatch.setattr(verification, "COUNTS", (20,))
    monkeypatch.setattr(verification.peers, "available", lambda: False)
    out = tmp_path / "out.json"
    assert verification.BENCHMARK.main(
        ["--data", str(tmp_path), "--sets", "corel1k", "kinfacew_I", "--trials", "2", "--first-seed", "1000", "--kin",
         "1", "--pairs", "40", "--workers", "1", "--json", str(out), "--report", str(tmp_path)]
    ) == 0  # fmt: skip
    document = json.loads(out.read_text())
    assert [(trial["set"], trial["which"]) for trial in document["trials"]] == [
        ("corel1k", 1000), ("corel1k", 1001), ("kinfacew_I", 0)
    ]  # fmt: skip
    names = [method.name for method in verification_methods.METHODS if method.name != verification_methods.ITML]
    for trial in document["trials"]:
        classes = trial["set"] != "kinfacew_I"
        assert list(trial["methods"]) == names + [*product.NAMES] * classes
        assert trial["methods"]["Fantope"]["rank"] <= 3
    assert [point["mu"] for point in document["trials"][0]["weights"]] == [0.0, 1.0]
    text = (tmp_path / "verification.md").read_text()
    assert "82.3 ± 0.5" in text
    assert "| PCCA, paper, LFW |" in text
    assert "ITML is missing" in text
    assert (tmp_path / "verification.png").stat().st_size > 1000


def test_missing_data_is_named(tmp_path):
    """A missing data set is an error that names the set, before anything runs."""
    with pytest.raises(SystemExit, match="lacks a data set"):
        verification.BENCHMARK.main(
            ["--data", str(tmp_path), "--sets", "kinfacew_I", "--json", str(tmp_path / "out.json")]
        )
