"""A stage for commands that print hints: a home with files, and the values of the words in capitals."""

import csv
import shlex
from pathlib import Path

import numpy as np
from terminal import run

from crossview.engine.collections.home import Home


class Stage:
    """A home with the trained collection ``drawn``, and the pictures that it was made of."""

    def __init__(self, home: Home, pictures: Path, folder: Path) -> None:
        self.home, self.pictures, self.folder = home, pictures, folder
        self.picture = next(pictures.glob("dots/*.jpg"))
        captions, labels, keys = folder / "captions.csv", folder / "labels.csv", folder / "keys.txt"
        write_csv(captions, [[file, "a few words of dots"] for file in sorted(pictures.rglob("*.jpg"))])
        write_csv(labels, [["key", "label"], [f"pictures/dots/{self.picture.name}", "dots"]])
        keys.write_text(f"pictures/dots/{self.picture.name}\n")
        np.save(folder / "rows.npy", np.ones((1, 3), np.float32))
        self.values = {
            "PATH": pictures,
            "--captions FILE.csv": f"--captions {captions}",
            "--from FILE.csv": f"--from {labels}",
            "FILE.npy": folder / "rows.npy",
            "FILE.txt": keys,
            "NAME FILE": f"drawn {folder / 'copy.db'}",
            "ALIAS": "live",
            "NEW": "new",
            "NAME": "another",
            "NOTION": "color",
            "VIEW": "sift",
            "KEY": f"pictures/dots/{self.picture.name}",
            "OTHER": f"pictures/waves/{next(pictures.glob('waves/*.jpg')).name}",
            "FEEDBACK": "dots",
        }

    def says(self, *arguments: object) -> str:
        """Return the output of a command, also of one that fails."""
        return run(*arguments, "--home", self.home.path).output

    def paste(self, hint: str) -> None:
        """Run a hint with values instead of its words in capitals."""
        for word, value in self.values.items():
            hint = hint.replace(word, str(value))
        _, *words = shlex.split(hint)
        assert str(self.home.path) in words, hint
        for verb in {"delete", "remove"}.intersection(words[:2]):
            words.insert(words.index(verb) + 1, "--yes")
        result = run(*words)
        assert result.exit_code == 0, f"{hint}\n{result.output}"


def write_csv(path: Path, lines: list[list[object]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)
