"""The digest of the code of a result changes with what can change its figures, and not when people tidy the code."""

import pytest

from benchmarks.frame.digest import module_digest

BENCHMARK = """
from benchmarks.frame.record import record
from benchmarks.made import report
from crossview.engine.learners.mean import fitted
from crossview.index.flat import search
import numpy

def measure(rows, k=5):
    values = [fitted(row) for row in rows]
    return search(values, k)
"""
FILES = {
    "benchmarks/made/benchmark.py": BENCHMARK,
    "benchmarks/made/report.py": "def markdown(): return 1",
    "crossview/engine/learners/mean.py": "def fitted(row): return sum(row) / LENGTH\nLENGTH = 3",
    "crossview/index/flat.py": "def search(values, k): return values[:k]",
    "crossview/index/extra.py": "def unused(): return 0",
}


@pytest.fixture
def digest(tmp_path):
    """Return the digest of a benchmark in a project with some files replaced."""

    def written(**files):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        for folder in ("engine", "index"):
            (root / folder).mkdir(parents=True)
            (root / "crossview").mkdir(exist_ok=True)
            (root / "crossview" / folder).symlink_to(root / folder)
        for name, text in FILES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files.get(path.stem, text), encoding="utf-8")
        return module_digest("benchmarks.made.benchmark", root)

    return written


def test_the_parts_of_the_code(digest):
    assert set(digest()) == {"benchmark", "learners", "product"}


@pytest.mark.parametrize(
    "files",
    [
        {"benchmark": BENCHMARK.replace("values", "vectors").replace("(row) for row", "(item) for item")},
        {"benchmark": f'"""It measures."""\n# A comment\n{BENCHMARK}'},
        {"benchmark": BENCHMARK.replace("rows, k=5)", "rows: list, k: int = 5) -> list")},
        {"mean": "LENGTH = 3\n\n\ndef fitted(row):\n    '''Return the mean.'''\n    return (sum(row) / LENGTH)"},
        {"flat": "from crossview.index.extra import search", "extra": FILES["crossview/index/flat.py"]},
        {"report": "def markdown(): return 2"},
        {"extra": "def unused(): return 1"},
    ],
)
def test_tidier_code_keeps_the_digest(files, digest):
    """Comments, docstrings, types, local names, the order and place of definitions, and reports change no figure."""
    assert digest(**files) == digest()


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({"mean": FILES["crossview/engine/learners/mean.py"].replace("3", "4")}, "learners"),
        ({"flat": "def search(values, k): return values[1:k]"}, "product"),
        ({"flat": "def search(k, values): return values[:k]"}, "product"),
        ({"benchmark": BENCHMARK.replace("k=5", "k=True")}, "benchmark"),
        ({"benchmark": BENCHMARK.replace("values, k)", "rows, k)")}, "benchmark"),
    ],
)
def test_other_code_changes_the_digest_of_its_part(files, part, digest):
    before, after = digest(), digest(**files)
    assert {name for name in before if before[name] != after[name]} == {part}
