"""The source of COCO: a JSON file of pictures, with the categories and captions of their annotations."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crossview.engine.errors import InvalidInputError
from crossview.engine.item import Failure
from crossview.engine.transfer.source import Row

_FILE, _LABELS, _CAPTIONS = "file_name", "categories", "captions"


def is_coco(content: Any) -> bool:
    """Return whether a JSON value has the lists of COCO."""
    return isinstance(content, dict) and all(isinstance(content.get(name), list) for name in ("images", "annotations"))


class CocoSource:
    """The pictures of a COCO file, which is read as a whole."""

    form = "COCO"
    written = False
    hints: Mapping[str, str] = {_LABELS: "label", _CAPTIONS: "text", "id": "attribute:coco_id"}

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self._path, self.folder = path, path.parent
        self._images = content["images"]
        self.count = len(self._images)
        categories = content.get("categories")
        try:
            self._names = {one["id"]: str(one["name"]) for one in (categories if isinstance(categories, list) else ())}
            self._labels: dict[Any, dict[str, None]] = defaultdict(dict)
            self._captions: dict[Any, list[str]] = defaultdict(list)
            for one in content["annotations"]:
                if one.get("category_id") is not None:
                    self._labels[one["image_id"]][self._names[one["category_id"]]] = None
                if one.get("caption"):
                    self._captions[one["image_id"]].append(str(one["caption"]).strip())
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"{path} is not COCO: an annotation or a category is not complete ({error}); each annotation has "
                "image_id, and a category_id that the categories list"
            ) from error

    def __iter__(self) -> Iterator[Row | Failure]:
        for number, image in enumerate(self._images, 1):
            place = f"image {number} of {self._path.name}"
            if not isinstance(image, dict) or not isinstance(image.get(_FILE), str) or not _is_id(image.get("id")):
                yield Failure(place, "it has no id or file_name")
                continue
            found = {name: value for name, value in image.items() if not isinstance(value, list | dict)}
            if self._labels:
                found[_LABELS] = list(self._labels.get(image["id"], ()))
            if self._captions:
                found[_CAPTIONS] = self._captions.get(image["id"])
            yield Row(place, image[_FILE], found)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str)
