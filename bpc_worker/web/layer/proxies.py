"""From where a request comes: proxies are believed only where the configuration names their networks."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.request import Origin

_HOST_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-:[]")
_LONGEST_HOST = 260


class Proxies:
    def __init__(self, trusted: Sequence[str], base_path: str) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(each) for each in trusted]
        self._base_path = base_path.rstrip("/")

    def trusts(self, address: str) -> bool:
        if not self._networks:
            return False
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)

    def inside(self, path: str) -> str | None:
        """Without the base path; None of what is not below it."""
        if not path.startswith(f"{self._base_path}/"):
            return None
        return path.removeprefix(self._base_path)

    def origin(self, peer: str, headers: Mapping[str, str]) -> Origin:
        host, scheme, prefix, address = headers.get("Host", ""), "http", self._base_path, peer
        if self.trusts(peer):
            address = self._client(peer, headers.get("X-Forwarded-For", ""))
            host = _last(headers.get("X-Forwarded-Host")) or host
            scheme = "https" if _last(headers.get("X-Forwarded-Proto")) == "https" else "http"
            prefix = _prefix(_last(headers.get("X-Forwarded-Prefix"))) + prefix
        return Origin(address=address, scheme=scheme, host=_checked(host), prefix=prefix)

    def _client(self, peer: str, forwarded: str) -> str:
        """The rightmost that no proxy of ours has: all before it anybody may have written."""
        found = peer
        for each in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
            address = _address(each)
            if address is None:
                return found
            found = str(address)
            if not self.trusts(found):
                return found
        return found


@lru_cache(5000)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """That of IPv4 inside one of IPv6 is that of IPv4. A socket in the file system has none."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


@lru_cache(5000)
def subscriber(address: str) -> str:
    """Who has an address of IPv6 has 2^64 of them."""
    found = _address(address)
    return str(ip_network((int(found) >> 64 << 64, 64))) if isinstance(found, IPv6Address) else address


def _last(header: str | None) -> str:
    return (header or "").rpartition(",")[2].strip()


def _prefix(given: str) -> str:
    """Of plain segments only; anything else would become part of links."""
    plain = given.startswith("/") and "//" not in given and all(
        letter.isascii() and (letter.isalnum() or letter in "/-_.") for letter in given
    )  # fmt: skip
    return given.rstrip("/") if plain else ""


@lru_cache(1000)
def _checked(host: str) -> str:
    found = host.lower()
    if not found or len(found) > _LONGEST_HOST or not _HOST_LETTERS.issuperset(found):
        raise Refused(400, "VALIDATION_ERROR", "the Host header is no name of a host")
    return found
