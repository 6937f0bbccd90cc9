"""A thread that the system refuses: nothing waits for it, and what needs it says so."""

import ast
import errno
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import tiny_models as tiny
from refusals import error_of

from crossview.engine.catalog.models import FOLDER, Models
from crossview.features.background import NO_MORE, begun, refused
from crossview.features.errors import NotEnoughMemoryError
from crossview.features.models import towers
from crossview.features.models.texts import TextProcesses
from crossview.features.onnx import Onnx
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import PictureTask

ROOT = Path(__file__).parents[2]
ROOMS = ("features", "index", "engine", "server")
AT_THE_START = {
    "features/worker_process.py": "of a process that could not work",
    "engine/publishing/collection.py": "an opening fails",
    "server/edge/health.py": "the server does not start",
    "server/core/jobs/jobs.py": "the server does not start",
    "server/core/jobs/worker.py": "of a process that could not work",
    "server/edge/listen.py": "the server does not start",
    "server/core/observing/admin.py": "the server does not start",
    "server/core/observing/tracing.py": "the end of the server",
    "server/edge/processes.py": "of a process that could not work",
    "server/core/writing/worker.py": "of a process that could not work",
}
"""The files that start threads themselves, and what ends if one is refused."""


PICTURE = (Path(__file__).parent / "data" / "grey-alpha-16.tif").read_bytes()


@contextmanager
def no_threads() -> Iterator[None]:
    """Refuse every thread, as Python does at the limit of the system."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        yield


def test_every_other_thread_begins_in_one_place() -> None:
    """So that each one that a call or a background needs can be refused."""
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "threading.Thread"
    }
    assert found == {"features/background.py", *AT_THE_START}


def test_a_refused_thread_is_none() -> None:
    """Another one begins once the system allows it."""
    done = threading.Event()
    with no_threads():
        assert begun(done.set, "test") is None
    thread = begun(done.set, "test")
    assert thread is not None
    thread.join()
    assert done.is_set()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RuntimeError("can't start new thread"), NO_MORE),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), NO_MORE),
        (OSError(errno.EMFILE, "Too many open files", "a.jpg"), "ulimit -n"),
        (OSError(errno.ENOENT, "No such file", "a.jpg"), ""),
        (RuntimeError("other"), ""),
    ],
)
def test_what_the_system_refuses_is_told(error: Exception, sentence: str) -> None:
    """Also of an error that was caused by it."""
    outer = ValueError("outer")
    outer.__cause__ = error
    assert sentence in refused(error)
    assert refused(outer) == refused(error)
    assert bool(refused(error)) == bool(sentence)


def size(data: bytes, extractors: object, max_pixels: int) -> int:
    """Do the work of a process of the pool."""
    return len(data)


@pytest.mark.parametrize("threads", [0, 1])
def test_a_pool_whose_thread_is_refused_says_so_and_works_again(threads: int) -> None:
    """With a thread that reads, its end waited for ever for the process that another one would have started."""

    def read(pool: PicturePool) -> list[object]:
        return list(pool.stream(size, [PictureTask(PICTURE, {})], lambda: None))

    with closing(PicturePool(1)) as pool:
        for _ in range(threads):
            pool._threads.submit(int).result()
        with no_threads():
            assert NO_MORE in str(error_of(NotEnoughMemoryError, lambda: read(pool)))
        assert pool._starting == 0
        assert read(pool) == [len(PICTURE)]


def test_a_text_whose_thread_is_refused_says_so_and_the_next_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for ever for the process that the thread would have started."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, _ = Models(tmp_path / "home").add("words", tiny.text_folder(tmp_path / "words"))
    view = Onnx(model="words", digest=model.digest, dim=tiny.DIM, inputs=("text",)).of(tmp_path / "home" / FOLDER)
    with closing(TextProcesses(1)) as texts:
        monkeypatch.setattr(towers, "TEXTS", texts)
        with no_threads():
            assert NO_MORE in str(error_of(NotEnoughMemoryError, lambda: view.row("red")))
        assert view.row("red").size == tiny.DIM
