"""What kind of machine it is: told only by what tells it."""

from pathlib import Path

import pytest

from advisor.host.boot_words import shown_word
from advisor.model.facts import evidence_path
from advisor.probes._cmdline import parse_cmdline
from advisor.probes._virtual import Firmware, Signs, cloud_of, hypervisor_of, virtual_of
from advisor.probes.platform import parse_release, parse_version, read
from tests.trees import write_capture, write_tree

DMI = "/sys/class/dmi/id"
REAL_CPU = {"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : fpu lm\n"}
GUEST_CPU = {"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : fpu lm hypervisor\n"}


@pytest.mark.parametrize(
    ("firmware", "signs", "virtual"),
    [
        pytest.param(Firmware("Supermicro", "X12"), Signs(cpu_flag=False), False, id="server"),
        pytest.param(Firmware(), Signs(cpu_flag=False), None, id="x86 without firmware"),
        pytest.param(Firmware(), Signs(cpu_flag=True), True, id="guest without firmware"),
        pytest.param(Firmware("innotek GmbH", "VirtualBox"), Signs(cpu_flag=False), True, id="flag hidden"),
        pytest.param(Firmware("Amazon EC2", "p5.48xlarge"), Signs(cpu_flag=True), True, id="EC2 guest"),
        pytest.param(Firmware("Amazon EC2", "p4d.metal"), Signs(cpu_flag=False), False, id="EC2 metal"),
        pytest.param(Firmware("Amazon EC2", "g5g.metal"), Signs(), False, id="EC2 metal on ARM"),
        pytest.param(Firmware("Amazon EC2", "g5g.4xlarge"), Signs(), True, id="EC2 guest on ARM"),
        pytest.param(Firmware("Google", "Google Compute Engine"), Signs(), None, id="cloud with both on ARM"),
        pytest.param(Firmware("NVIDIA", "GB200"), Signs(), False, id="ARM server"),
        pytest.param(Firmware(), Signs(), None, id="nothing known"),
        pytest.param(Firmware(), Signs(hypervisor_type="xen"), True, id="xen guest"),
        pytest.param(Firmware(), Signs(hypervisor_type="xen", xen_control=True), False, id="xen dom0"),
        pytest.param(Firmware(), Signs(device_tree="kvm"), True, id="device tree"),
        pytest.param(Firmware(), Signs(cpuinfo_platform="PowerNV"), False, id="POWER with hardware"),
        pytest.param(Firmware(), Signs(cpuinfo_platform="pSeries"), True, id="POWER guest"),
        pytest.param(Firmware(), Signs(cpuinfo_platform="Cell"), None, id="POWER of another kind"),
    ],
)
def test_virtual(firmware: Firmware, signs: Signs, virtual: bool | None) -> None:
    assert virtual_of(firmware, signs) is virtual


@pytest.mark.parametrize(
    ("firmware", "cloud", "hypervisor"),
    [
        (Firmware("Amazon EC2", "p5.48xlarge"), "aws", "amazon"),
        (Firmware("Google", "Google Compute Engine"), "gcp", "google"),
        (
            Firmware("Microsoft Corporation", "Virtual Machine", None, "7783-7084-3265-9085-8269-3286-77"),
            "azure",
            "microsoft",
        ),
        (Firmware("QEMU", "Standard PC", None, "OracleCloud.com"), "oci", "kvm"),
        (Firmware("Alibaba Cloud", "Alibaba Cloud ECS"), "alibaba", None),
        (Firmware("OpenStack Foundation", "OpenStack Nova"), "openstack", "kvm"),
        (Firmware("VMware, Inc.", "VMware7,1"), "none", "vmware"),
        (Firmware("Dell Inc.", "PowerEdge"), "none", None),
        (Firmware(), None, None),
    ],
    ids=lambda item: (item.vendor or "no firmware") if isinstance(item, Firmware) else "",
)
def test_cloud_and_hypervisor_by_firmware(firmware: Firmware, cloud: str | None, hypervisor: str | None) -> None:
    assert (cloud_of(firmware), hypervisor_of(firmware, Signs())) == (cloud, hypervisor)


def test_a_server_is_described_without_its_serial(tmp_path: Path) -> None:
    files = {
        **REAL_CPU,
        f"{DMI}/sys_vendor": "Supermicro\n",
        f"{DMI}/product_name": "SYS-421GE\n",
        f"{DMI}/product_serial": "S123456\n",
        f"{DMI}/chassis_asset_tag": "RACK-7\n",
        f"{DMI}/chassis_type": "17\n",
        "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "/proc/sys/kernel/hostname": "node17\n",
        "/proc/1/comm": "systemd\n",
    }
    platform = read(write_capture(tmp_path, files))
    assert (platform.virtual, platform.hypervisor, platform.cloud, platform.container) == (False, None, "none", False)
    assert (platform.portable, platform.desktop, platform.chassis_type) == (False, False, 17)
    assert (platform.kernel_release, platform.kernel_version, platform.init) == (
        "6.8.0-45-generic",
        (6, 8, 0),
        "systemd",
    )
    assert (platform.architecture, platform.root_user) == ("x86_64", False)
    text = platform.model_dump_json()
    assert not any(secret in text for secret in ("S123456", "RACK-7", "node17"))


def test_a_guest_whose_firmware_is_silent_is_asked(tmp_path: Path) -> None:
    platform = read(write_capture(tmp_path, GUEST_CPU, outputs={("systemd-detect-virt", "--vm"): "kvm\n"}))
    assert (platform.virtual, platform.hypervisor) == (True, "kvm")
    assert evidence_path(platform, "hypervisor") == "command: systemd-detect-virt --vm"
    assert evidence_path(platform, "virtual") == "/proc/cpuinfo"


def test_a_tree_without_cpuinfo_is_neither_virtual_nor_real(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/sys/": ""})
    platform = read(host)
    assert (platform.virtual, platform.container, platform.cloud, platform.architecture) == (None, None, None, None)
    assert (platform.portable, platform.desktop, platform.pressure_available) == (None, None, None)
    assert host.gaps[evidence_path(platform, "virtual")] == "not captured"


@pytest.mark.parametrize(
    ("files", "kind", "path"),
    [
        pytest.param({"/.dockerenv": ""}, "docker", "/.dockerenv", id="docker"),
        pytest.param({"/run/.containerenv": ""}, "podman", "/run/.containerenv", id="podman"),
        pytest.param({"/.singularity.d/": ""}, "apptainer", "/.singularity.d", id="apptainer"),
        pytest.param(
            {"/run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn", "/run/systemd/container", id="nspawn"
        ),
        pytest.param(
            {"/.dockerenv": "", "/proc/self/cgroup": "0::/kubepods/burstable/pod1/2\n"},
            "kubernetes",
            "/proc/self/cgroup",
            id="pod",
        ),
        pytest.param({"/proc/self/cgroup": "3:cpu:/lxc/web\n"}, "lxc", "/proc/self/cgroup", id="lxc"),
        pytest.param(
            {
                "/proc/self/mountinfo": "1 0 0:9 / / rw - overlay overlay "
                "rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/b/diff\n"
            },
            "docker",
            "/proc/self/mountinfo",
            id="layers",
        ),
    ],
)
def test_marks_of_containers(tmp_path: Path, files: dict[str, str], kind: str, path: str) -> None:
    platform = read(write_tree(tmp_path, files))
    assert (platform.container, platform.container_kind) == (True, kind)
    assert evidence_path(platform, "container") == path


def test_a_variable_tells_of_a_pod(tmp_path: Path) -> None:
    platform = read(write_capture(tmp_path, {}, environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}))
    assert (platform.container, platform.container_kind) == (True, "kubernetes")
    assert "10.0.0.1" not in platform.model_dump_json()


def test_a_diskless_node_with_an_overlay_root_is_no_container(tmp_path: Path) -> None:
    files = {"/proc/self/mountinfo": "1 0 0:9 / / rw - overlay overlay rw,lowerdir=/image,upperdir=/tmpfs/upper\n"}
    assert read(write_capture(tmp_path, files)).container is False


def test_a_plain_tree_of_a_login_session_is_no_container(tmp_path: Path) -> None:
    files = {"/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n"}
    assert read(write_tree(tmp_path, files)).container is False


@pytest.mark.parametrize(
    ("chassis", "portable", "desktop"),
    [("10", True, False), ("3", False, True), ("23", False, False), ("2", False, None), ("?", False, None)],
)
def test_the_chassis_tells_laptops_and_desktops(
    tmp_path: Path, chassis: str, portable: bool, desktop: bool | None
) -> None:
    files = {f"{DMI}/chassis_type": f"{chassis}\n", "/sys/class/net/": ""}
    platform = read(write_capture(tmp_path, files))
    assert (platform.portable, platform.desktop) == (portable, desktop)


def test_a_battery_makes_it_portable_unless_it_is_a_mouses(tmp_path: Path) -> None:
    battery = {"/sys/class/power_supply/BAT0/type": "Battery\n", "/sys/class/power_supply/AC/type": "Mains\n"}
    mouse = {"/sys/class/power_supply/hid0/type": "Battery\n", "/sys/class/power_supply/hid0/scope": "Device\n"}
    assert read(write_tree(tmp_path / "laptop", battery)).portable is True
    assert read(write_tree(tmp_path / "server", mouse)).portable is False


@pytest.mark.parametrize(
    ("release", "version"),
    [("5.15.0-91-generic", (5, 15, 0)), ("6.19-rc3", (6, 19, 0)), ("4.18.0-553.el8.x86_64", (4, 18, 0)), ("x", None)],
)
def test_versions(release: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(release) == version


def test_the_banner_tells_the_release_too(tmp_path: Path) -> None:
    platform = read(write_tree(tmp_path, {"/proc/version": "Linux version 5.4.17-2102 (me@build) (gcc) #1 SMP\n"}))
    assert platform.kernel_version == (5, 4, 17)
    assert evidence_path(platform, "kernel_release") == "/proc/version"
    assert parse_release("FreeBSD 14") is None


def test_words_of_the_command_line_keep_values_only_where_they_name_nobody(tmp_path: Path) -> None:
    text = 'BOOT_IMAGE=/vmlinuz root=UUID=1-2 iommu=pt isolcpus=2-3 ip=10.0.0.7::h nvme_core.io_timeout=9 dyndbg="a b"'
    platform = read(write_tree(tmp_path, {"/proc/cmdline": text + " quiet -- secret\n"}))
    assert platform.cmdline == (
        "BOOT_IMAGE",
        "root",
        "iommu=pt",
        "isolcpus=2-3",
        "ip",
        "nvme_core.io_timeout=9",
        "dyndbg",
        "quiet",
    )


@pytest.mark.parametrize(
    "word", ["intel_iommu=on", "pci=noacs", "transparent_hugepage=never", "processor.max_cstate=1"]
)
def test_words_that_rules_look_at_are_kept(word: str) -> None:
    assert shown_word(word) == word


def test_quotes_hold_words_together() -> None:
    assert parse_cmdline('a="b c" d "e=f g" -- h') == ("a=b c", "d", "e=f g")


def test_pressure_is_off_where_the_file_is_missing_or_refuses(tmp_path: Path) -> None:
    some = {"/proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"}
    assert read(write_tree(tmp_path / "on", some)).pressure_available is True
    assert read(write_capture(tmp_path / "off", {})).pressure_available is False
