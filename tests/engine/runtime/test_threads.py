"""Linear algebra runs on one thread while learners are fitted, and loops over blocks on several."""

import threading
from contextvars import ContextVar

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from crossview.engine.learners.papers.npp.multi_npp import MultiNPP
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.runtime.cancellation import cancellable
from crossview.engine.runtime.threads import in_turn, one_blas_thread, over


def numbers_of_threads():
    return {one["num_threads"] for one in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture
def two_threads():
    """Give linear algebra two threads, in any environment; yield the numbers of threads of the libraries.

    Another test can have loaded a library that has one thread for good.
    """
    with threadpool_limits(2, user_api="blas"):
        yield numbers_of_threads()


def test_overlapping_limits_are_lifted_by_the_last(two_threads):
    """BLAS has one thread until the last of several that overlap is over, then as many as before."""
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    assert numbers_of_threads() == {1}
    second.__enter__()
    first.__exit__(None, None, None)
    assert numbers_of_threads() == {1}
    second.__exit__(None, None, None)
    assert numbers_of_threads() == two_threads


def test_blocks_are_in_order_and_in_several_threads(two_threads):
    """Results are in the order of the blocks; threads meet, and see the caller's context variables."""
    variable: ContextVar[str] = ContextVar("variable", default="")
    variable.set("seen")
    meeting = threading.Barrier(2, timeout=300)

    def meet(number):
        meeting.wait()
        return number, variable.get(), threading.get_ident()

    with one_blas_thread():
        found = over([0, 1, 2, 3], meet)
    assert [one[:2] for one in found] == [(number, "seen") for number in range(4)]
    assert len({one[2] for one in found}) == 2
    assert over([1, 2], lambda number: threading.get_ident()) == [threading.get_ident()] * 2  # outside a limit


def test_blocks_are_taken_in_turn(two_threads):
    """Results are in order; the caller takes at most two blocks more than it has used, in its own thread."""
    taken: list[int] = []

    def blocks():
        for number in range(9):
            taken.append(threading.get_ident())
            yield number

    with one_blas_thread():
        for place, found in enumerate(in_turn(blocks(), lambda number: (number, threading.get_ident()))):
            assert found[0] == place
            assert found[1] != threading.get_ident()
            assert len(taken) <= place + 3
    assert set(taken) == {threading.get_ident()}
    assert list(in_turn(range(3), lambda number: threading.get_ident())) == [threading.get_ident()] * 3


def test_what_fails_in_turn_ends_the_loop(two_threads):
    """After an error of a block, or when the caller leaves, no further block is taken."""
    taken: list[int] = []

    def blocks():
        for number in (1, 0, 2, 3, 4, 5):
            taken.append(number)
            yield number

    with one_blas_thread():
        with pytest.raises(ZeroDivisionError):
            list(in_turn(blocks(), lambda number: 1 / number))
        assert len(taken) < 6
        taken.clear()
        for _ in in_turn(blocks(), lambda number: number):
            break
        assert len(taken) == 3


def test_a_failing_block_fails_the_loop(two_threads):
    """The caller gets the error of a thread."""
    with one_blas_thread(), pytest.raises(ZeroDivisionError):
        over([1, 0], lambda number: 1 / number)


@pytest.mark.parametrize("learner", [MultiNPP(5, random_state=0), PCA(3)])
def test_threads_change_nothing(learner, two_threads):
    """Views and blocks give the same numbers side by side as one after another."""
    generator = np.random.default_rng(0)
    labels = np.arange(400) % 4
    views = [generator.normal(size=(4, d))[labels] + generator.normal(size=(400, d)) for d in (30, 20)]
    several = learner.fit(views, labels).weights_
    with threadpool_limits(1, user_api="blas"):
        alone = learner.fit(views, labels).weights_
    for found, expected in zip(several, alone, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_cancelling_reaches_views_in_threads(two_threads):
    """A fit whose views are in threads is cancelled like any other."""

    def stop():
        if threading.current_thread() is not threading.main_thread():
            raise InterruptedError

    with cancellable(stop), pytest.raises(InterruptedError):
        PCA().fit([np.eye(4), np.eye(5)[:4]])
    assert numbers_of_threads() == two_threads
