"""Tokens: stable for a key, different for another, and of the same form as what they stand for."""

import ipaddress
import itertools

import pytest

from advisor.host.tokens import Tokens

TOKENS = Tokens(b"k" * 32)
ADDRESSES = [
    "10.1.2.3",
    "10.1.2.4",
    "10.1.9.9",
    "10.200.0.1",
    "192.168.7.7",
    "172.20.0.9",
    "8.8.8.8",
    "8.8.4.4",
    "8.9.1.1",
]


def shared_bits(one: str, other: str) -> int:
    a, b = int(ipaddress.ip_address(one)), int(ipaddress.ip_address(other))
    return 32 - (a ^ b).bit_length()


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(ADDRESSES[:4], 2), ("8.8.8.8", "8.8.4.4")])
def test_addresses_share_as_long_a_beginning_as_before(one: str, other: str) -> None:
    assert shared_bits(TOKENS.ipv4(one), TOKENS.ipv4(other)) == shared_bits(one, other)


def test_no_two_addresses_of_a_network_become_one() -> None:
    assert len({TOKENS.ipv4(f"192.168.3.{n}") for n in range(256)}) == 256


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "255.255.255.0", "239.1.1.1", "::", "::1", "ff02::1"])
def test_addresses_that_name_no_host_stay(address: str) -> None:
    assert (TOKENS.ipv6 if ":" in address else TOKENS.ipv4)(address) == address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.4.5.6", "10.0.0.0/8"),
        ("172.16.5.6", "172.16.0.0/12"),
        ("192.168.1.1", "192.168.0.0/16"),
        ("100.64.1.1", "100.64.0.0/10"),
        ("169.254.3.4", "169.254.0.0/16"),
        ("fe80::a00:27ff:fe12:3456", "fe80::/64"),
        ("fd00:1:2::9", "fc00::/7"),
        ("2001:db8:1::1", "2000::/3"),
    ],
)
def test_an_address_stays_of_its_kind(address: str, network: str) -> None:
    new = TOKENS.ipv6(address) if ":" in address else TOKENS.ipv4(address)
    assert new != address
    assert ipaddress.ip_address(new) in ipaddress.ip_network(network)


@pytest.mark.parametrize("last", range(0, 256, 16))
def test_a_public_address_stays_public(last: int) -> None:
    assert (
        ipaddress.ip_address(TOKENS.ipv4(f"{last or 1}.44.55.66")).is_global
        == ipaddress.ip_address(f"{last or 1}.44.55.66").is_global
    )


def test_a_gid_made_of_an_ipv4_address_hides_the_same_address() -> None:
    gid = TOKENS.ipv6("0000:0000:0000:0000:0000:ffff:0a01:0203")
    assert gid.startswith("0000:0000:0000:0000:0000:ffff:0a")
    assert str(ipaddress.IPv6Address(gid).ipv4_mapped) == TOKENS.ipv4("10.1.2.3")
    assert TOKENS.ipv6("::ffff:10.1.2.3") == f"::ffff:{TOKENS.ipv4('10.1.2.3')}"


def test_a_gid_ends_in_the_token_of_its_guid() -> None:
    guid = TOKENS.guid("0c42:a103:0012:3456")
    assert guid != "0c42:a103:0012:3456"
    assert TOKENS.ipv6("fe80:0000:0000:0000:0c42:a103:0012:3456") == f"fe80:0000:0000:0000:{guid}"


def test_a_link_local_address_ends_in_the_token_of_its_mac() -> None:
    mac = TOKENS.mac("08:00:27:12:34:56").replace(":", "")
    end = TOKENS.ipv6("fe80:0000:0000:0000:0a00:27ff:fe12:3456")[20:].replace(":", "")
    assert end == f"{int(mac[:2], 16) ^ 2:02x}{mac[2:6]}fffe{mac[6:]}"


@pytest.mark.parametrize("first", ["00", "02", "01", "a6", "ff"])
def test_a_mac_stays_local_or_global_for_one_or_many(first: str) -> None:
    new = TOKENS.mac(f"{first}:11:22:33:44:55")
    assert int(new[:2], 16) & 3 == int(first, 16) & 3
    assert len(new) == 17


@pytest.mark.parametrize("text", ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"])
def test_a_mac_of_nobody_stays(text: str) -> None:
    assert TOKENS.mac(text) == text


def test_identifiers_keep_their_form_and_their_common_beginnings() -> None:
    whole = TOKENS.digits("8932f937-d72c-4106-c12f-20bd9faed9f6")
    assert [len(part) for part in whole.split("-")] == [8, 4, 4, 4, 12]
    assert whole.startswith(TOKENS.digits("8932f937"))
    assert not whole.startswith(TOKENS.digits("8932f938"))


def test_a_token_hangs_on_the_key() -> None:
    other = Tokens(b"l" * 32)
    assert TOKENS.word("alice") == Tokens(b"k" * 32).word("alice") != other.word("alice")
    assert TOKENS.ipv4("10.1.2.3") != other.ipv4("10.1.2.3")


def test_hosts_of_one_domain_still_share_it() -> None:
    one, other = TOKENS.host("n1.lab.example"), TOKENS.host("n2.Lab.example")
    assert one.split(".")[1:] == other.split(".")[1:]
    assert one.split(".")[0] != other.split(".")[0]
