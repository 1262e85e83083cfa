"""What a proxy says is believed where it is ours, and nowhere else."""

import pytest

from bpc_worker.web.layer.problems import Refused
from bpc_worker.web.layer.proxies import Proxies, subscriber

FORWARDED = {
    "Host": "inside:8081",
    "X-Forwarded-For": "6.6.6.6, 198.51.100.7, 10.0.0.2",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "dpp.example.com",
    "X-Forwarded-Prefix": "/battery",
}
OURS = Proxies(["10.0.0.0/8", "fd00::/8"], "/base")


def test_headers_of_a_trusted_proxy_say_where_a_request_came_from() -> None:
    origin = OURS.origin("10.0.0.1", FORWARDED)

    assert origin.address == "198.51.100.7"  # what stands before it the client may have written
    assert origin.base == "https://dpp.example.com/battery/base"


def test_of_anybody_else_they_say_nothing() -> None:
    origin = OURS.origin("192.0.2.1", FORWARDED)

    assert (origin.address, origin.scheme, origin.host, origin.prefix) == (
        "192.0.2.1", "http", "inside:8081", "/base",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("", "10.0.0.1"), ("10.0.0.9", "10.0.0.9"), ("nonsense", "10.0.0.1"), (" , 1.2.3.4 ,", "1.2.3.4"),
        ("2001:db8::1", "2001:db8::1"), ("::ffff:1.2.3.4", "1.2.3.4"), ("1.2.3.4, nonsense", "10.0.0.1"),
    ],
)  # fmt: skip
def test_the_rightmost_that_is_no_proxy_asks(forwarded: str, address: str) -> None:
    assert OURS.origin("10.0.0.1", {"Host": "h", "X-Forwarded-For": forwarded}).address == address


@pytest.mark.parametrize("host", ["", "a b", "a/b", 'a"b', "a<b>", "x" * 300, "ä.example", "a@b", "a\tb"])
def test_a_host_is_the_name_of_one(host: str) -> None:
    with pytest.raises(Refused) as found:
        OURS.origin("192.0.2.1", {"Host": host})

    assert found.value.status == 400


@pytest.mark.parametrize("prefix", ["//evil.example", "javascript:x", 'a"', "/a b", "/a?b", "/a#b", "/%2e"])
def test_a_prefix_is_a_path_of_plain_segments(prefix: str) -> None:
    origin = OURS.origin("10.0.0.1", {"Host": "h", "X-Forwarded-Prefix": prefix})

    assert origin.prefix == "/base"


def test_only_what_is_below_the_base_path_is_inside() -> None:
    assert OURS.inside("/base/v1/x") == "/v1/x"
    assert OURS.inside("/base/") == "/"
    assert OURS.inside("/base") is None
    assert OURS.inside("/basement/x") is None
    assert OURS.inside("/v1") is None
    assert Proxies([], "").inside("/v1") == "/v1"
    assert Proxies([], "").inside("http://elsewhere/v1") is None


def test_a_peer_without_an_address_is_no_proxy() -> None:
    assert not OURS.trusts("")
    assert OURS.trusts("::ffff:10.1.2.3")


def test_the_addresses_of_one_subscriber_are_one() -> None:
    assert subscriber("2001:db8:1:2:3:4:5:6") == subscriber("2001:db8:1:2::9") == "2001:db8:1:2::/64"
    assert subscriber("2001:db8:1:3::9") != subscriber("2001:db8:1:2::9")
    assert subscriber("1.2.3.4") == "1.2.3.4"
    assert subscriber("") == ""
