"""Builds the site of the working tree, as main, and of each tag that has docs/conf.py, into site/VERSION/.

    python tools/site_versions.py [OUT]    write OUT [default: site] again; its first page leads to the newest version

A tag is built from a git worktree by its own settings and code. The libraries are those of this environment.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>crossview</title>
<meta http-equiv="refresh" content="0; url={0}/">
<a href="{0}/">crossview</a>
"""


def tags() -> list[str]:
    """Return the tags whose tree has the settings of a site, the newest version first."""
    names = _git("tag", "--list", "--sort=-version:refname").split()
    return [tag for tag in names if _git("ls-tree", "--name-only", tag, "docs/conf.py")]


def build(source: Path, version: str, out: Path) -> None:
    """Build the site of a checkout; raise CalledProcessError if Sphinx refuses a page."""
    # The name of the package must mean the code of the checkout, not what is installed.
    environment = {**os.environ, "SITE_VERSION": version, "PYTHONPATH": str(source)}
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-d", str(out.parent / ".doctrees")]
    subprocess.run([*command, str(source / "docs"), str(out)], cwd=source, env=environment, check=True)
    for scratch in (".doctrees", "jupyter_execute"):  # myst-nb writes the second
        shutil.rmtree(out.parent / scratch, ignore_errors=True)


def main() -> int:
    """Build all versions and the files that join them; return the exit status."""
    parser = argparse.ArgumentParser(description="Build the site of main and of each tag that has one.")
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "site", help="folder to write [default: site]")
    out = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    versions = tags()
    build(ROOT, "main", out / "main")
    for tag in versions:
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / "tree"
            _git("worktree", "add", "--detach", str(tree), tag)
            try:
                build(tree, tag, out / tag)
            finally:
                _git("worktree", "remove", "--force", str(tree))
    (out / "versions.json").write_text(json.dumps(["main", *versions]) + "\n")
    (out / "index.html").write_text(REDIRECT.format(versions[0] if versions else "main"))
    shutil.copyfile(out / "main" / "404.html", out / "404.html")
    return 0


def _git(*arguments: str) -> str:
    """Return the output of a git command; raise CalledProcessError if it fails."""
    return subprocess.run(
        [shutil.which("git") or "git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    raise SystemExit(main())
