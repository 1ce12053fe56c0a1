"""Files of nvidia-smi and NCCL that are given beside a machine: what is read out of them, and what is refused."""

from collections import Counter
from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes import given_topology, gpu
from advisor.probes._given import KINDS, NCCL_TOPO, SMI_XML, TOPO_M
from advisor.probes._nccl_xml import nccl_distance, parse_nccl_topo
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._topo_matrix import parse_topo
from advisor.probes._xml import NotReadable, parse_xml
from tests.given_files import NCCL_NEAR, SMI_GPU, nccl_topo, smi_gpu, smi_xml
from tests.given_files import TOPO_M as MATRIX
from tests.trees import write_capture, write_tree

MIB = 1024 * 1024


def first(text: str) -> dict[str, object]:
    gpus = parse_smi_xml(text)["gpus"]
    assert isinstance(gpus, list)
    found: dict[str, object] = gpus[0]
    return found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "NVIDIA H100 80GB HBM3"),
        ("bus_id", "0000:3b:00.0"),
        ("memory_total_bytes", 81559 * MIB),
        ("persistence_mode", True),
        ("mig_mode", False),
        ("pcie_generation", 4),
        ("pcie_width", 8),
        ("pcie_max_width", 16),
        ("pcie_gpu_max_generation", 5),
        ("pcie_replays", 3),
        ("power_limit_milliwatts", 650_000),
        ("power_enforced_limit_milliwatts", 650_000),
        ("power_default_limit_milliwatts", 700_000),
        ("power_usage_milliwatts", 612_250),
        ("performance_state", 0),
        ("throttle_reasons", 0x84),
        ("compute_mode", 3),
        ("ecc_mode", True),
        ("ecc_pending_mode", False),
        ("remapped_rows_pending", True),
        ("remapped_rows_failed", False),
        ("retired_pages_pending", None),
        ("compute_processes", [4711]),
        ("lost", False),
    ],
)
def test_a_field_of_nvidia_smi_is_what_nvml_would_answer(field: str, value: object) -> None:
    assert first(smi_xml(SMI_GPU))[field] == value


@pytest.mark.parametrize(
    ("old", "new", "field", "value", "state"),
    [
        ("<compute_mode>Exclusive_Process", "<compute_mode>[N/A]", "compute_mode", None, "unsupported"),
        ("81559 MiB", "Not Supported", "memory_total_bytes", None, "unsupported"),
        ("81559 MiB", "81559", "memory_total_bytes", None, "error"),
        ("81559 MiB", "-1 MiB", "memory_total_bytes", None, "error"),
        ("61 C", "Requested functionality has been deprecated", "temperature_celsius", None, "unsupported"),
        ("97 %", "Unknown Error", "utilization_percent", None, "error"),
        ("<persistence_mode>Enabled", "<persistence_mode>Insufficient Permissions", "persistence_mode", None, "denied"),
        (">Active</clocks_event_reason_sw", ">N/A</clocks_event_reason_sw", "throttle_reasons", None, "unsupported"),
        ("clocks_event_reason", "clocks_throttle_reason", "throttle_reasons", 0x84, None),
        ("gpu_power_readings", "power_readings", "power_default_limit_milliwatts", 700_000, None),
        ("requested_power_limit", "power_limit", "power_limit_milliwatts", 650_000, None),
        ("average_power_draw", "power_draw", "power_usage_milliwatts", 612_250, None),
        ("pending_retirement>N/A", "pending_blacklist>No", "retired_pages_pending", None, None),
    ],
)
def test_words_are_no_values_and_other_drivers_names_are_known(
    old: str, new: str, field: str, value: object, state: str | None
) -> None:
    text = smi_xml(SMI_GPU.replace(old, new).replace("No</pending_retirement>", "No</pending_blacklist>"))
    answer = first(text)
    if field == "retired_pages_pending":
        value = False
    assert answer[field] == value
    gaps = answer["gaps"]
    assert isinstance(gaps, dict)
    assert gaps.get(field) == state


def test_a_lost_gpu_is_told(tmp_path: Path) -> None:
    text = smi_xml(SMI_GPU.replace("Enabled</persistence_mode>", "[GPU is lost]</persistence_mode>"))
    assert first(text)["lost"] is True


def test_warnings_after_the_log_do_no_harm() -> None:
    text = smi_xml(SMI_GPU) + "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"
    assert first(text)["name"] == "NVIDIA H100 80GB HBM3"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><nvidia_smi_log>&b;</nvidia_smi_log>'


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (SMI_XML, "", "is not XML: line 1: no element found"),
        (
            SMI_XML,
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "is not XML: line 1",
        ),
        (SMI_XML, "<html><body>Not found</body></html>", "it holds <html>, not <nvidia_smi_log>"),
        (SMI_XML, smi_xml(SMI_GPU)[:900], "is not XML: line"),
        (SMI_XML, BOMB, "declares a document type of its own"),
        (SMI_XML, "<a>" * 70, "more than 64 deep"),
        (SMI_XML, "<nvidia_smi_log>" + "<a/>" * 200_001, "more than 200000 elements"),
        (SMI_XML, smi_xml(SMI_GPU) * 2, "more than one output"),
        (SMI_XML, smi_xml(SMI_GPU, attached=8), "holds 1 of 8 GPUs"),
        (SMI_XML, smi_xml(SMI_GPU, SMI_GPU), "one GPU twice"),
        (TOPO_M, "", "is not the output of nvidia-smi topo -m"),
        (TOPO_M, "<html>GPU0</html>", "is not the output of nvidia-smi topo -m"),
        (TOPO_M, MATRIX + MATRIX, "holds 2 matrices (lines 1 and 19)"),
        (TOPO_M, "\tGPU0\tGPU0\tCPU Affinity\n", "names a device twice"),
        (TOPO_M, "\t" + "\t".join(f"GPU{n % 1000}" for n in range(600)) + "\n", "600 devices"),
        (NCCL_TOPO, '<graphs version="1"/>', "it holds <graphs>, not <system>"),
        (NCCL_TOPO, nccl_topo((NCCL_NEAR, NCCL_NEAR)), "holds one device twice"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_another_file_is_refused_in_a_sentence(kind: str, text: str, said: str) -> None:
    with pytest.raises(NotReadable) as caught:
        KINDS[kind].parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_outside_document_type_is_never_looked_at() -> None:
    assert parse_xml('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>x</a>').text == "x"


def test_the_matrix_gives_relations_names_and_affinities() -> None:
    matrix = parse_topo(MATRIX)
    assert matrix.devices == ("GPU0", "GPU1", "NIC0", "NIC1")
    assert matrix.relations == {
        ("GPU0", "GPU1"): "NV18",
        ("GPU0", "NIC0"): "PIX",
        ("GPU0", "NIC1"): "SYS",
        ("GPU1", "NIC0"): "SYS",
        ("GPU1", "NIC1"): "NODE",
        ("NIC0", "NIC1"): "SYS",
    }
    assert matrix.names == {"NIC0": "mlx5_0", "NIC1": "mlx5_4"}
    assert (matrix.rows["GPU1"].cpus, matrix.rows["GPU1"].numa_node) == ("48-95,144-191", 1)
    assert matrix.incomplete == ()


SMALL = "        GPU0  GPU1  mlx5_0  CPU Affinity\nGPU0     X    PIX   PHB     0-7\nGPU1    PIX    X    SOC     0-7\n"


@pytest.mark.parametrize(
    ("text", "relations", "incomplete"),
    [
        (SMALL, "PIX PHB SYS", ()),
        ("$ nvidia-smi topo -m\n" + SMALL, "PIX PHB SYS", ()),
        (SMALL.replace("PHB     0-7", ""), "PIX SYS", ("GPU0",)),
        (SMALL.replace("     0-7\nGPU1", "\nGPU1"), "PIX PHB SYS", ("GPU0",)),
        (SMALL.replace("GPU1    PIX", "GPU1    SYS"), "PHB SYS", ("GPU0", "GPU1")),
        (SMALL.replace("GPU1    PIX    X ", "GPU1     X    PIX"), "PIX PHB", ("GPU1",)),
        (SMALL.rpartition("GPU1")[0], "PIX PHB", ("GPU1",)),
        (SMALL.replace("PIX    X    SOC", "PIX    X    NEAR"), "PIX PHB", ("GPU1",)),
    ],
    ids=["old names", "a prompt before", "cut row", "no affinity", "contradiction", "shifted", "row gone", "new word"],
)
def test_what_is_there_is_read_and_the_rest_is_told(text: str, relations: str, incomplete: tuple[str, ...]) -> None:
    matrix = parse_topo(text)
    assert (" ".join(matrix.relations.values()), matrix.incomplete) == (relations, incomplete)


def test_a_gpu_with_memory_of_its_own_node() -> None:
    text = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0\t1\n"
    assert parse_topo(text).rows["GPU0"].memory_node == 1


def test_nccl_tells_devices_links_and_distances() -> None:
    devices = {device.address: device for device in parse_nccl_topo(nccl_topo())}
    gpu0, gpu1, nic0, nic1 = (devices[a] for a in ("0001:00:00.0", "0002:00:00.0", "0101:00:00.0", "0102:00:00.0"))
    assert (gpu0.kind, gpu0.index, gpu0.compute_capability, gpu0.gdr, gpu1.gdr) == ("gpu", 0, 90, True, False)
    assert (gpu0.numa_node, gpu1.numa_node) == (0, 1)
    assert gpu1.cpus == frozenset(range(16, 32))
    assert (gpu0.link_gtps, gpu0.link_width, nic1.link_gtps, nic1.link_width) == (32.0, 16, 16.0, 8)
    assert gpu0.links == {"0002:00:00.0": 18}
    assert (nic0.nets[0].name, nic0.nets[0].speed_mbps, nic0.nets[0].gdr, nic1.nets) == ("mlx5_0", 400_000, True, ())
    found = [nccl_distance(a, b) for a, b in ((gpu0, nic0), (gpu0, nic1), (gpu1, nic1), (gpu0, gpu1))]
    assert found == ["PIX", "SYS", "PHB", "SYS"]


def test_the_section_has_both_files_each_with_its_evidence(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/version": "x"})
    host.given = {TOPO_M: MATRIX, NCCL_TOPO: nccl_topo()}
    facts = given_topology.read(host)
    assert facts.topo_m is not None
    assert facts.nccl is not None
    assert [(device.name, device.kind, device.index) for device in facts.topo_m.devices][:3] == [
        ("GPU0", "gpu", 0),
        ("GPU1", "gpu", 1),
        ("NIC0", "nic", None),
    ]
    assert [(pair.a, pair.b, pair.distance, pair.links) for pair in facts.topo_m.pairs][:2] == [
        ("GPU0", "GPU1", None, 18),
        ("GPU0", "NIC0", "PIX", None),
    ]
    assert Counter(pair.distance for pair in facts.nccl.pairs) == {"SYS": 3, "PIX": 1, "PHB": 1}
    assert [evidence_path(facts, name) for name in ("topo_m", "nccl")] == ["file: topo-m.txt", "file: nccl-topo.xml"]


def test_without_files_the_section_is_empty_and_nothing_is_missed(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/version": "x"})
    facts = given_topology.read(host)
    assert (facts.topo_m, facts.nccl, host.gaps) == (None, None, {})


def test_a_machine_that_shows_no_bus_has_the_gpus_of_the_file(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/version": "x"})
    host.given = {SMI_XML: smi_xml(smi_gpu("3B"), smi_gpu("5E"))}
    facts = gpu.read(host)
    assert (facts.source, facts.count, facts.driver_version, facts.cuda_version) == (
        "nvidia-smi",
        2,
        "550.90.07",
        "12.4",
    )
    assert facts.gpus is not None
    assert [one.pci_address for one in facts.gpus] == ["0000:3b:00.0", "0000:5e:00.0"]
    assert facts.gpus[0].power_limit_watts == 650.0
    assert evidence_path(facts.gpus[1], "mig_mode") == "file: nvidia-smi.xml/1/mig_mode"
    assert host.gaps["file: nvidia-smi.xml/0/retired_pages_pending"] == "unsupported"


BUS = "/sys/bus/pci/devices/0000:3b:00.0"


def test_the_file_fills_what_the_bus_does_not_tell(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{BUS}/class": "0x030200\n", f"{BUS}/vendor": "0x10de\n"})
    host.given = {SMI_XML: smi_xml(SMI_GPU)}
    facts = gpu.read(host)
    assert facts.gpus is not None
    (one,) = facts.gpus
    assert (one.name, one.memory_total_bytes) == ("NVIDIA H100 80GB HBM3", 81559 * MIB)
    assert evidence_path(one, "name") == "file: nvidia-smi.xml/0/name"
    assert evidence_path(one, "pci_address") == BUS
    assert facts.disagreements == ()


def test_what_nvml_answers_stays_and_the_difference_is_told(tmp_path: Path) -> None:
    told = {"index": 0, "lost": False, "bus_id": "0000:3b:00.0", "gaps": {}, "mig_mode": True, "ecc_mode": None}
    more = {"memory_total_bytes": 81559 * MIB + 1000, "temperature_celsius": 20, "uuid": "GPU-99"}
    nvml = {"driver_version": "560.1.1", "gaps": {}, "gpus": [{**told, **more}], "p2p": []}
    host = write_capture(tmp_path, {}, nvml=nvml)
    host.given = {SMI_XML: smi_xml(SMI_GPU)}
    facts = gpu.read(host)
    assert facts.gpus is not None
    assert facts.disagreements is not None
    assert (facts.source, facts.driver_version, facts.gpus[0].mig_mode, facts.gpus[0].ecc_mode) == (
        "nvml",
        "560.1.1",
        True,
        True,
    )
    assert [(one.subject, one.what, one.here, one.given) for one in facts.disagreements] == [
        ("GPUs", "driver_version", "560.1.1", "550.90.07"),
        ("GPU 0000:3b:00.0", "uuid", None, None),
        ("GPU 0000:3b:00.0", "mig_mode", "true", "false"),
    ]


def test_a_file_of_another_machine_adds_no_gpu(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{BUS}/class": "0x020000\n", f"{BUS}/vendor": "0x15b3\n"})
    host.given = {SMI_XML: smi_xml(SMI_GPU)}
    facts = gpu.read(host)
    assert (facts.gpus, facts.count) == ((), 0)
    assert facts.disagreements is not None
    assert [(one.what, one.here, one.given) for one in facts.disagreements] == [("pci_address", "", "0000:3b:00.0")]


def test_a_capture_without_nvml_has_what_nvidia_smi_printed(tmp_path: Path) -> None:
    files = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Tue\n"}
    host = write_capture(tmp_path, files, outputs={gpu.SMI: smi_xml(SMI_GPU)})
    host.given = {SMI_XML: smi_xml(SMI_GPU.replace("<current_mig>Disabled", "<current_mig>Enabled"))}
    facts = gpu.read(host)
    assert facts.gpus is not None
    assert facts.disagreements is not None
    assert (facts.source, facts.count, facts.gpus[0].mig_mode) == ("nvidia-smi", 1, False)
    assert evidence_path(facts.gpus[0], "mig_mode") == "command: nvidia-smi -q -x/0/mig_mode"
    assert [(one.what, one.here, one.given) for one in facts.disagreements] == [("mig_mode", "false", "true")]


def test_nvidia_smi_that_fails_is_a_gap(tmp_path: Path) -> None:
    files = {"/proc/driver/nvidia/version": "NVRM version: x\n"}
    host = write_capture(tmp_path, files, outputs={gpu.SMI: "NVIDIA-SMI has failed\n"})
    assert gpu.read(host).gpus == ()
    assert host.gaps["command: nvidia-smi -q -x"] == "error"


def test_without_a_driver_nvidia_smi_is_not_asked(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {}, outputs={gpu.SMI: smi_xml(SMI_GPU)})
    assert gpu.read(host).gpus == ()
