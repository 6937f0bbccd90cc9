"""A certificate of this machine for TLS, made by openssl."""

import shutil
import subprocess
from pathlib import Path


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a certificate for 127.0.0.1 that signs itself, and of its private key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    program = shutil.which("openssl")
    if program is None:
        raise SystemExit("TLS is measured with a certificate that openssl makes: install openssl")
    subprocess.run([program, "req", "-x509", *kind, *files, *name], check=True, capture_output=True)
    return cert, key
