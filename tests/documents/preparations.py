"""Files and collections that documents name and do not make themselves."""

import csv
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import certificates
import messy_tree
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from blocks import ROOT
from PIL import Image

from crossview.engine.collections.home import Home
from crossview.engine.values.comparisons import QuestionRequest
from crossview.engine.values.item import IndexOptions
from crossview.server.commands.demo.dataset import write_pictures
from crossview.server.commands.demo.notions import answer_to, write_combinations

_KEYS = 6
"""Number of items of a small table."""
_A_DAY = 6
"""Number of photographs in a folder."""
_GRIDS = 12
"""Number of answered questions in each notion."""


def nothing(folder: Path) -> None:
    """Leave the folder as it is."""


def copy_of(folder: Path, there: Path) -> None:
    """Copy a folder, by another process: a process that closes a file of SQLite loses its locks on it (POSIX)."""
    subprocess.run(["cp", "-a", folder, there], check=True)


def write_attributes(folder: Path) -> None:
    """Write attributes of the pictures of the tour, as a table for ``crossview annotate``."""
    pictures = folder / "tour" / "pictures"
    with (folder / "attributes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("path", "year", "album", "taken", "photographer", "split"))
        for number, path in enumerate(sorted(pictures.rglob("*.jpg"))):
            row = (2019 + number % 4, f"album {number % 5}", f"2021-{number % 12 + 1:02}-15", f"person {number % 9}")
            table.writerow((path.relative_to(pictures), *row, ("train", "test")[number % 7 == 0]))


def photographs(folder: Path) -> None:
    """Copy the photographs of the Kodak suite to folders of the user's pictures, and some as new pictures."""
    suite = ROOT.parent / "shared" / "data" / "kodak24" / "images"
    if not suite.is_dir():
        pytest.skip(f"the photographs of README are not in {suite}")
    for number, path in enumerate(sorted(suite.iterdir())):
        day = folder / "Pictures" / f"day {number // _A_DAY + 1}"
        day.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, day)
    for name in ("new", "a", "b"):
        shutil.copy(suite / "kodim01.jpg", folder / f"{name}.jpg")


def sketches(folder: Path) -> None:
    """Make a further collection, which is deleted."""
    Home(folder / "tour" / "mine").create("sketches", ["color"]).close()


def pets(folder: Path) -> None:
    """Rename the collection of the tour to ``pets``."""
    (folder / "tour" / "mine" / "art").rename(folder / "tour" / "mine" / "pets")
    shutil.copy(folder / "tour" / "queries" / "waves" / "waves-00.jpg", folder / "cat.jpg")


def copied_pictures(folder: Path) -> None:
    """Make pictures and a copy of one of them in another folder."""
    write_pictures(folder / "pictures", 3)
    (folder / "copies").mkdir()
    shutil.copy(folder / "pictures" / "dots" / "dots-00.jpg", folder / "copies")


def splits(folder: Path) -> None:
    """Write a file of groups and a file of held-out items, of the pictures of the tour."""
    keys = [
        f"pictures/{path.parent.name}/{path.name}" for path in sorted((folder / "tour" / "pictures").rglob("*.jpg"))
    ]
    (folder / "test.txt").write_text("".join(f"{key}\n" for key in keys[::5]))
    (folder / "bursts.csv").write_text(
        "key,group\n" + "".join(f"{key},{number // 3}\n" for number, key in enumerate(keys))
    )


def labelled_pictures(folder: Path) -> None:
    """Make pictures of roses and others, tables about them, and a folder whose names are not classes."""
    write_pictures(folder / "PICTURES", 24)
    (folder / "PICTURES" / "dots").rename(folder / "PICTURES" / "roses")
    for number, path in enumerate(sorted((folder / "PICTURES" / "roses").iterdir())):
        path.rename(path.with_name(f"{number}.jpg"))
    paths = [path.relative_to(folder / "PICTURES") for path in sorted((folder / "PICTURES").rglob("*.jpg"))]
    (folder / "captions.csv").write_text("path,caption\n" + "".join(f"{path},a picture of dots\n" for path in paths))
    rows = [f"{path},{1990 + number % 20},2021-05-{number % 28 + 1:02}" for number, path in enumerate(paths)]
    (folder / "labels.csv").write_text("\n".join(["path,year,taken", *rows]) + "\n")
    for name in ("100CANON", "2021-05", "export web", "dogs", "cats"):
        write_pictures(folder / "drawn", 2)
        shutil.copytree(folder / "drawn", folder / "Pictures" / name, copy_function=_copy_flat)
    shutil.rmtree(folder / "drawn")


def _copy_flat(source: str, target: str) -> None:
    shutil.copy(source, target)


def messy_pictures(folder: Path) -> None:
    """Make the pictures of the stories, with metadata of all kinds."""
    messy_tree.build(folder / "PICTURES")


def models(folder: Path) -> None:
    """Write tiny models, and pictures in their colours."""
    tiny_models = pytest.importorskip("tiny_models")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    tiny_models.clip_folder(folder / "clip-folder")
    tiny_models.picture_folder(folder / "pictures-folder", classes=("a red flower", "a green one", "snow"))
    (tiny_models.clip_folder(folder / "texts-folder") / "vision_model.onnx").unlink()
    (folder / "PICTURES").mkdir()
    for color in ("red", "green", "blue"):
        Image.new("RGB", (60, 40), color).save(folder / "PICTURES" / f"{color}.png")
        (folder / "LABELLED" / f"1_{color}").mkdir(parents=True)
        for bright in range(100, 250, 15):
            shade = Image.new("RGB", (60, 40), color).point(lambda value, bright=bright: value * bright // 255)
            shade.save(folder / "LABELLED" / f"1_{color}" / f"{color}{bright}.png")


def vectors(folder: Path) -> None:
    """Write vectors of a model, tables of things and their prices, and make a collection to copy."""
    rows = np.random.default_rng(0).normal(size=(60, 512)).astype(np.float32)
    np.save(folder / "clip.npy", rows)
    np.save(folder / "query.npy", rows[0])
    (folder / "keys.txt").write_text("".join(f"thing/{n}\n" for n in range(60)))
    (folder / "labels.csv").write_text("key,label\n" + "".join(f"thing/{n},kind {n % 3}\n" for n in range(60)))
    short = np.arange(4 * _KEYS, dtype=np.float32).reshape(_KEYS, 4)
    with Home(folder / "home").create("art", ["clip=vectors:dim=4"]) as art:
        art.items.put_vectors("clip", [f"art/{n}.jpg" for n in range(_KEYS)], short)
    columns = {
        "sku": [f"A{n}" for n in range(_KEYS)],
        "title": [f"thing {n}" for n in range(_KEYS)],
        "category": ["toys"] * _KEYS,
        "emb": list(short),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "things.parquet")
    (folder / "prices.csv").write_text("sku,price\n" + "".join(f"A{n},{n}.5\n" for n in range(_KEYS)))


def birds(folder: Path) -> None:
    """Make birds with answers of people in two notions, and songs that people compared."""
    write_combinations(folder / "birds", 6)
    shutil.copy(folder / "birds" / "weave" / "red-00.jpg", folder / "robin.jpg")
    for name, drawn in {"robin": "dots/red-00", "wren": "dots/red-01", "crow": "weave/red-00"}.items():
        shutil.copy(folder / "birds" / f"{drawn}.jpg", folder / "birds" / f"{name}.jpg")
    with Home(folder / "home").create("birds", ["color", "gist"]) as made:
        made.index([folder / "birds"], IndexOptions(workers=1))
        for notion, feature in (("head", "texture"), ("wing", "color")):
            for seed in range(_GRIDS):
                question = made.questions.next(QuestionRequest(notion=notion, person="ann", seed=seed))
                answer = answer_to(replace(question, notion=feature), "ann", np.random.default_rng(seed))
                made.questions.answer(replace(answer, notion=notion))
    songs = ["waltz.mp3", *(f"song {number}.mp3" for number in range(11))]
    (folder / "said.csv").write_text(
        "anchor,near,far,notion\n"
        + "".join(
            f"{songs[n]},{songs[(n + 1) % 12]},{songs[(n + step) % 12]},{notion}\n"
            for n in range(12)
            for step, notion in ((4, "mood"), (5, "mood"), (6, "tempo"), (7, "tempo"))
        )
    )


def examples(folder: Path) -> None:
    """Give the folder the examples of the source."""
    (folder / "examples").symlink_to(ROOT / "examples")


def certificate(folder: Path) -> None:
    """Make an authority and a certificate of a server on this machine."""
    made = certificates.authority(folder)
    shutil.copy(made.ca, folder / "ca.pem")
    cert, key = made.sign("server")
    shutil.copy(cert, folder / "server.pem")
    shutil.copy(key, folder / "server.key")


def shop_pictures(folder: Path) -> None:
    """Make pictures of a shop, one of which cannot be read."""
    write_pictures(folder / "shop" / "photos", 6)
    (folder / "shop" / "photos" / "dots" / "bad.jpg").write_bytes(b"not a picture")
