"""Two hosts are compared by meaning: what is the same, what differs, what cannot be compared."""

from collections.abc import Mapping

from advisor.model.difference import Difference, differences
from advisor.model.facts import Facts, GapState
from advisor.model.snapshot import Snapshot, Source
from advisor.probes._gpu_models import GpuDevice
from advisor.probes.gpu import Gpu
from advisor.probes.memory import Memory
from advisor.probes.mounts import Mount, Mounts
from advisor.probes.pci import Device, Pci
from advisor.probes.sysctl import Sysctl, SysctlLine


def host(gaps: Mapping[str, GapState] | None = None, **facts: Facts) -> Snapshot:
    return Snapshot(Source(kind="live"), facts, gaps or {})


def sysctl(*lines: tuple[str, str, int], **values: object) -> Sysctl:
    found = tuple(
        SysctlLine(key=key, value=value, path="/etc/sysctl.d/9.conf", line=line) for key, value, line in lines
    )
    return Sysctl.model_validate({"origin": "/proc/sys", "configured": found or None, **values})


def test_a_value_that_differs_is_told_with_both() -> None:
    found = differences(host(sysctl=sysctl(vm_swappiness=60)), host(sysctl=sysctl(vm_swappiness=10)))
    assert found == (Difference("sysctl.vm_swappiness", "changed", 60, 10),)


def test_a_value_that_one_side_could_not_read_is_no_difference() -> None:
    a, b = host({"/proc/sys/vm/swappiness": "denied"}, sysctl=sysctl()), host(sysctl=sysctl(vm_swappiness=10))
    assert differences(a, b) == (Difference("sysctl.vm_swappiness", "not comparable", "unknown (denied)", 10),)


def test_a_value_that_one_kernel_lacks_is_one() -> None:
    a, b = host({"/proc/sys/vm/swappiness": "absent"}, sysctl=sysctl()), host(sysctl=sysctl(vm_swappiness=10))
    assert differences(a, b) == (Difference("sysctl.vm_swappiness", "only in B", None, 10),)
    assert differences(b, a) == (Difference("sysctl.vm_swappiness", "only in A", 10, None),)


def test_lines_that_only_moved_are_the_same() -> None:
    a = host(sysctl=sysctl(("vm.swappiness", "1", 3), ("vm.laptop_mode", "1", 4)))
    b = host(sysctl=sysctl(("vm.laptop_mode", "1", 1), ("vm.swappiness", "1", 9)))
    assert differences(a, b) == ()


def test_a_line_that_is_there_once_more_is_told() -> None:
    twice = ("vm.swappiness", "1", 3), ("vm.swappiness", "3", 4)
    a, b = host(sysctl=sysctl(*twice)), host(sysctl=sysctl(twice[0], ("vm.swappiness", "2", 4)))
    assert [(one.fact, one.kind) for one in differences(a, b)] == [
        ("sysctl.configured", "only in A"),
        ("sysctl.configured", "only in B"),
    ]


def device(address: str, width: int) -> Device:
    return Device(origin=f"/sys/bus/pci/devices/{address}", address=address, kind="nic", link_width=width)


def test_items_are_matched_by_their_place_not_their_order() -> None:
    a = host(pci=Pci(devices=(device("0000:3b:00.0", 16), device("0000:3c:00.0", 16))))
    b = host(pci=Pci(devices=(device("0000:3c:00.0", 8), device("0000:5e:00.0", 16))))
    assert [(one.fact, one.kind) for one in differences(a, b)] == [
        ("pci.devices[0000:3b:00.0]", "only in A"),
        ("pci.devices[0000:3c:00.0].link_width", "changed"),
        ("pci.devices[0000:5e:00.0]", "only in B"),
    ]


def test_items_of_one_file_are_matched_by_their_name() -> None:
    a, b = (
        host(mounts=Mounts(mounts=tuple(Mount(origin="/m", point=p, fstype=t, kind="local") for p, t in rows)))
        for rows in ((("/", "ext4"), ("/data", "xfs")), (("/data", "ext4"), ("/", "ext4")))
    )
    assert differences(a, b) == (Difference("mounts.mounts[/data].fstype", "changed", "xfs", "ext4"),)


def test_a_place_is_named_by_what_differs_in_it() -> None:
    gpus = tuple(GpuDevice(origin=f"/proc/driver/nvidia/gpus/{a}/information", index=i) for i, a in enumerate("ab"))
    found = differences(host(gpu=Gpu(gpus=gpus)), host(gpu=Gpu(gpus=gpus[:1])))
    assert [one.fact for one in found] == ["gpu.gpus[b]"]


def test_what_changes_by_itself_is_left_out() -> None:
    a, b = host(memory=Memory(available_bytes=1, total_bytes=8)), host(memory=Memory(available_bytes=2, total_bytes=8))
    assert differences(a, b) == ()


def test_a_section_that_was_not_read_is_not_comparable() -> None:
    found = differences(host(sysctl=sysctl()), host())
    assert found == (Difference("sysctl", "not comparable", "read", "not read"),)
