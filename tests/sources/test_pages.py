"""Pages of servers that want a key, speak TLS, or lead elsewhere: what is sent to whom, and what is said."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from specmon.errors import ConfigError
from specmon.sources.machine import CommandResult, IsWhole, Machine, ThisMachine
from specmon.sources.page import Door, PageAnswer, Pages
from specmon.sources.page_access import PageAccess, PageKey
from specmon.sources.ssh import SshHost
from specmon.sources.tls import TlsCheck, TlsFailed, TlsTrust
from tests.conftest import Sshd

HEADER = "Bearer sk-5f0e8b7c6d5a4f3e2d1c"
KEY_LINE = f"Authorization: {HEADER}".encode()
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n"
LOCKED = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"


class Guarded:
    """A machine whose server answers only those who have the key."""

    def __init__(self, name: str = "user@gpu1", answer: Callable[[bytes], bytes] | None = None) -> None:
        self.name = name
        self.asked: list[bytes] = []
        self._answer = answer or (lambda request: GOOD if KEY_LINE in request else LOCKED)

    async def run(self, command: str, *, timeout_s: float = 30.0) -> CommandResult:
        raise AssertionError(command)

    async def exchange(
        self,
        host: str,
        port: int,
        request: bytes,
        *,
        is_whole: IsWhole,
        limit_bytes: int,
        timeout_s: float,
        tls: TlsCheck | None = None,
    ) -> bytes:
        if tls is not None:
            raise TlsFailed("it speaks no TLS")
        self.asked.append(request)
        return self._answer(request)

    @property
    def sent_key(self) -> list[bool]:
        """For each question, whether it held the key."""
        return [KEY_LINE in request for request in self.asked]


def with_key(host: str = "gpu1", port: int | None = None) -> PageAccess:
    return PageAccess((PageKey(host, port, HEADER),))


async def ask(pages: Pages, door: Door) -> PageAnswer:
    return await pages.ask(door, "/metrics", limit_bytes=1 << 20)


async def test_key_is_sent_once_it_is_asked_for_and_then_at_once() -> None:
    machine = Guarded()
    pages = Pages(machine, with_key())
    for _ in range(2):
        assert (await ask(pages, Door("0.0.0.0", 30000))).body == b"a 1\n"
    assert machine.sent_key == [False, True, True]


async def test_server_that_wants_no_key_never_sees_one() -> None:
    machine = Guarded(answer=lambda _: GOOD)
    assert (await ask(Pages(machine, with_key()), Door(None, 30000))).body == b"a 1\n"
    assert machine.sent_key == [False]


@pytest.mark.parametrize(
    ("access", "door", "is_sent"),
    [
        (with_key(), Door("0.0.0.0", 30000), True),
        (with_key(), Door("::1", 30000), True),
        (with_key(port=30000), Door(None, 30000), True),
        (with_key(port=30001), Door(None, 30000), False),
        (with_key("gpu2"), Door(None, 30000), False),
        # A launch line in a log may say that the server listens anywhere in the world.
        (with_key(), Door("203.0.113.9", 30000), False),
        (with_key(), Door("evil.example", 30000), False),
        (with_key("203.0.113.9"), Door("203.0.113.9", 30000), True),
        (with_key("evil.example"), Door(None, 30000), False),
        (with_key("localhost"), Door(None, 30000), False),  # that is the user's own machine
        (PageAccess(), Door(None, 30000), False),
    ],
)
async def test_key_goes_to_the_host_or_the_server_that_it_is_for(access: PageAccess, door: Door, is_sent: bool) -> None:
    machine = Guarded()
    answer = await ask(Pages(machine, access), door)
    assert any(machine.sent_key) == is_sent
    assert (answer.body is not None) == is_sent
    if not is_sent:
        host = "gpu1" if door.host is None else door.host
        assert f"--metrics-header-env {host}=NAME" in answer.mend


async def test_more_exact_key_goes_before_the_hosts() -> None:
    access = PageAccess((PageKey("gpu1", None, "Bearer other"), PageKey("gpu1", 30000, HEADER)))
    assert (await ask(Pages(Guarded(), access), Door(None, 30000))).body is not None


async def test_refused_key_is_told_without_it() -> None:
    pages = Pages(Guarded(answer=lambda _: LOCKED), with_key())
    answer = await ask(pages, Door(None, 30000))
    assert answer.reason == (
        "/metrics on port 30000 refuses the API key (give the whole header value, as `Bearer KEY`)"
    )
    assert "sk-" not in repr(pages) + repr(answer)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirection_is_told_and_not_followed(status: int) -> None:
    text = f"HTTP/1.1 {status} words\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n".encode()
    machine = Guarded(answer=lambda _: text)
    answer = await ask(Pages(machine, with_key()), Door(None, 30000))
    assert answer.fault == f"/metrics on port 30000 leads elsewhere (status {status}), which specmon does not follow"
    assert machine.sent_key == [False]


# -- TLS: a real server, through a real sshd ----------------------------------------------------------


@dataclass
class Certificate:
    """A certificate with its key, in one PEM file, and the certificate alone in another."""

    whole: Path
    public: Path


def certificate(folder: Path, *names: str, is_over: bool = False) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    whose = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server")])
    told: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name) for name in names
    ]
    built = (
        x509.CertificateBuilder()
        .subject_name(whose)
        .issuer_name(whose)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=9))
        .not_valid_after(now + datetime.timedelta(days=-1 if is_over else 9))
        .add_extension(x509.SubjectAlternativeName(told), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = built.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    found = Certificate(folder / "whole.pem", folder / "public.pem")
    found.whole.write_bytes(public + private)
    found.public.write_bytes(public)
    return found


@dataclass
class TlsServer:
    """A server that speaks TLS on the loopback and wants the key."""

    port: int = 0
    asked: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def tls_server(shown: Certificate) -> AsyncIterator[TlsServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.whole)
    found = TlsServer()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            found.asked.append(request)
            writer.write(GOOD if KEY_LINE in request else LOCKED)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        found.port = server.sockets[0].getsockname()[1]
        yield found


def access(*, ca: Path | None = None, is_unchecked: bool = False, host: str = "127.0.0.1") -> PageAccess:
    return PageAccess((PageKey(host, None, HEADER),), TlsTrust(ca, is_unchecked))


@pytest.mark.sshd
@pytest.mark.parametrize("is_known", [True, False], ids=["by its flags", "found out"])
async def test_page_within_tls_comes_over_the_ssh_connection(sshd: Sshd, tmp_path: Path, is_known: bool) -> None:
    shown = certificate(tmp_path, "localhost")
    async with tls_server(shown) as server, SshHost("127.0.0.1", sshd.settings) as machine:
        pages = Pages(machine, access(ca=shown.public))
        for _ in range(2):
            assert (await ask(pages, Door("0.0.0.0", server.port, is_known))).body == b"a 1\n"
    assert [KEY_LINE in request for request in server.asked] == [False, True, True]


@pytest.mark.sshd
async def test_certificate_of_a_stranger_is_one_notice_and_the_server_gets_no_question(
    sshd: Sshd, tmp_path: Path
) -> None:
    async with (
        tls_server(certificate(tmp_path, "localhost")) as server,
        SshHost("127.0.0.1", sshd.settings) as machine,
    ):
        answer = await ask(Pages(machine, access()), Door(None, server.port, is_tls=True))
        unchecked = await ask(Pages(machine, access(is_unchecked=True)), Door(None, server.port, is_tls=True))
    assert answer.fault.startswith(f"/metrics on port {server.port}: the server's certificate is not trusted: self")
    assert answer.mend.startswith("Name it, or its authority's, with --metrics-ca FILE")
    assert unchecked.body == b"a 1\n"
    assert len(server.asked) == 2  # both of them without a check


async def asked_with(machine: Machine, shown: Certificate, trusted: Sequence[Certificate], folder: Path) -> PageAnswer:
    ca = folder / "trusted.pem"
    ca.write_text("".join(each.public.read_text() for each in trusted))
    async with tls_server(shown) as server:
        return await ask(Pages(machine, access(ca=ca, host="localhost")), Door(None, server.port, is_tls=True))


async def test_own_certificate_is_good_under_any_name_and_an_old_one_is_not(tmp_path: Path) -> None:
    shown = certificate(tmp_path, "gpu1.example")
    assert (await asked_with(ThisMachine(), shown, [shown], tmp_path)).body == b"a 1\n"
    old = certificate(tmp_path, "localhost", is_over=True)
    assert "expired" in (await asked_with(ThisMachine(), old, [old], tmp_path)).fault


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("localhost",), ""),
        (("127.0.0.1",), ""),
        (("GPU1.example.",), ""),
        (("*.example",), "it is for *.example, not for gpu1.example"),
        (("gpu2.example",), "it is for gpu2.example, not for gpu1.example"),
        (("*.gpu1.example",), "it is for *.gpu1.example, not for gpu1.example"),
    ],
)
def test_certificate_of_an_authority_must_be_for_the_machine(names: tuple[str, ...], told: str) -> None:
    check = PageAccess().check_for("user@gpu1.example", "127.0.0.1")
    entries = [("IP Address" if name[0].isdigit() else "DNS", name) for name in names]

    class Shown(ssl.SSLObject):
        def __new__(cls) -> Shown:
            return object.__new__(cls)

        def __init__(self) -> None:
            pass

        def getpeercert(self, binary_form: bool = False) -> object:  # type: ignore[override]  # one of its two forms
            return b"der" if binary_form else {"subjectAltName": tuple(entries)}

    if told:
        with pytest.raises(Exception, match=told.replace("*", r"\*")):
            check.refuse_stranger(Shown())
    else:
        check.refuse_stranger(Shown())


async def test_server_that_only_speaks_http_where_tls_is_said_is_told() -> None:
    answer = await ask(Pages(Guarded(), with_key()), Door(None, 30000, is_tls=True))
    assert answer.fault == "/metrics on port 30000 should speak TLS: it speaks no TLS"


@pytest.mark.parametrize("content", ["", "no certificate\n"])
def test_file_without_a_certificate_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"no certificate is in it\. Give a file of PEM certificates\."):
        TlsTrust(path).check(("localhost",))
    with pytest.raises(ConfigError, match="no such file"):
        TlsTrust(tmp_path / "none.pem").check(("localhost",))
