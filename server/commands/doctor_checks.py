"""Checks of a machine, a home and the settings of a server; each finding names its remedy."""

import importlib.metadata
import os
import re
import resource
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Literal

from crossview.engine.catalog.database import HEAD, known_versions, schema_version
from crossview.engine.collections.home import Home
from crossview.engine.training.guide import additions
from crossview.engine.values.errors import CrossviewError
from crossview.features.extras import install_command
from crossview.features.models.manifest import installed
from crossview.server.core.exposure import check_exposure
from crossview.server.core.socket_file import is_answered
from crossview.server.core.succession import port_is_free
from crossview.server.core.tls import load_certificate
from crossview.server.wire.settings import ServerSettings

_GIB = 2**30
_LEAST_MEMORY, _LEAST_DISK, _FULL_DISK = _GIB, _GIB, _GIB // 10
"""Free bytes below which memory and disk are a warning, and a disk an error."""
_LEAST_DESCRIPTORS = 4096
_SOON = timedelta(days=14)
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)")
_LEFTOVER = re.compile(r"\.(new-|deleted-|crossview-copy-)[0-9a-f]{32}")


@dataclass(frozen=True)
class Diagnosis:
    """One check: its subject, its level, what was found, and the remedy ("" if none is necessary)."""

    check: str
    level: Literal["ok", "warning", "error"]
    message: str
    remedy: str = ""


def diagnoses(settings: ServerSettings) -> Iterator[Diagnosis]:
    """Yield the results of all checks, in order. No check migrates a collection."""
    yield from _machine()
    yield from _libraries(settings)
    yield from _packages()
    try:
        home = Home(settings.home)
    except CrossviewError as error:
        yield Diagnosis("home", "error", str(error), "name a folder with --home")
    else:
        yield from _folder(home.path)
        yield from _models(home)
        if home.path.is_dir():
            yield from _collections(home)
    yield from _network(settings)


def _machine() -> Iterator[Diagnosis]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Diagnosis("python", "ok", f"Python {version}")  # older ones cannot import this program
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Diagnosis("processors", "ok", f"{cores} processors")
    free = _available_memory()
    if free is not None:
        level: Literal["ok", "warning"] = "ok" if free >= _LEAST_MEMORY else "warning"
        remedy = "" if level == "ok" else "stop other programs, or use a machine with more memory"
        yield Diagnosis("memory", level, f"{free / _GIB:.1f} GiB of memory available", remedy)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _LEAST_DESCRIPTORS:
        message = f"{hard} file descriptors: few connections and open collections"
        yield Diagnosis("descriptors", "warning", message, "ulimit -n 65536")
    else:
        limit = "no limit" if hard == resource.RLIM_INFINITY else f"{hard:,}"
        yield Diagnosis("descriptors", "ok", f"file descriptors: {limit}")


def _available_memory() -> int | None:
    """Return the available bytes of memory, within the limit of a container; None if the system does not say."""
    limits = []
    with suppress(OSError, ValueError):
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    return min(limits, default=None)


def _libraries(settings: ServerSettings) -> Iterator[Diagnosis]:
    extras = ("engine", "http") if settings.http_port is not None else ("engine",)
    old, missing = [], dict[str, list[str]]()
    for line in importlib.metadata.requires("crossview") or ():
        marker = re.search(r"extra == ['\"](\w+)['\"]", line)
        needed = _REQUIREMENT.match(line)
        if needed is None or (marker is not None and marker[1] not in extras):
            continue
        extra = extras[0] if marker is None else marker[1]
        try:
            installed = importlib.metadata.version(needed[1])
        except importlib.metadata.PackageNotFoundError:
            missing.setdefault(extra, []).append(needed[1])
            continue
        if _numbers(installed) < _numbers(needed[2]):
            message = f"{needed[1]} {installed} is older than {needed[2]}"
            old.append(Diagnosis("libraries", "error", message, install_command(extra)))
    for extra, names in missing.items():
        without = "this program is only a client of servers" if extra == "engine" else "the port for HTTP needs them"
        message = f"missing: {', '.join(names)}; {without}"
        yield Diagnosis("libraries", "warning", message, install_command(extra))
    yield from old
    if not missing and not old:
        yield Diagnosis("libraries", "ok", "all libraries are installed in fitting versions")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.split("+")[0])[:3]))


def _packages() -> Iterator[Diagnosis]:
    for addition in additions():
        check = f"package {addition.package}"
        if addition.fault:
            remedy = f"pip install --upgrade {addition.package}, or pip uninstall {addition.package}"
            yield Diagnosis(check, "error", addition.fault, remedy)
        else:
            yield Diagnosis(check, "ok", addition.what)


def _folder(path: Path) -> Iterator[Diagnosis]:
    if not path.exists():
        yield Diagnosis("home", "warning", f"{path} does not exist", f"crossview create NAME --home {path}")
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield Diagnosis("home", "error", f"this user cannot write to {path}", f"chown -R $USER {path}")
        return
    if mode & 0o077:
        message = f"{path} has mode {mode:04o}: other users can read it"
        yield Diagnosis("home", "warning", message, f"chmod -R go= {path}")
    else:
        yield Diagnosis("home", "ok", f"{path} is a private folder")
    free = shutil.disk_usage(path).free
    if free >= _LEAST_DISK:
        yield Diagnosis("disk", "ok", f"{free / _GIB:.1f} GiB free for {path}")
    else:
        level: Literal["warning", "error"] = "warning" if free >= _FULL_DISK else "error"
        message = f"{free / _GIB:.2f} GiB free for {path}"
        yield Diagnosis("disk", level, message, "free space, or move the home to a larger disk")
    for leftover in sorted(child.name for child in path.iterdir() if _LEFTOVER.fullmatch(child.name)):
        message = f"{leftover} is of a process that was killed, or that works now"
        yield Diagnosis("leftovers", "warning", message, "the next command that opens a collection removes dead ones")
    for leftover in sorted(child.name for child in path.iterdir() if child.name.startswith(".import-")):
        name = leftover.removeprefix(".import-")
        yield Diagnosis("leftovers", "warning", f"an unfinished import of {name}", f"crossview import {name} EXPORT")


def _collections(home: Home) -> Iterator[Diagnosis]:
    for name in home.names():
        try:
            version = schema_version(home.path / name / "catalog.db")
            if version in known_versions() - {HEAD}:
                message = f"schema version {version}: its next use updates it to {HEAD}, which older programs refuse"
                yield Diagnosis(f"collection {name}", "warning", message, f"crossview backup {name} {name}.db")
                continue
            with home.open(name) as collection:
                count, findings = collection.count(), collection.storage.findings()
                unusable = collection.views.unusable()
        except CrossviewError as error:
            yield Diagnosis(f"collection {name}", "error", str(error), f"crossview restore {name} BACKUP")
            continue
        if not findings:
            yield Diagnosis(f"collection {name}", "ok", f"{count:,} items")
        for view, reason in unusable.items():
            remedy = "add what is missing; the stored rows answer searches meanwhile"
            yield Diagnosis(f"view {view} of {name}", "warning", reason, remedy)
        for finding in findings:
            yield Diagnosis(f"collection {name}", "error", finding, f"crossview restore {name} BACKUP")


def _models(home: Home) -> Iterator[Diagnosis]:
    names, install = home.models.names(), install_command("onnx")
    if missing := [library for library in ("onnxruntime", "tokenizers") if not installed(library)]:
        message = f"not installed: {', '.join(missing)}, without which no model runs"
        yield Diagnosis("models", "warning" if names else "ok", message, install)
    else:
        yield Diagnosis("models", "ok", "onnxruntime and tokenizers are installed, which run models")
    for name in names:
        again = f"crossview model remove {name} --yes, then crossview model add {name} FOLDER"
        yield _tried(f"model {name}", partial(home.models.verified, name), "its files are as they were added", again)


def _network(settings: ServerSettings) -> Iterator[Diagnosis]:
    if settings.listens:
        tls = "crossview serve --tls-cert FILE --tls-key FILE"
        yield _tried("exposure", lambda: check_exposure(settings), f"{settings.host} is protected as it must be", tls)
    ports = {
        "port": (settings.host, settings.port if settings.tcp else None),
        "http port": (settings.host, settings.http_port),
        "health port": (settings.host, settings.health_port),
        "admin port": (settings.admin_host, settings.admin_port),
    }
    for name, (host, port) in ports.items():
        if not port:
            continue
        if port_is_free(host, port):
            yield Diagnosis(name, "ok", f"{host}:{port} is free")
        else:
            message = f"{host}:{port} is in use, by a running server or another program"
            flag = "--" + name.replace(" ", "-")
            yield Diagnosis(name, "warning", message, f"name another port with {flag}, or stop the other program")
    path = settings.socket
    if path is not None:
        yield _tried("socket", lambda: is_answered(path), f"{path} can be a socket", "name another path with --socket")
    if settings.tls is not None:
        yield from _certificate(settings)


def _tried(check: str, attempt: Callable[[], object], fine: str, remedy: str) -> Diagnosis:
    try:
        attempt()
    except CrossviewError as error:
        return Diagnosis(check, "error", str(error), remedy)
    return Diagnosis(check, "ok", fine)


def _certificate(settings: ServerSettings) -> Iterator[Diagnosis]:
    files = settings.tls
    if files is None:
        return
    renewal = "renew the certificate; a running server loads it by itself"
    try:
        expires = load_certificate(files).expires
    except CrossviewError as error:
        yield Diagnosis("certificate", "error", str(error), renewal)
        return
    if expires - datetime.now(UTC) < _SOON:
        yield Diagnosis("certificate", "warning", f"{files.cert} expires {expires:%Y-%m-%d %H:%M} UTC", renewal)
    else:
        yield Diagnosis("certificate", "ok", f"{files.cert} expires {expires:%Y-%m-%d}")
    if stat.S_IMODE(files.key.stat().st_mode) & 0o044:
        message = f"other users can read the private key {files.key}"
        yield Diagnosis("certificate", "warning", message, f"chmod 600 {files.key}")
