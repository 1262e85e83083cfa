"""May this address be called? Only public unicast, and nothing that leads elsewhere in disguise.

The facts are those of IANA's registries of special-purpose addresses (IPv4 and IPv6), of the IPv6 address
space and of multicast addresses. What the registries call special is refused even where it can be reached:
nobody's receiver lives there. `ipaddress.is_global` is no substitute: to it NAT64 and 6to4 are global, and
what it says of a mapped address has changed from one release of Python to the next.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4 = (
    ("0.0.0.0/8", "this network (RFC 791)"),
    ("10.0.0.0/8", "private (RFC 1918)"),
    ("100.64.0.0/10", "shared by a carrier's customers (RFC 6598)"),
    ("127.0.0.0/8", "loopback (RFC 1122)"),
    ("168.63.129.16/32", "a cloud's own services, at an address that looks public"),
    ("169.254.0.0/16", "link-local, cloud metadata (RFC 3927)"),
    ("172.16.0.0/12", "private (RFC 1918)"),
    ("192.0.0.0/24", "protocol assignments (RFC 6890)"),
    ("192.0.2.0/24", "documentation (RFC 5737)"),
    ("192.31.196.0/24", "AS112 (RFC 7535)"),
    ("192.52.193.0/24", "AMT (RFC 7450)"),
    ("192.88.99.0/24", "6to4 relays (RFC 7526)"),
    ("192.168.0.0/16", "private (RFC 1918)"),
    ("192.175.48.0/24", "AS112 (RFC 7534)"),
    ("198.18.0.0/15", "benchmarking (RFC 2544)"),
    ("198.51.100.0/24", "documentation (RFC 5737)"),
    ("203.0.113.0/24", "documentation (RFC 5737)"),
    ("224.0.0.0/4", "multicast (RFC 5771)"),
    ("240.0.0.0/4", "reserved, broadcast (RFC 1112, RFC 919)"),
)

# The narrower one first: the first that fits gives the reason.
_V6 = (
    ("::1/128", "loopback (RFC 4291)"),
    ("::/128", "unspecified (RFC 4291)"),
    ("::/96", "IPv4-compatible (RFC 4291)"),
    ("::ffff:0:0/96", "IPv4-mapped (RFC 4291)"),
    ("::ffff:0:0:0/96", "IPv4-translated (RFC 2765)"),
    ("64:ff9b::/96", "NAT64 (RFC 6052)"),
    ("64:ff9b:1::/48", "local NAT64 (RFC 8215)"),
    ("100::/64", "discarded (RFC 6666)"),
    ("100:0:0:1::/64", "dummy prefix (RFC 9780)"),
    ("2001::/32", "Teredo (RFC 4380)"),
    ("2001:2::/48", "benchmarking (RFC 5180)"),
    ("2001:10::/28", "ORCHID (RFC 4843)"),
    ("2001:20::/28", "ORCHIDv2 (RFC 7343)"),
    ("2001:30::/28", "drone identifiers (RFC 9374)"),
    ("2001::/23", "protocol assignments (RFC 2928)"),
    ("2001:db8::/32", "documentation (RFC 3849)"),
    ("2002::/16", "6to4 (RFC 3056)"),
    ("2620:4f:8000::/48", "AS112 (RFC 7534)"),
    ("3ffe::/16", "6bone, given back (RFC 3701)"),
    ("3fff::/20", "documentation (RFC 9637)"),
    ("5f00::/16", "segment routing (RFC 9602)"),
    ("fc00::/7", "unique local (RFC 4193)"),
    ("fe80::/10", "link-local (RFC 4291)"),
    ("fec0::/10", "site-local (RFC 3879)"),
    ("ff00::/8", "multicast (RFC 4291)"),
)

# Where clouds tell a machine its credentials: never a receiver, whatever networks are allowed.
_METADATA = (
    *("169.254.0.0/16", "fe80::/10"),  # AWS, Azure, Google, Oracle and most others: link-local
    "100.100.100.200/32",  # Alibaba
    "168.63.129.16/32",  # Azure
    "192.0.0.192/32",  # Oracle
    *("fd00:ec2::/64", "fd20:ce::/64", "fd00:42::42/128"),  # AWS, Google, Scaleway
)

SPECIAL_V4 = tuple((IPv4Network(network), what) for network, what in _V4)
SPECIAL_V6 = tuple((IPv6Network(network), what) for network, what in _V6)
_METADATA_NETWORKS = tuple(ip_network(each) for each in _METADATA)
_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # all that has been given out
_ISATAP = (0x00005EFE, 0x02005EFE)  # an IPv4 address stands behind these, in any prefix (RFC 5214)


def refused_as(address: Address, allowed_private_networks: Iterable[Network] = ()) -> str | None:
    """What is wrong with calling it; None: nothing. Those networks are allowed all the same, but metadata."""
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "bound to a network interface (RFC 4007)"
    if _inside(address, allowed_private_networks):
        hidden = any(_inside(each, _METADATA_NETWORKS) for each in (address, *_carried(address)))
        return "cloud metadata, which is never called" if hidden else None
    return _first(address, SPECIAL_V4) if isinstance(address, IPv4Address) else _special_v6(address)


def _special_v6(address: IPv6Address) -> str | None:
    special = _first(address, SPECIAL_V6)
    if special is None and address not in _GLOBAL_UNICAST_V6:
        return "not given out to anybody (RFC 4291)"
    if special is None and (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "ISATAP (RFC 5214)"
    return special


def _carried(address: Address) -> Iterator[IPv4Address]:
    """IPv4 addresses that may stand in it: where 6to4 has one, and where all other forms do, at its end."""
    if isinstance(address, IPv6Address):
        yield IPv4Address((int(address) >> 80) & 0xFFFFFFFF)
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _first(address: Address, table: Iterable[tuple[Network, str]]) -> str | None:
    return next((what for network, what in table if address in network), None)


def _inside(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
