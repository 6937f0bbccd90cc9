"""Certificates for tests, made by openssl: authorities, and certificates that they sign."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Authority:
    """An authority in a folder; ``ca`` is its own certificate."""

    folder: Path

    @property
    def ca(self) -> Path:
        """Return the certificate that others trust."""
        return self.folder / "ca.pem"

    def sign(self, name: str, *, days: int = 30) -> tuple[Path, Path]:
        """Return the files of a new certificate for this machine, and of its key; negative days: it has expired."""
        cert, key, request = (self.folder / f"{name}.{ending}" for ending in ("pem", "key", "csr"))
        extensions = self.folder / "extensions"
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        _openssl("req", *_NEW_KEY, "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        issuer = ("-CA", self.ca, "-CAkey", self.folder / "ca.key", "-CAcreateserial")
        _openssl("x509", "-req", "-in", request, *issuer, "-out", cert, "-days", days, "-extfile", extensions)
        return cert, key


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def authority(folder: Path, name: str = "authority") -> Authority:
    """Make an authority."""
    made = Authority(folder / name)
    made.folder.mkdir()
    key = made.folder / "ca.key"
    _openssl("req", "-x509", *_NEW_KEY, "-nodes", "-keyout", key, "-out", made.ca, "-days", 30, "-subj", f"/CN={name}")
    return made


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
