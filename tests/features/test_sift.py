import cv2
import numpy as np
import pytest

from crossview.features.descriptors import (
    CHROMA_GAIN,
    CONTRAST_THRESHOLD,
    OPPONENT,
    channel_shares,
    color_sift,
    key_points,
    opponent_channels,
    square_means,
)
from crossview.features.errors import NotFittedError
from crossview.features.registry import extractor, stored_extractor
from crossview.features.sift import Sift
from crossview.features.words import count_words, fit_words


def scene(seed: int, height: int = 120, width: int = 160) -> np.ndarray:
    """Return smooth coloured noise: many key points, different for every seed."""
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 2)
    return cv2.normalize(smooth, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)


@pytest.fixture(scope="module")
def fitted() -> Sift:
    view = Sift(words=20)
    return view.fit([view.sample(scene(seed)) for seed in range(8)], seed=1)


def test_opponent_channels_are_their_formula():
    """The channels are the textbook rotation of red, green and blue, stretched over 0..255, to within a level."""
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    blue, green, red = np.moveaxis(image.astype(float), 2, 0)
    first, second, third = (red - green) / 2**0.5, (red + green - 2 * blue) / 6**0.5, (red + green + blue) / 3**0.5
    assert np.allclose(np.moveaxis(image @ OPPONENT.T, 2, 0), [first, second, third])
    expected = [127.5 + first * 2**0.5 / 2, 127.5 + second * 6**0.5 / 4, third * 3**0.5 / 3]
    for channel, values in zip(opponent_channels(image), expected, strict=True):
        assert channel.dtype == np.uint8
        assert np.abs(channel - values).max() < 1


def test_opponent_axes_are_orthonormal():
    """The transformation is a rotation of colour space."""
    assert np.allclose(OPPONENT @ OPPONENT.T, np.eye(3))


def test_key_points_are_those_of_the_grey_image():
    """Places and sizes are OpenCV's SIFT on the luma, each once and upright."""
    luma = cv2.cvtColor(scene(0), cv2.COLOR_BGR2GRAY)
    reference = cv2.SIFT.create(contrastThreshold=CONTRAST_THRESHOLD).detect(luma, None)
    ours = key_points(luma)
    places = {(point.pt, point.size) for point in ours}
    assert len(ours) == len(places) > 50
    assert places == {(point.pt, point.size) for point in reference}
    assert {point.angle for point in ours} == {0.0}


def test_half_density_descriptors_stay_close_to_sifts_own():
    """Describing at half the sampling density in the same smoothing changes a descriptor little."""
    luma = cv2.cvtColor(scene(0, 240, 320), cv2.COLOR_BGR2GRAY)
    points = key_points(luma)
    ours = cv2.SIFT.create(sigma=1.6 * 2 ** (-2 / 3)).compute(luma, points)[1]
    for point in points:
        octave, layer = point.octave & 0xFF, point.octave >> 8
        point.octave = ((octave - 1) & 0xFF) | (layer + 1) << 8
    reference = cv2.SIFT.create().compute(luma, points)[1]
    cosines = (ours * reference).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(reference, axis=1)
    assert np.median(cosines) > 0.97


def test_shares_are_the_mean_change_around_a_point():
    """Plain loops over the formula agree, also if the image's edge cuts the square."""
    image = scene(0)
    points = np.array([[0.0, 0.0, 3.0], [80.2, 60.7, 5.0], [158.9, 118.2, 30.0], [100.0, 3.0, 0.1]])
    channels = image.astype(float) @ (OPPONENT * np.array([[CHROMA_GAIN], [CHROMA_GAIN], [1]])).T
    smooth = cv2.GaussianBlur(channels, (0, 0), 1.0)
    change = np.hypot(cv2.Sobel(smooth, cv2.CV_64F, 1, 0), cv2.Sobel(smooth, cv2.CV_64F, 0, 1)) / 8
    for (x, y, size), shares in zip(points, channel_shares(image, points), strict=True):
        x, y, reach = round(x), round(y), max(1, round(1.5 * size))
        square = change[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
        means = square.mean((0, 1))
        assert np.allclose(shares, means / np.sqrt(1 + (means**2).sum()), rtol=1e-3)


def test_means_of_nothing_are_never_negative():
    """The rounding of running sums never takes a mean of zeros below zero, where shares would have no square root."""
    rng = np.random.default_rng(0)
    values = np.zeros((60, 60, 3), np.float32)
    values[:30] = rng.lognormal(sigma=10, size=(30, 60, 3))
    values[:, :30] = rng.lognormal(sigma=10, size=(60, 30, 3))
    places = np.mgrid[34:57, 34:57].reshape(2, -1).T
    means = square_means(values, np.column_stack([places, np.ones(len(places))]).astype(float))
    assert means.min() >= 0


def test_descriptors_have_the_length_and_whole_numbers_they_promise():
    """They have shape (n, 384) and whole numbers; dot products stay where float32 is exact."""
    descriptors = color_sift(scene(0))
    assert descriptors.shape[1] == 384
    assert descriptors.dtype == np.float32
    assert np.array_equal(descriptors, np.rint(descriptors))
    assert descriptors.min() >= 0
    assert (descriptors**2).sum(1).max() < 2**23


def test_half_of_the_chroma_changes_the_chroma_alone():
    """The key points and the descriptors of light stay; those of colour change little."""
    full, half = color_sift(scene(0), False), color_sift(scene(0), True)
    assert np.array_equal(full[:, 256:], half[:, 256:])
    assert not np.array_equal(full[:, :256], half[:, :256])
    products = (full[:, :256] * half[:, :256]).sum(1)
    lengths = np.linalg.norm(full[:, :256], axis=1) * np.linalg.norm(half[:, :256], axis=1)
    assert np.median(products[lengths > 0] / lengths[lengths > 0]) > 0.8


def test_views_of_before_keep_their_descriptors():
    """A view that was stored without the parameter describes colours as it did then."""
    assert not stored_extractor("sift", {"words": 20}).half_chroma
    assert Sift(words=20).half_chroma
    assert stored_extractor("sift", Sift(words=20).params()).half_chroma
    with pytest.raises(ValueError, match="true or false"):
        Sift(half_chroma=1)


def test_a_grey_picture_has_nothing_in_its_colour_channels():
    """Without colour the first two thirds are empty and the last is not."""
    grey = np.repeat(cv2.cvtColor(scene(0), cv2.COLOR_BGR2GRAY)[:, :, None], 3, 2)
    descriptors = color_sift(grey)
    assert len(descriptors) > 50
    assert not descriptors[:, :256].any()
    assert descriptors[:, 256:].any(axis=1).all()


def test_counts_sum_to_the_number_of_key_points(fitted):
    """A row holds how often each word occurs."""
    row = fitted.row(scene(3))
    assert row.shape == (20,)
    assert row.dtype == np.float32
    assert np.array_equal(row, np.rint(row))
    assert row.sum() == len(color_sift(scene(3)))


def test_words_are_the_nearest_centres():
    """The fast assignment is the nearest centre of the plain definition."""
    rng = np.random.default_rng(0)
    descriptors = rng.integers(0, 100, (200, 384)).astype(np.float32)
    centres = rng.integers(0, 100, (17, 384)).astype(np.float32)
    nearest = ((descriptors[:, None].astype(float) - centres[None]) ** 2).sum(2).argmin(1)
    assert np.array_equal(count_words(descriptors, centres), np.bincount(nearest, minlength=17))


def test_a_picture_without_key_points_gives_zeros(fitted):
    """Without a key point all counts are zero, and sampling gives (0, 384)."""
    for shape in ((1, 1), (1, 500), (5, 5), (60, 60)):
        flat = np.full((*shape, 3), 90, np.uint8)
        assert not fitted.row(flat).any()
        assert fitted.sample(flat).shape == (0, 384)


def test_sample_is_bounded_and_the_same_every_time():
    """One picture gives at most 100 descriptors, all of them its own."""
    image = scene(0, 300, 400)
    sample, descriptors = Sift().sample(image), color_sift(image)
    assert sample.shape == (100, 384)
    assert len(descriptors) > 100
    assert np.array_equal(sample, Sift().sample(image))
    assert {row.tobytes() for row in sample} <= {row.tobytes() for row in descriptors}


def test_fitting_is_repeatable_and_seeded():
    """Equal samples and seed give equal centres; another seed gives others."""
    samples = [Sift().sample(scene(seed)) for seed in range(6)]
    first, again, other = (Sift(words=15).fit(samples, seed).to_state()["centres"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.shape == (15, 384)
    assert np.array_equal(first, np.rint(first))


def test_pooled_descriptors_are_bounded(monkeypatch):
    """More descriptors than the bound are sampled down, and fitting still works."""
    monkeypatch.setattr("crossview.features.words.MAX_DESCRIPTORS", 60)
    samples = [Sift().sample(scene(seed)) for seed in range(4)]
    assert fit_words(samples, 10, seed=0).shape == (10, 384)
    with pytest.raises(ValueError, match="have 60"):
        fit_words(samples, 70, seed=0)


def test_too_few_descriptors_name_the_remedy():
    """Without as many distinct descriptors as words, fitting names the remedy."""
    sample = Sift().sample(scene(0))[:40]
    with pytest.raises(ValueError, match=r"give more pictures, or use fewer words, such as sift:words=10"):
        Sift().fit([sample, sample])
    with pytest.raises(ValueError, match="have 0"):
        Sift().fit([np.zeros((0, 384), np.float32)])
    with pytest.raises(ValueError, match="the 0 pictures have"):
        Sift().fit([])


def test_state_round_trip_gives_equal_rows(fitted):
    """``load_state`` takes the value of ``to_state``, and rows are equal."""
    copy = extractor("sift", fitted.params()).load_state(fitted.to_state())
    assert copy.fitted
    assert np.array_equal(copy.row(scene(5)), fitted.row(scene(5)))
    assert Sift().to_state() == {}
    assert not copy.load_state({}).fitted


def test_a_state_of_another_shape_is_refused(fitted):
    """Centres of another codebook size or of another name are refused."""
    with pytest.raises(ValueError, match=r"centres \(30, 384\), not centres \(20, 384\)"):
        Sift(words=30).load_state(fitted.to_state())
    with pytest.raises(ValueError, match="not words"):
        Sift(words=20).load_state({"words": np.zeros((20, 384))})


def test_rows_before_fitting_are_refused():
    """An unfitted view is an error that states so."""
    with pytest.raises(NotFittedError, match="fit"):
        Sift().row(scene(0))


@pytest.mark.parametrize("words", [0, -1, 2.5, "300", True, None])
def test_words_must_be_a_positive_whole_number(words):
    """Other values are a ValueError."""
    with pytest.raises(ValueError, match="words"):
        Sift(words=words)
