"""Installed packages with learners or extractors, made in a folder of a test."""

from collections.abc import Mapping
from pathlib import Path


def install(folder: Path, name: str, group: str, points: Mapping[str, str], code: str) -> None:
    """Write a package of version 1.2 with entry points into a folder of ``sys.path``; its one module has its name."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    lines = [f"{point} = {value}" for point, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]), encoding="utf-8")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
