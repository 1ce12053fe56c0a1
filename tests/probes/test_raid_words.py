"""Words that the tools of RAID controllers share: levels, kinds of disks, names of disks, nothing."""

import pytest

from advisor.probes._raid import cached_policies, parse_level, parse_media, parse_os_device, told


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("RAID6", "raid6"),
        ("RAID 6 (ADG)", "raid6"),
        ("1+0", "raid10"),
        ("6 Reed-Solomon", "raid6"),
        ("10", "raid10"),
        (5, "raid5"),
        ("Spanned_volume", "spanned_volume"),
        ("N/A", None),
        (None, None),
    ],
)
def test_levels(text: object, level: str | None) -> None:
    assert parse_level(text) == level


@pytest.mark.parametrize(
    ("texts", "media"),
    [(["SSD", "HDD"], "mixed"), (["SAS"], "hdd"), (["Solid State NVMe"], "ssd"), (["?"], None), ([], None)],
)
def test_media(texts: list[str], media: str | None) -> None:
    assert parse_media(texts) == media


@pytest.mark.parametrize(
    ("text", "device"), [("/dev/sda (Disk 0)", "/dev/sda"), ("N/A", None), ("sda", None), ("/dev/$(id)", None)]
)
def test_names_of_disks(text: str, device: str | None) -> None:
    assert parse_os_device(text) == device


@pytest.mark.parametrize("text", ["", " - ", "N/A", "NA", None, True, [], {}])
def test_words_for_nothing(text: object) -> None:
    assert told(text) is None


def test_policies_without_a_word_about_caching_are_not_told() -> None:
    assert cached_policies(None, "OK", "Disabled") == (None, None)
    assert cached_policies("Enabled", "OK", None) == (None, None)
