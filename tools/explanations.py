"""The drawn explanations of the documents, of Kodak's photographs.

    python tools/explanations.py ../shared/data/kodak24

The collection has nine overlapping crops of each photograph, whose label is the photograph. A query is a further crop.
It writes ``docs/explain-1.jpg`` to ``docs/explain-5.jpg``.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
QUERIES = ("kodim05", "kodim07", "kodim19", "kodim21", "kodim23")
SIDES = (0.55, 0.5)
"""Width and height of a crop, as shares of the photograph."""
MOST_BYTES = 150_000


def crops(picture: Image.Image) -> Iterator[Image.Image]:
    """Yield the nine crops of a photograph, row by row."""
    for y in (0.0, 0.25, 0.5):
        for x in (0.0, 0.2, 0.45):
            yield crop(picture, x, y)


def crop(picture: Image.Image, x: float, y: float) -> Image.Image:
    """Return the crop at a place, in shares of the photograph."""
    width, height = (round(share * side) for share, side in zip(SIDES, picture.size, strict=True))
    left, top = round(x * picture.width), round(y * picture.height)
    return picture.crop((left, top, left + width, top + height))


def crossview(home: Path, *words: object) -> None:
    """Run a command on the collection of the crops."""
    command = [sys.executable, "-m", "crossview.server.commands.cli", *map(str, words), "--home", str(home)]
    subprocess.run(command, check=True, cwd=ROOT)


def main(arguments: Sequence[str]) -> int:
    """Write the drawings; return the exit status."""
    (data,) = map(Path, arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in sorted(data.glob("images/*.jpg")):
            picture = Image.open(file)
            (folder / "crops" / file.stem).mkdir(parents=True)
            for number, part in enumerate(crops(picture)):
                part.save(folder / "crops" / file.stem / f"{file.stem}-{number}.jpg", quality=92)
            crop(picture, 0.1, 0.15).save(folder / f"{file.stem}.jpg", quality=92)
        crossview(folder, "create", "kodak", "--views", "color,sift:words=400,gist")
        crossview(folder, "index", "kodak", folder / "crops", "--labels", "folder")
        crossview(folder, "train", "kodak")
        for number, query in enumerate(QUERIES, 1):
            sheet = folder / "sheet.png"
            words = ("explain", "kodak", folder / f"{query}.jpg", "--targets", "color,sift,gist", "--hits", 2)
            crossview(folder, *words, "--out", sheet)
            _save(Image.open(sheet), ROOT / "docs" / f"explain-{number}.jpg")
    return 0


def _save(sheet: Image.Image, path: Path) -> None:
    """Write a sheet with the best quality that needs at most MOST_BYTES."""
    for quality in range(88, 40, -4):
        sheet.save(path, quality=quality, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
