"""The figures that tools/checkout.py and tools/house.py report of a small checkout are the known ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import Checkout, cycles, floors
from house import RISES, excesses, figures, file_list, room_table

TOOL = Path(__file__).resolve().parent.parent / "tools/house.py"
FILES = {
    "engine/__init__.py": "",
    "engine/errors.py": "",
    "engine/item.py": "import engine.errors\n",
    "engine/collection.py": "def open_():\n    from engine.home import Home\n    return Home\n",
    "engine/home.py": "from engine.collection import open_\nfrom engine.catalog.items import read\n",
    "engine/catalog/__init__.py": "",
    "engine/catalog/items.py": "from engine import errors, item\nfrom engine.catalog import rows\n",
    "engine/catalog/rows.py": "",
    "engine/catalog/migrations/first.py": "import engine.home\n",
    "engine/learners/__init__.py": "",
    "engine/learners/base.py": """
class MultiViewLearner(BaseEstimator):
    name: ClassVar[str]
    cross_view: ClassVar[bool] = False  # type: ignore[misc]
    widths_: list[int]
""",
    "engine/learners/npp/__init__.py": "",
    "engine/learners/npp/hybrid.py": """
from engine.learners.base import MultiViewLearner
class Hybrid(MultiViewLearner):
    def __init__(self, a, b, *, c): pass
    def _fit(self, a, b, c, d, e, f, g, h): pass
class Narrow(TransformerMixin, Hybrid): pass
""",
    "server/__init__.py": "",
    "server/wire/pb/generated.py": "import engine\n" * 500,
    "tests/test_it.py": "pass\n" * 7,
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Checkout(tmp_path)


def test_the_drawing_has_a_box_for_each_room_and_each_module_beside_the_rooms(checkout):
    """Migrations are left out, deferred imports are arrows, and a cycle's boxes share a floor."""
    drawing = checkout.drawing_of("engine")
    assert {box: set(below) for box, below in drawing.items()} == {
        "engine.errors": set(),
        "engine.item": {"engine.errors"},
        "engine.catalog": {"engine.errors", "engine.item"},
        "engine.collection": {"engine.home"},
        "engine.home": {"engine.collection", "engine.catalog"},
        "engine.learners": set(),
    }
    assert cycles(drawing) == [("engine.collection", "engine.home")]
    assert floors(drawing) == {
        "engine.errors": 1,
        "engine.item": 2,
        "engine.catalog": 3,
        "engine.collection": 4,
        "engine.home": 4,
        "engine.learners": 1,
    }


def test_folders_inside_a_room_have_arrows_of_their_own(checkout):
    """A module beside folders is a box, and so is each innermost folder."""
    assert checkout.folders["engine.learners.npp"] == {"engine.learners.base"}


def test_figures_count_what_people_wrote(checkout):
    """Neither generated code nor the name of a learner counts; an estimator's parameters count with self."""
    found = figures(checkout)
    assert found["test lines"] == 7
    assert found["most lines of a source file"] == 6
    assert found["most parameters of an estimator"] == 4
    assert found["most parameters of a public function"] == 4
    assert found["capabilities as class variables"] == 1
    assert found["deepest inheritance of the learners"] == 3
    assert found["type: ignore"] == 1
    assert found["engine: modules at its root"] == 4


def test_a_room_contains_all_that_is_in_its_folder(checkout):
    """Generated files count nowhere."""
    assert {room: checkout.rooms[room] for room in ("engine.catalog", "engine.learners", "server")} == {
        "engine.catalog": (4, 3),
        "engine.learners": (4, 11),
        "server": (1, 0),
    }
    assert ["engine.catalog", "4", "3"] in [line.split() for line in room_table(checkout).splitlines()]


def test_a_figure_above_that_of_the_last_release_is_named_unless_a_decision_allows_it(checkout):
    """A line of docs/decisions/house.md gives the figure, the allowed value, and the reason."""
    release = figures(checkout)
    (checkout.root / "tools").mkdir()
    (checkout.root / "tools/house.json").write_text(json.dumps(release))
    assert excesses(Checkout(checkout.root)) == []
    (checkout.root / "engine/catalog/rows.py").write_text("import engine.learners.base  # type: ignore\n")
    lines, words = release["lines of the product"], f"lower it, or give the value and the reason in {RISES}"
    assert excesses(Checkout(checkout.root)) == [
        f"engine: arrows: 7, at most 6; {words}",
        f"type: ignore: 2, at most 1; {words}",
        f"lines of the product: {lines + 1}, at most {lines}; {words}",
    ]
    (checkout.root / "docs/decisions").mkdir(parents=True)
    allowed = (
        "| figure | value | reason |\n| --- | --- | --- |\n| engine: arrows | 7 | rows |\n| type: ignore | 2 | x |\n"
    )
    (checkout.root / "docs/decisions/house.md").write_text(f"{allowed}| lines of the product | {lines + 1} | rows |\n")
    assert excesses(Checkout(checkout.root)) == []


def test_files_that_may_be_one_thought_with_another_are_listed(checkout):
    """They are files with one importer, short files, and names of several files; packages have no name of their own."""
    (checkout.root / "engine/learners/npp/items.py").write_text("pass\n" * 60)
    with (checkout.root / "engine/item.py").open("a") as file:
        file.write("pass\n" * 150)
    checkout = Checkout(checkout.root)
    listed = file_list(checkout).splitlines()
    assert [line for line in listed if not line.startswith("below")] == [
        "one importer: engine/catalog/items.py: engine.home",
        "one importer: engine/catalog/rows.py: engine.catalog.items",
        "one importer: engine/collection.py: engine.home",
        "one importer: engine/item.py: engine.catalog.items",
        "one importer: engine/learners/base.py: engine.learners.npp.hybrid",
        "one importer and at most 150 lines: engine/catalog/items.py: engine.home",
        "one importer and at most 150 lines: engine/catalog/rows.py: engine.catalog.items",
        "one importer and at most 150 lines: engine/collection.py: engine.home",
        "one importer and at most 150 lines: engine/learners/base.py: engine.learners.npp.hybrid",
        "repeated name: items.py: engine/catalog/items.py engine/learners/npp/items.py",
    ]
    assert "below 60 lines: engine/learners/base.py: 5" in listed
    found = figures(checkout)
    assert found["source files with one importer"] == 5
    assert found["source files with one importer and at most 150 lines"] == 4
    assert found["source files below 60 lines"] == len(listed) - 10 == 8
    assert found["repeated names of source files"] == 1


def test_what_exceeds_a_limit_is_named(tmp_path):
    """Limits hold for files, tests included, functions, and parameters of public functions and estimators."""
    (tmp_path / "engine").mkdir()
    (tmp_path / "tests").mkdir()
    nine, sixteen = (", ".join(f"p{number}" for number in range(count)) for count in (9, 16))
    (tmp_path / "engine/one.py").write_text(
        "def long():\n" + "    pass\n" * 60 + f"def wide({nine}): pass\n"
        f"def _private({nine}): pass\n"
        f"class Learner(BaseEstimator):\n    def __init__({sixteen}): pass\n    def fit({nine[4:]}): pass\n"
        "@dataclass(eq=False)\nclass Other(Learner):\n    name: ClassVar[str]\n    found_: int = field(init=False)\n"
        + "".join(f"    {name}: int = 0\n" for name in sixteen.split(", "))
    )
    (tmp_path / "tests/test_one.py").write_text("pass\n" * 501)
    assert excesses(Checkout(tmp_path)) == [
        "tests/test_one.py: 501 lines, at most 500",
        "engine/one.py:long: 61 lines, at most 60",
        "engine/one.py:wide: 9 parameters, at most 8",
        "engine/one.py:Learner.__init__: 16 parameters, at most 15",
        "engine/one.py:Other: 17 parameters, at most 15",
    ]


def test_a_learner_four_classes_deep_is_named(checkout):
    """Classes of scikit-learn do not count."""
    with (checkout.root / "engine/learners/npp/hybrid.py").open("a") as file:
        file.write("class Deep(Narrow): pass\n")
    assert excesses(Checkout(checkout.root)) == ["Deep: 4 classes deep, at most 3"]


def test_two_checkouts_stand_side_by_side(checkout):
    """They stand in a table, and in JSON under the same names."""
    command = [sys.executable, TOOL, checkout.root, "--against", checkout.root]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert table[0].split() == ["before", "after"]
    assert ["engine:", "rooms", "6", "6"] in [line.split() for line in table]
    printed = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == {"before": figures(checkout), "after": figures(checkout)}
