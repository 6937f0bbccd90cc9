"""The export to FiftyOne writes the format that FiftyOne reads."""

import base64
import io
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from programs import started

import crossview

pytestmark = pytest.mark.long
FOLDER = Path(__file__).parents[2] / "examples" / "fiftyone"
ID = {"type": "object", "required": ["$oid"], "properties": {"$oid": {"pattern": "^[0-9a-f]{24}$"}}}
LABELS = {
    "type": "object",
    "required": ["_cls", "classifications"],
    "properties": {
        "_cls": {"const": "Classifications"},
        "classifications": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["_id", "_cls", "label", "tags"],
                "properties": {
                    "_id": ID,
                    "_cls": {"const": "Classification"},
                    "label": {"type": "string"},
                    "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
                },
            },
        },
    },
}
SAMPLE = {
    "type": "object",
    "required": ["_id", "_media_type", "filepath", "tags", "key", "ground_truth", "suggested", "nearest", "embedding"],
    "properties": {
        "_id": ID,
        "_media_type": {"const": "image"},
        "filepath": {"type": "string", "pattern": "^/"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ground_truth": LABELS,
        "suggested": LABELS,
        "nearest": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "nearest_distances": {"type": "array", "items": {"type": "number"}},
        "uniqueness": {"type": "number", "minimum": 0, "maximum": 1},
        "copy_group": {"type": "integer", "minimum": 1},
        "copy_relations": {"type": "array", "items": {"type": "string"}},
    },
}
"""A sample of FiftyOneDataset, with the fields of the export."""


@pytest.fixture(scope="module")
def exported(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of a trained collection of drawn pictures."""
    folder = tmp_path_factory.mktemp("exported")
    with crossview.create("art", ["color", "gist"], home=folder / "home") as art:
        art.index([pictures], crossview.IndexOptions(labels="folder"))
        art.train(crossview.Recipe(holdout=0.2))
    output = started([sys.executable, FOLDER / "export.py", "art", "dataset", "--view", "color"], folder)
    assert "wrote 111 samples to dataset" in output
    return folder / "dataset"


@pytest.fixture(scope="module")
def samples(exported: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((exported / "samples.json").read_text(encoding="utf-8"))["samples"]
    return found


def test_the_samples_have_the_format(samples: list[dict[str, Any]]) -> None:
    """Each sample fits the schema, and has its own id and a file that exists."""
    validator = Draft202012Validator(SAMPLE)
    assert [error.message for sample in samples for error in validator.iter_errors(sample)] == []
    assert len({sample["_id"]["$oid"] for sample in samples}) == len(samples)
    assert all(Path(sample["filepath"]).is_file() for sample in samples)


def test_the_description_names_every_field(exported: Path, samples: list[dict[str, Any]]) -> None:
    """It gives the name of the samples, and a type."""
    described = json.loads((exported / "metadata.json").read_text(encoding="utf-8"))
    assert (described["name"], described["media_type"]) == ("art", "image")
    fields = {field["db_field"] for field in described["sample_fields"]}
    assert {name for sample in samples for name in sample} - fields == {"_media_type"}
    assert all(field["ftype"].startswith("fiftyone.core.fields.") for field in described["sample_fields"])


def test_the_values_are_those_of_the_collection(exported: Path, samples: list[dict[str, Any]]) -> None:
    """Labels, the vector of the target, neighbours, and the copy with its keeper in one group."""
    by_key = {sample["key"]: sample for sample in samples}
    with crossview.open("art", home=exported.parent / "home") as art:
        page = art.items.embed("color", limit=1)
        (key,), (vector,) = page.keys, page.vectors
        nearest = art.items.neighbors("color", target="color", k=10, limit=1).neighbors[0]
        labels = art.items.get(key).labels
    raw = zlib.decompress(base64.b64decode(by_key[key]["embedding"]["$binary"]["base64"]))
    np.testing.assert_array_equal(np.load(io.BytesIO(raw)), vector)
    assert by_key[key]["nearest"] == list(nearest)
    assert [one["label"] for one in by_key[key]["ground_truth"]["classifications"]] == list(labels)
    copies = [by_key[f"pictures/leaves/{name}.jpg"] for name in ("copy", "leaves-01")]
    assert copies[0]["copy_group"] == copies[1]["copy_group"]
    assert sorted(one["copy_relations"] for one in copies) == [["identical"], ["keeper"]]


def test_fiftyone_reads_it(exported: Path) -> None:
    """If FiftyOne and its database are here, it reads the labels and the vectors."""
    fiftyone = pytest.importorskip("fiftyone", reason="needs FiftyOne, which needs a MongoDB")
    kind = fiftyone.types.FiftyOneDataset
    dataset = fiftyone.Dataset.from_dir(dataset_dir=str(exported), dataset_type=kind)
    try:
        assert len(dataset) == 111
        assert sum(dataset.count_values("ground_truth.classifications.label").values()) == 111
        assert dataset.first().embedding.ndim == 1
    finally:
        dataset.delete()
