"""Measures a checkout: its files and lines, functions, rooms, learners and imports.

A room is a folder of the engine or of the server, such as ``engine/catalog``, with all that is in it; a module beside
the rooms is a box of its own. Each other folder at the top is one room.

An import anywhere in a module counts, deferred ones and those for type checkers included. The drawing of the engine,
and that of the server, has a box for each room. The migrations are left out. The floor of a box is one above the
highest floor that it imports.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCES = ("features", "index", "engine", "server", "benchmarks", "crossview", "tools")
GENERATED = ("server", "wire", "pb")
HOUSES = ("engine", "server")
"""Folders with rooms."""

FEW_LINES = 60
"""Files below are listed: a thought that is cut over several files hides there."""
OWN_LINES = 150
"""Files of more lines stand alone with one importer; shorter ones need two, or are plug-ins of a registry."""
MOST_LINES_OF_FUNCTION = 60
MOST_PARAMETERS = 8
MOST_PARAMETERS_OF_ESTIMATOR = 15

Graph = Mapping[str, frozenset[str]]
Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function or method.

    Attributes:
        place: file and qualified name.
        lines: from ``def`` to its end; 0 for the constructor of a dataclass, which has none.
        parameters: ``self`` included, ``*args`` and ``**kwargs`` not.
        public: whether neither it nor what it is in has a name that begins with an underscore; constructors are.
        estimator: whether it is the constructor of a scikit-learn estimator.
    """

    place: str
    lines: int
    parameters: int
    public: bool
    estimator: bool

    def excesses(self) -> Iterator[str]:
        """Return which limits it exceeds, and by how much."""
        if self.lines > MOST_LINES_OF_FUNCTION:
            yield f"{self.place}: {self.lines} lines, at most {MOST_LINES_OF_FUNCTION}"
        most = MOST_PARAMETERS_OF_ESTIMATOR if self.estimator else MOST_PARAMETERS
        if self.public and self.parameters > most:
            yield f"{self.place}: {self.parameters} parameters, at most {most}"


class Checkout:
    """The Python files of a checkout, without generated ones.

    Args:
        root: The folder that holds ``engine``, ``server`` and the others.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sources = {path: text for folder in SOURCES for path, text in self._read(folder)}
        self.tests = dict(self._read("tests"))
        self.lines = {path: text.count("\n") for path, text in (self.sources | self.tests).items()}

    def _read(self, folder: str) -> Iterator[tuple[Path, str]]:
        for path in sorted((self.root / folder).rglob("*.py")):
            relative = path.relative_to(self.root)
            if relative.parts[:3] != GENERATED:
                yield relative, path.read_text(encoding="utf-8")

    @cached_property
    def trees(self) -> dict[Path, ast.Module]:
        """The syntax tree of every source file."""
        return {path: ast.parse(text) for path, text in self.sources.items()}

    @cached_property
    def rooms(self) -> dict[str, tuple[int, int]]:
        """The number of source files and of lines of each room, in the order of the names."""
        counts: dict[str, tuple[int, int]] = {}
        for path in self.sources:
            room = room_of(_module(path))
            files, lines = counts.get(room, (0, 0))
            counts[room] = files + 1, lines + self.lines[path]
        return dict(sorted(counts.items()))

    @cached_property
    def one_importer(self) -> dict[Path, str]:
        """The source files that a single source module imports, and that module; packages themselves are left out."""
        importers: dict[str, list[str]] = {name: [] for name in self.modules}
        for name, targets in self.imports.items():
            for target in targets:
                importers[target].append(name)
        by_path = {path: importers[_module(path)] for path in self._named}
        return {path: names[0] for path, names in by_path.items() if len(names) == 1}

    @cached_property
    def one_importer_few_lines(self) -> dict[Path, str]:
        """Those of ``one_importer`` with at most OWN_LINES lines, plug-ins of registries included."""
        return {path: module for path, module in self.one_importer.items() if self.lines[path] <= OWN_LINES}

    @cached_property
    def short(self) -> dict[Path, int]:
        """The source files of fewer than FEW_LINES lines, and their lines; packages themselves are left out."""
        return {path: self.lines[path] for path in self._named if self.lines[path] < FEW_LINES}

    @cached_property
    def repeated(self) -> dict[str, list[Path]]:
        """The names that several source files have, and these files; names such as ``__init__.py`` are left out."""
        counts = Counter(path.name for path in self._named)
        return {
            name: [path for path in self._named if path.name == name] for name, n in sorted(counts.items()) if n > 1
        }

    @cached_property
    def _named(self) -> list[Path]:
        """The source files with a chosen name, all except ``__init__.py``."""
        return [path for path in self.sources if not path.name.startswith("__")]

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, method and dataclass of an estimator in the sources, those inside functions included."""
        return [function for path, tree in self.trees.items() for function in self._functions(tree, f"{path}:")]

    def _functions(self, parent: ast.AST, place: str, public: bool = True) -> Iterator[Function]:
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, Definition | ast.ClassDef):
                yield from self._functions(node, place, public)
                continue
            name = f"{place}{'' if place.endswith(':') else '.'}{node.name}"
            visible = public and (node.name == "__init__" or not node.name.startswith("_"))
            if isinstance(node, Definition):
                yield Function(
                    place=name,
                    lines=(node.end_lineno or node.lineno) - node.lineno + 1,
                    parameters=_parameters(node),
                    public=visible,
                    estimator=node.name == "__init__" and _name(parent) in self.estimators,
                )
                visible = False
            elif _is_dataclass(node) and node.name in self.estimators:
                fields = sum(map(_is_parameter, node.body))
                yield Function(place=name, lines=0, parameters=1 + fields, public=visible, estimator=True)
            yield from self._functions(node, name, visible)

    @cached_property
    def estimators(self) -> set[str]:
        """Names of the classes that inherit from scikit-learn's ``BaseEstimator``, directly or not."""
        bases = {
            node.name: {_name(base) for base in node.bases}
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        }
        names = {"BaseEstimator"}
        while more := {name for name, above in bases.items() if above & names} - names:
            names |= more
        return names

    @cached_property
    def depths(self) -> dict[str, int]:
        """For each learner, the number of our classes on the longest way up from it, its own included."""
        above = {
            node.name: [_name(base) for base in node.bases]
            for path, tree in self.trees.items()
            if path.parts[:2] == ("engine", "learners")
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
        }

        def depth(name: str) -> int:
            return 1 + max((depth(base) for base in above[name] if base in above), default=0)

        return {name: depth(name) for name in above if name in self.estimators}

    @cached_property
    def capabilities(self) -> list[str]:
        """Names of the class variables by which learners declare what they can do."""
        return [
            node.target.id
            for tree in self.trees.values()
            for parent in ast.walk(tree)
            if isinstance(parent, ast.ClassDef) and parent.name == "MultiViewLearner"
            for node in parent.body
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
            if _name(node.annotation) == "ClassVar" and node.target.id != "name"
        ]

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """The syntax tree of every source module, by its dotted name; a package is its ``__init__``."""
        return {_module(path): tree for path, tree in self.trees.items()}

    @cached_property
    def imports(self) -> Graph:
        """Imports among the source modules; importing from a package counts as its submodule, if any."""
        return {name: frozenset(_imported(tree, self.modules.keys())) - {name} for name, tree in self.modules.items()}

    @cached_property
    def drawing(self) -> Graph:
        """The rooms of the engine and of the server, and for each the rooms of the same house that it imports."""
        rooms = {name: room for name in self.modules if "." in (room := room_of(name)) and "migrations" not in name}
        arrows: dict[str, frozenset[str]] = {room: frozenset() for room in rooms.values()}
        for name, room in rooms.items():
            below = {rooms[target] for target in self.imports[name] if target in rooms}
            arrows[room] |= {other for other in below - {room} if other.split(".")[0] == room.split(".")[0]}
        return arrows

    def drawing_of(self, house: str) -> Graph:
        """Return the part of the drawing that is the engine's or the server's."""
        return {room: below for room, below in self.drawing.items() if room.startswith(f"{house}.")}

    @cached_property
    def folders(self) -> Graph:
        """The innermost folders, and the modules beside folders, and for each of both those that it imports."""
        packages = {_module(path) for path in self.sources if path.name == "__init__.py"}
        outer = {package.rpartition(".")[0] for package in packages}
        inner = {name: name if name in packages else name.rpartition(".")[0] for name in self.modules}
        boxes = {name: name if package in outer else package for name, package in inner.items()}
        arrows: dict[str, frozenset[str]] = {box: frozenset() for box in boxes.values()}
        for name, box in boxes.items():
            arrows[box] |= {boxes[target] for target in self.imports[name]} - {box}
        return arrows


def room_of(module: str) -> str:
    """Return the room of a module, such as ``engine.catalog`` for ``engine.catalog.ingest.walk``."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] in HOUSES else 1])


def _module(path: Path) -> str:
    """Return the dotted name of a source file."""
    return ".".join(path.parts[:-1] if path.name == "__init__.py" else path.with_suffix("").parts)


def _name(node: ast.AST) -> str:
    """Return the last name of a class or of the expression that names one; for a generic, the name of its origin."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return str(getattr(node, "name", getattr(node, "attr", getattr(node, "id", ""))))


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any(
        _name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "dataclass"
        for decorator in node.decorator_list
    )


def _is_parameter(node: ast.stmt) -> bool:
    """Return whether a statement in a dataclass is a field that its constructor takes."""
    if not isinstance(node, ast.AnnAssign) or _name(node.annotation) == "ClassVar":
        return False
    return "init" not in {keyword.arg for keyword in getattr(node.value, "keywords", ())}


def _parameters(node: Definition) -> int:
    arguments = node.args
    return len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)


def _imported(tree: ast.AST, modules: Set[str]) -> Iterator[str]:
    """Return which of some modules a tree imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [_without_package(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            package = _without_package(node.module)
            below = [f"{package}.{alias.name}" for alias in node.names]
            names = [name if name in modules else package for name in below]
        else:
            continue
        yield from (name for name in names if name in modules)


def _without_package(name: str) -> str:
    """Return the name of a module from its room on: the rooms are imported as ``crossview.engine``, and so on."""
    room = name.removeprefix("crossview.")
    return room if room.partition(".")[0] in SOURCES else name


def reachable(graph: Graph) -> dict[str, set[str]]:
    """Return for each box the boxes that its arrows lead to, over any number of arrows; itself only along a cycle."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        boxes: set[str] = set()
        ahead = set(graph[start])
        while ahead:
            boxes |= ahead
            ahead = set().union(*(graph[box] for box in ahead)) - boxes
        reached[start] = boxes
    return reached


def cycles(graph: Graph) -> list[tuple[str, ...]]:
    """Return the groups of boxes that import each other, each in order of names."""
    reach = reachable(graph)
    return sorted({tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph if a in reach[a]})


def floors(graph: Graph) -> dict[str, int]:
    """Return the floor of every box, from 1; arrows along a cycle are left out."""
    reach, floor = reachable(graph), dict[str, int]()
    # of two boxes that reach equally many, the one on a cycle is below the one that leads to the cycle
    for box in sorted(graph, key=lambda box: (len(reach[box]), box not in reach[box])):
        floor[box] = 1 + max((floor[below] for below in reach[box] if box not in reach[below]), default=0)
    return floor
