"""The arrows of ARCHITECTURE.md hold in the code, deferred imports included."""

import ast
import functools
import importlib
import tomllib
from pathlib import Path

import pytest
from checkout import Checkout, cycles

from crossview.engine.learners.registry import LEARNERS as LEARNERS_BY_NAME

ROOT = Path(__file__).resolve().parent.parent
ROOMS_AT_THE_TOP = ("engine", "features", "index", "server")
"""Folders that are installed as packages of ``crossview``."""
HOUSE = Checkout(ROOT)
PACKAGES = {".".join(path.parts[:-1]) for path in HOUSE.sources if path.name == "__init__.py"}
MIGRATIONS = "engine.catalog.migrations"
GROUND_FLOOR = "engine.runtime"
"""The room that every room may import, except ``features`` and ``index``, which know nothing of the engine."""
CONDITIONS = "engine.conditions"
SERVICES = "engine.services"
"""The room above all others of the engine, which ``engine.collection`` alone imports."""
DRAWING_TOOLS = tuple(
    f"tools/{name}.py" for name in ("difficult_queries", "explanations", "readme_pictures", "screenshots")
)
STEPS, COMPARISONS = "engine.learners.steps", "engine.learners.comparisons"
SUBSPACE, METRICS = "engine.learners.subspace", "engine.learners.metrics"
LOSSES, SOLVERS, SAMPLERS = "engine.learners.losses", "engine.learners.solvers", "engine.learners.samplers"
LEARNERS = {"engine.learners"} | {package for package in PACKAGES if package.startswith("engine.learners.")}
ROOMS = {
    *("engine", "engine.audit", "engine.catalog", "engine.changes", "engine.duplicates", "engine.explaining"),
    *("engine.ingest", "engine.maps", "engine.publishing", "engine.questions", "engine.spreading"),
    "engine.spaces",
    *(CONDITIONS, "engine.training", "engine.transfer"),
    *LEARNERS,
}
MAY_IMPORT = {
    "features": {"features.models"},
    "features.models": {"features"},
    "index": set(),
    GROUND_FLOOR: set(),
    "engine": {*ROOMS, SERVICES, "features", "features.models", "index"},
    SERVICES: {*ROOMS, "features", "index"},
    CONDITIONS: {"engine"},
    "engine.audit": {"engine", "engine.catalog", "engine.spaces", "features.files", "index.base"},
    "engine.catalog": {"engine", CONDITIONS, "features", "features.models"},
    "engine.ingest": {"engine", "engine.catalog", COMPARISONS, "features"},
    "engine.transfer": {"engine", "engine.catalog", "engine.ingest", "features"},
    "engine.spaces": {"engine", CONDITIONS, "engine.catalog", *LEARNERS, "features", "index"},
    "engine.explaining": {"engine", CONDITIONS, "engine.catalog", "engine.spaces", "features", "index.base"},
    "engine.maps": {"engine", "engine.catalog", "engine.spaces"},
    "engine.publishing": {
        *("engine", CONDITIONS, "engine.catalog", "engine.spaces", "features", "features.models.stored", "index"),
    },
    "engine.spreading": {
        *("engine", "engine.catalog", "engine.ingest", "engine.publishing", "engine.spaces", "engine.training"),
        *("engine.transfer", "features"),
    },
    "engine.questions": {"engine", "engine.catalog", "engine.spaces", COMPARISONS},
    "engine.changes": {"engine", "engine.catalog", "engine.learners", LOSSES, SOLVERS, "features"},
    "engine.duplicates": {"engine", CONDITIONS, "engine.catalog", "features", "index"},
    "engine.training": {"engine", CONDITIONS, "engine.catalog", "engine.spaces", *LEARNERS, "features", "index.base"},
    "engine.learners": {*LEARNERS, "features.installed"},  # entry points, which need no other module of features
    "engine.learners.attributes": {"engine.learners", STEPS, LOSSES, SOLVERS, SUBSPACE},
    "engine.learners.hashing": {"engine.learners", STEPS, "engine.learners.npp", SUBSPACE},
    "engine.learners.joint": {"engine.learners", LOSSES, SOLVERS, SUBSPACE},
    METRICS: {"engine.learners", LOSSES, SOLVERS, SAMPLERS, SUBSPACE},
    LOSSES: {"engine.learners"},
    SOLVERS: {"engine.learners", LOSSES},
    SAMPLERS: {"engine.learners"},
    "engine.learners.musl": {"engine.learners", STEPS},
    "engine.learners.npp": {"engine.learners", STEPS, SUBSPACE},
    "engine.learners.steps": {"engine.learners"},
    SUBSPACE: {"engine.learners", STEPS},
    "server": {
        *("server.commands", "server.client", "server.dispatch", "server.edge", "server.edge.http", "server.jobs"),
        *("server.keys", "server.observing", "server.pages", "server.services", "server.writing", "server.wire"),
        *("engine", "engine.catalog.database", "engine.catalog.file_errors", "engine.catalog.private"),
        *("engine.ingest", "engine.publishing", "engine.spaces", "engine.training.packages", "features"),
    },
    "server.wire": {
        "server.dispatch.identity",
        *("server.errors", "engine", CONDITIONS, "engine.audit", "engine.changes", "engine.ingest", "engine.spaces"),
        *("engine.catalog.extractors", COMPARISONS, "features"),
    },
    "server.client": {
        *("server.errors", "server.methods", "server.settings", "server.wire"),
        *("engine", CONDITIONS, "engine.changes", "engine.ingest", "engine.questions", "engine.spaces", "features"),
        *("engine.audit", "engine.catalog.extractors", "engine.catalog.roots", "engine.transfer.first_fit"),
    },
    "server.dispatch": {
        *("server.errors", "server.logs", "server.methods", "server.settings", "server.wire"),
        *("engine", "features"),
    },
    "server.keys": {
        *("server.dispatch", "server.errors", "server.methods", "server.wire.status"),
        *("engine", "engine.catalog.file_errors", "engine.catalog.folder", "engine.catalog.lock"),
        *("engine.catalog.names", "engine.catalog.private"),
    },
    "server.edge": {"server.dispatch", "server.limits", "server.methods", "server.wire", "engine"},
    "server.edge.http": {
        *("server.dispatch", "server.errors", "server.exposure", "server.methods", "server.settings", "server.wire"),
        "engine",
    },
    "server.pages": {
        *("server.edge.http", "server.dispatch", "server.methods", "server.settings", "server.wire", "engine"),
        "engine.ingest.cells",  # exports write the cells that imports read
        *("engine.questions.collected_answers", "engine.training.guide"),  # the agreement of people, names of learners
    },
    "server.observing": {
        *(
            "server.cache",
            "server.dispatch",
            "server.exposure",
            "server.jobs",
            "server.methods",
            "server.settings",
            "server.wire",
        ),
        *("engine", "engine.catalog.private", "features"),
    },
    "server.services": {
        "server.dispatch.identity",
        *("server.cache", "server.jobs", "server.open_pages", "server.settings", "server.wire", "server.writing"),
        *("engine", "engine.audit", "engine.changes", "engine.spaces"),
    },
    "server.jobs": {
        *("server.channel", "server.dispatch", "server.errors", "server.forks", "server.methods", "server.settings"),
        "server.logs",
        *(
            "server.wire",
            "engine",
            "engine.training",
            "engine.catalog.connecting",
            "engine.catalog.file_errors",
            "engine.catalog.folder",
            "engine.catalog.private",
            "features",
        ),
    },
    "server.writing": {
        *("server.cache", "server.channel", "server.errors", "server.forks", "server.methods", "server.wire"),
        "server.logs",
        *("engine", "engine.ingest", "features"),
    },
    "server.commands": {
        *("server", "server.client", "server.demo", "server.drawing", "server.wire"),
        *("server.keys.grants", "server.keys.keys"),
        *("engine", "engine.audit", "engine.changes", "engine.questions", "engine.ingest", "engine.spaces"),
        *("engine.publishing", "engine.spreading", "engine.training", "engine.transfer"),
        *(COMPARISONS, CONDITIONS, "features"),
    },
    "server.demo": {"server.drawing", "server.backend", "server.errors", "engine", "engine.changes"},
    "server.drawing": {"engine", "engine.audit", "engine.changes", "engine.ingest", "features"},
    "benchmarks": {*ROOMS, "features", "index", "crossview", "server.drawing"},
    "tools": {
        *(*ROOMS, "features", "index", "crossview"),
        *("server.cli", "server.commands.command", "server.commands.result_types"),
        *(
            "server.configuration",
            "server.demo",
            "server.drawing",
            "server.edge.http",
            "server.errors",
            "server.listen",
        ),
        *("server.methods", "server.observing", "server.settings", "server.wire"),
    },
    "crossview": {
        *("server.client", "server.errors", "engine", CONDITIONS, "engine.audit", "engine.changes"),
        *(*LEARNERS, "features"),
    },
}
"""Rooms, and single modules, that the modules of a room may import, besides each other and the ground floor.

That no room of the engine imports ``collection`` or ``home``, which are above the rooms, follows as there is no cycle.
"""
PARTS_OF_LEARNERS = {
    *("attributes.class_relations", "attributes.described", "attributes.described_odds"),
    "hashing.hasher",
    *("joint.compared", "joint.hidden", "joint.joint_fit", "joint.joint_objects", "joint.losses", "joint.objectives"),
    *("musl.class_votes", "musl.grouping"),
    *("subspace.ridge_path", "subspace.span"),
}
"""Modules of a learner's room that define no learner, and that other rooms use: benchmarks measure parts of a paper."""
HOMES = {
    "faiss": (
        *("index/", "engine/learners/hashing/"),
        *("benchmarks/speed/hamming.py", "benchmarks/speed/near_pairs.py"),
        *("benchmarks/scale/", "benchmarks/store/", "benchmarks/serve/"),
    ),
    "grpc": ("server/edge/", "server/client/", "server/listen.py", "benchmarks/serve/"),
    **dict.fromkeys(("uvicorn", "python_multipart"), ("server/edge/http/",)),
    "starlette": ("server/edge/http/", "server/pages/"),
    **dict.fromkeys(("jinja2", "markupsafe"), ("server/pages/",)),
    "lxml": ("features/",),
    **dict.fromkeys(("onnxruntime", "tokenizers"), ("features/models/", "benchmarks/speed/bare_models.py")),
    "cv2": ("features/", "benchmarks/changes/", "benchmarks/speed/extract.py"),
    "PIL": (
        "features/",
        "server/drawing/",
        "server/demo/",
        "benchmarks/serve/",
        "benchmarks/duplicates/",
        "benchmarks/speed/bare_models.py",
        *DRAWING_TOOLS,
    ),
    "sqlalchemy": ("engine/catalog/",),
    "alembic": ("engine/catalog/",),
    "typer": ("server/", "tools/documents/"),
    "opentelemetry": ("server/observing/",),
    "matplotlib": ("benchmarks/",),
}


def room(module: str) -> str:
    """The package that a module is in; of a package itself, that one; a benchmark's folder is of benchmarks."""
    package = module if module in PACKAGES else module.rpartition(".")[0]
    top = package.partition(".")[0]
    return top if top in ("benchmarks", "tools") or not package else package


@pytest.mark.parametrize("name", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(name):
    may = MAY_IMPORT[name] if name.partition(".")[0] in ("features", "index") else MAY_IMPORT[name] | {GROUND_FLOOR}
    wrong = [
        f"{module} imports {target}"
        for module, targets in HOUSE.imports.items()
        for target in sorted(targets)
        if room(module) == name and room(target) != name and not may & {target, room(target)}
    ]
    assert wrong == []


def test_every_room_has_its_arrows():
    """A new room comes with a line of MAY_IMPORT."""
    assert {room(module) for module in HOUSE.modules if not module.startswith(MIGRATIONS)} == set(MAY_IMPORT)


def test_nothing_imports_itself_in_a_circle():
    """Neither modules, whatever their package, nor the boxes of the engine's drawing."""
    assert cycles(HOUSE.imports) == []
    assert cycles(HOUSE.drawing) == []


def test_every_room_has_a_budget_of_its_own_and_keeps_it():
    """A new room comes with a line of [tool.house.rooms] in pyproject.toml."""
    rooms = {name.replace(".", "/") for name in MAY_IMPORT}
    assert rooms == set(HOUSE.budgets) - {MIGRATIONS.replace(".", "/")}
    assert [message for room in HOUSE.rooms for message in room.excesses()] == []


def test_other_rooms_import_only_public_places_of_the_learners():
    """The root, losses, solvers, samplers, modules that define a learner, and listed parts; never a private name."""
    learners = {learner.__module__.removeprefix("crossview.") for learner in LEARNERS_BY_NAME.values()}
    public = learners | {f"engine.learners.{part}" for part in PARTS_OF_LEARNERS}
    outside = {name: targets for name, targets in HOUSE.imports.items() if not name.startswith("engine.learners")}
    wrong = [
        f"{module} imports {target}"
        for module, targets in outside.items()
        for target in sorted(targets)
        if target.startswith("engine.learners") and target not in public
        if room(target) not in {"engine.learners", LOSSES, SOLVERS, SAMPLERS}
    ]
    wrong += [
        f"{module} imports {alias.name} of {node.module}"
        for module in outside
        for node in ast.walk(HOUSE.modules[module])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crossview.engine.learners")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert wrong == []
    used = {target for targets in outside.values() for target in targets}
    assert public - learners <= used, "a part that nobody imports is not public"


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_used_only_where_it_belongs(library):
    wrong = [
        f"{path} imports {library}"
        for path, tree in HOUSE.trees.items()
        if library in libraries(tree) and not str(path).startswith(HOMES[library])
    ]
    assert wrong == []


@functools.cache
def libraries(tree: ast.AST) -> set[str]:
    """Top-level names of all that a module imports."""
    nodes = list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_room_says_what_it_is_for(package):
    """In the docstring of its __init__."""
    assert package.startswith(MIGRATIONS) or ast.get_docstring(HOUSE.modules[package])


def test_every_package_is_listed_for_the_wheel_and_is_this_project_s():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {path.parent.relative_to(ROOT) for top in ROOMS_AT_THE_TOP for path in (ROOT / top).rglob("__init__.py")}
    rooms = {".".join(["crossview", *folder.parts]) for folder in folders - {Path("server/pb")}}
    assert sorted(listed) == sorted({"crossview", "crossview.v1", *rooms})
    for name in listed:
        if "migrations" not in name:
            file = importlib.import_module(name).__file__
            assert file is not None
            assert Path(file).is_relative_to(ROOT)


def test_a_room_has_one_name():
    """Its modules are parts of ``crossview`` only, so that an application may have its own ``engine`` or ``server``."""
    for folder in ROOMS_AT_THE_TOP:
        assert (ROOT / "crossview" / folder).resolve() == ROOT / folder
    trees = {path: ast.parse(text) for path, text in (HOUSE.sources | HOUSE.tests).items()}
    assert [str(path) for path, tree in trees.items() if libraries(tree) & set(ROOMS_AT_THE_TOP)] == []


def test_each_test_with_seconds_exists() -> None:
    """A line of a test that has another name now would leave its time to the quick ones."""
    for line in (ROOT / "tests" / "seconds.txt").read_text().splitlines():
        path, _, function = line.split()[1].partition("::")
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), (
            f"{line}: write tests/seconds.txt again"
        )
