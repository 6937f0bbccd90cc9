"""The source of COCO: a JSON file of pictures, with the categories and captions of their annotations."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crossview.engine.catalog.transfer.source import Row
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.item import Failure

_FILE, _LABELS, _CAPTIONS = "file_name", "categories", "captions"


def is_coco(content: Any) -> bool:
    """Return whether a JSON value has the lists of COCO."""
    return isinstance(content, dict) and all(isinstance(content.get(name), list) for name in ("images", "annotations"))


class CocoSource:
    """The pictures of a COCO file, which is read as a whole."""

    folder: Path

    form = "COCO"
    written = False
    hints: Mapping[str, str] = {_LABELS: "label", _CAPTIONS: "text", "id": "attribute:coco_id"}

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self._path, self.folder = path, path.parent
        self._images = content["images"]
        self.count: int = len(self._images)
        categories = content.get("categories")
        kinds = [kind for kind in (categories if isinstance(categories, list) else ()) if isinstance(kind, dict)]
        self._names = {kind["id"]: str(kind["name"]) for kind in kinds if _is_id(kind.get("id")) and "name" in kind}
        self._labels: dict[Any, dict[str, None]] = defaultdict(dict)
        self._captions: dict[Any, list[str]] = defaultdict(list)
        self._failures = [
            Failure(f"annotation {number} of {path.name}", f"it is not complete ({reason})")
            for number, annotation in enumerate(content["annotations"], 1)
            if (reason := self._read(annotation))
        ]
        if self._failures and len(self._failures) == len(content["annotations"]):
            raise InvalidInputError(
                f"{path} is not COCO: {self._failures[0].key}: {self._failures[0].reason}; each annotation has "
                "image_id, and a category_id that the categories list"
            )

    def _read(self, annotation: Any) -> str:
        """Read an annotation; return what it lacks, or ""."""
        if not isinstance(annotation, dict) or not _is_id(annotation.get("image_id")):
            return "image_id"
        if (category := annotation.get("category_id")) is not None:
            if not _is_id(category) or category not in self._names:
                return f"category {category!r}"
            self._labels[annotation["image_id"]][self._names[category]] = None
        if annotation.get("caption"):
            self._captions[annotation["image_id"]].append(str(annotation["caption"]).strip())
        return ""

    def __iter__(self) -> Iterator[Row | Failure]:
        for number, image in enumerate(self._images, 1):
            place = f"image {number} of {self._path.name}"
            if not isinstance(image, dict) or not isinstance(image.get(_FILE), str) or not _is_id(image.get("id")):
                yield Failure(place, "it has no id or file_name")
                continue
            values = {name: value for name, value in image.items() if not isinstance(value, list | dict)}
            if self._labels:
                values[_LABELS] = list(self._labels.get(image["id"], ()))
            if self._captions:
                values[_CAPTIONS] = self._captions.get(image["id"])
            yield Row(place, image[_FILE], values)
        yield from self._failures


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str)
