"""Pages drawn by a browser without a window, and kept."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.changes.history import History
from benchmarks.changes.markup import SIZE, page, pictures

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
AT_ONCE = 16
"""Versions in one screenshot, below each other; a browser draws at most 16,384 pixels."""
KEPT = 320
"""Pixels a side that a screenshot is kept at."""


def render(history: History, folder: Path) -> list[Path]:
    """Draw the versions of a page that a folder lacks, as ``0000.jpg`` with ``0000.html`` beside it.

    Raises:
        FileNotFoundError: if there is no browser.
        RuntimeError: if the browser draws nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{hour:04}.jpg" for hour in range(history.versions)]
    missing = [hour for hour, path in enumerate(paths) if not path.exists()]
    for start in range(0, len(missing), AT_ONCE):
        hours = missing[start : start + AT_ONCE]
        for hour, picture in zip(hours, _screenshots(history, hours), strict=True):
            (folder / f"{hour:04}.html").write_text(page(history, hour), encoding="utf-8")
            done = folder / f"{hour:04}.part.jpg"
            cv2.imwrite(str(done), picture, [cv2.IMWRITE_JPEG_QUALITY, 90])
            done.replace(paths[hour])
    return paths


def _browser() -> str:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise FileNotFoundError(f"pages are drawn by a browser: install one of {', '.join(BROWSERS)}")
    return path


def _screenshots(history: History, hours: list[int]) -> list[NDArray[Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pictures").mkdir()
        for hour in hours:
            (folder / f"{hour}.html").write_text(page(history, hour), encoding="utf-8")
            for file, drawn in pictures(history, hour).items():
                (folder / "pictures" / file).write_text(drawn, encoding="utf-8")
        shape = f"width={SIZE} height={SIZE} scrolling=no style='border:0;display:block'"
        frames = [f"<iframe src='{hour}.html' {shape}></iframe>" for hour in hours]
        (folder / "all.html").write_text(f"<body style='margin:0'>{''.join(frames)}</body>", encoding="utf-8")
        _draw(folder, len(hours))
        whole = cv2.imread(str(folder / "all.png"))
    if whole is None or whole.shape[:2] != (SIZE * len(hours), SIZE):
        raise RuntimeError(f"the browser drew no picture of {SIZE} x {SIZE * len(hours)} pixels of {history.design}")
    parts = np.split(whole, len(hours))
    return [cv2.resize(part, (KEPT, KEPT), interpolation=cv2.INTER_AREA) for part in parts]


def _draw(folder: Path, count: int) -> None:
    command = [
        *(_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio"),
        *("--disable-background-networking", "--force-device-scale-factor=1", f"--user-data-dir={folder / 'profile'}"),
        *(f"--window-size={SIZE},{SIZE * count}", f"--screenshot={folder / 'all.png'}", (folder / "all.html").as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
