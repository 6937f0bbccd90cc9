"""Fingerprints are the hashes of imagehash, also of pictures that are rotated and mirrored, and also of thumbnails."""

import hashlib

import imagehash
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from crossview.features.decode import decode
from crossview.features.fingerprint import ORIENTATIONS, Orientation, fingerprints
from crossview.features.image import thumbnail


def drawn(seed, height, width):
    """Draw a smooth picture, with as much structure at all frequencies as photographs have."""
    rng = np.random.default_rng(seed)
    field = np.zeros((height, width, 3))
    for octave in (3, 6, 12, 24):
        coarse = (255 * rng.random((octave, octave, 3))).astype(np.uint8)
        field += np.asarray(Pillow.fromarray(coarse).resize((width, height), Pillow.Resampling.BICUBIC), float) / octave
    return (255 * field / field.max()).astype(np.uint8)


def by_imagehash(image):
    return np.packbits(imagehash.phash(Pillow.fromarray(image[:, :, ::-1].copy())).hash.ravel())


def turned(image, orientation):
    mirrored = image[:, ::-1] if orientation.mirrored else image
    return np.ascontiguousarray(np.rot90(mirrored, -orientation.degrees // 90))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 200), st.integers(1, 200))
def test_the_first_is_that_of_imagehash_to_the_bit(seed, height, width):
    for image in (drawn(seed, height, width), np.full((height, width, 3), seed % 256, np.uint8)):
        assert (fingerprints(image)[0] == by_imagehash(image)).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_others_are_those_of_the_turned_picture(seed):
    """They differ by at most a bit at the median: resizing rounds pixels differently from left and from right."""
    image = drawn(seed, 150, 201)
    rows = fingerprints(image)
    assert rows.shape == (8, 8)
    assert rows.dtype == np.uint8
    assert ORIENTATIONS[0] == Orientation(mirrored=False, degrees=0)
    assert len(set(ORIENTATIONS)) == 8
    for row, orientation in zip(rows, ORIENTATIONS, strict=True):
        own = by_imagehash(turned(image, orientation))
        assert np.bitwise_count(row ^ own).sum() <= 2
    apart = np.bitwise_count(rows[:, None] ^ rows[None]).sum(axis=2) + 64 * np.eye(8, dtype=int)
    assert apart.min() > 8


def test_a_thumbnail_has_nearly_the_fingerprint_of_its_picture():
    away = []
    for seed in range(10):
        image = drawn(seed, 480, 640)
        small = decode(thumbnail(image)).image
        away.append(int(np.bitwise_count(fingerprints(image)[0] ^ fingerprints(small)[0]).sum()))
    assert max(away) <= 4


def test_fingerprints_stay_as_they_are():
    """Catalogs store them: another value would separate earlier items from later ones."""
    assert hashlib.sha256(fingerprints(drawn(7, 96, 128)).tobytes()).hexdigest()[:16] == "122f62d6ed38dffd"


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match=r"an image is a \(height, width, 3\) array of uint8"):
        fingerprints(np.zeros((5, 5), np.uint8))
