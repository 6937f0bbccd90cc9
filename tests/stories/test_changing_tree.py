"""A person rearranges a messy tree of pictures between runs of index: every line of the output is as expected."""

import shutil
from pathlib import Path

import pytest
from messy_tree import build
from story import done, refused, result_of, run

TREE = "tree/2021/05 Paris"

pytestmark = pytest.mark.long


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def tree(tmp_path: Path, home: Path) -> Path:
    """The messy tree, indexed without the files that cannot be read, with labels that a person chose."""
    tree = tmp_path / "tree"
    facts = build(tree)
    for path in (*facts.unusable, *facts.clashing[1:]):
        (tree / path).unlink(missing_ok=True)
    done("create", "photos", "--views", "color", home=home)
    done("index", "photos", tree, home=home)
    done("annotate", "photos", "--where", f'key prefix "{TREE}/"', "--label", "paris", home=home)
    done("annotate", "photos", f"{TREE}/IMG_0001.JPG", "--attribute", "stars=5", home=home)
    return tree


def lines(out: str) -> list[str]:
    """Return the lines of a report, without the seconds."""
    first, *others = out.rstrip().splitlines()
    return [first.partition(";")[0], *others]


def test_a_person_rearranges_a_tree(home: Path, tree: Path, tmp_path: Path):
    """Files and folders are renamed, moved and deleted, the root too; then some come back."""
    before = {item["key"]: item for item in result_of("list", "photos", "--limit", 1000, home=home)}
    (tree / "2021/05 Paris/IMG_0001.JPG").rename(tree / "2021/05 Paris/tower.jpg")
    (tree / "2021/05 Paris/IMG_0002.JPG").rename(tree / "formats/IMG_0002.JPG")
    (tree / "2021/06").rename(tree / "2021/June")
    kept = (tree / "formats/c.webp").read_bytes()
    for name in ("c.webp", "d.tif", "e.bmp", "f.gif"):
        (tree / "formats" / name).unlink()
    root = tree.rename(tmp_path / "pictures")
    moved = [
        f"{tree} is now {root}; {len(before)} items follow it",
        "items that followed their files:",
        f"  {TREE}/IMG_0001.JPG -> {TREE}/tower.jpg",
        f"  {TREE}/IMG_0002.JPG -> tree/formats/IMG_0002.JPG",
        "  tree/2021/06/ -> tree/2021/June/ (6 items)",
    ]
    missing = [f"  tree/formats/{name}" for name in ("c.webp", "d.tif", "e.bmp", "f.gif")]
    count = f"8 moved, {len(before) - 4} unchanged, 0 could not be used"
    left_out = [line for line in lines(done("index", "photos", root, "--dry-run", home=home)) if "left out: " in line]
    advice = "files that are missing: 4; their items stay, and searches leave them out. Delete the items with: "
    expected = [*left_out, *moved, advice, *missing]
    shown = lines(done("index", "photos", root, "--dry-run", home=home))
    assert shown[0] == f"would be: 0 added, 0 updated, {count}"
    assert [line.partition("crossview")[0] for line in shown[1:]] == expected
    shown = lines(done("index", "photos", root, home=home))
    assert shown[0] == f"0 added, 0 updated, {count}"
    assert [line.partition("crossview")[0] for line in shown[1:]] == expected

    after = {item["key"]: item for item in result_of("list", "photos", "--limit", 1000, home=home)}
    assert len(after) == len(before)
    tower = after[f"{TREE}/tower.jpg"]
    assert (tower["labels"], tower["attributes"]) == (["paris"], {"stars": 5})
    assert after["tree/formats/IMG_0002.JPG"]["labels"] == ["paris"]
    query = ("search", "photos", "--key", f"{TREE}/tower.jpg", "--view", "color", "-k", 100)
    (hits,) = result_of(*query, home=home)
    assert len(hits["hits"]) == len(before) - 5  # without the query and the missing ones
    assert not {hit["key"] for hit in hits["hits"]} & {line.strip() for line in missing}
    asked = run("index", "photos", root, "--prune", home=home)
    assert asked.returncode == 1
    assert asked.stderr.splitlines()[-5:] == [*missing, "error: 4 files are missing; deleting their items needs --yes"]

    (root / "back.webp").write_bytes(kept)
    shown = lines(done("index", "photos", root, "--prune", "--yes", home=home))
    assert shown[0] == f"0 added, 0 updated, 1 moved, {len(before) - 3} unchanged, 0 could not be used"
    assert shown[-5:] == [
        "  tree/formats/c.webp -> tree/back.webp",
        "deleted 3 items, whose files are missing:",
        *missing[1:],
    ]
    (root / "formats/d.tif").write_bytes(kept)
    again = lines(done("index", "photos", root, home=home))
    assert again[0].startswith("1 added, 0 updated")  # missing files come back
    shutil.rmtree(root)
    assert refused("index", "photos", root, home=home).endswith("does not exist")
