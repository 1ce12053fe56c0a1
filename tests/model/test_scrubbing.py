"""No text for others tells the host or one device, and none loses words that mean something else."""

import pytest

from advisor.model.scrubbing import Known, Scrubber, may_be

UUID = "0b7e1111-2222-3333-4444-555566667777"
NODE1 = ("/sys/devices/system/node/node1", "NVIDIA H100 80GB HBM3")


def scrubbed(text: str, *names: str, machine: tuple[str, ...] = NODE1) -> str:
    return Scrubber.of(Known((text,), (), machine, names)).text(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-/dev/disk/by-id/nvme-Samsung_SSD_980_S4EV /a ext4", "-/dev/disk/by-id/... /a ext4"),
        ("-UUID=0b7e1111-2222-3333-4444-555566667777 /b", "-UUID=... /b"),
        ("+PARTUUID=aaaa-bb /g", "+PARTUUID=... /g"),
        ("LABEL=scratch17 /c,PARTLABEL=x", "LABEL=... /c,PARTLABEL=..."),
        ("ID=ata-WDC_WD4001_WD-WCC1 /d", "ID=... /d"),
        ("`/dev/disk/by-uuid/1234-ABCD`", "`/dev/disk/by-uuid/...`"),
        ("/dev/disk/by-path/pci-0000:3b:00.0-nvme-1", "/dev/disk/by-path/pci-0000:3b:00.0-nvme-1"),
        ("ether 00:11:22:aa:bb:cc brd", "ether ... brd"),
        ("00-11-22-AA-BB-CC", "..."),
        ("20:00:00:00:fe:80:00:00:00:00:00:00:00:11:22:03:00:aa:bb:cc", "..."),
        ("0011:2203:00aa:bbcc and fe80:0000:0000:0000:0211:22ff:feaa:bbcc", "... and ..."),
        ("enx001122aabbcc: up, br-enx001122aabbcc.7", "enxMAC01: up, br-enxMAC01.7"),
        ("ibx00112203aabb wlx00112203aabc", "ibxMAC01 wlxMAC02"),
        ("rocex0011220300aabbcc", "rocexGUID01"),
        ("/dev/mapper/luks-0b7e1111-2222-3333-4444-555566667777", "/dev/mapper/luks-UUID01"),
        ("/dev/mapper/3600508b400105e210000900000490000", "/dev/mapper/WWID01"),
        (
            f"/kubepods-pod{UUID.replace('-', '_')}.slice/cri-{'9f' * 32}.scope",
            "/kubepods-podUUID01.slice/cri-ID01.scope",
        ),
        (f"/docker/{'9f' * 32}", "/docker/ID01"),
        (f"commit {'9f' * 20}, sha256 {'9f' * 32}", None),
        ("eui.0025385b71b0a2c4", "eui.WWID01"),
        ("36005084001052100000900000490000", "36005084001052100000900000490000"),
        ("0000:3b:00.0 10.0.0.0/8 12:30:45 xfs 1-3,5-7 0x0011220300aabbcc", None),
        ("hexadecimal indexes of deadbeefcafe", None),
    ],
)
def test_devices(text: str, told: str | None) -> None:
    assert scrubbed(text) == (text if told is None else told)
    assert scrubbed(scrubbed(text)) == scrubbed(text)


def test_of_a_json_document_only_texts_pass() -> None:
    host = Scrubber.of(Known((), (), (), ("node17",)))
    document = """{
 "node17": [1.3456789012345678e-6, 3.600508b4, 3600508400105210000, true],
 "of \\"node17\\"": {"said": "on \\"node17\\", in\\n/dev/disk/by-id/x", "empty": "", "colon": "a\\": node17"}
}
"""
    assert (
        host.json(document)
        == """{
 "node17": [1.3456789012345678e-6, 3.600508b4, 3600508400105210000, true],
 "of \\"node17\\"": {"said": "on \\"HOSTNAME\\", in\\n/dev/disk/by-id/...", "empty": "", "colon": "a\\": HOSTNAME"}
}
"""
    )


def test_digits_of_a_number_are_no_name_of_a_disk() -> None:
    assert scrubbed("1.3456789012345678e-06 s") == "1.3456789012345678e-06 s"


def test_devices_stay_apart_and_keep_their_numbers_wherever_they_stand() -> None:
    known = Known(("enxffffffffffff",), (), ("/sys/class/net/enx001122aabbcc",))
    scrubber = Scrubber.of(known)
    assert scrubber.text("enx001122aabbcc,ENX,enxffffffffffff") == "enxMAC01,ENX,enxMAC02"
    assert scrubber == Scrubber.of(known)
    assert scrubber.text("enx00000000000a") == "enxMAC"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("node17", "/dev/mapper/rhel_node17-root", "/dev/mapper/rhel_HOSTNAME-root"),
        ("node17", "node17 NODE17-data node170 anode17", "HOSTNAME HOSTNAME-data node170 anode17"),
        ("node17.lab.example", "node17.lab.example:/x of node17", "HOSTNAME:/x of HOSTNAME"),
        ("gpu-node17", "rhel_gpu--node17-root rhel_gpu-node17", "rhel_HOSTNAME-root rhel_HOSTNAME"),
        ("gpu-node17", r"dev-mapper-rhel_gpu\x2d\x2dnode17.device", "dev-mapper-rhel_HOSTNAME.device"),
        ("atlas", "/dev/mapper/rhel_atlas-root", "/dev/mapper/rhel_HOSTNAME-root"),
        ("atlas", "atlas--vg-root", "HOSTNAME--vg-root"),
        ("atlas", "/data/atlas /data", "/data/HOSTNAME /data"),
        ("atlas", "/etc/sysctl.d/10-atlas.conf", "/etc/sysctl.d/10-HOSTNAME.conf"),
        ("node1", "rhel_node1-root", "rhel_HOSTNAME-root"),
        ("data", "/data rhel_data-data data", None),
        ("gpu", "rhel_gpu-root gpu gpu-0", None),
        ("node", "the node's vg_node-home", None),
        ("17", "md17 17", None),
        ("ab", "vg_ab-root", None),
    ],
)
def test_the_name_of_the_host(name: str, text: str, told: str | None) -> None:
    assert scrubbed(text, name) == (text if told is None else told)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("node1", "/sys/devices/system/node/node1/cpulist says that node1 has no memory"),
        ("h100", "An NVIDIA H100 on this H100-node"),
        ("atlas", "An atlas of the multi-atlas machine"),
        ("loader", "too-many-loader-workers, the data-loader"),
        ("ext4", "an ext4 of ext4"),
        ("mlx5", "mlx5_core"),
        ("l40s", "on an L40S"),
    ],
)
def test_words_of_a_report_stay_when_the_host_is_called_so(name: str, text: str) -> None:
    scrubber = Scrubber.of(Known((f"/dev/mapper/rhel_{name}-root",), (), NODE1, (name,)))
    assert scrubber.text(text) == text
    assert scrubber.text(f"`/dev/mapper/rhel_{name}-root` is full") == "`/dev/mapper/rhel_HOSTNAME-root` is full"


def test_of_files_that_are_run_only_comments_change() -> None:
    text = "# node17 has\n  # enx001122aabbcc\nnet.ipv4.conf.enx001122aabbcc.rp_filter = 2\n"
    scrubber = Scrubber.of(Known((text,), names=("node17",)))
    assert scrubber.comments(text) == ("# HOSTNAME has\n  # enxMAC01\nnet.ipv4.conf.enx001122aabbcc.rp_filter = 2\n")


@pytest.mark.parametrize(
    ("text", "hides"),
    [
        ("net/ipv4/conf/enx001122aabbcc/rp_filter 2", True),
        ("net/ipv4/conf/enxMAC01/rp_filter 2", True),
        ("/data/HOSTNAME:noatime", True),
        ("NCCL_CUMEM_HOST_ENABLE 0", False),
        ("vm/swappiness 10", False),
    ],
)
def test_whether_a_line_can_be_told(text: str, hides: bool) -> None:
    assert Scrubber.of(Known((text,))).hides(text) is hides


@pytest.mark.parametrize(
    ("shown", "text", "may"),
    [
        ("/data", "/data", True),
        ("/data/HOSTNAME", "/data/node17", True),
        ("/data/HOSTNAME", "/data/node17/x", False),
        ("/data/a.c", "/data/abc", False),
    ],
)
def test_what_is_left_of_a_path(shown: str, text: str, may: bool) -> None:
    assert may_be(shown, text) is may


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nccl", "/etc/nccl.conf"),
        ("sysctl", "/etc/sysctl.d/10-site.conf"),
        ("nccl", "/opt/aws-ofi-nccl"),
        ("atlas", "/etc/atlas/lib"),
    ],
)
def test_paths_that_people_did_not_name_after_the_host_stay(name: str, text: str) -> None:
    assert Scrubber.of(Known((), (text,), (), (name,))).text(text) == text


def test_a_file_of_configuration_may_be_named_after_the_host() -> None:
    scrubber = Scrubber.of(Known((), ("/etc/sysctl.d/10-atlas.conf",), (), ("atlas",)))
    assert scrubber.text("/etc/sysctl.d/10-atlas.conf:3, atlas") == "/etc/sysctl.d/10-HOSTNAME.conf:3, atlas"
