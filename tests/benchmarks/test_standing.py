"""The standing of a default consists of means over sets, worst sets, shortfalls and intervals."""

import numpy as np
import pytest

from benchmarks.information.report import change_of
from benchmarks.sets.named import DEVELOPMENT, DIVISION
from benchmarks.sets.standing import Standing, division_of, interval, standard_error, verdict


def standing(**changed) -> Standing:
    values = {
        "texts": {"default": [0.8, 0.9], "spread": [0.7, 0.8], "cca": [0.9, 0.96]},
        "faces": {"default": [0.5, 0.7], "spread": [0.5, 0.6], "cca": [0.1, 0.2]},
    }
    values |= changed
    arrays = {name: {method: np.array(one) for method, one in of.items()} for name, of in values.items()}
    return Standing(arrays, dict.fromkeys(values, 0.25), "default", ("spread", "cca"))


def test_the_best_rival_on_the_mean_is_not_the_best_on_every_set():
    found = standing()
    assert found.mean("default") == pytest.approx(0.725)
    assert found.worst("default") == ("faces", pytest.approx(0.6))
    assert (found.best(), found.best_on("texts")) == ("spread", "cca")
    assert found.shortfall() == ("texts", "cca", pytest.approx(-0.08))
    assert verdict(found)[2:4] == ["spread", "65.0"]
    assert verdict(found)[5] == "-8.0 (texts: cca)"


def test_the_interval_over_sets_is_that_of_independent_sets():
    found = standing()
    mean, half = found.ahead("spread")
    assert mean == pytest.approx(0.075)
    halves = [interval(np.array(one), 0.25)[1] for one in ([0.1, 0.1], [0.0, 0.1])]
    assert half == pytest.approx(np.sqrt(halves[0] ** 2 + halves[1] ** 2) / 2)


def test_a_rival_that_cannot_learn_on_a_set_has_no_mean():
    found = standing(rings={"default": [0.5, 0.5], "cca": [0.4, 0.4], "spread": [0.9]})
    assert found.mean("spread") is None
    assert (found.best(), found.best_on("rings")) == ("cca", "cca")


def test_without_a_rival_there_is_no_verdict():
    assert verdict(standing(rings={"default": [0.5, 0.5]}))[2:] == ["", "", "", ""]


def test_more_labels_change_the_mean_with_a_standard_error():
    fewer, more = standing(), standing(texts={"default": [0.7, 0.9], "spread": [0, 0], "cca": [0, 0]})
    change, error = change_of(fewer, more)
    assert change == pytest.approx(-0.025)
    assert error == pytest.approx(standard_error(np.array([-0.1, 0.0]), 0.25) / 2)


def test_a_report_says_which_sets_were_chosen_on_and_how_often_the_others_were_looked_at():
    look = {"date": "2026-01-02", "reason": "a new default"}
    text = division_of([DEVELOPMENT[0], DIVISION["report"][0]], [look, look])
    assert f"chosen: {DEVELOPMENT[0]}." in text
    assert f"{DIVISION['report'][0]}; they had been looked at 2 times before (2026-01-02, a new default" in text
    assert "Report sets" not in division_of(DEVELOPMENT[:1], [look])
