"""TLS between servers and clients: certificates, their renewal, and refusals."""

import asyncio
import logging
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from certificates import Authority, authority
from terminal import done, run

import crossview
from crossview.engine.collections.home import Home
from crossview.engine.values.errors import InvalidInputError
from crossview.server.client.channels import ClientTls
from crossview.server.client.client import AsyncClient, Client
from crossview.server.core.exposure import check_exposure
from crossview.server.core.tls import LiveCertificate, load_certificate
from crossview.server.edge.listen import RunningServer
from crossview.server.wire.errors import ServerUnavailableError
from crossview.server.wire.settings import ServerSettings, TlsFiles


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path, "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> Authority:
    return authority(tmp_path, "theirs")


def settings(home: Home, issuer: Authority, **others: object) -> ServerSettings:
    cert, key = issuer.sign("server")
    return ServerSettings(home=home.path, port=0, tls_cert=cert, tls_key=key, **others)  # type: ignore[arg-type]


def names(address: str, tls: ClientTls | None = None) -> list[str]:
    with crossview.connect(address, 20, tls=tls) as client:
        return client.names()


def test_a_client_trusts_the_authority_of_the_server_and_no_other(
    home: Home, ours: Authority, theirs: Authority
) -> None:
    with RunningServer(settings(home, ours)) as running:
        trusting = ClientTls(ca=ours.ca)
        assert names(running.address, trusting) == names(f"grpcs://{running.address}", trusting) == ["drawn"]
        for wrong in (ClientTls(ca=theirs.ca), ClientTls()):
            with pytest.raises(ServerUnavailableError, match="has no certificate that the client trusts"):
                names(running.address, wrong)
        with pytest.raises(ServerUnavailableError, match="it may use TLS"):
            names(running.address)

        async def asked() -> list[str]:
            async with AsyncClient(running.address, 20, tls=trusting) as client:
                return await client.names()

        assert asyncio.run(asked()) == ["drawn"]


def test_a_server_without_tls_says_so(home: Home, ours: Authority) -> None:
    with (
        RunningServer(ServerSettings(home=home.path, port=0)) as running,
        pytest.raises(ServerUnavailableError, match="does not use TLS"),
    ):
        names(running.address, ClientTls(ca=ours.ca))


def test_clients_show_a_certificate_where_the_server_asks_for_one(
    home: Home, ours: Authority, theirs: Authority
) -> None:
    cert, key = ours.sign("client")
    foreign, foreign_key = theirs.sign("client")
    both = ours.folder / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    with RunningServer(settings(home, ours, tls_client_ca=ours.ca)) as running:
        assert names(running.address, ClientTls(ca=ours.ca, cert=cert, key=key)) == ["drawn"]
        assert names(running.address, ClientTls(ca=ours.ca, cert=both)) == ["drawn"]
        for wrong in (ClientTls(ca=ours.ca), ClientTls(ca=ours.ca, cert=foreign, key=foreign_key)):
            with pytest.raises(ServerUnavailableError):
                names(running.address, wrong)


def test_commands_use_the_files(home: Home, ours: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = ours.sign("client")
    with RunningServer(settings(home, ours, tls_client_ca=ours.ca)) as running:
        files = ("--tls-ca", ours.ca, "--tls-client-cert", cert, "--tls-client-key", key)
        assert done("list", "--server", running.address, *files).split() == ["drawn"]
        monkeypatch.setenv("CROSSVIEW_SERVER", running.address)
        monkeypatch.setenv("CROSSVIEW_TLS_CA", str(ours.ca))
        monkeypatch.setenv("CROSSVIEW_TLS_CLIENT_CERT", str(cert))
        monkeypatch.setenv("CROSSVIEW_TLS_CLIENT_KEY", str(key))
        assert done("list").split() == ["drawn"]
    refused = run("list", "--home", home.path, "--tls-ca", ours.ca)
    assert refused.exit_code == 2
    assert "give --server" in refused.stderr
    assert "cannot read" in run("list", "--server", "localhost:1", "--tls-ca", ours.folder / "none.pem").stderr


def test_new_files_are_used_without_a_restart_and_bad_ones_are_not(
    home: Home, ours: Authority, theirs: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    used = settings(home, ours)
    assert used.tls is not None
    with RunningServer(used) as running:
        with Client(running.address, 20, tls=ClientTls(ca=ours.ca)) as earlier:
            assert earlier.names() == ["drawn"]
            cert, key = theirs.sign("server")
            shutil.copy(cert, used.tls.cert)  # the key of the new certificate is not there yet
            assert names(running.address, ClientTls(ca=ours.ca)) == ["drawn"]
            assert "keeps the certificate" in caplog.text
            shutil.copy(key, used.tls.key)
            assert names(running.address, ClientTls(ca=theirs.ca)) == ["drawn"]
            assert "loaded the new certificate" in caplog.text
            assert earlier.names() == ["drawn"]  # its connection stays
        used.tls.cert.unlink()
        for _ in range(2):
            assert names(running.address, ClientTls(ca=theirs.ca)) == ["drawn"]
    assert caplog.text.count("cannot read") == 1


def test_files_that_cannot_be_used_are_refused_at_the_start(home: Home, ours: Authority, theirs: Authority) -> None:
    cert, key = ours.sign("server")
    other_cert, other_key = theirs.sign("server")
    old, old_key = ours.sign("old", days=-1)
    locked = ours.folder / "locked.key"
    words = ["openssl", "ec", "-in", str(key), "-aes256", "-passout", "pass:secret", "-out", str(locked)]
    subprocess.run(words, check=True, capture_output=True)
    missing, empty = ours.folder / "missing.pem", ours.folder / "empty.pem"
    empty.touch()
    for files, message in (
        (TlsFiles(missing, key), "cannot read .*missing.pem: No such file"),
        (TlsFiles(cert, other_key), "server.key is not the key of the certificate in .*server.pem"),
        (TlsFiles(old, old_key), "old.pem cannot be used: certificate has expired"),
        (TlsFiles(cert, locked), "has a password"),
        (TlsFiles(empty, key), "are not a certificate and its private key"),
        (TlsFiles(key, cert), "are not a certificate and its private key"),
        (TlsFiles(cert, key, empty), "empty.pem contains no certificates"),
        (TlsFiles(other_cert, other_key, missing), "cannot read .*missing.pem"),
        (TlsFiles(ours.folder, key), "cannot read .*: Is a directory"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            load_certificate(files)
    with pytest.raises(InvalidInputError, match="has expired"):
        RunningServer(ServerSettings(home=home.path, port=0, tls_cert=old, tls_key=old_key))
    refused = run("serve", "--home", home.path, "--port", 0, "--tls-cert", old, "--tls-key", old_key)
    assert refused.exit_code == 1
    assert "has expired" in refused.stderr


def test_another_server_can_use_the_certificate(ours: Authority, theirs: Authority) -> None:
    """It becomes a context of Python's own library, which follows the files as well."""
    files = TlsFiles(*ours.sign("server"))
    context = LiveCertificate(files).ssl_context()

    def shown(trusted: Authority) -> str:
        client = ssl.create_default_context(cafile=str(trusted.ca))
        client.verify_flags &= ~ssl.VERIFY_X509_STRICT
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        one = client.wrap_bio(incoming, outgoing, server_hostname="localhost")
        two = context.wrap_bio(outgoing, incoming, server_side=True)
        waiting = [one, two]
        while waiting:
            for end in list(waiting):
                try:
                    end.do_handshake()
                    waiting.remove(end)
                except ssl.SSLWantReadError:
                    pass
        return str(one.getpeercert()["issuer"])  # type: ignore[index]

    assert "ours" in shown(ours)
    for new, old in zip(theirs.sign("server"), (files.cert, files.key), strict=True):
        shutil.copy(new, old)
    assert "theirs" in shown(theirs)
    with pytest.raises(ssl.SSLCertVerificationError):
        shown(ours)


def test_a_server_is_open_to_the_network_only_with_tls_or_on_request(home: Home, ours: Authority) -> None:
    cert, key = ours.sign("server")
    for open_to_all in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        with pytest.raises(InvalidInputError, match="is open to the network"):
            check_exposure(ServerSettings(host=open_to_all))
        check_exposure(ServerSettings(host=open_to_all, insecure=True))
        with pytest.raises(InvalidInputError, match="callers need no key"):
            check_exposure(ServerSettings(home=home.path, host=open_to_all, tls_cert=cert, tls_key=key))
        check_exposure(ServerSettings(host=open_to_all, tls_cert=cert, tls_key=key, require_keys=True))
        check_exposure(ServerSettings(host=open_to_all, tcp=False, socket=ours.folder / "s"))
        with pytest.raises(InvalidInputError, match="is open to the network"):
            check_exposure(ServerSettings(host=open_to_all, tcp=False, socket=ours.folder / "s", http_port=8080))
    check_exposure(ServerSettings())
    refused = run("serve", "--home", home.path, "--host", "0.0.0.0", "--port", 0)
    assert refused.exit_code == 1
    assert "give --tls-cert and --tls-key, or --insecure" in refused.stderr


def test_settings_of_tls_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    for wrong in ({"tls_cert": tmp_path}, {"tls_key": tmp_path}, {"tls_client_ca": tmp_path}):
        with pytest.raises(InvalidInputError, match="give"):
            ServerSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="without a certificate"):
        ClientTls(key="k.pem")
    with pytest.raises(InvalidInputError, match="without TLS"):
        Client("unix:/tmp/s", tls=ClientTls())


@pytest.mark.parametrize(("host", "stated"), [("127.0.0.1", False), ("0.0.0.0", True)])
def test_the_port_for_http_states_its_protocol_and_off_loopback_that_tls_stays(
    home: Home, ours: Authority, host: str, stated: bool
) -> None:
    """On this machine, HSTS would bind the browser for the ports of other programs, too."""
    with RunningServer(settings(home, ours, host=host, insecure=True, http_port=0)) as running:
        context = ssl.create_default_context(cafile=str(ours.ca))
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        context.set_alpn_protocols(["h2", "http/1.1"])
        assert running.http_port is not None
        with (
            socket.create_connection(("127.0.0.1", running.http_port), timeout=300) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            assert connection.selected_alpn_protocol() == "http/1.1"
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert (b"strict-transport-security: max-age=31536000" in answer) == stated
