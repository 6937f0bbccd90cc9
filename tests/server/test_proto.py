import re
import subprocess
import sys
from pathlib import Path

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
