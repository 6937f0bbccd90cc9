"""Times of versions come from names, EXIF data and files; periods; and names without an order."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image

from crossview.engine.findings.changes.times import Period, file_timeline, named_time
from crossview.engine.values.errors import InvalidInputError

START = datetime(2026, 3, 9, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("2026-03-09T15-30.png", START),
        ("shot_20260309_1530.png", START),
        ("20260309T153000.jpg", START),
        ("page 2026-03-09 15.30.00.png", START),
        ("2026_03_09.png", START.replace(hour=0, minute=0)),
        ("0001_20260309T153007.jpg", START.replace(second=7)),
        ("version 12.png", None),
        ("20261399.png", None),
        ("1773070200.png", START),
        ("1773070200123.png", START),
        ("9783070200.png", None),
        ("shop-1773070200.png", None),
        ("2026-03-09/15-30.png", START),
        ("2026-03-09/page.png", START.replace(hour=0, minute=0)),
        ("2026-03-09/0042.png", START.replace(hour=0, minute=0)),
        ("2026-03-09/2026-03-10.png", START.replace(day=10, hour=0, minute=0)),
    ],
)
def test_times_in_names(name: str, time: datetime | None) -> None:
    assert named_time(Path(name)) == time


def test_versions_are_ordered_by_names_before_all_else(tmp_path: Path) -> None:
    paths = [tmp_path / f"{START + timedelta(hours=hour):%Y-%m-%dT%H-%M}.png" for hour in (2, 0, 1)]
    for path in paths:
        path.touch()
    found = file_timeline(paths)
    assert found.source == "names"
    assert found.order.tolist() == [1, 2, 0]
    assert found.hours().tolist() == [0, 1, 2]


def test_cameras_tell_by_exif(tmp_path: Path) -> None:
    paths = []
    for hour in (1, 0):
        exif = Image.Exif()
        exif[0x0132] = f"{START + timedelta(hours=hour):%Y:%m:%d %H:%M:%S}"
        paths.append(tmp_path / f"DSC{hour}.jpg")
        Image.new("RGB", (8, 8)).save(paths[-1], exif=exif)
    found = file_timeline(paths)
    assert found.source == "EXIF data"
    assert found.order.tolist() == [1, 0]


def test_what_exif_does_not_tell_is_counted_in_full(tmp_path: Path) -> None:
    """Pictures without a time count, and so do those that share one, though either alone would rule out EXIF."""
    paths = [tmp_path / f"DSC{number}.jpg" for number in range(6)]
    for number, path in enumerate(paths):
        exif = Image.Exif()
        if number < 3:
            exif[0x0132] = f"{START + timedelta(hours=min(number, 1)):%Y:%m:%d %H:%M:%S}"
        Image.new("RGB", (8, 8)).save(path, exif=exif)
        os.utime(path, (1e9 + number, 1e9 + number))
    found = file_timeline(paths)
    assert found.source == "times of the files"
    (note,) = found.notes
    assert note == (
        "pictures are ordered by their times of the files: 3 of 6 without a time (such as DSC3.jpg) and "
        "1 of 6 with the time of another (such as DSC2.jpg) in their EXIF data"
    )


def test_else_files_tell(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("b.png", "a.png")]
    for number, path in enumerate(paths):
        path.write_bytes(b"no picture")
        os.utime(path, (1e9 + number, 1e9 + number))
    found = file_timeline(paths)
    assert found.source == "times of the files"
    assert found.order.tolist() == [0, 1]


def test_what_lies_beside_the_versions_by_chance_is_left_out(tmp_path: Path) -> None:
    paths = [tmp_path / f"{START + timedelta(hours=hour):%Y-%m-%dT%H-%M}.png" for hour in (2, 0, 1)]
    found = file_timeline([tmp_path / "logo.png", *paths])
    assert (found.source, found.order.tolist()) == ("names", [2, 3, 1])
    assert found.notes == ("left out: 1 of 4 without a time (such as logo.png) in their names",)


def test_a_worse_source_is_used_with_the_reason(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("north-2026-03-09.png", "south-2026-03-09.png", "south-2026-03-10.png")]
    for number, path in enumerate(paths):
        path.write_bytes(b"no picture")
        os.utime(path, (1e9 - number, 1e9 - number))
    found = file_timeline(paths)
    assert (found.source, found.order.tolist()) == ("times of the files", [2, 1, 0])
    (note,) = found.notes
    assert note.endswith(": 1 of 3 with the time of another (such as south-2026-03-09.png) in their names")


def test_an_order_that_nothing_tells_is_said_with_all_reasons(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.png", "b.png", "2026-03-09.png")]
    for path in paths:
        path.write_bytes(b"no picture")
        os.utime(path, (1e9, 1e9))
    with pytest.raises(InvalidInputError, match=r"2 of 3 without .* names.*3 of 3 .*EXIF.*Put the time into"):
        file_timeline(paths)


@pytest.mark.parametrize(
    ("text", "amount", "steps"),
    [("4h", 4, False), ("90min", 1.5, False), ("2 d", 48, False), ("1w", 168, False), ("4steps", 4, True)],
)
def test_periods(text: str, amount: float, steps: bool) -> None:
    assert Period.parse(text) == Period(amount, steps)


@pytest.mark.parametrize("text", ["", "4", "h", "-1h", "0h", "4 years", "nan h"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="such as 4h or 4steps"):
        Period.parse(text)


@pytest.mark.parametrize(
    ("hours", "period"),
    [
        (range(10), "4h"),
        (range(0, 240, 24), "96h"),
        ([0, 1, 2, 3, 40, 41, 42, 43, 44, 45], "4h"),
        ([0, 1, 5, 6, 20], "4steps"),
    ],
)
def test_the_usual_period_is_four_visits(tmp_path: Path, hours: list[int], period: str) -> None:
    """If visits come irregularly, it is counted in steps."""
    paths = [tmp_path / f"{START + timedelta(hours=hour):%Y-%m-%dT%H-%M}.png" for hour in hours]
    assert file_timeline(paths).usual_period() == period
