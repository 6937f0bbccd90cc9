"""The benchmark of examples: every method answers every question, from unseen items alone."""

from pathlib import Path

import numpy as np
import pytest
from faces import planted

from benchmarks.examples import benchmark, report, trial
from benchmarks.sets.named import load


def test_every_method_answers_and_examples_are_no_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "FIRST", 2)
    monkeypatch.setattr(trial, "JUDGED", {"raw": 2, "default": 1})
    data = planted(tmp_path)
    load("pubfig", data, tmp_path)
    found = trial.run(("pubfig", 0, 4), data, tmp_path)
    names = {(space, kind, method) for space, kind, method, _ in found["figures"]}
    assert names == {(s, k, m) for s in ("raw", "default") for k in (trial.RANDOM, trial.HARD) for m in trial.METHODS}
    assert all(0 <= value <= 1 for *_, value in found["figures"])
    rounds = {tuple(names): len(curve) for *names, curve in found["curves"]}
    wanted = {trial.SAME: trial.ROUNDS + 1, trial.OWN: trial.ROUNDS}
    assert rounds == {(s, p, m): n for s in ("raw", "default") for p, n in wanted.items() for m in trial.METHODS}
    assert all(0 <= value <= 1 for *_, curve in found["curves"] for value in curve)
    settings = {"seeds": [0], "sets": ["pubfig"], "questions": 4, "dim": benchmark.DIM}
    rows = benchmark.timed(500)
    document = {"settings": settings, "rows": rows, "trials": [found]}
    text = report.markdown(document)
    assert all(method in text for method in trial.METHODS)
    small = {name: [one for one in found[name] if one[0] == "raw"] for name in ("figures", "curves")}
    assert "| raw | pubfig |" in report.markdown({**document, "trials": [{**found, **small}]})
    report.plot(tmp_path / "rounds.png", document)
    assert (tmp_path / "rounds.png").stat().st_size > 1_000


def test_where_learning_is_below_is_stated() -> None:
    means = {"learn": 0.5, "mean": 0.6, "best": 0.5}
    assert report._better(means, "here") == ["here (mean by 10.0)"]
    assert report._better({**means, "mean": 0.4}, "here") == []


def test_average_precision_is_that_of_what_is_left() -> None:
    pool = trial.Pool(None, "raw", "", {}, np.array([0, 1, 0, 1]), {})  # type: ignore[arg-type]
    assert pool.average_precision([0, 1, 2], 0) == pytest.approx((1 + 2 / 3) / 2)
    assert pool.average_precision([1, 3], 0) == 0


def test_rivals_prefer_what_is_like_the_examples() -> None:
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    rows = generator.normal(size=(60, 4)) + 3 * labels[:, None]
    for score in trial.RIVALS.values():
        for label in (0, 1):
            like, unlike = np.flatnonzero(labels == label)[:3].tolist(), np.flatnonzero(labels != label)[:3].tolist()
            found = np.argsort(-score(rows, like, unlike))[:20]
            assert np.mean(labels[found] == label) > 0.9
