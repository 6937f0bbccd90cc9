"""The gain of an answer agrees with numerical integration."""

import numpy as np
import pytest
from scipy.special import entr, expit

from crossview.engine.findings.questions.choosing import information_gain, probability


def integrated(mean, variance):
    """Return the probability of a yes, and the information of the answer in bits, by Gauss-Hermite quadrature."""
    places, weights = np.polynomial.hermite_e.hermegauss(200)
    chances = expit(mean + np.sqrt(variance) * places)
    weights = weights / weights.sum()
    chance = float(weights @ chances)
    entropy = entr(chances) + entr(1 - chances)
    return chance, (entr(chance) + entr(1 - chance) - float(weights @ entropy)) / np.log(2)


@pytest.mark.parametrize("mean", [0.0, 0.7, -2.0, 5.0])
@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 20.0])
def test_gain_and_probability_are_those_of_integration(mean, variance):
    """The closed forms are within four hundredths of the integrals."""
    chance, gain = integrated(mean, variance)
    assert probability(np.array(mean), np.array(variance)) == pytest.approx(chance, abs=0.02)
    assert information_gain(np.array(mean), np.array(variance)) == pytest.approx(gain, abs=0.04)


def test_what_is_known_tells_nothing():
    """An answer has no information if the margin is known, however close the call, and less the surer it is."""
    means = np.array([0.0, 0.1, 3.0])
    np.testing.assert_array_equal(information_gain(means, np.zeros(3)), 0.0)
    gains = information_gain(means, np.full(3, 4.0))
    assert (np.diff(gains) < 0).all()
