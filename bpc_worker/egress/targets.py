"""What a webhook's URL leads to, before anybody is asked: scheme, host, port, the address of a literal."""

import re
import socket
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from yarl import URL

from bpc_worker.egress.public_address import Address, Network, refused_as
from bpc_worker.handler_api import Code, Permanent

_LONGEST_URL = 2048
_AUTHORITY = re.compile(r"[A-Za-z]+://([^/?#]*)")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"\d+|0[xX][0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRules:
    """Where requests may go."""

    ports: frozenset[int]
    plain_http: bool = False  # in development
    allowed_private_networks: tuple[Network, ...] = ()  # networks that are allowed though they are not public

    def check(self, host: str, addresses: tuple[Address, ...]) -> None:
        """All of them must be good: of a good and a bad one, somebody else chooses."""
        for address in addresses:
            reason = refused_as(address, self.allowed_private_networks)
            if reason is not None:
                where = host if host == str(address) else f"{host}, at {address}"
                raise blocked(f"{where}: {reason}")


@dataclass(frozen=True, slots=True)
class Target:
    url: URL  # as it is requested: a literal in its usual spelling
    host: str
    port: int
    address: Address | None  # of a literal


def blocked(why: str) -> Permanent:
    return Permanent(Code.WEBHOOK_BLOCKED, f"the endpoint may not be called: {why}")


def target_of(text: str, rules: EgressRules) -> Target:
    """Raises WEBHOOK_BLOCKED; what a name stands for is not known here.

    No message tells the path: in many URLs it is the secret.
    """
    url = _parsed(text)
    if url.scheme != "https" and not (url.scheme == "http" and rules.plain_http):
        raise blocked(f"https:// is asked for{', or http://' if rules.plain_http else ''}")
    host, port = url.raw_host, url.port
    if not host or not port:
        raise blocked("the URL has no host")
    if port not in rules.ports:
        raise blocked(f"port {port} is not among those of webhook.ports")
    address = _literal(host)
    if address is None:
        return Target(url, host, port, None)
    rules.check(str(address), (address,))
    return Target(url.with_host(str(address)), str(address), port, address)


def _parsed(text: str) -> URL:
    authority = _AUTHORITY.match(text)
    if len(text) > _LONGEST_URL or authority is None:
        raise blocked("this is no URL of at most 2048 characters")
    if not text.isprintable() or " " in text or "\\" in text:
        raise blocked("there are blanks, control characters or backslashes in the URL")
    if "@" in authority[1]:
        raise blocked("a URL with a user name or a password is not called")
    try:
        url = URL(text).with_fragment(None)
        _ = url.host  # decoded when it is asked for, and that can fail
    except ValueError as error:
        raise blocked("this is no URL") from error
    return url


def _literal(host: str) -> Address | None:
    """The address that a host spells, as the C library reads it: in decimal, octal, hex, with parts left out.

    None: it is a name. What looks like a number without being one is neither.
    """
    if ":" in host:
        return _literal_v6(host)
    bare = host.removesuffix(".")
    if _NUMBER.fullmatch(bare.rpartition(".")[2]):
        try:
            return IPv4Address(socket.inet_aton(bare))
        except OSError as error:
            raise blocked("the host is no IPv4 address") from error
    if not _NAME.fullmatch(bare):
        raise blocked("the host is no name that can be looked up")
    return None


def _literal_v6(host: str) -> IPv6Address:
    if "%" in host:
        raise blocked("an address bound to a network interface is not called")
    try:
        return IPv6Address(host)
    except AddressValueError as error:
        raise blocked("the host is no IPv6 address") from error
