"""Benchmarks are run whole, on small data: all of them are long tests."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients wait for a busy machine: an answer is missing only if none comes."""
    monkeypatch.setattr("benchmarks.serve.findings.HEALTH_WAITS", 300.0)
    monkeypatch.setattr("benchmarks.serve.victim._PATIENCE", 300.0)
    monkeypatch.setattr("benchmarks.serve.attacks._PATIENCE", 300.0)
