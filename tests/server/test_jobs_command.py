"""Jobs from the command line: left to a server, listed, shown, cancelled and waited for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from long_jobs import ended, learning
from terminal import done, fill_rows, result_of, run

from crossview.engine.collections.home import Home
from crossview.server.client.client import Client
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.settings import ServerSettings

BRIEF = ("train", "rows", "--learner", "cca", "--views", "color,gist", "--dim", 2)
ENDLESS = (
    *("--learner", "multi-npp", "--views", "color,gist"),
    *("--dim", 4, "--set", "batch_size=8", "--set", "max_iter=1000000"),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server with the collection ``rows``."""
    home = Home(tmp_path_factory.mktemp("home"))
    fill_rows(home, 10)
    with RunningServer(ServerSettings(home=home.path, port=0)) as running, Client(running.address) as made:
        yield made


@pytest.fixture
def where(client: Client) -> tuple[str, str]:
    return "--server", client.address


def test_a_training_is_left_to_the_server(where: tuple[str, str]) -> None:
    """Only the name of the job is printed; waiting for it shows its notes, and ends as it does."""
    left = run("tune", *BRIEF[1:], "--holdout", 0.2, "--try", "shrinkage=0.1,0.5", "--folds", 2, "--detach", *where)
    assert left.exit_code == 0
    name = left.stdout.strip()
    assert left.stderr == f"wait for it with: crossview job wait {name} --server {where[1]}\n"
    waited = run("job", "wait", name, *where)
    assert waited.exit_code == 0
    assert f"{name}: train of rows, done" in waited.stdout
    assert "tuning 1 of 7: " in waited.stderr
    shown = done("job", "show", name, *where)
    assert "ended 20" in shown
    assert "  tuning 7 of 7: " in shown
    assert result_of("job", "show", name, *where)["result"]["name"] == "cca"
    evaluation = result_of("evaluate", "rows", "--view", "color", "-k", 2, "--detach", *where)
    assert result_of("job", "wait", evaluation["id"], *where)["result"]["queries"] == 4
    listed = done("job", "list", *where)
    assert listed.index(evaluation["id"]) < listed.index(name)
    assert done("job", "list", "other", *where) == "no jobs\n"
    assert [job["id"] for job in result_of("job", "list", "rows", *where)] == [evaluation["id"], name]


def test_a_failure_is_the_commands_own(where: tuple[str, str]) -> None:
    """Waiting for it ends as the command would have; a space of one metric has none to assign."""
    done(*BRIEF, *where)
    name = done("space", "assign", "rows", "cca", "owl", "--detach", *where).strip()
    result = run("job", "wait", name, *where)
    assert (result.exit_code, result.stderr) == (1, run("space", "assign", "rows", "cca", "owl", *where).stderr)
    assert "one metric" in done("job", "show", name, *where)


def test_a_job_is_cancelled(client: Client, where: tuple[str, str]) -> None:
    """The command reports it, and a command that waits for the job fails."""
    done(*BRIEF, "--space", "one", *where)
    name = done("train", "rows", *ENDLESS, "--detach", *where).strip()
    assert "learning " in done("job", "show", learning(client, name).id, *where)
    assert f"{name}: train of rows, cancel" in done("job", "cancel", name, *where)
    ended(client, name)
    assert run("job", "wait", name, *where).stderr.endswith("\nerror: the job was cancelled\n")
    extended = done("space", "extend", "rows", "one", "--views", "gist", "--detach", *where).strip()
    assert "already has view 'gist'" in run("job", "wait", extended, *where).stderr


def test_jobs_are_a_servers(tmp_path: Path, where: tuple[str, str]) -> None:
    """Usage errors name the remedy."""
    assert "give --server as well" in run(*BRIEF, "--detach", "--home", tmp_path).stderr
    assert "give --server HOST:PORT" in run("job", "list").stderr
    assert "Missing argument 'JOB'" in run("job", "cancel", *where).stderr
    assert "no operation 'operations/none'" in run("job", "show", "none", *where).stderr
    assert result_of("job", "list", "other", *where) == []
