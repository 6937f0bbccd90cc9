"""The benchmarks of notions and active questions draw data and people as they state, and write every figure."""

import json

import numpy as np
import pytest

from benchmarks.joint import active, newview, objects, poses, sets
from benchmarks.joint import consistency as joint_consistency
from benchmarks.joint import methods as joint_methods
from benchmarks.joint.notion_measures import triplet_error
from benchmarks.joint.people import Person, drawn, seconds, wrong
from benchmarks.joint.tables import consistency
from crossview.engine.learners.frame.comparisons import Comparisons
from crossview.engine.learners.papers.joint.joint_fit import JointSettings
from crossview.engine.learners.papers.joint.joint_objects import JointObjects


def test_residuals_ignore_place_and_size_but_not_turns():
    """A moved and scaled picture fits wholly, a turned one does not, and pictures differ by seed."""
    pictures = poses.poses(100, 3)
    turned = pictures[:1] @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = poses.residuals(np.concatenate([pictures[:1], 3 * pictures[:1] + 5, turned]))
    assert found[0, 1] == pytest.approx(0, abs=1e-9)
    assert found[0, 2] > 0.1
    assert not np.array_equal(pictures, poses.poses(101, 3))
    assert poses.distances(pictures).shape == (5, 3, 3)


@pytest.mark.parametrize("name", sets.SYNTHETIC)
def test_notions_of_a_set_agree_in_part(name):
    """Notions order triplets alike more often than by chance, and not always."""
    found = sets.SYNTHETIC[name](100)
    assert found.distances.shape == (len(found.names), 200, 200)
    assert 0.52 < consistency(found, 0) < 0.98


def test_a_notion_is_added_over_the_map():
    """It orders its few triplets, and the map stays."""
    where = np.random.default_rng(0).normal(size=(40, 2))
    notions = {name: abs(where[:, None, [at]] - where[None, :, [at]])[..., 0] for at, name in enumerate("ab")}
    generator = np.random.default_rng(1)
    many, few = (
        drawn(distances, count, generator) for distances, count in zip(notions.values(), (1500, 60), strict=True)
    )
    both = Comparisons(
        np.concatenate([many, drawn(notions["b"], 1500, generator)]), notions=np.repeat(["a", "b"], 1500)
    )
    learner = JointObjects(JointSettings(n_components=3)).fit(both, 40)
    before = learner.common_.copy()
    assert triplet_error(newview.added(learner, Comparisons(few)), few).value < 0.2
    assert np.array_equal(learner.common_, before)


def test_people_err_as_often_as_they_should():
    """Triplets are of three objects in order; a person without errors answers rightly, and grids are partitions."""
    distances = sets.uniform(100).distances[2]
    generator = np.random.default_rng(0)
    triplets = drawn(distances, 2_000, generator)
    assert all(len(set(triplet)) == 3 for triplet in triplets.tolist())
    assert wrong(distances, triplets) == 0
    tied = drawn(np.round(distances, 1), 2_000, generator)
    assert len(tied) == 2_000
    assert wrong(np.round(distances, 1), tied) == 0
    person = Person.who_errs(0.15, distances, generator)
    answers = [person.answer(distances, a, (b, c), 1, generator) for a, b, c in triplets.tolist()]
    assert wrong(distances, np.concatenate(answers)) == pytest.approx(0.15, abs=0.03)
    grid = Person(0.0).answer(distances, 0, range(1, 10), 4, generator)
    assert grid.shape == (20, 3)
    assert wrong(distances, grid) == 0
    assert seconds(9, 4) / 20 < seconds(2, 1)


def test_active_questions_write_their_figures(tmp_path):
    """Every way to ask has its errors, and its costs for the same error."""
    out = tmp_path / "out.json"
    arguments = ["--trials", "1", "--workers", "1", "--sets", "uniform", "--errors", "0", "--answers", "400,2000"]
    assert active.BENCHMARK.main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    trials = json.loads(out.read_text())["trials"]
    assert [trial["way"] for trial in trials] == ["random", "active", "grid", "active grid"]
    assert all(trial["curve"][-1]["error"] < trial["curve"][0]["error"] for trial in trials)
    assert "| 0 % | 2,000 |" in (tmp_path / "joint-active.md").read_text()


def test_curves_of_objects_write_their_figures(tmp_path, monkeypatch):
    """Errors of all methods by number of triplets, consistency and gains."""
    monkeypatch.setattr(objects, "GRIDS", dict.fromkeys(objects.GRIDS, (0.01,)))
    out = tmp_path / "out.json"
    arguments = ["--trials", "1", "--workers", "1", "--budgets", "500,1500", "--widths", "3"]
    assert objects.BENCHMARKS["joint-poses"].main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    text = (tmp_path / "joint-poses.md").read_text()
    assert "| joint, D = 3 |" in text
    assert "Triplet consistency" in text


def test_a_new_notion_writes_its_figures(tmp_path, monkeypatch):
    """It is learned over the map of the others, from the start, and by itself."""
    for grid in ("MAP", "ALONE"):
        monkeypatch.setattr(newview, grid, getattr(newview, grid)[1:2])
    for module in (newview, joint_methods):
        monkeypatch.setattr(module, "SOLVING", JointSettings(max_iter=20, tol=1e-2))
    out = tmp_path / "out.json"
    arguments = ["--trials", "1", "--workers", "1", "--sets", "poses", "--many", "400", "--few", "30,100"]
    assert newview.BENCHMARK.main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    (trial,) = json.loads(out.read_text())["trials"]
    assert [one["notion"] for one in trial["notions"]] == list(poses.SUBSETS)
    text = (tmp_path / "joint-newview.md").read_text()
    assert "| added over the map |" in text
    assert "better than independent up to" in text


def test_notions_are_the_more_consistent_the_more_they_share():
    """It rises from chance, if they share nothing, to the same order, if they share all."""
    found = [consistency(sets.partly_shared(share, 100), 0) for share in (0, 0.3, 0.6, 1)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(0.5, abs=0.03)
    assert found[-1] == 1


def test_consistency_writes_the_gains_beside_the_papers(tmp_path, monkeypatch):
    """The report lists the sets in the order of their consistency."""
    monkeypatch.setattr(joint_consistency, "GRIDS", dict.fromkeys(objects.GRIDS, (0.01,)))
    monkeypatch.setattr(joint_methods, "SOLVING", JointSettings(max_iter=10, tol=1e-2))
    out = tmp_path / "out.json"
    arguments = ["--trials", "1", "--workers", "1", "--budgets", "500,1000", "--width", "3", "--shares", "90"]
    assert joint_consistency.BENCHMARK.main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    text = (tmp_path / "joint-consistency.md").read_text()
    assert text.index("| uniform |") < text.index("| clustered |") < text.index("| poses |")
    assert "| 0.85 | 35 | 23 |" in text
    assert "| 90 % shared |" in text
    assert (tmp_path / "joint-consistency.png").stat().st_size > 1000
