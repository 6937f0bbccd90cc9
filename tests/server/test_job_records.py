"""The records of jobs: bounded, kept, and shared by the processes that serve a home."""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from google.protobuf.any_pb2 import Any
from long_jobs import until
from terminal import fill_rows

from crossview.engine.collections.home import Home
from crossview.engine.values.errors import BusyError, CancelledError, NotFoundError, NotReadyError, StorageError
from crossview.server.core.jobs import slot
from crossview.server.core.jobs.jobs import Jobs
from crossview.server.core.jobs.operation import new_operation
from crossview.server.core.jobs.owner import Owner, bury
from crossview.server.core.jobs.records import KEPT_SECONDS, MOST_ENDED, MOST_OF_KEY, MOST_WAITING, Records
from crossview.server.core.jobs.slot import settled
from crossview.server.wire.errors import JobStoppedError, OverloadedError
from crossview.server.wire.names import parse_operation
from crossview.server.wire.status import error_in, refusal
from crossview.v1 import collections_pb2 as pb
from crossview.v1.jobs_pb2 import JobMetadata, SubmitJobRequest

KINDS = ("train",)


def request(space: str = "") -> SubmitJobRequest:
    """Return a training."""
    return SubmitJobRequest(train=pb.TrainRequest(parent="collections/rows", views=["color"], space_id=space))


def add(records: Records, owner: str = "me") -> str:
    """Return the id of a new job."""
    operation, new = records.add(request(), new_operation(request()), owner)
    assert new
    return parse_operation(operation.name)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(tmp_path)
    yield made
    made.close()


def test_a_home_without_jobs_has_no_records(tmp_path: Path, records: Records) -> None:
    """A read makes no file."""
    assert records.unfinished() == []
    assert records.page("", None, 10) == []
    with pytest.raises(NotFoundError, match="operations/none"):
        records.get("none")
    assert list(tmp_path.iterdir()) == []


def test_records_of_earlier_formats_get_the_columns_that_they_lack(tmp_path: Path, records: Records) -> None:
    """They get them in place: their jobs belong to no key, so only administrators see them."""
    job = add(records)
    records.close()
    with closing(sqlite3.connect(tmp_path / ".jobs/jobs.db")) as database, database:
        database.execute("ALTER TABLE jobs DROP COLUMN identity")
        database.execute("PRAGMA user_version = 3")
    assert records.identity_of(job) == ""
    records.close()
    with closing(sqlite3.connect(tmp_path / ".jobs/jobs.db")) as database, database:
        database.execute("ALTER TABLE jobs DROP COLUMN identity")
        database.execute("ALTER TABLE jobs DROP COLUMN key")
        database.execute("PRAGMA user_version = 2")
    assert not records.get(job).done
    assert records.key_of(job) == ""
    assert records.page("", None, 10, key="0123456789ab") == []


def test_records_of_an_earlier_format_are_dropped_and_those_of_a_later_one_kept(tmp_path: Path) -> None:
    """The messages of an earlier one cannot be read; a later version's are for that version."""
    for version, error in ((1, None), (99, "format 99, and this version reads")):
        with closing(Records(tmp_path)) as before:
            add(before)
            path = before._path
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA user_version = {version}")
        with closing(Records(tmp_path)) as after:
            if error is None:
                assert after.page("", None, 10) == []
            else:
                with pytest.raises(StorageError, match=error):
                    after.page("", None, 10)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_only_so_many_wait(records: Records) -> None:
    """A further one is refused until one has ended."""
    jobs = [add(records) for _ in range(MOST_WAITING)]
    with pytest.raises(OverloadedError, match="100 jobs are waiting"):
        add(records)
    records.ask_to_stop(jobs[7], refusal(CancelledError("no")).status)
    add(records)


def test_one_key_leaves_places_for_others(records: Records) -> None:
    """Its further jobs are refused; those of other keys wait."""
    for _ in range(MOST_OF_KEY):
        records.add(request(), new_operation(request()), "me", "0123456789ab")
    with pytest.raises(OverloadedError, match="25 jobs of the key are waiting"):
        records.add(request(), new_operation(request()), "me", "0123456789ab")
    records.add(request(), new_operation(request()), "me", "ba9876543210")
    add(records)


def test_jobs_begin_in_order_and_once(records: Records) -> None:
    """Its owner begins each."""
    mine = [add(records), add(records)]
    other = add(records, "other")
    begun = [records.next_waiting("me", KINDS) for _ in range(3)]
    assert [one and one.request_id for one in begun] == [*mine, None]
    (theirs,) = [records.next_waiting("other", KINDS)]
    assert theirs is not None
    assert theirs.request_id == other
    assert records.next_waiting("me", ("evaluate",)) is None


def test_an_end_is_final(records: Records) -> None:
    """No later report of the job changes it."""
    job = add(records)
    records.next_waiting("me", KINDS)
    records.end(job, refusal(JobStoppedError("one")).status)
    ended = records.get(job)
    records.end(job, Any())
    records.ask_to_stop(job, refusal(CancelledError("two")).status)
    records.advance(job, [JobMetadata.Progress(what="late")])
    assert records.get(job) == ended
    error = error_in(ended.error)
    assert (type(error), str(error)) == (JobStoppedError, "one")


def test_old_records_go(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that ended long ago go, and the oldest of too many; none that has not ended."""
    monkeypatch.setattr("crossview.server.core.jobs.records.MOST_ENDED", 2)
    assert MOST_ENDED == 1_000
    kept, *jobs = [add(records) for _ in range(5)]
    for job in jobs:
        records.ask_to_stop(job, refusal(CancelledError("no")).status)
    assert [parse_operation(one.name) for _, one in records.page("", None, 10)] == [jobs[3], jobs[2], kept]
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + KEPT_SECONDS + 1)
    last = add(records)
    records.ask_to_stop(last, refusal(CancelledError("no")).status)
    assert [parse_operation(one.name) for _, one in records.page("", None, 10)] == [last, kept]


def test_a_home_that_is_replaced_has_records_of_its_own(tmp_path: Path, records: Records) -> None:
    """Later submissions are in the new home's records; earlier ones went with the other home."""
    former = add(records)
    (tmp_path / ".jobs").rename(tmp_path / "former")
    assert records.unfinished() == []
    with pytest.raises(NotFoundError, match="no operation"):
        records.get(former)
    records.end(former, Any())  # its process has no record to write to
    assert not (tmp_path / ".jobs").exists()
    job = add(records)
    others = Records(tmp_path)
    assert [one for one, _ in others.unfinished()] == [one for one, _ in records.unfinished()] == [job]
    others.close()


def test_an_owner_holds_its_lock_in_a_home_that_was_replaced(tmp_path: Path) -> None:
    """Otherwise others would assume it to be dead, and end its jobs; its processes keep the lock that they have."""
    owner = Owner(tmp_path / ".jobs")
    before = owner.descriptor
    owner.stay()
    assert owner.descriptor == before
    (tmp_path / ".jobs").rename(tmp_path / "former")
    owner.stay()
    assert not bury(tmp_path / ".jobs", owner.id)
    assert not bury(tmp_path / "former", owner.id)
    owner.close()
    assert bury(tmp_path / ".jobs", owner.id)
    assert bury(tmp_path / "former", owner.id)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_records_are_private(tmp_path: Path, records: Records, umask: int) -> None:
    """They hold requests, and their outcomes."""
    before = os.umask(umask)
    try:
        add(records)
        owner = Owner(records.folder)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (records.folder, *records.folder.iterdir())}
    assert modes == {name: 0o700 if name == ".jobs" else 0o600 for name in modes}
    assert {"jobs.db", "jobs.db-wal", f"{owner.id}.lock"} <= modes.keys()
    owner.close()


def test_a_link_in_place_of_records_is_not_followed(tmp_path: Path, records: Records) -> None:
    """It could lead to the database of another user."""
    (tmp_path / ".jobs").mkdir()
    (tmp_path / ".jobs" / "jobs.db").symlink_to(tmp_path / "others.db")
    with pytest.raises(StorageError, match=r"'jobs\.db' is a link"):
        add(records)
    assert not (tmp_path / "others.db").exists()


def test_damaged_records_are_told(tmp_path: Path, records: Records) -> None:
    """The error has the file, and the remedy."""
    add(records)
    records.close()
    (tmp_path / ".jobs" / "jobs.db").write_bytes(b"no database" * 100)
    with pytest.raises(
        StorageError, match=r"cannot be read or written.*remove their file .*jobs\.db: file is not a database"
    ):
        records.unfinished()


def test_an_owner_is_dead_when_its_lock_is_free(tmp_path: Path) -> None:
    """It is not dead before; an owner that never existed is dead, too."""
    owner = Owner(tmp_path)
    assert not bury(tmp_path, owner.id)
    owner.close()
    assert bury(tmp_path, owner.id)
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_leaves_the_jobs_of_the_first_alone(tmp_path: Path) -> None:
    """It sees them, and may cancel them; once the first is dead they have failed."""
    home = Home(tmp_path)
    fill_rows(home, 2)
    records = Records(tmp_path)
    owner = Owner(records.folder)
    waiting, cancelled = add(records, owner.id), add(records, owner.id)
    second = Jobs(home)
    try:
        second.cancel(cancelled)
        assert records.get(cancelled).done
        assert not records.get(waiting).done
        owner.close()
        until(lambda: records.get(waiting).done)
        assert isinstance(error_in(records.get(waiting).error), JobStoppedError)
    finally:
        second.close()
        records.close()
    assert home.names() == ["rows"]


def test_jobs_are_settled_once_the_collection_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While others keep it busy their end is unknown: neither they nor those after them are given up."""
    home = Home(tmp_path)
    fill_rows(home, 2)
    records = Records(tmp_path)
    lost = [add(records, "dead"), add(records, "dead")]
    looks, real = list[str](), Home.open

    def busy_at_first(self: Home, name: str) -> object:
        looks.append(name)
        if len(looks) <= 3:
            raise BusyError("another process is writing this collection")
        return real(self, name)

    monkeypatch.setattr(Home, "open", busy_at_first)
    server = Jobs(home)
    try:
        until(lambda: not records.unfinished())
        found = [records.get(job) for job in lost]
        assert [type(error_in(one.error)) for one in found] == [JobStoppedError, JobStoppedError]
        assert len(looks) == 5
    finally:
        server.close()
        records.close()


def test_a_slot_stays_whatever_hinders_the_settling_of_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collection is busy, and then one that this version cannot open: the next job is run all the same."""
    home = Home(tmp_path)
    fill_rows(home, 2)
    hindrances = [BusyError("others write it"), NotReadyError("another version wrote it")]

    def hindered(*given: object) -> object:
        if hindrances:
            raise hindrances.pop(0)
        return settled(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(slot, "_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(slot, "settled", hindered)
    monkeypatch.setattr(slot._Run, "outcome", lambda _: JobStoppedError("its process died"))
    jobs = Jobs(home)
    try:
        for expected in ("another version wrote it", "its process died"):
            job = parse_operation(jobs.submit(request())[0].name)
            until(lambda: jobs.records.get(job).done)  # noqa: B023  # called in this turn only
            assert str(error_in(jobs.records.get(job).error)) == expected
    finally:
        jobs.close()
