"""Bulk indexing reads every readable file once, through any interruption."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawn import CLASSES, VIEWS, draw, encode, write_pictures

from crossview.engine.catalog.ingest import extraction, indexing
from crossview.engine.catalog.ingest.extraction import Extracted, extract, reading_files
from crossview.engine.collections.home import Home
from crossview.engine.values.conditions.filter import Filter
from crossview.engine.values.errors import InvalidInputError, NotReadyError
from crossview.engine.values.item import IndexOptions, Picture
from crossview.engine.values.query import Query, SearchRequest
from crossview.features.extras import install_command
from crossview.features.forest import Forest
from crossview.features.picture_worker import PictureWorker
from crossview.features.pictures import MAX_FILE_BYTES, MAX_PIXELS, PictureTask


def keys(collection) -> list[str]:
    return [item.key for item in collection.items(limit=1000)]


def test_items_carry_key_label_source_size_and_every_view(collection, pictures):
    item = collection.items.get("pictures/red/0.png")
    assert item.labels == ("red",)
    assert item.source == str(pictures / "red/0.png")
    assert (item.width, item.height) == (96, 72)
    assert item.views == ("color", "sift")
    assert collection.items.thumbnail(item.key).startswith(b"\xff\xd8")
    assert collection.info().labels == {"blue": 6, "green": 6, "red": 6}


def test_running_again_does_nothing(collection, pictures):
    before = collection.info().sequence
    report = collection.index([pictures], IndexOptions(labels="folder", workers=1))
    assert (report.added, report.updated, report.unchanged) == (0, 0, 18)
    assert collection.info().sequence == before


def test_a_changed_file_is_extracted_again_and_a_touched_one_is_not(collection, pictures):
    (pictures / "red/0.png").write_bytes(encode(draw("blue", 99)))
    os.utime(pictures / "red/1.png", ns=(1, 1))
    hash_before = collection.items.get("pictures/red/1.png").content_hash
    report = collection.index([pictures], IndexOptions(labels="folder", workers=1))
    assert (report.added, report.updated, report.unchanged) == (0, 1, 17)
    assert collection.items.get("pictures/red/1.png").content_hash == hash_before
    assert collection.index([pictures], IndexOptions(workers=1)).unchanged == 18


def test_equal_paths_below_two_roots_and_one_picture_twice_are_separate_items(home: Home, tmp_path: Path):
    picture = encode(draw("red", 1))
    for root in ("one/photos", "two/photos"):
        (tmp_path / root / "a").mkdir(parents=True)
        (tmp_path / root / "a/1.png").write_bytes(picture)
    (tmp_path / "one/photos/copy.png").write_bytes(picture)
    with home.create("two", ["color"]) as collection:
        collection.index([tmp_path / "one/photos", tmp_path / "two/photos"], IndexOptions(workers=1))
        assert keys(collection) == ["photos-2/a/1.png", "photos/a/1.png", "photos/copy.png"]
        assert collection.index([tmp_path / "two/photos"], IndexOptions(workers=1)).unchanged == 1


def test_files_that_cannot_be_read_are_listed_with_the_reason_and_stop_nothing(home: Home, tmp_path: Path):
    folder = tmp_path / "mixed"
    write_pictures(folder, 2)
    good = (folder / "red/0.png").read_bytes()
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.png").write_text("hello")
    (folder / "cut.png").write_bytes(good[: len(good) // 2])
    (folder / "gone.png").symlink_to(folder / "nowhere.png")
    os.mkfifo(folder / "pipe.png")
    with (folder / "huge.png").open("wb") as huge:
        huge.truncate(MAX_FILE_BYTES + 1)
    (folder / os.fsdecode(b"\xff.png")).write_bytes(good)
    (folder / "notes.txt").write_text("not a picture by its name, so not even tried")
    with home.create("mixed", VIEWS) as collection:
        report = collection.index([folder], IndexOptions(labels="folder", workers=1))
        assert collection.items.get("mixed/\\xff.png").source == f"{folder}/\\xff.png"
    assert report.added == 7
    reasons = {Path(failure.key).name: failure.reason for failure in report.failures}
    assert set(reasons) == {"empty.jpg", "text.png", "cut.png", "gone.png", "pipe.png", "huge.png"}
    assert "empty" in reasons["empty.jpg"]
    assert "No such file" in reasons["gone.png"]


@pytest.mark.parametrize("header", ["", "path,label\n"])
def test_labels_come_from_a_csv_and_change_without_extracting_again(collection, pictures, tmp_path, header):
    table = tmp_path / "labels.csv"
    table.write_text(header + f"red/0.png,warm\n{pictures}/red/0.png,square\nred/1.png,warm,old\n")
    report = collection.index([pictures], IndexOptions(labels=table, workers=1))
    assert collection.items.get("pictures/red/0.png").labels == ("square", "warm")
    assert collection.items.get("pictures/red/1.png").labels == ("old", "warm")
    assert collection.items.get("pictures/blue/1.png").labels == ("blue",)
    assert (report.updated, report.unchanged) == (2, 16)
    assert collection.index([pictures], IndexOptions(workers=1)).unchanged == 18
    report = collection.index([pictures], IndexOptions(labels=table, workers=1, replace_labels=True))
    assert (report.updated, report.unchanged) == (16, 2)
    assert collection.info().labels == {"old": 1, "square": 1, "warm": 2}


@pytest.mark.parametrize("text", ["red/0.png\n", ",x\n", "elsewhere/0.png,x\n"])
def test_a_labels_file_that_cannot_be_meant_is_refused_before_any_work(collection, pictures, tmp_path, text):
    table = tmp_path / "labels.csv"
    table.write_text(text)
    with pytest.raises(InvalidInputError):
        collection.index([pictures], IndexOptions(labels=table, workers=1))
    with pytest.raises(InvalidInputError):
        collection.index([pictures], IndexOptions(labels=tmp_path / "absent.csv", workers=1))


def test_a_folder_that_does_not_exist_is_refused(collection, tmp_path):
    with pytest.raises(InvalidInputError, match="the file or folder"):
        collection.index([tmp_path / "absent"])


def test_words_need_enough_pictures_and_the_error_says_so(home: Home, tmp_path):
    (tmp_path / "a.png").write_bytes(encode(draw("red", 1)))
    made = home.create("few", ["sift:words=5000"])
    with pytest.raises(NotReadyError, match="5000 visual words need at least 5000 distinct descriptors"):
        made.index([tmp_path / "a.png"], IndexOptions(workers=1))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_view_that_cannot_be_fitted_waits_and_stops_no_other_view(home: Home, tmp_path, count: int):
    """A note names it. Labels change meanwhile, and a run with enough pictures fits it and computes all its rows."""
    folder = tmp_path / "plain"
    for number in range(count):
        (folder / "a").mkdir(parents=True, exist_ok=True)
        (folder / "a" / f"{number}.png").write_bytes(encode(np.full((40, 40, 3), 40 * number, np.uint8)))
    with home.create("plain", ["color", "sift:words=8", "gist"]) as made:
        report = made.index([folder], IndexOptions(workers=1))
        assert (report.added, report.failures) == (count, ())
        (note,) = report.notes
        assert "view 'sift' cannot be fitted: 8 visual words need at least 8 distinct descriptors" in note
        assert "the items have rows of color, gist, and a later run fits the view again" in note
        again = made.index([folder], IndexOptions(labels="folder", workers=1))
        assert (again.added, again.updated, again.notes) == (0, count, (note,))
        assert {(item.labels, item.views) for item in made.items()} == {(("a",), ("color", "gist"))}
        assert made.index([folder], IndexOptions(workers=1)).unchanged == count
        write_pictures(folder, 6)
        more = made.index([folder], IndexOptions(workers=1))
        assert (more.added, more.updated, more.notes) == (18, count, ())
        assert {item.views for item in made.items()} == {("color", "sift", "gist")}


def test_an_empty_folder_indexes_nothing(home: Home, tmp_path):
    (tmp_path / "empty").mkdir()
    with home.create("empty", VIEWS) as collection:
        assert collection.index([tmp_path / "empty"]).added == 0


def test_processes_give_the_same_rows_as_one(home: Home, pictures):
    answers = []
    for workers in (1, 2):
        with home.create(f"by-{workers}", VIEWS) as collection:
            seen: list[tuple[int, int]] = []
            collection.index(
                [pictures], IndexOptions(workers=workers), progress=lambda *said, seen=seen: seen.append(said)
            )
            assert seen[-1] == ("indexing", 18, 18)
            assert ("fitting", 18, 18) in seen
            hits = collection.search(SearchRequest([Query("sift", key="pictures/red/0.png")], k=18, space="raw"))[
                0
            ].hits
            answers.append([(hit.key, hit.distance) for hit in hits])
    assert answers[0] == answers[1]


def _dangerous(data: bytes, extractors, max_pixels: int):
    """Extract a picture, unless its last bytes name what it does to its process."""
    if data.endswith(b"kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if data.endswith(b"hang"):
        time.sleep(600)
    if data.endswith(b"fill"):
        bytearray(1 << 40)
    return extract(data, extractors, max_pixels)


@pytest.mark.long
def test_a_picture_that_harms_its_process_is_a_failure_and_the_others_are_indexed(home: Home, pictures, monkeypatch):
    """Limits of time and memory hold for every picture of a folder that processes read."""
    read = PictureWorker.read

    def patient(self: PictureWorker, work, image, *others):  # a busy machine reads the others in its own time
        self._limits = replace(self._limits, seconds=3.0 if image == harmful[1] else 600.0)
        return read(self, work, image, *others)

    monkeypatch.setattr(PictureWorker, "read", patient)
    monkeypatch.setattr(indexing, "extract", _dangerous)
    monkeypatch.setattr(extraction, "_SECONDS", 3.0)
    harmful = [pictures / f"red/{name}.png" for name in ("fill", "hang", "kill")]
    for path in harmful:
        path.write_bytes(encode(draw("red", 0)) + path.stem.encode())
    with home.create("harmed", ["color"]) as made:
        report = made.index([pictures], IndexOptions(workers=2))
        assert report.added == made.count() == 18
        reasons = {Path(failure.key).stem: failure.reason for failure in report.failures}
    assert reasons == {
        "fill": "the picture needs more memory than there is: save it smaller",
        "hang": "reading this picture takes more than 3 seconds",
        "kill": "reading this picture kills the process that does it",
    }


def test_files_that_cannot_be_read_are_failures_with_the_reason_of_the_system(home: Home, tmp_path: Path):
    """This holds also if another process reads them."""
    (tmp_path / "shots").mkdir()
    paths = [tmp_path / "shots" / name for name in ("a.png", "folder.png", "gone.png")]
    for path in paths:
        path.write_bytes(encode(draw("red", 0)))
    with reading_files(2, MAX_PIXELS) as pictures:
        paths[1].unlink()
        paths[1].mkdir()
        paths[2].unlink()
        found = list(pictures.stream(extract, [PictureTask(path, {}) for path in paths], lambda: None))
    assert isinstance(found[0], Extracted)
    assert [str(one) for one in found[1:]] == ["Is a directory", "No such file or directory"]


def test_an_interruption_keeps_what_was_finished(home: Home, pictures):
    with home.create("stopped", ["color"]) as collection:

        def stop(what: str, done: int, total: int) -> None:
            if done == 7:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            collection.index([pictures], IndexOptions(workers=1), progress=stop)
        kept = collection.count()
        report = collection.index([pictures], IndexOptions(workers=1))
        assert report.added + kept == 18
        assert kept == report.unchanged


_INDEX = """
import sys
from pathlib import Path
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions
if __name__ == "__main__":
    Home(sys.argv[1]).open("killed").index([Path(sys.argv[2])], IndexOptions(labels="folder", workers=2),
        progress=lambda what, done, total: print(done, flush=True))
"""


@pytest.mark.long
def test_kill_9_in_the_middle_and_running_again_ends_with_every_file_once(home: Home, tmp_path: Path):
    write_pictures(tmp_path / "many", 60)
    home.create("killed", ["color", "gist"]).close()
    command = [sys.executable, "-c", _INDEX, str(home.path), str(tmp_path / "many")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if int(line) >= 70:  # past the first commit, before the last
                running.kill()
                break
    with home.open("killed") as collection:
        kept = collection.count()
        assert 0 < kept < 180
        report = collection.index([tmp_path / "many"], IndexOptions(labels="folder", workers=1))
        assert (report.added, report.unchanged, report.failures) == (180 - kept, kept, ())
        assert collection.count() == len(set(keys(collection))) == 180
        assert collection.info().labels == dict.fromkeys(sorted(CLASSES), 60)
        view = collection.search(SearchRequest([Query("gist", key="many/red/0.png")], k=1000, space="raw"))[0]
        assert len(view.hits) == 179


@pytest.mark.long
def test_workers_end_with_a_parent_that_is_killed(home: Home, tmp_path: Path):
    write_pictures(tmp_path / "many", 60)
    home.create("killed", ["gist"]).close()
    command = [sys.executable, "-c", _INDEX, str(home.path), str(tmp_path / "many")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        assert len(children) >= 2
        running.kill()
    deadline = time.monotonic() + 300
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def test_imported_items_update_by_key_and_bad_ones_are_failures(vectors_only):
    from crossview.engine.values.item import NewItem

    with vectors_only(3) as collection:
        good = encode(draw("red", 0))
        report = collection.items.put(
            [
                NewItem("new", image=good, labels=("red",)),
                NewItem("item/0000", rows={"color": np.ones(64)}),
                NewItem("short", rows={"color": [1.0]}),
                NewItem("nan", rows={"color": np.full(64, np.nan)}),
                NewItem("view", rows={"smell": [1.0]}),
                NewItem("text", image=b"hello"),
                NewItem("nothing"),
                NewItem("", image=good),
            ]
        )
        assert (report.added, report.updated) == (1, 1)
        assert {failure.key for failure in report.failures} == {"short", "nan", "view", "text", "nothing", ""}
        assert len(report.failures) == 6
        assert collection.items.get("new").width == 96
        again = collection.items.put([NewItem("new", image=good, labels=("red",))])
        assert (again.added, again.updated, again.unchanged) == (0, 0, 1)
        assert collection.count(Filter(labels=("red",))) == 1


def test_fitting_learns_from_the_labels_of_the_pictures(home: Home, pictures, monkeypatch):
    """Labels come with the files or pictures, and otherwise from the items."""
    seen: list[object] = []
    fit = Forest.fit

    def remember(self, samples, seed=0, labels=None):
        seen.append(labels)
        return fit(self, samples, seed, labels)

    monkeypatch.setattr(Forest, "fit", remember)
    expected = [(folder,) for folder in sorted(CLASSES) for _ in range(6)]
    with home.create("labelled", ["forest:words=24"]) as collection:
        collection.index([pictures], IndexOptions(labels="folder", workers=1))
        images = [path.read_bytes() for path in sorted(pictures.rglob("*.png"))]
        told = Picture(encode(draw("red", 99)), ("other",))
        collection.views.fit([told, b"no picture", *images], ["forest"], refit=True)
        collection.views.add("other=forest:words=24")
        collection.index([pictures], IndexOptions(workers=1))
    assert seen == [expected, [("other",), *expected], expected]


def test_the_extra_that_reads_left_out_files_is_named(home: Home, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("crossview.engine.catalog.ingest.walk.SUFFIXES", frozenset({".png"}))
    (tmp_path / "phone").mkdir()
    for name in ("a.heic", "b.HEIC", "c.cr2"):
        (tmp_path / "phone" / name).write_bytes(b"any")
    with home.create("phone", ["color"]) as made:
        report = made.index([tmp_path / "phone"], IndexOptions(workers=1))
    assert report.skipped == {"HEIC": 2, "RAW": 1}
    first = tmp_path / "phone" / "a.heic"
    assert report.notes == (f"2 HEIC left out, such as {first}: to read them, run: {install_command('heic')}",)
