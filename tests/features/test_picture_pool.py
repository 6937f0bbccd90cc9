"""Pictures read by processes of their own: the same results, and a bad picture ends nothing but its process."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from drawn import draw, encode

from crossview.features.base import ImageExtractor
from crossview.features.color import Color
from crossview.features.errors import ImageError, ImageTooLargeError
from crossview.features.gist import Gist
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import IN_PROCESS, InProcess, PictureLimits, PictureTask
from crossview.features.reading import rows, samples
from crossview.features.sift import Sift

PATIENCE = 300.0
LIMITS = PictureLimits(pixels=1_000_000, seconds=2 * PATIENCE)
PICTURES = [encode(draw(label, number)) for number in range(3) for label in ("red", "green", "blue")]


def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def wanted() -> None:
    """A checkpoint of a call whose caller waits."""


def named(*names: str) -> list[PictureTask]:
    """Return tasks of pictures whose last bytes say what they do to the process."""
    return [PictureTask(PICTURES[0] + name.encode().ljust(8), {}) for name in names]


class Gate:
    """Pictures whose reading begins, and ends only when the test lets them through."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def tasks(self, count: int = 1) -> list[PictureTask]:
        """Return tasks of such pictures, by number from 0."""
        paths = [str(self._folder / str(number)).encode() for number in range(count)]
        return [PictureTask(PICTURES[0] + path.ljust(200) + b"gate".ljust(8), {}) for path in paths]

    def readers(self, number: int = 0) -> list[int]:
        """Return the processes that have begun to read a picture."""
        return [int(path.suffix[1:]) for path in self._folder.glob(f"{number}.*") if path.suffix != ".through"]

    def begun(self) -> int:
        """Return the number of pictures that a process has begun to read."""
        return len({path.stem for path in self._folder.iterdir() if path.suffix != ".through"})

    def let_through(self, number: int = 0) -> None:
        (self._folder / f"{number}.through").touch()

    @staticmethod
    def read(path: Path) -> str:
        """Wait until the test lets the picture through."""
        path.with_suffix(f".{os.getpid()}").touch()
        until(path.with_suffix(".through").exists)
        return path.name


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def act(data: bytes, extractors: object, max_pixels: int) -> Any:
    """Do what the last bytes of a picture say."""
    name = data[-8:].decode().strip()
    if name == "gate":
        return Gate.read(Path(data[-208:-8].decode().strip()))
    if name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "hang":
        time.sleep(PATIENCE)
    if name == "slow":
        time.sleep(1)
    if name == "fill":
        return len(bytearray(LIMITS.memory_bytes + (1 << 20)))
    if name == "fail":
        raise LookupError("a bug")
    return name if name != "pid" else os.getpid()


@pytest.fixture(scope="module")
def pool() -> Iterator[PicturePool]:
    made = PicturePool(2, LIMITS)
    yield made
    made.close()
    assert made.pids() == []


class Counted(Color):
    """Counts how often it is pickled."""

    pickled: ClassVar[list[int]] = []

    def __reduce__(self) -> Any:
        self.pickled.append(1)
        return Color, ()


def fitted() -> dict[str, ImageExtractor]:
    unfitted = Sift(words=8)
    found = [samples(picture, {"sift": unfitted})["sift"] for picture in PICTURES]
    return {"color": Color(), "sift": Sift(words=8).fit(found), "gist": Gist()}


def test_rows_are_those_of_this_process(pool: PicturePool):
    """They are equal to the bit and in order, of fitted views too; so are the reasons of unreadable pictures."""
    tasks = [PictureTask(data, views) for views in [fitted()] for data in [*PICTURES, b"no picture", b""]]
    for work in (rows, samples):
        here, there = (one.run(work, tasks, wanted) for one in (IN_PROCESS, pool))
        assert [type(one) for one in here] == [type(one) for one in there]
        for mine, other in zip(here, there, strict=True):
            if isinstance(mine, ImageError) or isinstance(other, ImageError):
                assert str(mine) == str(other)
                continue
            assert mine.keys() == other.keys()
            assert all(np.array_equal(mine[view], other[view]) for view in mine)


def test_an_extractor_travels_once(pool: PicturePool):
    """A codebook is half a megabyte, and pictures come by the thousand."""
    counted = Counted()
    for _ in range(3):
        pool.run(rows, [PictureTask(data, {"color": counted}) for data in PICTURES], wanted)
    assert len(Counted.pickled) == 1


def test_a_picture_that_kills_its_process_is_an_error_and_the_others_are_read(pool: PicturePool):
    """Pictures of the same call and of other calls are read at the same time."""
    other: list[Any] = []
    beside = threading.Thread(target=lambda: other.extend(pool.run(act, named(*"abcdefgh"), wanted)))
    beside.start()
    found = pool.run(act, named("one", "kill", "two", "kill", "three"), wanted)
    beside.join()
    assert [found[number] for number in (0, 2, 4)] == ["one", "two", "three"]
    assert all(isinstance(found[number], ImageError) and "kills the process" in str(found[number]) for number in (1, 3))
    assert other == list("abcdefgh")


def test_a_process_that_somebody_else_ends_costs_no_picture(pool: PicturePool, gate: Gate):
    """The picture is read again: the system may have ended the process because it was short of memory."""
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(pool.run(act, gate.tasks(), wanted)))
    reading.start()
    until(gate.readers)
    (busy,) = gate.readers()
    os.kill(busy, signal.SIGKILL)
    until(lambda: len(gate.readers()) == 2)
    gate.let_through()
    reading.join()
    assert found == ["0"]


def test_a_process_that_is_asked_to_end_finishes_its_picture(pool: PicturePool, gate: Gate):
    """A person who stops a server may send SIGTERM to all of its processes: calls under way are answered first."""
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.extend(pool.run(act, gate.tasks(), wanted)))
    reading.start()
    until(gate.readers)
    (busy,) = gate.readers()
    os.kill(busy, signal.SIGTERM)
    time.sleep(0.1)
    assert alive(busy)
    gate.let_through()
    reading.join()
    assert found == ["0"]
    assert gate.readers() == [busy]
    assert pool.run(act, named("next", "next"), wanted) == ["next", "next"]


@pytest.mark.long
def test_a_picture_that_takes_too_long_is_an_error():
    """Its process ends, and so keeps no place."""
    limited, unlimited = PictureLimits(seconds=2.0), PictureLimits(seconds=PATIENCE)
    pool = PicturePool(1, unlimited)

    def tasks() -> Iterator[PictureTask]:
        yield from named("one")
        (worker,) = pool._started
        worker._limits = pool.limits = limited
        yield from named("hang")
        until(lambda: worker not in pool._started)
        pool.limits = unlimited
        yield from named("two")

    try:
        one, hang, two = [found for task in tasks() for found in pool.run(act, [task], wanted)]
        assert (one, two) == ("one", "two")
        assert isinstance(hang, ImageError)
        assert "more than 2 seconds" in str(hang)
    finally:
        pool.close()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells how much memory a process has")
def test_a_picture_that_takes_too_much_memory_is_an_error(pool: PicturePool):
    """The process has its memory back afterwards."""
    found = pool.run(act, named("fill", "one", "fill", "two"), wanted)
    assert [type(one) for one in found] == [ImageTooLargeError, str, ImageTooLargeError, str]


def test_a_picture_of_too_many_pixels_is_refused_undecoded(pool: PicturePool):
    """Its header decides: no process reads the picture."""
    large = encode(np.zeros((1001, 1000, 3), np.uint8)) + b"kill".ljust(8)
    (found,) = pool.run(act, [PictureTask(large, {})], wanted)
    assert isinstance(found, ImageTooLargeError)
    assert "1000 x 1001" in str(found)
    assert "1,000,000" in str(found)


def test_a_trusted_picture_counts_by_its_pixels_in_memory(tmp_path: Path):
    """A large JPEG is read at a reduced size, as in this process. Its file needs no copy in the program."""
    large = tmp_path / "large.jpg"
    large.write_bytes(encode(np.zeros((2000, 1500, 3), np.uint8), ".jpg"))
    task = [PictureTask(large, {"color": Color()})]
    pool = PicturePool(1, replace(LIMITS, trusted=True))
    try:
        (there,), (here,) = (one.run(rows, task, wanted) for one in (pool, InProcess(LIMITS.pixels)))
        assert np.array_equal(there["color"], here["color"])
    finally:
        pool.close()


def test_a_stream_takes_tasks_as_it_needs_them(pool: PicturePool):
    """Neither the pictures nor the results of a long run are in memory at once."""
    taken = []

    def tasks() -> Iterator[PictureTask]:
        for number in range(40):
            taken.append(number)
            yield named(str(number))[0]

    found = pool.stream(act, tasks(), wanted)
    assert next(found) == "0"
    assert len(taken) <= 2 * pool.workers + 1
    assert list(found) == [str(number) for number in range(1, 40)]


@pytest.mark.long
def test_what_is_decoded_at_once_is_bounded():
    """The default is two pictures at the limit at a time, for any number of processes."""
    pool = PicturePool(4, PictureLimits(pixels=96 * 72, largest_at_once=1, seconds=PATIENCE))
    try:
        began = time.monotonic()
        assert pool.run(act, named("slow", "slow", "slow"), wanted) == ["slow"] * 3
        assert time.monotonic() - began >= 3
    finally:
        pool.close()


def test_a_fault_of_ours_is_raised(pool: PicturePool):
    """The picture has no fault, and the process goes on."""
    with pytest.raises(LookupError, match="a bug"):
        pool.run(act, named("one", "fail"), wanted)
    assert pool.run(act, named("two"), wanted) == ["two"]


def test_who_leaves_does_not_wait(pool: PicturePool, gate: Gate):
    """The caller does not wait for pictures that are being read; its others are never read; the pool goes on."""

    def leave() -> None:
        if gate.begun() == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        pool.run(act, gate.tasks(50), leave)
    for number in range(50):  # the test has let no picture through before
        gate.let_through(number)
    assert pool.run(act, named("next"), wanted) == ["next"]
    assert gate.begun() == 2


def test_calls_with_many_pictures_and_with_one_take_turns(pool: PicturePool, gate: Gate):
    """One picture does not wait for all pictures of another call."""
    many, one, asked = list[Any](), list[Any](), threading.Event()

    def single() -> Iterator[PictureTask]:
        yield from named("one")
        asked.set()  # the pool has taken the picture

    calling = [
        threading.Thread(target=lambda: many.extend(pool.run(act, gate.tasks(8), wanted))),
        threading.Thread(target=lambda: one.extend(pool.stream(act, single(), wanted))),
    ]
    calling[0].start()
    until(lambda: gate.begun() == 2)
    calling[1].start()
    assert asked.wait(PATIENCE)
    for number in range(4):  # those that the call may have before the one picture; the others wait for ever
        gate.let_through(number)
    calling[1].join(PATIENCE)
    assert (many, one) == ([], ["one"])
    for number in range(4, 8):
        gate.let_through(number)
    calling[0].join()
    assert many == [str(number) for number in range(8)]


def test_a_pool_that_closes_ends_its_processes_during_a_picture(gate: Gate):
    """The call fails, and no process is left."""
    pool = PicturePool(1, LIMITS)
    pool.run(act, named("one"), wanted)
    (process,) = pool.pids()
    failed: list[Exception] = []

    def call() -> None:
        try:
            pool.run(act, gate.tasks(), wanted)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    calling = threading.Thread(target=call)
    calling.start()
    until(gate.readers)
    pool.close()
    calling.join()
    assert len(failed) == 1
    assert not alive(process)
    with pytest.raises(RuntimeError):
        pool.run(act, named("one"), wanted)


_PROGRAM = """
import sys, time
from crossview.features.picture_pool import PicturePool
from crossview.features.pictures import PictureTask
from crossview.features.reading import rows
if __name__ == "__main__":
    pool = PicturePool(1)
    pool.run(rows, [PictureTask(b"", {})], lambda: None)
    print(*pool.pids(), flush=True)
    if sys.argv[1] == "kill":
        time.sleep(60)
"""


@pytest.mark.parametrize("end", ["kill", "return"])
def test_the_processes_end_with_the_program(end: str):
    """The program may be killed, or forget to close its pool."""
    command = [sys.executable, "-c", _PROGRAM, end]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as program:
        assert program.stdout is not None
        process = int(program.stdout.readline())
        if end == "kill":
            program.kill()
        program.wait(PATIENCE)
    until(lambda: not alive(process))


def alive(process: int) -> bool:
    """Return whether a process exists that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_limits_travel():
    """They are values, and can be pickled."""
    assert pickle.loads(pickle.dumps(LIMITS)) == LIMITS  # noqa: S301


def test_the_lines_of_libtiff_are_the_reason_of_a_failure_and_reach_no_terminal(capfd):
    """libtiff writes lines without the name of the file, some of them about pictures that can be read."""
    whole = encode(draw("red", 0), ".tiff")
    middle = len(whole) // 2
    damaged = whole[:middle] + b"\xff" * 64 + whole[middle + 64 :]
    pool = PicturePool(1, LIMITS)
    try:
        good, bad = pool.run(rows, [PictureTask(data, {"color": Color()}) for data in (whole, damaged)], wanted)
    finally:
        pool.close()
    assert isinstance(good, dict)
    assert isinstance(bad, ImageError)
    assert "LZW" in str(bad) or "code" in str(bad)
    assert capfd.readouterr().err == ""
