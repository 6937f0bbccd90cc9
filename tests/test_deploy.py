"""The files of deploy/: what they say fits the program, and the image's steps give a server that is healthy."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from crossview.server.configuration import configured

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def steps() -> list[tuple[str, str]]:
    """The instructions of the image and their arguments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", "")
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in text.splitlines() if line.strip()]


def variables(arguments: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(arguments))


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def test_every_setting_of_the_files_exists() -> None:
    """Their variables, with those of the image, are settings with which a server may listen to the network."""
    (image,) = (variables(arguments) for step, arguments in steps() if step == "ENV")
    (compose,) = documents("compose.yaml")
    _, stateful = documents("kubernetes.yaml")
    (container,) = stateful["spec"]["template"]["spec"]["containers"]
    for added in (
        compose["services"]["crossview"]["environment"],
        {one["name"]: one["value"] for one in container["env"]},
    ):
        settings = configured({}, {**image, **added}, None, {}).settings
        assert settings.tls is not None
        assert (settings.host, settings.port, settings.health_port) == ("0.0.0.0", 50051, 50052)
        assert settings.require_keys
        assert not settings.insecure


def test_nothing_runs_as_root_or_writes_to_the_root_file_system() -> None:
    assert ("USER", "10001:10001") in steps()
    (compose,) = documents("compose.yaml")
    service = compose["services"]["crossview"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    _, stateful = documents("kubernetes.yaml")
    pod = stateful["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["readinessProbe"]["grpc"]["port"] == 50052
    assert {mount["name"] for mount in container["volumeMounts"]} == {"data", "tls", "tmp"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "crossview"
    unit = (DEPLOY / "crossview.service").read_text().replace("/opt/crossview/bin/crossview", str(program))
    (tmp_path / "crossview.service").write_text(unit)
    words = ["systemd-analyze", "verify", str(tmp_path / "crossview.service")]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.long
def test_the_steps_of_the_image_give_a_healthy_server(tmp_path: Path) -> None:
    """Each step of the Dockerfile, in folders instead of images, from the files that the context contains."""
    stage = tmp_path / "root"
    source = stage / "src"
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    moved = {
        "/opt/": f"{stage}/opt/",
        "/data": f"{stage}/data",
        "-o 10001 -g 10001 ": "",
        "python -m": f"{sys.executable} -m",
    }

    def here(text: str) -> str:
        for path, other in moved.items():
            text = text.replace(path, other)
        return text

    words: dict[str, list[str]] = {}
    for step, arguments in steps():
        if step == "WORKDIR" and arguments == "/src":
            source.mkdir(parents=True)
        elif step == "COPY" and not arguments.startswith("--from"):
            names = kept if arguments == ". ." else [arguments.split()[0]]
            for name in names:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                extra = {"symlinks": True, "dirs_exist_ok": True} if copy is shutil.copytree else {}
                copy(ROOT / name, source / name, **extra)  # type: ignore[operator]
        elif step == "RUN":
            subprocess.run(here(arguments), shell=True, cwd=source, env=environment, check=True, capture_output=True)  # noqa: S602
        elif step == "ENV":
            environment |= {name: here(value) for name, value in variables(arguments).items()}
        elif step in ("ENTRYPOINT", "HEALTHCHECK"):
            words[step] = [here(word) for word in json.loads(arguments[arguments.index("[") :])]
    environment["PATH"] = environment["PATH"].replace("$PATH", os.environ["PATH"])
    refused = subprocess.run(
        words["ENTRYPOINT"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert refused.returncode == 1
    assert "is open to the network" in refused.stderr
    allowed = {**environment, "CROSSVIEW_SERVE_HOST": "127.0.0.1", "CROSSVIEW_SERVE_PORT": "0"}
    with subprocess.Popen(words["ENTRYPOINT"], env=allowed, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "crossview serves" in process.stdout.readline()
            deadline = time.monotonic() + 60
            while subprocess.run(words["HEALTHCHECK"], env=allowed, check=False).returncode != 0:
                assert time.monotonic() < deadline
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert subprocess.run(words["HEALTHCHECK"], env=allowed, check=False, capture_output=True).returncode != 0
    assert oct((stage / "data").stat().st_mode & 0o777) == "0o700"
