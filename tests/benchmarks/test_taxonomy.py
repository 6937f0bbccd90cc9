"""The taxonomy benchmark keeps speakers apart, chooses settings in the training part, and writes every figure."""

import json

import numpy as np
import pytest

from benchmarks.frame.benchmark import MissingDataError
from benchmarks.isolet.data import FILE
from benchmarks.taxonomy import benchmark as taxonomy
from benchmarks.taxonomy import data, methods
from benchmarks.taxonomy.data import LETTERS, PHOTOGRAPHS, letters, tree
from benchmarks.taxonomy.methods import ACCURACY, HIERARCHICAL, LOSS, METHODS, NEAREST, judged

NAMES = "BDPTAHOR"


@pytest.fixture
def folder(tmp_path):
    """Write sixty speakers who say each of eight letters once; a column identifies the speaker."""
    generator = np.random.default_rng(0)
    labels, speakers = np.tile(np.arange(8), 60), np.repeat(np.arange(60), 8)
    rows = np.hstack([np.eye(8)[labels] + generator.normal(scale=0.4, size=(480, 8)), speakers[:, None] / 1e3])
    (tmp_path / taxonomy.FOLDER).mkdir()
    file = tmp_path / taxonomy.FOLDER / FILE
    np.savez(file, X=rows, y=labels, speaker=speakers, class_names=np.array(list(NAMES)))
    return tmp_path


def test_the_trees_are_those_of_the_sets():
    sounds, kinds = tree(LETTERS), tree(PHOTOGRAPHS)
    assert "".join(sounds.leaves) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    of = {leaf: place for place, leaf in enumerate(sounds.leaves)}
    assert sounds.siblings[of["B"], of["Z"]]
    assert not sounds.siblings[[of["O"], of["R"]]].any()
    assert len(kinds.leaves) == 30
    assert set(kinds.siblings.sum(axis=1).tolist()) == {9, 10, 8}


def test_no_speaker_is_on_both_sides(folder):
    """This holds for a division and for each fold; another seed draws others."""
    found = []
    for seed in (0, 0, 1):
        trial = letters(folder / taxonomy.FOLDER, seed, 6)
        assert (len(trial.outer.rows), len(trial.outer.queries)) == (48, 240)
        assert [(len(fold.rows), len(fold.queries)) for fold in trial.inner] == [(32, 16)] * 3
        assert sorted(np.concatenate([fold.query_labels for fold in trial.inner])) == sorted(trial.outer.labels)
        found.append(trial.outer.queries)
    assert np.array_equal(found[0], found[1])
    assert found[0].shape != found[2].shape or not np.allclose(found[0], found[2])


def test_predictions_are_worth_more_in_the_right_family():
    """The figures are means over the classes, not over the rows."""
    right = np.array(["B", "B", "B", "O"])
    found = judged(np.array(["B", "D", "A", "R"]), right, tree(LETTERS))
    assert found == pytest.approx({ACCURACY: 1 / 6, HIERARCHICAL: 1 / 4, LOSS: 3 / 4})


def test_writes_figures_of_every_method(folder, monkeypatch):
    """Every method has its figures, and the paper's averages stand beside them."""
    few = {"n_neighbors": (3,), "max_iter": (3,), "beyond": (1.0, 0.0), "drawn": (0.0,)}
    short = {
        name: methods.Method(method.fit, {key: few[key] for key in method.grid}, method.after)
        for name, method in METHODS.items()
    }
    monkeypatch.setattr(taxonomy, "EVERY", short)
    out = folder / "out.json"
    where = ["--data", str(folder), "--json", str(out), "--report", str(folder)]
    arguments = [*where, "--sets", LETTERS, "--speakers", "6,9", "--trials", "2", "--workers", "1"]
    assert taxonomy.BENCHMARK.main(arguments) == 0
    document = json.loads(out.read_text())
    assert [trial["set"] for trial in document["trials"]] == ["letters of 6 speakers", "letters of 9 speakers"] * 2
    for trial in document["trials"]:
        assert set(trial["methods"]) == set(METHODS)
        for one in trial["methods"].values():
            assert one[NEAREST][ACCURACY] <= one[NEAREST][HIERARCHICAL] == pytest.approx(1 - one[NEAREST][LOSS])
    text = (folder / "taxonomy.md").read_text()
    assert "| Qwise, full − LMNN, full |" in text
    assert " 40.1 " in text
    assert "letters of 6 speakers" in taxonomy.BENCHMARK.headline(document)[0]


def test_regularizers_learn_from_pairs_and_quadruplets_together(folder, monkeypatch):
    """Each of equation (8) gets both kinds in one problem, and is compared with none."""
    few = {"C": (1e3,), "gamma": (1e-3,), "pull": (0.1,), "max_iter": (3,)}
    short = {
        name: methods.Method(method.fit, {key: few[key] for key in method.grid})
        for name, method in methods.REGULARIZERS.items()
    }
    monkeypatch.setattr(taxonomy, "EVERY", short)
    monkeypatch.setattr(methods, "DRAWN", 200)
    arguments = ["--data", str(folder), "--json", str(folder / "out.json"), "--report", str(folder), "--workers", "1"]
    arguments += ["--sets", LETTERS, "--speakers", "6", "--trials", "1", "--methods", *short]
    assert taxonomy.BENCHMARK.main(arguments) == 0
    text = (folder / "taxonomy.md").read_text()
    assert all(f"| {name} − no regulariser |" in text for name in ("squared norm", "trace", "pull of LMNN"))
    assert "equation (8)" in text.splitlines()[0]


def test_a_choice_starts_from_what_was_chosen_before():
    """Settings that are not chosen again stay."""
    method = methods.Method(methods.euclidean, {"max_iter": (25, 10), "beyond": (0, 1)}, "before")
    assert method.values({"max_iter": 10, "n_neighbors": 3}) == {
        "n_neighbors": (3,),
        "max_iter": (10, 25),
        "beyond": (0, 1),
    }


def test_missing_data_are_named(tmp_path):
    with pytest.raises(MissingDataError, match="holds no isolet"):
        letters(tmp_path, 0, 6)
    with pytest.raises(SystemExit, match="lacks photographs"):
        taxonomy.BENCHMARK.main(["--data", str(tmp_path), "--json", str(tmp_path / "out.json")])


def test_photographs_of_both_folders_are_one_set(monkeypatch, tmp_path):
    """Descriptors of the second follow those of the first; every class is divided, words are cached by seed."""
    generator = np.random.default_rng(0)
    asked = []

    def photographs(path, cache):
        cache.mkdir(exist_ok=True)
        names = tree(PHOTOGRAPHS).leaves[::2] if path.name == "merged20" else tree(PHOTOGRAPHS).leaves[1::2]
        labels = np.repeat(names, 10)
        arrays = {name: generator.uniform(size=(150, 6)).astype(np.float32) for name in ("color", "gist")}
        ends = np.arange(1, 151) * 2
        return data.Photographs(
            **arrays, labels=labels, descriptors=np.full((300, 4), len(path.name)), ends=ends, fingerprint=path.name
        )

    def words(self, train, seed):
        asked.append(seed)
        return generator.uniform(size=(300, 5)).astype(np.float32)

    monkeypatch.setattr(data, "photographs", photographs)
    monkeypatch.setattr(data.Photographs, "words", words)
    both = data.all_photographs(tmp_path, tmp_path / "cache")
    assert both.ends[[0, 149, 150, 299]].tolist() == [2, 300, 302, 600]
    for _ in range(2):
        trial = data.pictures(tmp_path, tmp_path / "cache", 3)
        assert np.unique(trial.outer.labels, return_counts=True)[1].tolist() == [6] * 30
        assert len(trial.outer.queries) == 120
    assert asked == [3]
