"""The benchmark of examples: every method answers every question, from unseen items alone."""

from pathlib import Path

import numpy as np
import pytest
from faces import planted

from benchmarks.examples import benchmark, trial
from benchmarks.sets.named import load


def test_every_method_answers_and_examples_are_no_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "FIRST", 2)
    data = planted(tmp_path)
    load("pubfig", data, tmp_path)
    found = trial.run(("pubfig", 0, 4), data, tmp_path)
    names = {(space, kind, method) for space, kind, method, _ in found["figures"]}
    assert names == {(s, k, m) for s in ("raw", "default") for k in (trial.RANDOM, trial.HARD) for m in trial.METHODS}
    assert all(0 <= value <= 1 for *_, value in found["figures"])
    assert [len(curve) for *_, curve in found["curves"]] == [trial.ROUNDS] * 4
    settings = {"seeds": [0], "sets": ["pubfig"], "questions": 4, "dim": benchmark.DIM}
    rows = benchmark.timed(500)
    text = benchmark.markdown({"settings": settings, "rows": rows, "trials": [found]})
    assert all(method in text for method in trial.METHODS)


def test_rivals_prefer_what_is_like_the_examples() -> None:
    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    rows = generator.normal(size=(60, 4)) + 3 * labels[:, None]
    for score in trial.RIVALS.values():
        for label in (0, 1):
            like, unlike = np.flatnonzero(labels == label)[:3].tolist(), np.flatnonzero(labels != label)[:3].tolist()
            found = np.argsort(-score(rows, like, unlike))[:20]
            assert np.mean(labels[found] == label) > 0.9
