"""Writes a collection as a dataset of FiftyOne: labels, suggested labels, copies, neighbours and embeddings.

    python export.py art art-fiftyone --view color

The collection is that of CROSSVIEW_HOME [default: ~/.crossview]. The pictures stay where they are.
"""

import argparse
import base64
import io
import itertools
import json
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crossview

FORMAT = "1.0.0"
"""The version of FiftyOne whose format the files have; later versions migrate it when they read it."""
NEIGHBORS = 10
AT_ONCE = 500
"""Number of items that one request asks for."""
FIELDS = {
    "id": "ObjectIdField",
    "filepath": "StringField",
    "tags": "ListField of StringField",
    "metadata": "EmbeddedDocumentField of fiftyone.core.metadata.ImageMetadata",
    "created_at": "DateTimeField",
    "last_modified_at": "DateTimeField",
    "key": "StringField",
    "caption": "StringField",
    "ground_truth": "EmbeddedDocumentField of fiftyone.core.labels.Classifications",
    "suggested": "EmbeddedDocumentField of fiftyone.core.labels.Classifications",
    "nearest": "ListField of StringField",
    "nearest_distances": "ListField of FloatField",
    "uniqueness": "FloatField",
    "copy_group": "IntField",
    "copy_relations": "ListField of StringField",
    "embedding": "VectorField",
}
"""The fields of a sample with their types."""

Sample = dict[str, Any]
Found = Mapping[str, Sample]
"""Fields by the key of an item."""


def main() -> None:
    """Read the arguments, and write the dataset."""
    parser = argparse.ArgumentParser(description="Write a collection as a dataset of FiftyOne.")
    parser.add_argument("collection")
    parser.add_argument("folder", type=Path, help="folder to create for the dataset")
    parser.add_argument("--view", required=True, help="view whose neighbours and embeddings to write")
    given = parser.parse_args()
    with crossview.open(given.collection) as collection:
        samples = list(samples_of(collection, given.view))
    given.folder.mkdir(parents=True)
    write(given.folder / "samples.json", {"samples": samples})
    write(given.folder / "metadata.json", metadata(given.collection))
    print(f"wrote {len(samples)} samples to {given.folder}")


def samples_of(collection: crossview.Collection, view: str) -> Iterator[Sample]:
    """Yield a sample for each item with a file and the view, in the order of keys."""
    nearest, embedded = neighbors(collection, view), embeddings(collection, view)
    suggested, copied = suggestions(collection, view, tuple(embedded)), copies(collection)
    for item in items(collection):
        if item.source and item.key in embedded:
            yield {
                "_id": new_id(),
                "_media_type": "image",
                "filepath": item.source,
                "tags": [],
                "metadata": {"_cls": "ImageMetadata", "width": item.width, "height": item.height},
                "key": item.key,
                "caption": item.text or None,
                "ground_truth": classifications((label, None) for label in item.labels),
                **suggested.get(item.key, {}),
                **nearest.get(item.key, {}),
                **copied.get(item.key, {}),
                **embedded[item.key],
            }


def items(collection: crossview.Collection) -> Iterator[crossview.Item]:
    """Yield all items, page by page."""
    page = collection.items(limit=AT_ONCE)
    while page:
        yield from page
        page = collection.items(after=page[-1].key, limit=AT_ONCE)


def embeddings(collection: crossview.Collection, view: str) -> Found:
    """Return the vectors of the items in the active space; codes as bits."""
    found: dict[str, Sample] = {}
    after: str | None = ""
    while after is not None:
        page = collection.items.embed(view, after=after, limit=AT_ONCE)
        rows = np.unpackbits(page.vectors.astype(np.uint8), axis=1, count=page.bits) if page.bits else page.vectors
        found |= {key: {"embedding": packed(row)} for key, row in zip(page.keys, rows, strict=True)}
        after = page.after or None
    return found


def neighbors(collection: crossview.Collection, view: str) -> Found:
    """Return the nearest items of each item, and its uniqueness: its distance to the nearest, at most 1."""
    found: dict[str, Sample] = {}
    after: str | None = ""
    while after is not None:
        page = collection.items.neighbors(view, target=view, k=NEIGHBORS, after=after, limit=AT_ONCE)
        for key, keys, distances in zip(page.keys, page.neighbors, page.distances, strict=True):
            found[key] = {"nearest": list(keys), "nearest_distances": list(distances)}
        after = page.after or None
    first = {key: (one["nearest_distances"] or [0.0])[0] for key, one in found.items()}
    largest = max(first.values(), default=0.0) or 1.0
    return {key: {**one, "uniqueness": first[key] / largest} for key, one in found.items()}


def suggestions(collection: crossview.Collection, view: str, keys: Sequence[str]) -> Found:
    """Return the suggested labels of each item, with their calibrated probabilities."""
    found: dict[str, Sample] = {}
    for chosen in (keys[first : first + AT_ONCE] for first in range(0, len(keys), AT_ONCE)):
        request = crossview.SuggestRequest([crossview.Query(view, key=key) for key in chosen], targets=(view,))
        for one in collection.suggest(request).results:
            labels = classifications((label.label, label.share) for label in one.labels)
            found[chosen[one.query]] = {"suggested": labels}
    return found


def copies(collection: crossview.Collection) -> Found:
    """Return the group of each copy and of each keeper, and the relations of a copy to its keeper."""
    found: dict[str, Sample] = {}
    groups = [group for group in collection.duplicates(crossview.DuplicatesRequest()).groups if group.kind == "copies"]
    for number, group in enumerate(groups, 1):
        for picture in itertools.chain([group.keeper], group.members):
            relations: list[str] = [*picture.relations] or ["keeper"]
            found[picture.key] = {"copy_group": number, "copy_relations": relations}
    return found


def classifications(labels: Iterable[tuple[str, float | None]]) -> Sample:
    """Return labels with their confidences, as the type Classifications."""
    made: list[Sample] = [
        {"_id": new_id(), "_cls": "Classification", "tags": [], "label": label, "confidence": confidence}
        for label, confidence in labels
    ]
    return {"_cls": "Classifications", "classifications": made}


def new_id() -> Sample:
    """Return a random id."""
    return {"$oid": secrets.token_hex(12)}


def packed(vector: NDArray[Any]) -> Sample:
    """Return a vector as FiftyOne stores it: a compressed .npy file."""
    file = io.BytesIO()
    np.save(file, vector.astype(np.float64), allow_pickle=False)
    return {"$binary": {"base64": base64.b64encode(zlib.compress(file.getvalue())).decode(), "subType": "00"}}


def metadata(name: str) -> Sample:
    """Return the description of the dataset: its name, its format and its fields."""
    return {"name": name, "version": FORMAT, "media_type": "image", "sample_fields": [*map(field, FIELDS)]}


def field(name: str) -> Sample:
    """Return the description of a field."""
    kind, _, inner = FIELDS[name].partition(" of ")
    embedded = inner.startswith("fiftyone.")
    return {
        "name": name,
        "db_field": {"id": "_id"}.get(name, name),
        "ftype": f"fiftyone.core.fields.{kind}",
        "subfield": f"fiftyone.core.fields.{inner}" if inner and not embedded else None,
        "embedded_doc_type": inner if embedded else None,
        "fields": [],
    }


def write(path: Path, content: Sample) -> None:
    """Write a file of JSON."""
    path.write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
