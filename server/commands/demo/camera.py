"""The demo of changes: a camera above a street, where light, clouds and people always change, and cars park."""

import shutil
import time
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from crossview.engine.collections.home import Home
from crossview.engine.values.changes import Changes, ChangesRequest
from crossview.server.commands.demo.dataset import Rng
from crossview.server.commands.demo.story import Connect, Echo, command, served
from crossview.server.commands.drawing.change_report import write_report

NAME = "street-changes"
VIEW = "gist10=gist:grid=10:size=320"
WIDTH, HEIGHT = 320, 320
START = datetime(2026, 6, 1, 0, 0)
HOURS = 10 * 24
PARKING = (176, 224, 288, 272)
"""Left, top, right and bottom of the parking place, in pixels."""
_COLOURS = ((150, 30, 30), (30, 60, 140), (225, 225, 220), (30, 32, 36), (40, 110, 70))
_LAMPS = 0.35
"""Brightness of the night, as a share of the brightness at noon."""
_EXPOSURE = 120.0
"""Mean value of the pixels after exposure."""
_STAY, _GONE = (6, 20), (4, 12)
"""Minimum and maximum hours that a car stays, and that the place is empty."""
TO_TRY = (
    f"changes {NAME} --out {{folder}}/again",
    f"search {NAME} {{folder}}/street/2026-06-01T12-00.jpg --view gist10 -k 5",
    f"show {NAME}",
)
"""Commands after the demo."""


def run_camera(folder: Path, sheet: Path, echo: Echo, connect: Connect) -> None:
    """Run the demo in ``folder`` (pictures, home), write a report beside ``sheet``, its map, and print every step.

    Raises ServerUnavailableError if the server does not start.
    """
    began, pictures, home = time.monotonic(), folder / "street", folder / "home"
    parked = write_street(pictures)
    came_and_went = sum(earlier != later for earlier, later in pairwise(parked))
    echo(f"Drew {HOURS} hours of a street; {came_and_went} times a car came or went.")
    with Home(home).create(NAME, views=[VIEW], description=f"versions of {pictures.resolve()}") as local:
        command(echo, f"index {NAME} {pictures}")
        local.index([pictures])
    with served(home, folder / "server.log", echo) as address, connect(address) as server:
        collection = server.open(NAME)
        command(echo, f"changes {NAME} --out {sheet.parent / 'report'} --server {address}")
        changes = collection.changes(ChangesRequest())
        page = write_report(sheet.parent / "report", collection.items, changes)
    _print_accuracy(changes, parked, echo)
    shutil.copyfile(page.with_name("map.png"), sheet)
    echo(f"wrote {sheet} and {page}\n\nDone in {time.monotonic() - began:.0f} s.")


def write_street(folder: Path, hours: int = HOURS, seed: int = 0) -> list[int | None]:
    """Write a picture for each hour, named by its time; return the colour of each parked car, or None."""
    folder.mkdir(parents=True, exist_ok=True)
    parked, still = _parked(hours, np.random.default_rng([seed, 0])), _still(np.random.default_rng([seed, 1]))
    for hour, colour in enumerate(parked):
        time_taken = START + timedelta(hours=hour)
        picture = _taken(still, time_taken.hour, colour, np.random.default_rng([seed, 2, hour]))
        picture.save(folder / f"{time_taken:%Y-%m-%dT%H-%M}.jpg", quality=88)
    return parked


def _parked(hours: int, rng: Rng) -> list[int | None]:
    colours: list[int | None] = []
    while len(colours) < hours:
        colours += [None] * int(rng.integers(*_GONE))
        colours += [int(rng.integers(len(_COLOURS)))] * int(rng.integers(*_STAY))
    return colours[:hours]


def _still(rng: Rng) -> Image.Image:
    """Return the street without moving things."""
    image = Image.new("RGB", (WIDTH, HEIGHT), (120, 160, 210))
    draw = ImageDraw.Draw(image)
    left = 0
    while left < WIDTH:
        width, top = int(rng.integers(46, 80)), int(rng.integers(70, 120))
        wall = tuple(int(channel) for channel in rng.integers(110, 220, size=3))
        draw.rectangle((left, top, left + width, 200), fill=wall)
        for y in range(top + 12, 180, 26):
            for x in range(left + 8, left + width - 12, 20):
                draw.rectangle((x, y, x + 9, y + 13), fill=(60, 66, 80))
        left += width
    draw.rectangle((0, 200, WIDTH, 222), fill=(150, 146, 140))
    draw.rectangle((0, 222, WIDTH, HEIGHT), fill=(92, 92, 96))
    for x in range(0, WIDTH, 40):
        draw.rectangle((x, 292, x + 22, 296), fill=(215, 215, 205))
    grain = rng.normal(0, 14, size=(HEIGHT, WIDTH, 1))  # texture of walls and asphalt
    grain[:60] = 0
    return Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8))


def _taken(still: Image.Image, hour: int, colour: int | None, rng: Rng) -> Image.Image:
    """Return the street at an hour of the day, in random weather."""
    image = still.copy()
    draw = ImageDraw.Draw(image)
    _clouds(draw, rng)
    if colour is not None:
        _car(draw, _COLOURS[colour])
    for _ in range(int(rng.integers(0, 5))):
        _person(draw, rng)
    light = max(_LAMPS, np.sin(np.pi * (hour - 4) / 17)) if 4 < hour < 21 else _LAMPS
    light *= float(rng.uniform(0.5, 1.0))
    pixels = np.asarray(image.filter(ImageFilter.GaussianBlur(0.6)), dtype=np.float64) * light
    pixels += rng.normal(0, 2, size=pixels.shape)
    pixels *= _EXPOSURE / pixels.mean()  # automatic exposure: it amplifies the noise of dark pictures
    pixels += (pixels - pixels.mean()) * float(rng.uniform(-0.3, 0.2))  # haze
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _clouds(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    for _ in range(int(rng.integers(0, 9))):
        x, y, width = int(rng.integers(-40, WIDTH)), int(rng.integers(-8, 44)), int(rng.integers(40, 120))
        grey = int(rng.integers(170, 250))
        draw.ellipse((x, y, x + width, y + width // 3), fill=(grey, grey, grey))


def _car(draw: ImageDraw.ImageDraw, colour: tuple[int, int, int]) -> None:
    left, top, right, bottom = PARKING
    draw.rounded_rectangle((left, top + 16, right, bottom - 6), 8, fill=colour)
    draw.rounded_rectangle((left + 22, top, right - 26, top + 24), 8, fill=colour)
    draw.rectangle((left + 28, top + 5, right - 32, top + 16), fill=(170, 190, 200))
    for x in (left + 24, right - 24):
        draw.ellipse((x - 10, bottom - 16, x + 10, bottom + 4), fill=(20, 20, 22))


def _person(draw: ImageDraw.ImageDraw, rng: Rng) -> None:
    x, y = int(rng.integers(0, WIDTH)), int(rng.integers(186, 206))
    coat = tuple(int(channel) for channel in rng.integers(20, 200, size=3))
    draw.ellipse((x, y, x + 7, y + 7), fill=(200, 160, 140))
    draw.rectangle((x - 1, y + 7, x + 8, y + 26), fill=coat)


def _print_accuracy(changes: Changes, parked: list[int | None], echo: Echo) -> None:
    """Print how many arrivals and departures of cars are important changes."""
    true = np.array([earlier != later for earlier, later in pairwise(parked)])
    found_important: NDArray[np.bool_] = np.array([change.important for change in changes.changes])
    right, wrong = int((found_important & true).sum()), int((found_important & ~true).sum())
    echo(f"{right} of {int(true.sum())} times a car came or went, and {wrong} other hours, are important changes")
