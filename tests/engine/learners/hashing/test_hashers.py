"""Codes: bits are signs of scores, a shared space has one hash for all views, and each hasher keeps its promises."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.supervision import Supervision
from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.registry import LEARNERS, parse_chain

HASHERS = [name for name, learner in LEARNERS.items() if issubclass(learner, Hasher)]
STAGES = [name for name in HASHERS if LEARNERS[name].capabilities.auxiliary]


def three_views(n=60, widths=(6, 9, 5), seed=0):
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 4
    return [generator.normal(size=(4, d))[labels] + 0.3 * generator.normal(size=(n, d)) for d in widths], labels


def hasher(name, **params):
    if "random_state" in LEARNERS[name]().get_params():
        params = {"random_state": 0} | params
    return LEARNERS[name](**params)


def hamming(codes, others):
    return (codes[:, None] != others[None]).sum(axis=2)


@pytest.mark.parametrize("name", HASHERS)
def test_codes_are_the_signs_of_scores(name):
    """Embeddings are 0 and 1, one where the score is positive, and their squared distance is Hamming's."""
    views, labels = three_views()
    learner = hasher(name).fit(views[:2], labels)
    for view in (0, 1):
        codes = learner.transform(views[view], view=view)
        np.testing.assert_array_equal(codes, learner.scores(views[view], view) > 0)
        squared = ((codes[:, None] - codes[None]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(squared, hamming(codes, codes))
        assert 0 < codes.mean() < 1


@pytest.mark.parametrize("name", HASHERS)
def test_what_is_hashed_can_be_asked_for(name):
    """``unhashed`` has a row per code; it and scores are refused before a fit, and for a wrong width."""
    views, labels = three_views()
    with pytest.raises(NotFittedError):
        hasher(name).scores(views[0])
    learner = hasher(name).fit(views[:2], labels)
    for method in (learner.scores, learner.unhashed):
        assert len(method(views[1], 1)) == len(views[1])
        with pytest.raises(ValueError, match="expecting 9 features"):
            method(views[0], 1)


@pytest.mark.parametrize("name", STAGES)
def test_codes_are_of_directions_from_the_mean(name):
    """Rows on one ray from the training rows' mean have one code; those on the opposite ray differ in every bit."""
    views, _ = three_views()
    learner = hasher(name).fit(views[:1])
    mean = views[0].mean(axis=0)
    codes = learner.transform(views[0], view=0)
    for factor in (0.1, 7.0):
        np.testing.assert_array_equal(learner.transform(mean + factor * (views[0] - mean), view=0), codes)
    np.testing.assert_array_equal(learner.transform(mean - (views[0] - mean), view=0), 1 - codes)


@pytest.mark.parametrize("name", STAGES)
def test_one_hash_for_the_views_of_a_shared_space(name):
    """A cross-view learner before the hasher gives equal embeddings of different views equal codes. After another
    learner each view has its own hash, and codes of different views are not compared."""
    views, labels = three_views()
    shared = parse_chain(f"multi-npp:4,{name}", {"random_state": 0})
    shared.fit(views, labels)
    assert (shared.capabilities.cross_view, shared.capabilities.binary, shared.main_learner.name) == (
        True,
        True,
        "multi-npp",
    )
    embedded = Chain(shared.steps[:1]).fit(views, labels).transform(views)
    hashes = shared.steps[1]
    for view in (1, 2):
        np.testing.assert_array_equal(hashes.transform(embedded[0], view=view), hashes.transform(embedded[0], view=0))
    np.testing.assert_allclose(hashes.offsets_[0], np.vstack(embedded).mean(axis=0))
    apart = parse_chain(f"pca:4,{name}").fit(views)
    assert (apart.capabilities.cross_view, apart.capabilities.binary, len(apart.steps[1].offsets_)) == (False, True, 3)


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("before", ["multi-npp:4", "pca:4"])
def test_a_view_added_later(before, name):
    """The other views' codes stay to the last bit, and in a shared space the new view has their hash."""
    views, labels = three_views()
    chain = parse_chain(f"{before},{name}", {"random_state": 0} if "npp" in before else {}).fit(views[:2], labels)
    kept = [chain.transform(views[view], view=view) for view in (0, 1)]
    chain.add_view(views, labels)
    for view in (0, 1):
        np.testing.assert_array_equal(chain.transform(views[view], view=view), kept[view])
    codes = chain.transform(views[2], view=2)
    assert codes.shape == kept[0].shape
    if chain.capabilities.cross_view:
        alike = labels[:, None] == labels[None]
        between = hamming(codes, kept[0])
        assert between[alike].mean() < 0.5 * between[~alike].mean()


def test_rows_of_different_widths_are_of_no_shared_space():
    """One hash for rows of different widths is refused, and a refused view leaves the hasher as it was."""
    views, _ = three_views()
    with pytest.raises(ValueError, match=r"views of equal width, not \[6, 9\]"):
        hasher("sign").fit(views[:2], Supervision(shared_space=True))
    learner = hasher("sign").fit([views[0], views[0]], Supervision(shared_space=True))
    with pytest.raises(ValueError, match=r"views of equal width, not \[6, 6, 5\]"):
        learner.add_view([views[0], views[0], views[2]], Supervision(shared_space=True))
    assert learner.view_widths_ == [6, 6]
    with pytest.raises(ValueError, match="shared_space=False but the hasher was fitted with shared_space=True"):
        learner.add_view([views[0]] * 3)
