"""What tools/house.py reports of a checkout, on a small one whose figures are known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from house import Checkout, cycles, excesses, figures, floors

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
""",
    "server/__init__.py": "",
    "server/pb/generated.py": "import engine\n" * 500,
    "tests/test_it.py": "pass\n" * 7,
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Checkout(tmp_path)


def test_the_drawing_has_a_box_for_each_root_module_and_each_room(checkout):
    """Migrations are left out, deferred imports are arrows, and a cycle's boxes share a floor."""
    assert {box: set(below) for box, below in checkout.drawing.items()} == {
        "engine.errors": set(),
        "engine.item": {"engine.errors"},
        "engine.catalog": {"engine.errors", "engine.item"},
        "engine.collection": {"engine.home"},
        "engine.home": {"engine.collection", "engine.catalog"},
        "engine.learners.base": set(),
        "engine.learners.npp": {"engine.learners.base"},
    }
    assert cycles(checkout.drawing) == [("engine.collection", "engine.home")]
    assert floors(checkout.drawing) == {
        "engine.errors": 1,
        "engine.item": 2,
        "engine.catalog": 3,
        "engine.collection": 4,
        "engine.home": 4,
        "engine.learners.base": 1,
        "engine.learners.npp": 2,
    }


def test_figures_count_what_people_wrote(checkout):
    """Neither generated code nor the name of a learner counts; an estimator's parameters count with self."""
    found = figures(checkout)
    assert found["test lines"] == 7
    assert found["most lines of a source file"] == 5
    assert found["most parameters of an estimator"] == 4
    assert found["most parameters of a public function"] == 4
    assert found["capabilities as class variables"] == 1
    assert found["type: ignore"] == 1
    assert found["engine: modules at its root"] == 4


def test_what_exceeds_a_limit_is_named(tmp_path):
    """Files, tests included, functions, and parameters of public functions and of estimators."""
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


def test_two_checkouts_stand_side_by_side(checkout):
    """As a table, and as JSON under the same names."""
    command = [sys.executable, TOOL, checkout.root, "--against", checkout.root]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert table[0].split() == ["before", "after"]
    assert ["engine:", "boxes", "7", "7"] in [line.split() for line in table]
    printed = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(printed) == {"before": figures(checkout), "after": figures(checkout)}
