"""Refuses a checkout without symbolic links, whose wheel would have no engine; pyproject.toml has the settings."""

from pathlib import Path

from setuptools import setup

if not Path("crossview/engine").is_dir():
    raise SystemExit(
        "crossview/engine is not a folder: this checkout lost its symbolic links. Clone it with "
        "'git clone -c core.symlinks=true', or install the released wheel."
    )

setup()
