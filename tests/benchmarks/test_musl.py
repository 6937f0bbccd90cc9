"""The MuSL benchmark keeps training pictures from test ones, shares the votes of ties, and writes every figure."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import planted

from benchmarks.musl import benchmark as musl
from benchmarks.musl import features as musl_features
from benchmarks.musl import novel as musl_novel
from benchmarks.musl import novel_trial
from benchmarks.musl import trial as musl_trial
from benchmarks.musl.features import Pictures, pictures
from benchmarks.musl.novel_trial import CHOSEN, DEFAULT, KINDS, ONE_WIDE
from benchmarks.musl.report import agreement, gain_of_thresholds, stability
from benchmarks.musl.trial import KMEANS, METHODS, MUSL, ONE, ONE_CHOSEN, PER_CLASS, PRINTED, RETRAINED
from crossview.engine.learners.papers.musl.musl import MuSL, votes
from crossview.features.forest import Forest

NAMED = {"a": "flower", "b": "object", "c": "texture"}


def write(folder, size=16):
    """Write a folder of pictures of twelve classes of three kinds, and return planted rows in their order."""
    import cv2

    rows, labels, _ = planted(size=size)
    order = np.argsort(labels, kind="stable")
    rows, names = np.maximum(rows[order] + 1, 0), [f"{NAMED[name[0]]}_{name[1]}" for name in labels[order]]
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
    """Thirty pictures of each class train, and all others are queries."""
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
    """Kinds are the beginnings of names that three or more classes share; otherwise there are no kinds."""
    named = [f"{kind}_{number}" for kind in ("rose", "tree") for number in range(3)]
    assert Pictures((), np.array(named)).kinds.tolist() == ["rose"] * 3 + ["tree"] * 3
    assert set(Pictures((), np.array(["0_sea", "1_sky"])).kinds) == {""}


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
def test_votes_of_ties_are_shared(seed, k):
    """The votes are the mean over all possible orders of the ties."""
    generator = np.random.default_rng(seed)
    distances, codes = generator.integers(4, size=(1, 9)).astype(float), generator.integers(3, size=9)
    codes[:3] = range(3)
    expected = np.zeros(3)
    for _ in range(400):
        shuffled = generator.permutation(9)
        nearest = shuffled[np.argsort(distances[0, shuffled], kind="stable")][:k]
        expected += np.bincount(codes[nearest], minlength=3) / 400
    found = votes(distances, codes, k)[0]
    assert found.sum() == pytest.approx(k, abs=1e-4)
    np.testing.assert_allclose(found, expected, atol=0.35)


def test_a_picture_is_compared_under_its_class_s_metric():
    """The bits of a class's own metric reach its rows, for any bits of the others."""
    rows, labels, _ = planted()
    learner = MuSL(n_metrics=3, random_state=0).fit(rows, labels)
    right = musl_trial.measure(learner, rows, labels, rows, labels)
    learner.assignments_[0] = (learner.assignments_[0] + 1) % 3
    wrong = musl_trial.measure(learner, rows, labels, rows, labels)
    assert right["1-NN"] > 0.9 > wrong["5-NN"]


def test_writes_figures_of_every_method(data, tmp_path, monkeypatch):
    """Every method has its figures on learned classes, by thresholds and of groups, and the report shows them."""
    monkeypatch.setattr(musl, "COUNTS", (3, 5))
    monkeypatch.setattr(musl_trial, "ALPHAS", (0.3, 0.6))
    out = tmp_path / "out.json"
    arguments = ["--data", str(data), "--trials", "2", "--first-seed", "1000", "--workers", "1", "--json", str(out)]
    assert musl.BENCHMARK.main([*arguments, "--report", str(tmp_path)]) == 0
    document = json.loads(out.read_text())
    trials = document["trials"]
    assert [trial["seed"] for trial in trials] == [1000, 1001]
    for trial in trials:
        assert {row["method"] for row in trial["curve"]} == {ONE, ONE_CHOSEN, PER_CLASS, *PRINTED, *METHODS}
        tried = {(row["method"], row["thresholds"]) for row in trial["thresholds"]}
        assert tried == {(method, count) for method in (ONE, RETRAINED, PER_CLASS) for count in musl_trial.THRESHOLDS}
        assert set(trial["chosen thresholds"]) == {ONE, RETRAINED, PER_CLASS}
        assert set(trial["chosen thresholds"].values()) <= set(musl_trial.THRESHOLDS)
    assert stability(trials, MUSL, 3) == [1.0]
    metrics = {(row["part"], row["metric"]) for row in document["rows"]}
    assert {
        ("curve", "1-NN"),
        ("curve", "seconds"),
        ("groupings", "stability"),
        ("thresholds", "5-NN gained"),
    } <= metrics
    text = (tmp_path / "musl.md").read_text()
    assert "Thresholds a word" in text
    assert "| 5 | " in text
    assert (tmp_path / "musl.png").stat().st_size > 1000


def test_groups_agree_whatever_their_numbers():
    """Stability counts classes in matching groups: renumbered groups agree, and a class that moves disagrees."""
    assert agreement([0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 1, 1]) == 1.0
    assert agreement([0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 1, 0]) == pytest.approx(5 / 6)
    assert agreement([0, 0, 0, 0], [0, 1, 2, 2]) == 0.5


def test_the_gain_is_that_of_the_chosen_number():
    """Each split's accuracy with the thresholds chosen in it, less that with one."""
    accuracies = {1: 0.5, 7: 0.6, 15: 0.8}
    trial = {"thresholds": [{"method": ONE, "thresholds": n, "5-NN": value} for n, value in accuracies.items()]}
    trials = [{**trial, "chosen thresholds": {ONE: count}} for count in (1, 15)]
    np.testing.assert_allclose(gain_of_thresholds(trials, ONE), [0, 0.3])


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Folders of nine classes to learn from and of three others, whose words are planted rows; 12 of each train."""
    rows = write(tmp_path / "known")
    is_novel = np.array([path.parent.name.endswith("3") for path in pictures(tmp_path / "known").paths])
    for path in (tmp_path / "known" / "images").glob("*3"):
        (tmp_path / "novel").mkdir(exist_ok=True)
        path.rename(tmp_path / "novel" / path.name)
    monkeypatch.setattr(Pictures, "words", lambda self, train, seed: np.vstack([rows[~is_novel], rows[is_novel]]))
    monkeypatch.setattr(musl_trial, "TRAIN", 12)
    monkeypatch.setattr(musl, "TRAIN", 12)
    return tmp_path / "known", tmp_path / "novel"


def test_novel_classes_are_no_part_of_what_is_learned_from(folders, monkeypatch):
    """Words are learned from the learned classes' training part; the halves of a class share no picture."""
    known, unseen = map(pictures, folders)
    learned_from = []
    words = Pictures.words
    monkeypatch.setattr(Pictures, "words", lambda *given: learned_from.append(given[1]) or words(*given))
    found = novel_trial.drawn(known, unseen, 1000)
    assert learned_from[0].max() < len(known.paths)
    assert set(found.old_names) == set(found.old_query_names) == set(known.classes)
    assert set(found.new_names) == set(found.new_query_names) == set(unseen.classes)
    assert (len(found.old), len(found.new), len(found.new_queries)) == (9 * 12, 3 * 12, 3 * 4)
    assert not {row.tobytes() for row in found.new} & {row.tobytes() for row in found.new_queries}
    assert found.kinds["flower_3"] == "flower"


def test_novel_classes_find_the_metrics_of_their_kinds(folders):
    """If each kind has its own columns, examples choose the metric of the kind."""
    found = novel_trial.drawn(*map(pictures, folders), 1000)
    names = np.unique(found.old_names)
    kinds = np.unique([found.kinds[name] for name in names], return_inverse=True)[1]
    learner = MuSL(assignment=kinds.tolist()).fit(found.old, found.old_names)
    assert novel_trial.of_novel_classes(learner, found)[-1]["kinds"] == 1.0


def test_figures_of_novel_classes_are_of_every_number_of_metrics(folders, tmp_path, monkeypatch):
    """Each K is tried with the default and the chosen thresholds, from few examples and from all, beside others."""
    monkeypatch.setattr(musl_novel, "COUNTS", (1, 3))
    out = tmp_path / "out.json"
    arguments = ["--data", str(folders[0]), "--novel", str(folders[1]), "--trials", "2", "--first-seed", "1000"]
    arguments += ["--workers", "1", "--json", str(out), "--report", str(tmp_path)]
    assert musl_novel.BENCHMARK.main(arguments) == 0
    trials = json.loads(out.read_text())["trials"]
    for trial in trials:
        assert {(row["thresholds"], row["method"], row["metrics"]) for row in trial["novel"]} == {
            *((kind, RETRAINED, count) for kind in (DEFAULT, CHOSEN) for count in (1, 3, 9)),
            (CHOSEN, KMEANS, 3),
            (CHOSEN, KINDS, 3),
            (CHOSEN, ONE_WIDE, 1),
            (DEFAULT, PRINTED[0], 1),
            (DEFAULT, PRINTED[-1], 3),
        }
        assert {row["examples"] for row in trial["novel"]} == set(novel_trial.EXAMPLES)
    text = (tmp_path / "musl-novel.md").read_text()
    assert "almost 25" in text
    assert "| 9 | " in text
    assert (tmp_path / "musl-novel.png").stat().st_size > 1000


def test_classes_that_are_learned_are_not_novel(folders, tmp_path):
    """A class that is in both folders is refused by name."""
    (folders[0] / "images" / "flower_0").rename(folders[1] / "flower_1")
    arguments = ["--data", str(folders[0]), "--novel", str(folders[1]), "--json", str(tmp_path / "out.json")]
    with pytest.raises(SystemExit, match="flower_1 are learned"):
        musl_novel.BENCHMARK.main(arguments)


def test_missing_pictures_are_named(tmp_path):
    """A folder without pictures, and classes with too few, end with a message that says so."""
    arguments = ["--data", str(tmp_path), "--json", str(tmp_path / "out.json")]
    with pytest.raises(SystemExit, match="holds no pictures"):
        musl.BENCHMARK.main(arguments)
    write(tmp_path, size=4)
    with pytest.raises(SystemExit, match="no more than 30 pictures of: flower_0"):
        musl.BENCHMARK.main(arguments)
