"""TLS over any two streams of bytes, such as a channel of an SSH connection, and whose certificate is good."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol, TypeVar

from specmon.errors import ConfigError, SourceLost, SourceRefused

_READ_BYTES = 65536
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_Result = TypeVar("_Result")


class CertificateRefused(SourceRefused):
    """The other side cannot prove who it is; the text is the reason alone."""


class TlsFailed(SourceLost):
    """No TLS came about; the text is the reason alone."""


class Reader(Protocol):
    """Where bytes come from."""

    async def read(self, n: int, /) -> bytes:
        """The next bytes; b"" at the end."""
        ...


class Writer(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> None:
        """Send bytes."""
        ...


@dataclass(frozen=True, slots=True)
class TlsTrust:
    """Whose certificates are good: those of the system's authorities, of a file, or anybody's."""

    ca_file: Path | None = None
    is_unchecked: bool = False

    def check(self, names: tuple[str, ...]) -> TlsCheck:
        """For a server under one of these names. ConfigError for a file that holds no certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # done by `TlsCheck`: a server behind a tunnel has several names
        if self.is_unchecked:
            context.verify_mode = ssl.CERT_NONE
            return TlsCheck(context, names, frozenset(), is_unchecked=True)
        context.verify_mode = ssl.CERT_REQUIRED
        if self.ca_file is None:
            context.load_default_certs()
            return TlsCheck(context, names, frozenset())
        try:
            text = self.ca_file.read_text(encoding="ascii", errors="replace")
            context.load_verify_locations(cadata=text)
            known = frozenset(ssl.PEM_cert_to_DER_cert(pem) for pem in _PEM.findall(text))
        except (OSError, ValueError) as error:
            reason = "no certificate is in it"
            if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
                reason = (error.strerror or str(error)).lower()
            raise ConfigError(f"--metrics-ca {self.ca_file}: {reason}. Give a file of PEM certificates.") from error
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # the server's own certificate will do as well
        return TlsCheck(context, names, known)


@dataclass(frozen=True, slots=True)
class TlsCheck:
    """What a server must prove."""

    context: ssl.SSLContext
    names: tuple[str, ...]
    known: frozenset[bytes]  # certificates that the user has named, as DER: good under any name
    is_unchecked: bool = False

    def refuse_stranger(self, tls: ssl.SSLObject) -> None:
        """CertificateRefused when the certificate, which is a good one, is for somebody else."""
        if self.is_unchecked or tls.getpeercert(binary_form=True) in self.known:
            return
        certificate = tls.getpeercert() or {}
        told: list[tuple[str, str]] = [
            (str(entry[0]), str(entry[1]))
            for entry in certificate.get("subjectAltName", ())
            if isinstance(entry, tuple) and len(entry) == 2
        ]
        if not any(_is_for(name, kind, value) for name in self.names for kind, value in told):
            whom = " and ".join(value for _, value in told[:3]) or "no name"
            raise CertificateRefused(f"it is for {whom}, not for {self.names[0]}")


def _is_for(name: str, kind: str, value: str) -> bool:
    """Whether an entry of a certificate means a name: the whole of it, or all but the first label behind `*.`."""
    if kind == "IP Address":
        try:
            return ip_address(name) == ip_address(value)
        except ValueError:
            return False
    if kind != "DNS":
        return False
    name, value = name.lower().rstrip("."), value.lower().rstrip(".")
    if value.startswith("*."):
        _, dot, rest = name.partition(".")
        return bool(dot) and "." in rest and rest == value[2:]
    return name == value


class TlsStream:
    """A TLS conversation within two streams."""

    def __init__(self, reader: Reader, writer: Writer, check: TlsCheck) -> None:
        self._reader, self._writer = reader, writer
        self._check = check
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = check.context.wrap_bio(self._incoming, self._outgoing, server_hostname=check.names[0])

    async def begin(self) -> None:
        """Shake hands. CertificateRefused or TlsFailed when that comes to nothing."""
        try:
            await self._until_done(self._tls.do_handshake)
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(error.verify_message or "it cannot be verified") from error
        except ssl.SSLError as error:
            raise TlsFailed("it speaks no TLS, or an old version") from error
        self._check.refuse_stranger(self._tls)

    def write(self, data: bytes) -> None:
        """Send bytes, once the handshake is over."""
        self._tls.write(data)
        self._send()

    async def read(self, n: int) -> bytes:
        """The next bytes; b"" at the end, also where the other side just hangs up."""
        try:
            return await self._until_done(lambda: self._tls.read(n))
        except ssl.SSLError:
            return b""

    async def _until_done(self, step: Callable[[], _Result]) -> _Result:
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._send()
                if data := await self._reader.read(_READ_BYTES):
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                self._send()
                return result

    def _send(self) -> None:
        if data := self._outgoing.read():
            self._writer.write(data)
