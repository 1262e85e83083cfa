"""What a URL leads to, and which are refused before anybody is asked for an address."""

from ipaddress import ip_address, ip_network

import pytest

from bpc_worker.egress.targets import EgressRules, target_of
from bpc_worker.handler_api import Permanent

RULES = EgressRules(ports=frozenset({443, 8443}))
ANYWHERE = EgressRules(
    ports=frozenset({443}), allowed_private_networks=(ip_network("0.0.0.0/0"), ip_network("::/0"))
)
DEVELOPMENT = EgressRules(ports=frozenset({80, 443}), plain_http=True)


def why(url: str, rules: EgressRules = RULES) -> str:
    with pytest.raises(Permanent) as refused:
        target_of(url, rules)
    assert refused.value.code == "WEBHOOK_BLOCKED"
    return refused.value.message


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://hooks.example/a?b=c", "hooks.example", 443),
        ("HTTPS://Hooks.Example:8443", "hooks.example", 8443),
        ("https://hooks.example./", "hooks.example.", 443),
        ("https://faß.example/", "xn--fa-hia.example", 443),
        ("https://a_b.example/", "a_b.example", 443),
        ("https://hooks.example?@127.0.0.1/", "hooks.example", 443),
        ("https://hooks.example#@127.0.0.1/", "hooks.example", 443),
    ],
)
def test_a_name_is_to_be_looked_up(url: str, host: str, port: int) -> None:
    target = target_of(url, RULES)

    assert (target.host, target.port, target.address) == (host, port, None)
    assert target.url.raw_host == host
    assert not target.url.raw_fragment


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("0x7f.0.0x0.01", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("0", "0.0.0.0"),  # noqa: S104 - nobody listens
        ("3232235777", "192.168.1.1"),
        ("①②⑦.⓪.⓪.①", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("\N{FULLWIDTH DIGIT ONE}27.0.0.1", "127.0.0.1"),
        ("8.8.8.8", "8.8.8.8"),
        ("134744072", "8.8.8.8"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "::ffff:7f00:1"),
        ("[::127.0.0.1]", "::7f00:1"),
        ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"),
    ],
)
def test_every_spelling_of_an_address_is_that_address(host: str, address: str) -> None:
    target = target_of(f"https://{host}/", ANYWHERE)

    assert target.address == ip_address(address)
    assert target.host == str(target.address)
    assert target.url.host == str(target.address)  # what is requested is what was checked


@pytest.mark.parametrize(
    ("url", "because"),
    [
        ("http://hooks.example/", "https:// is asked for"),
        ("ftp://hooks.example/", "https:// is asked for"),
        ("file:///etc/passwd", "https:// is asked for"),
        ("unix://run/docker.sock", "https:// is asked for"),
        ("hooks.example/", "no URL"),
        ("//hooks.example/", "no URL"),
        ("https:hooks.example", "no URL"),
        ("https:/hooks.example", "no URL"),
        ("https:///hooks.example", "no host"),
        ("", "no URL"),
        ("https://" + "a" * 2048, "no URL"),
        ("https://user@hooks.example/", "user name"),
        ("https://user:secret@hooks.example/", "user name"),
        ("https://@hooks.example/", "user name"),
        ("https://hooks.example@127.0.0.1/", "user name"),
        ("https://hooks.example:443@127.0.0.1/", "user name"),
        ("https://hooks.example\\@127.0.0.1/", "backslash"),
        ("https://hooks.example\\.evil/", "backslash"),
        ("https://hooks.exa\tmple/", "control"),
        ("https://hooks.example/\r\nX: y", "control"),
        ("https://hooks.example/a b", "blanks"),
        ("https://hooks.example\x00.evil/", "control"),
        ("https://hooks.example:80/", "port 80"),
        ("https://hooks.example:22/", "port 22"),
        ("https://hooks.example:0/", "no host"),
        ("https://hooks.example:65536/", "no URL"),
        ("https://hooks.example:443:80/", "no URL"),
        ("https://[::1%25lo]/", "network interface"),
        ("https://[fe80::1%eth0]/", "network interface"),
        ("https://[::1/", "no URL"),
        ("https://[::g]/", "no IPv6 address"),
        ("https://256.256.256.256/", "no IPv4 address"),
        ("https://1.2.3.4.5/", "no IPv4 address"),
        ("https://hooks.09/", "no IPv4 address"),
        ("https://0x/", "no IPv4 address"),
        ("https://hooks..example/", "no name"),
        ("https://-hooks.example/", "no name"),
        ("https://%31%32%37.0.0.1/", "no name|no IPv4"),
        ("https://localhost%00.example/", "no name"),
        ("https://" + "a" * 64 + ".example/", "no name|no URL"),
        ("https://" + "a." * 127 + "example/", "no name"),
        ("https://xn--a/", "no URL"),
    ],
)
def test_what_is_no_plain_https_url_is_refused(url: str, because: str) -> None:
    assert any(words in why(url) for words in because.split("|"))


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:8.8.8.8]", "0"])
def test_an_address_that_is_not_public_is_refused_in_every_spelling(host: str) -> None:
    assert "may not be called" in why(f"https://{host}/")
    assert target_of("https://8.8.8.8/", RULES).address == ip_address("8.8.8.8")


def test_plain_http_is_for_development() -> None:
    assert target_of("http://hooks.example/", DEVELOPMENT).port == 80
    assert "or http://" in why("ftp://hooks.example/", DEVELOPMENT)


def test_no_message_tells_the_path_or_a_password() -> None:
    for url in ("https://u:hunter2@hooks.example/T0KEN", "https://hooks.example:1/T0KEN", "http://a/T0KEN"):
        assert not {"hunter2", "T0KEN"} & set(why(url).replace("/", " ").replace(":", " ").split())


def test_one_bad_address_among_good_ones_is_too_many() -> None:
    good, bad = ip_address("8.8.8.8"), ip_address("10.0.0.1")
    RULES.check("hooks.example", (good,))
    with pytest.raises(Permanent, match=r"hooks\.example, at 10\.0\.0\.1: private"):
        RULES.check("hooks.example", (good, bad))
    with pytest.raises(Permanent, match=r"called: 10\.0\.0\.1: private"):
        RULES.check("10.0.0.1", (bad,))

    EgressRules(ports=frozenset(), allowed_private_networks=(ip_network("10.0.0.0/8"),)).check(
        "hooks.example", (good, bad)
    )
