"""Aeroplanes seen from anywhere: 16 landmarks of a 3-D model whose shape varies, drawn in a plane.

Instead of the 200 annotated photographs of Zhang, Maji and Tomioka (2015). Landmarks and their five subsets are those
of the paper's supplement. Seeds 0 to 4 are reported; those from 100 up were for development.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

LANDMARKS: Mapping[str, tuple[float, float, float]] = {  # forward, to the left, up, in metres of an airliner
    "top of rudder": (-17.0, 0.0, 7.0),
    "bottom of rudder": (-15.5, 0.0, 1.5),
    "left stabilizer": (-17.0, 6.0, 1.5),
    "right stabilizer": (-17.0, -6.0, 1.5),
    "left wing tip": (-4.0, 17.0, 1.0),
    "right wing tip": (-4.0, -17.0, 1.0),
    "tip of nose": (18.0, 0.0, 0.0),
    "top of nose": (15.0, 0.0, 2.0),
    "bottom of nose": (15.0, 0.0, -1.5),
    "left wing base": (3.0, 2.0, -1.0),
    "right wing base": (3.0, -2.0, -1.0),
    "front of left engine": (4.5, 6.0, -2.0),
    "back of left engine": (1.5, 6.0, -2.0),
    "front of right engine": (4.5, -6.0, -2.0),
    "back of right engine": (1.5, -6.0, -2.0),
    "front of rudder's bottom": (-11.0, 0.0, 2.0),
}
SUBSETS: Mapping[str, Sequence[int]] = {  # of the paper, whose numbers begin with 1
    "all": range(1, 17),
    "back": (1, 2, 3, 4, 16),
    "nose": (7, 8, 9),
    "back and wings": (*range(1, 7), *range(10, 17)),
    "nose and wings": range(5, 16),
}
OBJECTS = 200
PARTS: Mapping[str, Sequence[int]] = {
    "tail": (1, 2, 3, 4, 16),
    "wings": (5, 6, 10, 11),
    "nose": (7, 8, 9),
    "engines": (12, 13, 14, 15),
}
"""The parts that vary in size and place independently, within the plane's symmetry."""
_SIZE, _SHIFT, _STRETCH = 0.2, 0.1, 0.25  # standard deviations: of a part's log size, its shift, the plane's log axes
_PITCH, _ROLL = 20.0, 20.0  # degrees, standard deviations; yaw is uniform
_MARKED = 0.02  # of the plane's root mean square size: how exactly landmarks are marked in a picture


def poses(seed: int, count: int = OBJECTS) -> Points:
    """Return the landmarks of pictures, (count, 16, 2), in an orthographic projection, about their centres."""
    generator = np.random.default_rng(seed)
    return np.stack([_picture(generator) for _ in range(count)])


def distances(pictures: Points) -> Points:
    """Return how unlike pictures are in each subset of landmarks, (5, n, n): element (a, b) with b aligned to a."""
    return np.stack([residuals(pictures[:, np.array(subset) - 1]) for subset in SUBSETS.values()])


def residuals(pictures: Points) -> Points:
    """Return what is left of each of (n, m, 2) pictures, (n, n), when another is moved and scaled to fit it best.

    The scale is not negative and nothing is turned: |a|^2 - <a, b>^2 / |b|^2 of centred landmarks, or |a|^2 where
    <a, b> is negative.
    """
    centred = (pictures - pictures.mean(axis=1, keepdims=True)).reshape(len(pictures), -1)
    squares = np.square(centred).sum(axis=1)
    fits = np.square(np.maximum(centred @ centred.T, 0.0)) / squares[None, :]
    residual: Points = np.maximum(squares[:, None] - fits, 0.0)
    return residual


def _picture(generator: np.random.Generator) -> Points:
    """Return one plane of a shape of its own, seen from somewhere, by (16, 2) landmarks."""
    shape = np.array(list(LANDMARKS.values())) * np.exp(_STRETCH * generator.normal(size=3))
    length = float(np.sqrt(np.square(shape).sum(axis=1).mean()))
    for part in PARTS.values():
        members = np.array(part) - 1
        centre = shape[members].mean(axis=0)
        shift = _SHIFT * length * generator.normal(size=3) * (1.0, 0.0, 1.0)
        shape[members] = centre + (shape[members] - centre) * np.exp(_SIZE * generator.normal()) + shift
    landmarks = (shape @ _rotation(generator).T)[:, 1:]  # the viewer looks along the first axis
    landmarks += _MARKED * length * generator.normal(size=landmarks.shape)
    picture: Points = (landmarks - landmarks.mean(axis=0)) / length
    return picture


def _rotation(generator: np.random.Generator) -> Points:
    """Return a plane's attitude: roll, then pitch, then yaw."""
    yaw = generator.uniform(0, 2 * np.pi)
    pitch, roll = np.radians([_PITCH, _ROLL]) * generator.normal(size=2)
    turns = [(2, yaw), (1, pitch), (0, roll)]
    total = np.eye(3)
    for axis, angle in turns:
        turn = np.eye(3)
        first, second = (axis + 1) % 3, (axis + 2) % 3
        turn[[first, second], [first, second]] = np.cos(angle)
        turn[first, second], turn[second, first] = -np.sin(angle), np.sin(angle)
        total = total @ turn
    return total
