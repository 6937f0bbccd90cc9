import json
import re
import subprocess
import sys
from pathlib import Path

from crossview.server.edge.http.openapi import openapi
from crossview.v1.comments import COMMENTS

ROOT = Path(__file__).resolve().parents[2]


def test_generated_code_is_up_to_date() -> None:
    """server/wire/pb is what proto/ gives, byte for byte."""
    done = subprocess.run([sys.executable, "tools/proto.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_folder_proto_alone_is_enough(tmp_path: Path) -> None:
    """It is enough for protoc, which has protobuf's own messages, and for languages that need their own package."""
    sources = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", "-Iproto", f"--descriptor_set_out={tmp_path / 'set'}"]
    done = subprocess.run([*command, *sources], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    texts = [(ROOT / "proto" / name).read_text() for name in sources]
    assert all(re.search("^option go_package = ", text, re.M) for text in texts)
    assert (ROOT / "crossview" / "proto").resolve() == ROOT / "proto"


def test_the_comments_of_others_are_those_of_what_the_server_serves() -> None:
    """Their messages and methods are in openapi.json; what only options contain is not there, also of ours."""
    described = openapi("1.0.0").decode()
    others = {name for name in COMMENTS if not name.startswith("crossview.")}
    assert {name for name in others if json.dumps(COMMENTS[name])[1:-1] not in described} == set()
    assert "google.longrunning.Operations.WaitOperation" in others
    assert not any(name.startswith("crossview.v1.TextForm") for name in COMMENTS)


def test_a_request_id_belongs_to_a_key() -> None:
    """Each message with an id says so, or refers to one that does."""
    ids = {name: text for name, text in COMMENTS.items() if name.endswith("Request.request_id")}
    assert len(ids) > 6
    assert {name for name, text in ids.items() if "of the caller's key" not in text} == {
        "crossview.v1.SubmitJobRequest.request_id"
    }
    assert "as in TrainRequest" in ids["crossview.v1.SubmitJobRequest.request_id"]
