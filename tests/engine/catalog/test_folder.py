from pathlib import Path

from crossview.engine.catalog.folder import CollectionFolder


def test_a_folder_knows_whether_its_collection_is_the_same(tmp_path: Path):
    """A collection that is deleted, or deleted and made again at the same place, is another one."""
    empty = CollectionFolder(tmp_path / "pets")
    assert not empty.holds_collection()
    assert not empty.is_alive()
    empty.path.mkdir()
    empty.create_catalog("pets", "a test").close()
    first = CollectionFolder(empty.path)
    assert first.holds_collection()
    assert first.is_alive()
    old = first.path.rename(tmp_path / "old")
    assert not first.is_alive()
    first.path.mkdir()
    first.create_catalog("pets", "").close()
    assert not first.is_alive()
    assert CollectionFolder(old).is_alive()
    catalog = CollectionFolder(old).open_catalog()
    with catalog.read() as tx:
        assert (tx.name(), tx.description()) == ("old", "a test")  # the name is that of the folder
    catalog.close()


def test_a_folder_is_as_large_as_its_files(tmp_path: Path):
    """Files of inner folders count, too."""
    folder = CollectionFolder(tmp_path)
    assert folder.size() == 0
    folder.indexes.mkdir()
    (folder.indexes / "a.idx").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"12")
    assert folder.size() == 5
