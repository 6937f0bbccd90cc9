"""The files of deploy/ fit the program, and the image's steps give a server that is healthy."""

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

from crossview.server.wire.configuration import configured

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def steps() -> list[tuple[str, str]]:
    """Return the instructions of the image and their arguments."""
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


CLUSTER = "cluster/kubernetes.yaml"
PUBLIC = re.compile(r"[a-z0-9./-]+:v?[0-9A-Za-z][0-9A-Za-z.-]*")
"""An image with the version that it is pinned to."""


def pods() -> dict[str, Any]:
    """Return the pods of the cluster by the name of the object that starts them."""
    started = [one for one in documents(CLUSTER) if one["kind"] in ("Deployment", "StatefulSet", "Job")]
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in started}


def containers() -> list[Any]:
    return [one for pod in pods().values() for one in (*pod.get("initContainers", ()), *pod["containers"])]


def services() -> dict[str, Any]:
    (compose,) = documents("cluster/compose.yaml")
    return dict(compose["services"])


def test_images_of_the_cluster_have_versions() -> None:
    """Both forms run the same images, except the one that changes owners of volumes."""
    ours = {one["image"] for one in containers()}
    composed = {one["image"] for one in services().values()}
    assert composed - ours == {"busybox:1.36.1"}
    for image in ours | composed:
        assert PUBLIC.fullmatch(image), image
        assert not image.endswith("latest")


def test_containers_of_the_cluster_are_confined() -> None:
    for name, pod in pods().items():
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"]) == (True, 10001), name
        assert not pod["automountServiceAccountToken"]
        for container in pod["containers"]:
            if pod.get("restartPolicy") != "OnFailure":
                assert container["readinessProbe"], name
                assert container["livenessProbe"], name
    for container in containers():
        security = container["securityContext"]
        assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]


def test_services_of_the_cluster_are_confined() -> None:
    """Only the change of owners runs as root, with one capability and without a network."""
    for name, service in services().items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys()
        if name != "owner":
            assert service["user"] == "10001:10001"
        if name not in ("server", "owner"):  # the image has the health check of a server
            assert service["healthcheck"].get("disable") or service["healthcheck"]["test"]
        assert ("ports" in service) == (name == "server")
    owner = services()["owner"]
    assert (owner["cap_add"], owner["network_mode"]) == (["CHOWN"], "none")


def test_the_cluster_names_secrets_and_contains_none() -> None:
    for container in containers():
        for one in container.get("env", ()):
            is_secret = any(word in one["name"] for word in ("PASSWORD", "SECRET", "ACCESS_KEY", "TOKEN"))
            assert ("valueFrom" in one) == (is_secret or one["name"] == "MINIO_ROOT_USER")
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            assert not re.search("PASSWORD|SECRET", name) or value.startswith("/run/secrets/")


def test_servers_of_the_cluster_have_settings_that_exist() -> None:
    """They answer from the bundles and the engine that the job of the publication fills."""
    (image,) = (variables(arguments) for step, arguments in steps() if step == "ENV")
    (server,) = pods()["crossview-server"]["containers"]
    given = {one["name"]: one["value"] for one in server["env"] if "value" in one}
    (job,) = pods()["crossview-publish"]["containers"]
    published = {"--to": "s3://crossview/bundles", "--engine": "milvus://milvus:19530"}
    for added, words in (
        (given, job["command"]),
        (services()["server"]["environment"], services()["publish"]["command"]),
    ):
        settings = configured({}, {**image, **added}, None, {}).settings
        assert (settings.bundle, settings.engine) == tuple(published.values())
        assert (settings.health_port, settings.require_keys, settings.insecure) == (50052, True, False)
        assert {words[words.index(option) + 1] for option in published} == set(published.values())
    assert server["readinessProbe"]["grpc"]["port"] == 50052


def test_what_the_cluster_refers_to_exists() -> None:
    """Each service selects pods and their ports, and each mount has a volume."""
    found = documents(CLUSTER)
    by_label = {one["spec"]["template"]["metadata"]["labels"]["app"]: one for one in found if "template" in one["spec"]}
    for service in (one for one in found if one["kind"] == "Service"):
        pod = by_label[service["spec"]["selector"]["app"]]["spec"]["template"]["spec"]
        ports = {port["name"] for container in pod["containers"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for one in by_label.values():
        pod = one["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        volumes |= {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", ())}
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    (compose,) = documents("cluster/compose.yaml")
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= compose["services"].keys()
        named = {volume.split(":")[0] for volume in service.get("volumes", ()) if volume[0] not in "./$"}
        assert named <= compose["volumes"].keys()
        assert set(service.get("secrets", ())) <= compose["secrets"].keys()


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
        elif step in ("ENV", "ARG"):
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
            deadline = time.monotonic() + 300
            while subprocess.run(words["HEALTHCHECK"], env=allowed, check=False).returncode != 0:
                assert time.monotonic() < deadline
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0
        finally:
            process.kill()
    assert subprocess.run(words["HEALTHCHECK"], env=allowed, check=False, capture_output=True).returncode != 0
    assert oct((stage / "data").stat().st_mode & 0o777) == "0o700"
