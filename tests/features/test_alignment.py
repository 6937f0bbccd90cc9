"""Two pictures are aligned after any turn or change of one of them, and different ones do not agree."""

import numpy as np
import pytest
from photographs import COPIES, photograph

from crossview.features.alignment import SmallPicture
from crossview.features.alterations import KINDS, altered
from crossview.features.fingerprint import ORIENTATIONS, fingerprints
from crossview.features.image import Image


def small(image: object) -> SmallPicture:
    pixels: Image = np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
    return SmallPicture(pixels[::2, ::2].copy())


def orientation(first: SmallPicture, second: SmallPicture) -> int:
    bits = np.bitwise_count(fingerprints(second.image) ^ fingerprints(first.image)[0]).sum(axis=1)
    return int(bits.argmin())


@pytest.mark.parametrize("number", range(8))
def test_every_orientation_is_found_and_undone(number: int) -> None:
    """The map is exact, and states how the first picture must be turned to become the second."""
    first = small(photograph(1))
    mirrored, degrees = ORIENTATIONS[number]
    turned = np.rot90(first.image[:, ::-1] if mirrored else first.image, -degrees // 90)
    second = SmallPicture(np.ascontiguousarray(turned))
    found = first.aligned(second, orientation(first, second))
    assert found.agreement.middle > 0.999
    assert found.agreement.light == pytest.approx(0, abs=0.1)
    assert found.mirrored == mirrored
    assert (found.degrees - degrees + 180) % 360 == pytest.approx(180, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_agrees(kind: str) -> None:
    """Nearly all cells agree nearly everywhere, also if the copy shows only a part."""
    for seed in range(3):
        first = small(photograph(seed))
        second = SmallPicture(altered(first.image, kind, np.random.default_rng(seed)))
        assert first.aligned(second, orientation(first, second)).agreement.middle > 0.95


def test_a_crop_covers_the_share_that_it_shows() -> None:
    first, second = small(photograph(4)), small(COPIES["cropped"](photograph(4)))
    assert first.aligned(second).agreement.covered == pytest.approx(0.81, abs=0.03)


def test_other_photographs_do_not_agree() -> None:
    pictures = [small(photograph(seed)) for seed in range(8)]
    agreements = [one.aligned(other).agreement.middle for one in pictures for other in pictures if one is not other]
    assert max(agreements) < 0.7


def test_pictures_without_content_agree_in_no_cell() -> None:
    white = SmallPicture(np.full((96, 128, 3), 255, np.uint8))
    assert white.aligned(white).agreement.cells == 0
    assert white.chroma == 0
