"""Pictures, rows and bundles in object storage give the same rows as those in a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from spread_rows import extracted, table

from crossview.engine.collections.collection import Collection
from crossview.engine.collections.home import Home
from crossview.engine.publishing.object_storage import ObjectStorage
from crossview.engine.publishing.publication import PublishRequest
from crossview.engine.publishing.publish import publish
from crossview.engine.publishing.spreading.rows_folder import RowsFolder
from crossview.engine.publishing.spreading.sampling import SampleRequest, sample_rows
from crossview.engine.values.errors import NotFoundError, StorageError

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]  # of moto and botocore


@pytest.fixture(scope="module")
def bucket(place: Path) -> Iterator[str]:
    """The address of a bucket on this machine, with the pictures."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    patch = pytest.MonkeyPatch()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        patch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    bucket = f"pets-{port}"  # moto keeps its objects as long as this process lives
    s3fs.S3FileSystem().mkdir(bucket)
    there = ObjectStorage(f"s3://{bucket}/photos")
    for folder, _, names in os.walk(place / "photos"):
        for name in names:
            file = Path(folder) / name
            there.upload(str(file.relative_to(place / "photos")), file)
    yield f"s3://{bucket}"
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()
    patch.undo()


@pytest.fixture(scope="module")
def rows(place: Path, indexed: Collection, bucket: str) -> str:
    """The address of the rows, by a bundle in the bucket."""
    publish(indexed, PublishRequest(to=f"{bucket}/bundles"))
    made = extracted(place, f"{bucket}/rows", pictures=f"{bucket}/photos", bundle=f"{bucket}/bundles", partition=5)
    assert (made.items, made.bad, made.partitions) == (18, 2, 4)
    return f"{bucket}/rows"


def test_rows_are_those_of_a_folder(place: Path, bucket: str, rows: str, tmp_path: Path) -> None:
    """Only the sources differ, which are addresses; bad pictures have the same reasons."""
    storage = ObjectStorage(rows)
    for name in storage.names():
        storage.download(name, tmp_path / name)
    extracted(place, place / "beside")
    found, local = table(tmp_path), table(place / "beside")
    assert found.drop_columns("source").equals(local.drop_columns("source"))
    assert found["source"].to_pylist()[0] == f"{bucket}/photos/cat/0.jpg"
    for file in (place / "beside").glob("bad-*"):
        assert pq.read_table(tmp_path / file.name).equals(pq.read_table(file))


def test_a_later_call_reads_no_finished_partition(place: Path, rows: str, bucket: str) -> None:
    """It reads a partition whose file is gone again."""
    ObjectStorage(rows).delete("part-00001.parquet")
    options = {"pictures": f"{bucket}/photos", "bundle": f"{bucket}/bundles"}
    assert extracted(place, rows, **options).partitions == 1
    again = extracted(place, rows, **options)
    assert (again.partitions, again.kept) == (0, 4)


def test_a_sample_has_its_pictures(rows: str, bucket: str, tmp_path: Path) -> None:
    """They are thumbnails; it also has the views of the bundle."""
    request = SampleRequest(
        rows=rows, to="drawn", size=8, bundle=f"{bucket}/bundles", published="pets", thumbnails=True
    )
    home = Home(tmp_path)
    assert sample_rows(request, home).items == 8
    with home.open("drawn") as drawn:
        items = drawn.items(limit=10)
        assert all(drawn.items.thumbnail(item.key) and item.views == ("color", "sift", "gist") for item in items)
        picture = ObjectStorage(bucket).read(f"photos/{items[0].key.partition('/')[2]}")
        (found,) = drawn.search(view="sift", image=picture, targets="sift", space="raw", k=1)
        assert found.hits[0].key == items[0].key


def test_rows_can_be_counted(rows: str) -> None:
    """The ends of their files state the number."""
    assert sum(RowsFolder(rows).counts) == 18


def test_a_missing_bucket_is_named(place: Path, indexed: Collection, bucket: str) -> None:
    """Writing into a missing bucket does not make it."""
    with pytest.raises((StorageError, NotFoundError), match="s3://nothing"):
        extracted(place, "s3://nothing/rows")
