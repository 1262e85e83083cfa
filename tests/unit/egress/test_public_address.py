"""Public unicast and nothing else: every block of the registries at both ends, and beside `ipaddress`."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpc_worker.egress.public_address import SPECIAL_V4, SPECIAL_V6, Address, Network, refused_as

SPECIAL: list[tuple[Network, str]] = [*SPECIAL_V4, *SPECIAL_V6]

# Global to the standard library, in one release of Python or another, and refused all the same.
STRICTER = [
    ip_network(each)
    for each in (
        "168.63.129.16/32", "192.0.0.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
        "192.175.48.0/24", "224.0.0.0/4", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96",
        "64:ff9b:1::/48", "100:0:0:1::/64", "2001::/23", "2002::/16", "2620:4f:8000::/48", "3ffe::/16",
        "3fff::/20", "5f00::/16", "fec0::/10", "ff00::/8",
    )
]  # fmt: skip


@pytest.mark.parametrize(
    "public",
    ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.0", "192.0.1.0",
     "192.88.98.255", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.15",
     "2606:4700:4700::1111", "2a00:1450:4001::5efe", "2001:4860:4860::8888", "2003::1", "3ffd::1",
     "2001:200::1"],
)  # fmt: skip
def test_a_public_address_may_be_called(public: str) -> None:
    assert refused_as(ip_address(public)) is None


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "cloud metadata"),
        ("168.63.129.16", "a cloud's own services"),
        ("100.100.100.200", "carrier"),
        ("192.0.0.192", "protocol assignments"),
        ("0.0.0.0", "this network"),  # noqa: S104 - nobody listens
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::ffff:127.0.0.1", "mapped"),
        ("::ffff:8.8.8.8", "mapped"),
        ("::127.0.0.1", "compatible"),
        ("::ffff:0:127.0.0.1", "translated"),
        ("64:ff9b::7f00:1", "NAT64"),
        ("64:ff9b:1::7f00:1", "local NAT64"),
        ("2002:7f00:1::", "6to4"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
        ("2001:10::1", "ORCHID"),
        ("2001:2::1", "benchmarking"),
        ("2001:1ff:ffff::1", "protocol assignments"),
        ("2001:db8::1", "documentation"),
        ("3fff::1", "documentation"),
        ("5f00::1", "segment routing"),
        ("fd00:ec2::254", "unique local"),
        ("fe80::1", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("2a00:1450:4001::5efe:a00:1", "ISATAP"),
        ("2a00:1450:4001:0:200:5efe:a00:1", "ISATAP"),
        ("4000::1", "not given out"),
        ("2a00:1450:4001::1%eth0", "interface"),
    ],
)
def test_what_is_not_public_says_why(address: str, reason: str) -> None:
    assert reason in str(refused_as(ip_address(address)))


@pytest.mark.parametrize(("network", "what"), SPECIAL, ids=str)
def test_a_special_block_is_refused_from_its_first_address_to_its_last(network: Network, what: str) -> None:
    assert refused_as(network[0]) is not None
    assert refused_as(network[-1]) is not None
    assert what in {
        refused_as(network[0]),
        refused_as(network[-1]),
        refused_as(network[network.num_addresses // 2]),
    }


def test_a_hole_opens_its_own_network_and_no_other_spelling_of_it() -> None:
    allowed_private_networks = (ip_network("127.0.0.0/8"), ip_network("fd00::/8"))

    assert refused_as(ip_address("127.0.0.1"), allowed_private_networks) is None
    assert refused_as(ip_address("fd00::1"), allowed_private_networks) is None
    assert refused_as(ip_address("10.0.0.1"), allowed_private_networks) is not None
    assert refused_as(ip_address("::ffff:127.0.0.1"), allowed_private_networks) is not None
    assert refused_as(ip_address("fd00::1%eth0"), allowed_private_networks) is not None


anywhere = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(0, 2**128 - 1).map(IPv6Address),
    st.integers(2**125, 2**126 - 1).map(IPv6Address),  # 2000::/3, where the public ones are
)


@given(anywhere)
def test_whatever_may_be_called_is_global_to_the_standard_library_too(address: Address) -> None:
    _agrees_with_the_standard_library(address)


@pytest.mark.parametrize("network", [network for network, _ in SPECIAL], ids=str)
def test_at_the_edges_of_a_block_the_standard_library_agrees(network: Network) -> None:
    kind = type(network[0])
    for edge in (int(network[0]), int(network[-1])):
        for number in range(max(edge - 1, 0), min(edge + 2, 2**network.max_prefixlen)):
            _agrees_with_the_standard_library(kind(number))


def _agrees_with_the_standard_library(address: Address) -> None:
    refused = refused_as(address)
    if refused is None:
        assert address.is_global
        assert not any((address.is_multicast, address.is_private, address.is_reserved, address.is_loopback))
        assert not any((address.is_link_local, address.is_unspecified))
    elif address.is_global and "ISATAP" not in refused and "not given out" not in refused:
        assert any(_within(address, network) for network in STRICTER)


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


METADATA = (
    *(
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ),
    *("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe"),
    *("::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "2a00:1450:4001::5efe:a9fe:a9fe"),
)


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_never_called_whatever_is_allowed(address: str) -> None:
    everything = [ip_network("0.0.0.0/0"), ip_network("::/0")]

    assert "metadata" in str(refused_as(ip_address(address), everything))
