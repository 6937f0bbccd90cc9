"""A folder of pictures that change in any order, beside a model of the items that belong to them."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from drawn import encode
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, ItemUpdate

ONE = IndexOptions(workers=1)
NAMES = tuple(f"{folder}{name}.png" for folder in ("", "d/", "e/") for name in "xyz")
names = st.sampled_from(NAMES)


def picture(content: int) -> bytes:
    """Return a file that differs from those of other numbers; many have the same size."""
    return encode(np.random.default_rng(content).integers(0, 255, (12, 16, 3), np.uint8))


def write(path: Path, content: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture(content))
    return path


class FileSystem(RuleBasedStateMachine):
    """Pictures with different contents that come, change, move and go, and a model of the items that belong to them."""

    compared = 0
    """Number of runs of indexing after which items and model were equal, over all machines."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "root"
        self.root.mkdir()
        self.made = Home(self.folder / "home").create("c", ["color"])
        self.files: dict[str, int] = {}
        self.lost: list[int] = []
        """Contents without a file, which can come back."""
        self.items: dict[int, tuple[str, int, bool]] = {}
        """Path, content, and whether the file is missing, by the number of the item."""
        self.contents = 0
        self.time = 1
        """The time of every file that is touched before the next run; in later runs, files get other times."""

    def teardown(self) -> None:
        self.made.close()
        shutil.rmtree(self.folder)

    def gone(self, name: str) -> None:
        if name in self.files:
            self.lost.append(self.files.pop(name))

    @rule(name=names)
    def write(self, name: str) -> None:
        self.gone(name)
        self.contents += 1
        self.files[name] = self.contents
        write(self.root / name, self.contents)

    @precondition(lambda self: self.lost)
    @rule(name=names, data=st.data())
    def restore(self, name: str, data: st.DataObject) -> None:
        content = self.lost.pop(data.draw(st.integers(0, len(self.lost) - 1)))
        self.gone(name)
        self.files[name] = content
        write(self.root / name, content)

    @rule(name=names)
    def delete(self, name: str) -> None:
        self.gone(name)
        (self.root / name).unlink(missing_ok=True)

    @rule(name=names, new=names)
    def move(self, name: str, new: str) -> None:
        if name in self.files and name != new:
            content = self.files.pop(name)
            self.gone(new)
            self.files[new] = content
            (self.root / new).parent.mkdir(exist_ok=True)
            (self.root / name).replace(self.root / new)

    @rule(name=names, new=names)
    def exchange(self, name: str, new: str) -> None:
        if name in self.files and new in self.files and name != new:
            self.files[name], self.files[new] = self.files[new], self.files[name]
            (self.root / name).rename(self.root / "between")
            (self.root / new).rename(self.root / name)
            (self.root / "between").rename(self.root / new)

    @rule(name=names)
    def touch(self, name: str) -> None:
        if name in self.files:
            os.utime(self.root / name, ns=(self.time, self.time))

    @rule()
    def rename_folder(self) -> None:
        if (self.root / "d").exists() and not any(name.startswith("e/") for name in self.files):
            shutil.rmtree(self.root / "e", ignore_errors=True)
            (self.root / "d").rename(self.root / "e")
            self.files = {name.replace("d/", "e/"): content for name, content in self.files.items()}

    @rule()
    def index(self) -> None:
        self.made.index([self.root], ONE)
        self.time += 1
        self.expect()
        live = {item.key: item for item in self.made.items(limit=100) if not item.missing}
        numbers = {path: number for number, (path, _, missing) in self.items.items() if not missing}
        assert live.keys() == {f"root/{path}" for path in numbers}
        new = [ItemUpdate(key, attributes={"n": numbers[key[5:]]}) for key, one in live.items() if not one.attributes]
        self.made.items.update(new)
        found = {item.attributes["n"]: item for item in self.made.items(limit=100)}
        assert found.keys() == self.items.keys()
        for number, (path, content, missing) in self.items.items():
            assert bool(found[number].missing) == missing
            assert missing or found[number].key == f"root/{path}"
            assert missing or self.files[path] == content
        FileSystem.compared += 1

    def expect(self) -> None:
        """Let the items of the model follow the files."""
        in_place = {one for one, (path, content, _) in self.items.items() if self.files.get(path) == content}
        at = {path: one for one, (path, _, missing) in self.items.items() if not missing}
        at |= {self.items[one][0]: one for one in in_place if self.items[one][0] not in at}
        placed = {self.items[one][0]: one for one in in_place if at[self.items[one][0]] == one}
        settled = set(placed.values())
        homeless = {content: one for one, (_, content, _) in self.items.items() if one not in settled}

        def edited(one: int) -> bool:
            path, _, missing = self.items[one]
            return not missing and path in self.files and self.files[path] not in homeless

        for path, content in self.files.items():
            if path not in placed and content in homeless and not edited(homeless[content]):
                placed[path] = homeless[content]
        for path in self.files:
            if path not in placed:
                stays = path in at and not self.items[at[path]][2] and at[path] not in placed.values()
                placed[path] = at[path] if stays else len(self.items) + 1
                self.items.setdefault(placed[path], (path, 0, False))
        owners = {one: path for path, one in placed.items()}
        self.items = {
            one: (owners[one], self.files[owners[one]], False) if one in owners else (path, content, True)
            for one, (path, content, _) in self.items.items()
        }
