"""The contract of extractors as a test, for the authors of other packages and for crossview itself."""

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import numpy as np

from crossview.features.base import Extractor, FeatureRows, ImageExtractor, TextExtractor
from crossview.features.contract import check_class, check_made, extracted
from crossview.features.errors import ExtractorError
from crossview.features.image import Image

_THREADS = 4
_SHAPES = ((1, 1), (1, 640), (640, 1), (2, 300), (12, 640), (60, 80))
"""Heights and widths of pictures that are also pictures."""
_TEXTS = (
    "a red boat on the blue sea",
    "a green boat and a red flower",
    "two dogs in the snow, one brown",
    "snow on the blue mountain",
    "flowers by the sea",
)


def check_extractor(extractor: Extractor | type[Extractor]) -> None:
    """Check that an extractor keeps the contract of ``ImageExtractor`` and ``TextExtractor``.

    Call it in the tests of a package. It fits an unfitted extractor on a few drawn pictures, or on a few short texts;
    give one with parameters for which these are enough, such as a codebook of few words. Rows are computed from noise,
    flat pictures, pictures of one pixel and long thin ones, alone and in batches, in several threads, and by equal and
    pickled extractors.

    Args:
        extractor: an extractor, or its class, if all parameters have defaults.

    Raises:
        AssertionError: for the first broken promise.
    """
    sound = _sound(extractor() if isinstance(extractor, type) else extractor)
    pictured, texts = isinstance(sound, ImageExtractor), isinstance(sound, TextExtractor)
    if not sound.fitted:
        samples = [sound.sample(_scene(seed)) for seed in range(3)] if isinstance(sound, ImageExtractor) else _TEXTS
        again = type(sound)(**sound.params()).fit(samples, seed=0)
        sound = sound.fit(samples, seed=0)
        _hold(sound.fitted, "fit must make the extractor fitted")
        _equal(sound, again, "a fit on equal samples with an equal seed", pictured)
    if isinstance(sound, ImageExtractor):
        _check_pictures(sound)
    if texts:
        _check_batches(sound, _TEXTS)
    _check_copies(sound, pictured)
    _check_parts(sound, pictured)


def _sound(extractor: Extractor) -> Extractor:
    kinds = (ImageExtractor, TextExtractor)
    _hold(isinstance(extractor, kinds), "it must be an ImageExtractor or a TextExtractor")
    try:
        check_class(type(extractor))
        check_made(extractor)
    except ValueError as error:
        raise AssertionError(str(error)) from error
    return extractor


def _check_pictures(extractor: ImageExtractor) -> None:
    pictures = [picture for seed, shape in enumerate(_SHAPES) for picture in _noise_and_flat(shape, seed)]
    _check_batches(extractor, [_scene(4), *pictures])
    scene = _scene(4)
    row = extractor.row(scene)
    wide = np.repeat(scene, 2, axis=1)
    for name, same in (("column by column", np.asfortranarray(scene)), ("with gaps", wide[:, ::2])):
        _hold(np.array_equal(extractor.row(same), row), f"a picture that memory holds {name} must have an equal row")
    for wrong in (scene[..., 0], scene[..., :2], scene.astype(np.float32), scene[:0]):
        _hold(
            _refused(extractor.row, wrong),
            f"a picture of {wrong.shape} {wrong.dtype} must be refused with ValueError, as check_image does",
        )


def _check_batches(extractor: Extractor, samples: Sequence[Any]) -> None:
    """Check the rows of inputs in a batch, alone, in threads and of an empty batch."""
    for sample in samples:
        if isinstance(sample, np.ndarray):
            sample.setflags(write=False)
    rows = _rows(extractor, samples)
    alone = [_rows(extractor, [sample]) for sample in samples]
    _hold(np.array_equal(np.concatenate(alone), rows), "a batch must have the rows of its inputs alone, bit for bit")
    _hold(_rows(extractor, []).shape == (0, extractor.dim), f"an empty batch must have (0, {extractor.dim}) rows")
    with ThreadPoolExecutor(_THREADS) as pool:
        results = list(pool.map(lambda sample: _rows(extractor, [sample]), [*samples, *samples]))
    for row, expected in zip(results, [*alone, *alone], strict=True):
        _hold(np.array_equal(row, expected), "rows must be equal in every thread")


def _check_copies(extractor: Extractor, pictured: bool) -> None:
    """Check that its parameters and its state make its equal, and that it can travel to another process."""
    state = extractor.to_state()
    file = BytesIO()
    try:
        np.savez(file, allow_pickle=False, **state)
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            stored = dict(archive)
    except ValueError as error:
        raise AssertionError(f"to_state must return arrays of numbers or texts by name ({error})") from error
    equal = type(extractor)(**json.loads(json.dumps(extractor.params()))).load_state(stored)
    _hold(equal.fitted, "load_state of its to_state must make an equal extractor fitted")
    _equal(extractor, equal, "an extractor with equal params and to_state", pictured)
    try:
        travelled = pickle.loads(pickle.dumps(extractor))  # noqa: S301  # of this process
    except Exception as error:
        raise AssertionError(f"processes that read pictures receive the extractor pickled: {error}") from error
    _equal(extractor, travelled, "a pickled extractor", pictured)


def _check_parts(extractor: Extractor, pictured: bool) -> None:
    parts = extractor.parts()
    columns = {column for part in parts for column in part.columns}
    _hold(columns <= set(range(extractor.dim)), f"columns of parts must be from 0 to {extractor.dim - 1}")
    if parts and pictured:
        _hold(bool((_rows(extractor, [_scene(4)]) >= 0).all()), "rows with parts must not have negative values")


def _rows(extractor: Extractor, samples: Sequence[Any]) -> FeatureRows:
    """Return the rows of a batch; AssertionError if they break the contract, or if the inputs have changed."""
    before = [np.copy(sample) for sample in samples]
    try:
        rows = extracted(extractor, samples).rows
    except (ExtractorError, ValueError) as error:
        raise AssertionError(str(error)) from error
    _hold(all(map(np.array_equal, samples, before)), "extraction must not write into its inputs")
    return rows


def _equal(extractor: Extractor, other: Extractor, what: str, pictured: bool) -> None:
    samples = [_scene(seed) for seed in (0, 9)] if pictured else _TEXTS
    _hold(np.array_equal(_rows(extractor, samples), _rows(other, samples)), f"{what} must have equal rows")


def _hold(promise: bool, message: str) -> None:
    if not promise:
        raise AssertionError(message)


def _refused(row: Callable[[Image], FeatureRows], wrong: Any) -> bool:
    try:
        row(wrong)
    except ValueError:
        return True
    return False


def _scene(seed: int) -> Image:
    """Return a picture of soft noise, with corners and edges, (100, 130, 3)."""
    noise = np.random.default_rng(seed).normal(size=(100, 130, 3))
    for axis in (0, 1):
        noise = np.mean([np.roll(noise, shift, axis) for shift in range(-3, 4)], axis=0)
    noise -= noise.min()
    return np.asarray(noise * (255 / noise.max()), dtype=np.uint8)


def _noise_and_flat(shape: tuple[int, int], seed: int) -> Iterator[Image]:
    noise = np.random.default_rng(seed).integers(0, 256, (*shape, 3), np.uint8)
    yield noise
    yield np.full_like(noise, noise[0, 0])
