"""Interrupts: whose they are, where they go, who may move them; irqbalance; packet steering."""

import tarfile
from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._interrupts import parse_cpus, parse_interrupts
from advisor.probes._irqbalance import FILES, WANTS, parse_settings
from advisor.probes.irq import Irq, IrqDevice, read
from tests.trees import write_capture, write_link, write_tree

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
shared = pytest.mark.shared
needs_hosts = pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
PCI = "/sys/bus/pci/devices"
NIC, NVME = f"{PCI}/0000:3b:00.0", f"{PCI}/0000:5e:00.0"
TABLE = """            CPU0       CPU2       CPU5
   8:          1          0          0  IR-IO-APIC    8-edge      rtc0
  40:          0         11 4294967295  IR-PCI-MSI 524288-edge      mlx5_comp0@pci:0000:3b:00.0
  41:          3          0          0  IR-PCI-MSI 524289-edge      a name, another
  50:          0          0          7  IR-PCI-MSIX-0000:5e:00.0    0-edge      nvme0q0
  51:          2          0          0  IR-PCI-MSIX-0000:5e:00.0    1-edge      nvme0q1
 NMI:          1          1          1   Non-maskable interrupts
 ERR:          0
"""


def vector(number: int, cpus: str = "0-5", effective: str = "2", hint: str = "00000000,00000000") -> dict[str, str]:
    folder = f"/proc/irq/{number}"
    return {
        f"{folder}/smp_affinity": "3f\n",
        f"{folder}/smp_affinity_list": cpus + "\n",
        f"{folder}/effective_affinity_list": effective + "\n",
        f"{folder}/affinity_hint": hint + "\n",
        f"{folder}/node": "0\n",
    }


MACHINE = {
    f"{NIC}/class": "0x020000\n",
    f"{NIC}/msi_irqs/40": "msix\n",
    f"{NIC}/msi_irqs/41": "msix\n",
    f"{NVME}/class": "0x010802\n",
    f"{NVME}/msi_irqs/50": "msix\n",
    f"{NVME}/msi_irqs/51": "msix\n",
    f"{PCI}/0000:00:1f.0/class": "0x060100\n",
    "/proc/interrupts": TABLE,
    **vector(40, hint="00000000,00000004"),
    **vector(41, effective="5"),
    **vector(50),
    **vector(51, cpus="0,2", effective="0"),
}


def modes(**by_number: int) -> dict[str, int]:
    return {f"/proc/irq/{number.removeprefix('irq')}/smp_affinity": mode for number, mode in by_number.items()}


def machine(folder: Path, moded: dict[str, int]) -> Host:
    """A capture of the machine with the bits of its files; the drives' driver is nvme."""
    write_link(folder / "fs", f"{NVME}/driver", "../../../bus/pci/drivers/nvme")
    return write_capture(folder, MACHINE, modes=moded)


def by_kind(irq: Irq) -> dict[str | None, IrqDevice]:
    assert irq.devices is not None
    return {device.kind: device for device in irq.devices}


def test_vectors_of_nics_and_drives_are_read(tmp_path: Path) -> None:
    host = write_tree(tmp_path, MACHINE)
    devices = by_kind(read(host))
    assert set(devices) == {"nic", "nvme"}
    assert devices["nic"].vector_count == 2
    first, second = devices["nic"].vectors or ()
    assert (first.number, first.name, first.affinity_list) == (40, "mlx5_comp0@pci:0000:3b:00.0", "0-5")
    assert (first.effective_cpus, first.hint_cpus, first.numa_node) == ((2,), (2,), 0)
    assert (second.name, second.effective_cpus, second.hint_cpus) == ("a name, another", (5,), ())
    assert evidence_path(first, "hint_cpus") == "/proc/irq/40/affinity_hint"
    assert evidence_path(first, "count") == "/proc/interrupts"


def test_counts_belong_to_the_cpus_of_the_heading(tmp_path: Path) -> None:
    first = (by_kind(read(write_tree(tmp_path, MACHINE)))["nic"].vectors or ())[0]
    assert (first.counted_cpus, first.counts, first.count) == ((2, 5), (11, 4294967295), 4294967306)


def test_read_only_files_are_those_of_managed_interrupts(tmp_path: Path) -> None:
    host = machine(tmp_path, modes(irq40=0o644, irq41=0o644, irq50=0o644, irq51=0o444))
    devices = by_kind(read(host))
    assert [vector.managed for vector in devices["nic"].vectors or ()] == [False, False]
    assert [vector.managed for vector in devices["nvme"].vectors or ()] == [False, True]
    assert (devices["nic"].managed_count, devices["nvme"].managed_count) == (0, 1)


def test_where_files_do_not_tell_the_driver_does(tmp_path: Path) -> None:
    host = machine(tmp_path, modes(irq40=0o644, irq41=0o644, irq50=0o644, irq51=0o644))
    devices = by_kind(read(host))
    assert [vector.managed for vector in devices["nic"].vectors or ()] == [False, False]
    assert [vector.managed for vector in devices["nvme"].vectors or ()] == [None, True]
    assert devices["nvme"].managed_count is None


def test_bits_of_a_plain_tree_are_those_of_its_copy(tmp_path: Path) -> None:
    host = write_tree(tmp_path, MACHINE)
    nic = by_kind(read(host))["nic"]
    assert [one.managed for one in nic.vectors or ()] == [None, None]
    assert host.gaps[evidence_path((nic.vectors or ())[0], "managed")] == "not captured"


def test_a_file_that_all_vectors_lack_is_one_gap(tmp_path: Path) -> None:
    files = {path: text for path, text in MACHINE.items() if "effective" not in path}
    host = write_capture(tmp_path, {**files, **{f"/proc/irq/{n}/node": "-1\n" for n in (40, 41, 50, 51)}})
    nic = by_kind(read(host))["nic"]
    vector = (nic.vectors or ())[0]
    assert (vector.effective_cpus, vector.numa_node) == (None, None)
    assert host.gaps[evidence_path(vector, "effective_cpus")] == "absent"
    assert host.gaps[evidence_path(vector, "numa_node")] == "unsupported"
    assert not [path for path in host.gaps if path.startswith("/proc/irq/4")]


def test_a_hidden_folder_of_interrupts_is_one_gap(tmp_path: Path) -> None:
    files = {path: text for path, text in MACHINE.items() if not path.startswith("/proc/")}
    host = write_capture(tmp_path, files)
    nic = by_kind(read(host))["nic"]
    vector = (nic.vectors or ())[0]
    assert (nic.vector_count, vector.number, vector.affinity_list, vector.count) == (2, 40, None, None)
    assert host.gaps[evidence_path(vector, "affinity_list")] == "absent"
    assert host.gaps[evidence_path(vector, "count")] == "absent"
    assert not [path for path in host.gaps if path.startswith("/proc/irq/")]


def test_the_table_tells_whose_vectors_are_where_the_device_does_not(tmp_path: Path) -> None:
    files = {path: text for path, text in MACHINE.items() if "msi_irqs" not in path}
    host = write_tree(tmp_path, files)
    devices = by_kind(read(host))
    assert [vector.number for vector in devices["nvme"].vectors or ()] == [50, 51]
    assert evidence_path(devices["nvme"], "vectors") == "/proc/interrupts"
    assert devices["nic"].vectors is None
    assert host.gaps[evidence_path(devices["nic"], "vectors")] == "not captured"


def test_a_device_without_messages_has_no_vector(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{NIC}/class": "0x020000\n", "/proc/interrupts": TABLE})
    assert by_kind(read(host))["nic"].vectors == ()


def test_no_device_is_known_only_where_absence_is(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "capture", {})).devices == ()
    assert read(write_tree(tmp_path / "tree", {})).devices is None


def test_where_interrupts_go_stays_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, MACHINE))
    text = committed_json(Snapshot(Source(kind="tree"), {"irq": facts}, {}))
    assert '"vector_count": 2' in text
    assert "mlx5_comp0" not in text


@pytest.mark.parametrize(
    ("line", "name", "address"),
    [
        ("  24:  1  0  IO-APIC   5-edge      ACPI:Ged", "ACPI:Ged", None),
        ("  24:  1  0  IO-APIC-edge      timer", "timer", None),
        ("  24:  1  0  IO-APIC  22-fasteoi   virtio1, eth0", "virtio1, eth0", None),
        ("  24:  1  0  PCI-MSIX-10000:01:00.0   0-edge      nvme0q0", "nvme0q0", "10000:01:00.0"),
        ("  24:  1  0  IR-PCI-MSIX-0000:01:00.0   0-edge", None, "0000:01:00.0"),
        ("  24:  1  0  ITS-MSI 524288 Edge      mlx5_comp0", "mlx5_comp0", None),
        ("  24:  1  0     GICv3  27 Level     arch_timer", "arch_timer", None),
        ("  24:  1  0", None, None),
    ],
    ids=["edge", "old", "shared", "long domain", "without a name", "arm64 message", "arm64 line", "without a chip"],
)
def test_rows(line: str, name: str | None, address: str | None) -> None:
    (row,) = parse_interrupts(f"   CPU0 CPU1\n{line}\n")
    assert (row.number, row.name, row.pci_address, row.counts) == (24, name, address, {0: 1})


@pytest.mark.parametrize(
    "text",
    ["", "  0: 45 IO-APIC-edge timer\n", "  CPU0 CPU1\n  24: 1\n", "  CPU0 CPU1\n  24: a b c\n", "  CPU0\n  NMI: 1\n",
     "  CPU0\n  9999999999: 1\n", "  CPU0 CPUX\n 24: 1 2 x\n"],
    ids=["nothing", "no heading", "cut", "no numbers", "letters", "huge number", "strange heading"],
)  # fmt: skip
def test_rows_that_say_nothing_are_left_out(text: str) -> None:
    assert list(parse_interrupts(text)) == []


@pytest.mark.parametrize(
    ("columns", "counts"),
    [
        pytest.param("          0          7        105", {2: 7, 5: 105}, id="as the kernel writes it"),
        pytest.param(" 4294967295          0          0", {0: 4294967295}, id="the largest count"),
        pytest.param("  0  7  105", {2: 7, 5: 105}, id="narrow columns"),
        pytest.param("       0  7          0          1", {2: 7, 5: 0}, id="two numbers in one column"),
        pytest.param("          0                     1", None, id="a column is empty"),
    ],
)
def test_counts_go_to_the_cpus_of_their_columns(columns: str, counts: dict[int, int] | None) -> None:
    rows = list(
        parse_interrupts(f"            CPU0       CPU2       CPU5\n  24: {columns}  IR-PCI-MSI 1-edge  nvme0q1\n")
    )
    wanted = None if counts is None else {cpu: count for cpu, count in counts.items() if count}
    assert [row.counts for row in rows] == ([] if wanted is None else [wanted])


def test_a_table_without_heading_is_a_gap(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**MACHINE, "/proc/interrupts": "  0:  45  IO-APIC-edge  timer\n"})
    assert (by_kind(read(host))["nic"].vectors or ())[0].count is None
    assert host.gaps["/proc/interrupts"] == "unsupported"


SLICE = "/sys/fs/cgroup/system.slice"


@pytest.mark.parametrize(
    ("files", "running"),
    [
        ({f"{SLICE}/irqbalance.service/cgroup.procs": "812\n"}, True),
        ({"/sys/fs/cgroup/systemd/system.slice/irqbalance.service/cgroup.procs": "812\n"}, True),
        ({f"{SLICE}/irqbalance.service/cgroup.procs": ""}, False),
        ({f"{SLICE}/sshd.service/cgroup.procs": "9\n"}, False),
        ({"/sys/fs/cgroup/cgroup.procs": "9\n"}, None),
    ],
    ids=["runs", "runs under version 1", "has ended", "other services only", "no services in sight"],
)
def test_irqbalance_is_seen_by_its_service(tmp_path: Path, files: dict[str, str], running: bool | None) -> None:
    host = write_capture(tmp_path, files)
    irqbalance = read(host).irqbalance
    assert irqbalance is not None
    assert irqbalance.running is running
    if running is None:
        assert Snapshot(Source(), {}, host.gaps).gap(evidence_path(irqbalance, "running")) == "absent"


def test_a_tree_does_not_tell_that_irqbalance_is_not_there(tmp_path: Path) -> None:
    irqbalance = read(write_tree(tmp_path, {f"{SLICE}/sshd.service/cgroup.procs": "9\n"})).irqbalance
    assert irqbalance is not None
    assert (irqbalance.running, irqbalance.enabled, irqbalance.banned_cpus) == (None, None, None)


def test_the_settings_of_irqbalance_are_read(tmp_path: Path) -> None:
    text = 'IRQBALANCE_ONESHOT=yes\n#IRQBALANCE_ARGS="-d"\nIRQBALANCE_BANNED_CPUS=0000000f,00000000\n'
    host = write_tree(tmp_path, {FILES[1]: text})
    write_link(tmp_path, WANTS, "/usr/lib/systemd/system/irqbalance.service")
    irqbalance = read(host).irqbalance
    assert irqbalance is not None
    assert (irqbalance.settings_file, irqbalance.enabled, irqbalance.oneshot) == (FILES[1], True, True)
    assert (irqbalance.banned_cpus, irqbalance.arguments) == ((32, 33, 34, 35), ())


def test_settings_that_make_no_sense_are_a_gap(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {FILES[0]: "IRQBALANCE_BANNED_CPULIST=some\n"})
    irqbalance = read(host).irqbalance
    assert irqbalance is not None
    assert irqbalance.banned_cpus is None
    assert host.gaps[FILES[0]] == "unsupported"


QUEUES = "/sys/class/net/ens1/queues"


def test_steering_adds_up_the_queues(tmp_path: Path) -> None:
    files = {
        "/sys/class/net/ens1/device/": "",
        f"{QUEUES}/rx-0/rps_cpus": "00000000,0000000c\n",
        f"{QUEUES}/rx-0/rps_flow_cnt": "4096\n",
        f"{QUEUES}/rx-1/rps_cpus": "00000000,00000000\n",
        f"{QUEUES}/rx-1/rps_flow_cnt": "0\n",
        f"{QUEUES}/tx-0/xps_cpus": "00000001,00000001\n",
    }
    (one,) = read(write_tree(tmp_path, files)).steering or ()
    assert (one.rx_queues, one.rps_queues, one.rps_cpus, one.rps_flow_entries) == (2, 1, (2, 3), 4096)
    assert (one.tx_queues, one.xps_queues, one.xps_cpus) == (1, 1, (0, 32))


def test_queues_that_cannot_be_read_are_one_gap(tmp_path: Path) -> None:
    queues = {f"{QUEUES}/{name}/{file}": text for name, file, text in (
        ("rx-0", "rps_cpus", "no mask\n"), ("rx-0", "rps_flow_cnt", "0\n"), ("tx-0", "tx_timeout", "0\n"),
        ("tx-1", "tx_timeout", "0\n"))}  # fmt: skip
    host = write_capture(tmp_path, {"/sys/class/net/ens1/device/": "", **queues})
    (one,) = read(host).steering or ()
    assert (one.rps_cpus, one.rps_flow_entries, one.xps_queues, one.tx_queues) == (None, 0, None, 2)
    assert host.gaps[evidence_path(one, "rps_cpus")] == "unsupported"
    assert host.gaps[evidence_path(one, "xps_queues")] == "absent"
    assert f"{QUEUES}/tx-1/xps_cpus" not in host.gaps


def test_the_live_host_agrees_with_its_own_table() -> None:
    host = LiveHost.here()
    text = host.text("/proc/interrupts") or ""
    cpus = set(parse_cpus(text))
    for device in read(host).devices or ():
        for one in device.vectors or ():
            assert set(one.counted_cpus or ()) <= cpus
            assert one.name is None or one.name in text


@shared
@needs_hosts
def test_real_tables_are_understood(tmp_path: Path) -> None:
    host = open_root(str(HOSTS / "openshift-nto/master.internal.sysinfo.tgz"))
    devices = {device.pci_address: device for device in read(host).devices or ()}
    drive = devices["0000:b1:00.0"]
    assert (drive.kind, drive.driver, drive.vector_count) == ("nvme", "nvme", 113)
    names = [one.name for one in drive.vectors or ()]
    assert names == [f"nvme0q{n}" for n in range(113)]
    # A drive's queues are spread by the kernel: each goes to one CPU of those it may go to.
    assert all(len(one.effective_cpus or ()) == 1 for one in drive.vectors or ())
    with tarfile.open(HOSTS / "openshift-nto/master.internal.sysinfo.tgz") as archive:
        file = archive.extractfile("proc/interrupts")
        assert file is not None
        lines = file.read().decode().split("\n")
    for one in drive.vectors or ():
        line = next(line for line in lines if line.startswith(f"{one.number:4}:"))
        assert one.count == sum(map(int, line.split()[1:113]))


@shared
@needs_hosts
def test_real_short_tables_are_understood() -> None:
    text = (HOSTS / "insights-core/interrupts/INT_SINGLE.txt").read_text()
    rows = {row.number: (row.name, row.counts) for row in parse_interrupts(text)}
    assert rows[0] == ("timer", {0: 45})
    assert rows[7] == ("parport0", {})
    assert list(parse_interrupts((HOSTS / "insights-core/interrupts/INT_INVALID_1.txt").read_text())) == []
    settings = next((HOSTS / "insights-core/sysconfig_irqbalance").glob("*.txt")).read_text()
    assert parse_settings(settings)["IRQBALANCE_BANNED_CPUS"] == "f8"
