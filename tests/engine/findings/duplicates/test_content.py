"""A file with other content is not a copy, for any thumbnail, and the best of the copies is kept."""

import os
from pathlib import Path

import numpy as np
import pytest
from drawn_pages import PAGES, on_screen, titled
from photographs import photograph, write_photographs
from PIL import Image, ImageOps

from crossview.engine.collections.home import Home
from crossview.engine.values.duplicate import Duplicates, DuplicatesRequest
from crossview.engine.values.item import Capture, IndexOptions, NewItem

ONE = IndexOptions(workers=1)
COUNT = 10


def found(home: Home, folder: Path) -> Duplicates:
    with home.create("pictures", ["color", "gist"]) as made:
        made.index([folder], ONE)
        return made.duplicates(DuplicatesRequest())


def grouped(answer: Duplicates) -> dict[str, set[str]]:
    """Return the names of the copies by the name of the keeper."""
    copies = (group for group in answer.groups if group.kind == "copies")
    return {Path(one.keeper.key).name: {Path(copy.key).name for copy in one.members} for one in copies}


@pytest.mark.parametrize("kind", PAGES)
def test_pages_of_one_layout_are_no_copies_and_their_copies_are(home: Home, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(COUNT):
        PAGES[kind](number).save(folder / f"{number}.png")
    page = PAGES[kind](3)
    page.save(folder / "3-again.jpg", quality=60)
    page.resize((page.width // 2, page.height // 2), Image.Resampling.LANCZOS).save(folder / "3-half.jpg", quality=85)
    answer = found(home, folder)
    assert grouped(answer) == {"3.png": {"3-again.jpg", "3-half.jpg"}}
    assert not any(group.kind == "burst" for group in answer.groups)


def test_pages_without_their_files_are_no_copies_and_are_named(home: Home) -> None:
    """A thumbnail is not enough; equal bytes are."""
    with home.create("sent", ["color", "gist"]) as made:
        page = PAGES["invoice"](1)
        pages = _encoded(page), _encoded(page), _encoded(page, "JPEG")
        made.items.put([NewItem(str(place), image=image) for place, image in enumerate(pages)])
        answer = made.duplicates(DuplicatesRequest())
    assert grouped(answer) == {"0": {"1"}}
    assert "drawn, and their files cannot be read" in answer.notes[0]


def test_a_file_that_changed_since_it_was_indexed_is_not_read(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    page = PAGES["invoice"](1)
    page.save(folder / "a.png")
    page.save(folder / "b.jpg", quality=70)
    with home.create("pictures", ["color", "gist"]) as made:
        made.index([folder], ONE)
        assert grouped(made.duplicates(DuplicatesRequest())) == {"a.png": {"b.jpg"}}
        PAGES["invoice"](2).save(folder / "b.jpg", quality=70)
        assert made.duplicates(DuplicatesRequest()).groups == ()


def test_pictures_with_other_texts_are_no_copies(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "memes"
    write_photographs(folder, 3)
    picture = photograph(99, (480, 360))
    for number in range(4):
        titled(picture, number).save(folder / f"meme-{number}.jpg", quality=90)
    titled(picture, 2).save(folder / "meme-2-again.jpg", quality=50)
    assert {name for names in grouped(found(home, folder)).values() for name in names} == {"meme-2-again.jpg"}


def test_pictures_that_are_too_narrow_end_nothing_and_are_named(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    write_photographs(folder, 4)
    photograph(2).save(folder / "2-again.jpg", quality=60)
    for width, height in ((1, 1), (1000, 2), (2, 1000), (30_000, 20), (5, 5), (1, 300)):
        for turn in (0, 180):
            shades = Image.radial_gradient("L").resize((width, height))
            shades.rotate(turn).save(folder / f"{width}x{height}-{turn}.png")
    answer = found(home, folder)
    assert {"2-again.jpg"} in grouped(answer).values()
    assert any("too narrow to compare as pictures" in note for note in answer.notes)


def _old(path: Path, years: int) -> None:
    os.utime(path, (1_700_000_000 - years * 31_536_000,) * 2)


def test_the_original_is_kept_of_what_was_made_from_it(home: Home, tmp_path: Path) -> None:
    """The enlarged copy, the one with a border, the screenshot, the crop and a PNG that was saved from it are not."""
    folder = tmp_path / "made"
    write_photographs(folder, 6)
    size = (480, 360)
    for number, name in enumerate(("enlarged", "border", "screen", "crop", "png", "grey"), 40):
        fine = np.random.default_rng(number).integers(0, 256, (*size[::-1], 3), dtype=np.uint8)
        picture = Image.blend(photograph(number, size), Image.fromarray(fine), 0.15)  # as fine as its pixels
        picture.save(folder / f"{name}-original.jpg", quality=92)
        picture = Image.open(folder / f"{name}-original.jpg")
        copy = {
            "enlarged": lambda one: one.resize((960, 720), Image.Resampling.BICUBIC),
            "border": lambda one: ImageOps.expand(one, 40, "white"),
            "screen": on_screen,
            "crop": lambda one: one.crop((70, 30, 480, 360)),
            "png": lambda one: one,
            "grey": lambda one: ImageOps.grayscale(one).convert("RGB"),
        }[name](picture)
        copy.save(folder / f"{name}-copy{'.png' if name in ('png', 'screen') else '.jpg'}", quality=95)
        _old(folder / f"{name}-original.jpg", 1)  # newer than the copy
        _old(next(folder.glob(f"{name}-copy*")), 3)
    keepers = grouped(found(home, folder))
    kept = {name.partition("-")[0] for name in keepers if name.endswith("original.jpg")}
    assert kept >= {"enlarged", "border", "crop", "png", "grey"}
    assert not [name for name in keepers if "copy" in name]


def test_names_tell_which_of_equal_files_is_kept(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "equal"
    write_photographs(folder, 3)
    (folder / "_trash").mkdir()
    data = _encoded(photograph(50), "JPEG")
    for name in ("IMG_7.jpg", "IMG_7 (1).jpg", "IMG_7 - Copy.jpg", "_trash/IMG_7.jpg", "z.png"):
        (folder / name).write_bytes(data)
        _old(folder / name, 0 if name == "IMG_7.jpg" else 2)
    with home.create("pictures", ["color", "gist"]) as made:
        made.index([folder], ONE)
        (group,) = made.duplicates(DuplicatesRequest()).groups
    assert (group.keeper.key, group.reason) == ("equal/IMG_7.jpg", "not named as a copy")


def test_photographs_of_other_months_are_no_burst(home: Home) -> None:
    image, other = photograph(1), photograph(1).rotate(4, Image.Resampling.BICUBIC).crop((30, 20, 210, 160))
    with home.create("moment", ["color"]) as made:
        for place, taken in enumerate((1_000, 1_000 + 60 * 86_400)):
            capture = Capture(stamp=str(taken), taken=taken)
            made.items.put([NewItem(str(place), image=_encoded((image, other)[place]), capture=capture)])
        assert not any(group.kind == "burst" for group in made.duplicates(DuplicatesRequest()).groups)


def _encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    import io

    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


def test_two_parts_of_a_page_are_no_copies(home: Home, tmp_path: Path) -> None:
    """A chat that was scrolled shows other messages at its end."""
    folder = tmp_path / "screens"
    write_photographs(folder, 2)
    chat = PAGES["chat"](5)
    wide = Image.new("RGB", (360, 1400))
    wide.paste(chat, (0, 0))
    wide.paste(PAGES["chat"](6).crop((0, 60, 360, 700)), (0, 760))
    for top in (0, 130, 260):
        wide.crop((0, 60 + top, 360, 700 + top)).save(folder / f"from-{top}.png")
    assert grouped(found(home, folder)) == {}


def test_the_first_saved_of_two_jpegs_is_kept_whatever_their_quality_and_age(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    for number, (first, second) in enumerate(((75, 95), (90, 60), (85, 85))):
        photograph(number, (480, 360)).save(folder / f"{number}-first.jpg", quality=first)
        with Image.open(folder / f"{number}-first.jpg") as picture:
            picture.resize((480, 360)).save(folder / f"{number}-again.jpg", quality=second, subsampling=0)
        os.utime(folder / f"{number}-again.jpg", (1_600_000_000, 1_600_000_000))
    assert grouped(found(home, folder)) == {f"{number}-first.jpg": {f"{number}-again.jpg"} for number in range(3)}


def test_pages_with_photographs_are_no_copies_if_one_of_them_is_another(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(3):
        page = Image.new("RGB", (600, 560), (235, 196, 120))
        for place in range(6):
            shown = photograph(100 * number if place == 5 else place, (150, 110))
            page.paste(shown, (40 + 190 * (place % 3), 60 + 240 * (place // 3)))
        page.save(folder / f"{number}.jpg", quality=90)
        page.save(folder / f"{number}-again.jpg", quality=60)
    assert grouped(found(home, folder)) == {f"{number}.jpg": {f"{number}-again.jpg"} for number in range(3)}


def test_a_photograph_in_a_border_is_not_kept_before_it(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "framed"
    folder.mkdir()
    for number in range(4):
        picture = photograph(number, (400, 300))
        ImageOps.expand(picture, 18, "white").save(folder / f"{number}-border.jpg", quality=90)
        picture.save(folder / f"{number}.jpg", quality=90)
    answer = grouped(found(home, folder))
    assert answer
    assert set(answer) <= {f"{number}.jpg" for number in range(4)}
