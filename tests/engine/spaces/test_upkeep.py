"""The background keeps indexes: many dead rows are compacted, and large changes are saved."""

from dataclasses import replace

import pytest
from line import keys, request, row

from crossview.engine.spaces import versions as module
from crossview.engine.values.errors import StorageError


def test_a_space_that_goes_while_its_index_is_taken_over_is_stale(items, monkeypatch):
    """Another process may replace or delete it between two reads of the catalog; upkeep then leaves it."""
    items.search(request())
    versions = items._opened.versions()
    space, make, looks = versions.current().spaces["raw"], versions._next, []

    def gone_at_the_second_look():
        looks.append(make())
        return replace(looks[-1], spaces={}) if len(looks) == 2 else looks[-1]

    monkeypatch.setattr(versions, "_next", gone_at_the_second_look)
    with pytest.raises(module.StaleError):
        versions._with(space)
    assert len(looks) == 2


def test_an_index_of_many_dead_rows_is_compacted_and_answers_the_same(items):
    """The background compacts it, between searches and writes."""
    for number in range(60):
        items.items.put_vectors("v", ["item/010"], row(number)[None])
        items.search(request())
    items._opened.versions().close()
    (covered,) = items._opened.versions().current().spaces["raw"].indexes.values()
    assert not covered.index.worth_compacting
    assert len(covered.index) == 40
    assert keys(items.search(request(59, k=1))) == ["item/010"]


def test_what_was_compacted_across_a_restore_is_not_taken_for_the_restored(home, items, tmp_path):
    """The restored collection's spaces have the same numbers, but other items."""
    home.backup("line", tmp_path / "copy.db")
    items.items.delete([f"item/{number:03}" for number in range(20)])
    items.search(request(k=40))
    versions = items._opened.versions()
    space = versions.current().space("raw")
    ((target, covered),) = space.indexes.items()
    home.restore("line", tmp_path / "copy.db", replace=True).close()
    assert len(keys(items.search(request(k=40)))) == 40
    versions._compacted(space, target, covered)  # as the background does, late
    assert len(keys(items.search(request(k=40)))) == 40


def test_what_changed_much_is_saved_while_the_collection_is_open(items, monkeypatch):
    """A process that is killed after weeks therefore leaves little to build again."""
    monkeypatch.setattr(module, "_FEWEST_SAVED", 20)
    items.search(request())
    items._opened.versions().close()
    assert [path.suffix for path in items._opened.folder.indexes.iterdir()] == [".idx"]
    (covered,) = items._opened.versions().current().spaces["raw"].indexes.values()
    assert covered.unsaved == 0


def test_a_snapshot_that_the_disk_refuses_is_not_tried_again_at_once(items, monkeypatch):
    """Searches are answered meanwhile."""
    monkeypatch.setattr(module, "_FEWEST_SAVED", 20)
    tried = []

    def refused(self, files, target):
        tried.append(target)
        raise StorageError("no space left on the device")

    monkeypatch.setattr(module.IndexedSpace, "save", refused)
    for number in range(5):
        items.items.put_vectors("v", ["item/010"], row(number)[None])
        assert items.search(request())
        items._opened.versions()._upkeep.join()
    assert len(tried) == 1
