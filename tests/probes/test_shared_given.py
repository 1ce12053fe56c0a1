"""Real matrices, topology files and nvidia-smi logs: counted against the text by other means than ours."""

import re
from collections import Counter
from pathlib import Path

import pytest

from advisor.probes._nccl_xml import nccl_distance, parse_nccl_topo
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._topo_matrix import parse_topo
from advisor.probes._xml import NotReadable

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]


def files(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in HOSTS.glob(pattern))


# File, GPUs, network cards, and how often each relation of a GPU stands in it, as the facts beside it say.
FACTS = [
    ("club-3090-1229_2x5090_PHB", 2, 0, {"PHB": 1}),
    ("deepep-ibstatus-thread_8xA100_8roce", 8, 8, {"NV12": 28, "PXB": 16, "NODE": 16, "SYS": 32}),
    ("go-gpuallocator-17_8x4090_2nic", 8, 2, {"SYS": 42, "PHB": 2}),
    ("horovod-969_4gpu_dualroot", 4, 0, {"PHB": 2, "SYS": 4}),
    ("horovod-969_4gpu_singleroot", 4, 0, {"PIX": 2, "PHB": 4}),
    ("mle_2gpu_NV2", 2, 0, {"NV2": 1}),
    ("mle_8xA100_NV12", 8, 0, {"NV12": 28}),
    ("mle_8xH100_NV18", 8, 0, {"NV18": 28}),
    ("mle_8xH100_NV18_smt", 8, 0, {"NV18": 28}),
    ("nccl-1435_8xA100_6nic_NPS4_cut", 8, 6, {"NV12": 28, "PXB": 8, "SYS": 39}),
    ("nccl-1453_8xH100_9nic_VM", 8, 9, {"NV18": 28, "PIX": 8, "NODE": 24, "SYS": 40}),
    ("nccl-243_6gpu_2ib", 6, 2, {"PIX": 4, "NODE": 8, "SYS": 15}),
    ("nccl-667_4gpu_PXB-SYS-PIX", 4, 0, {"PXB": 1, "PIX": 1, "SYS": 4}),
    ("nccl-tests-293_2xA100pcie_1nic", 2, 1, {"SYS": 3}),
    ("sglang-report_8xH100_8nic_aligned", 8, 8, {"NV18": 28, "PIX": 8, "NODE": 24, "SYS": 32}),
]


@pytest.mark.parametrize(("name", "gpus", "cards", "relations"), FACTS, ids=[row[0] for row in FACTS])
def test_a_real_matrix_says_what_was_seen_in_it(name: str, gpus: int, cards: int, relations: dict[str, int]) -> None:
    text = (HOSTS / f"topo-m/{name}.txt").read_text()
    matrix = parse_topo(text)
    with_gpu = [relation for (a, b), relation in matrix.relations.items() if "GPU" in a + b]
    numbers = [matrix.index(device) for device in matrix.devices]
    assert (numbers.count(None), len(numbers) - numbers.count(None)) == (cards, gpus)
    assert Counter(with_gpu) == relations
    assert matrix.incomplete == (("GPU7",) if "_cut" in name else ())
    cpus = [row.cpus for row in matrix.rows.values() if row.cpus]
    assert all(cpu in text for cpu in cpus)
    assert len(cpus) == gpus - ("_cut" in name)


def test_every_real_matrix_is_checked() -> None:
    assert [path.stem for path in files("topo-m/*.txt")] == sorted(row[0] for row in FACTS)


@pytest.mark.parametrize("path", files("nvidia_gpu_exporter/*.txt"), ids=lambda path: path.stem)
def test_a_matrix_is_found_inside_a_longer_text(path: Path) -> None:
    matrix = parse_topo(path.read_text())
    assert (matrix.devices, matrix.incomplete) == (("GPU0",), ())
    assert matrix.rows["GPU0"].numa_node == 0


@pytest.mark.parametrize("path", files("nccl-topo/*/*.xml"), ids=lambda path: path.stem)
def test_a_real_topology_has_the_devices_that_the_text_has(path: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.S)
    if "<graphs" in text:
        with pytest.raises(NotReadable, match="holds <graphs>"):
            parse_nccl_topo(text)
        return
    devices = parse_nccl_topo(text)
    gpus = [device for device in devices if device.kind == "gpu"]
    cards = [device for device in devices if device.kind == "nic"]
    told = text.count("<gpu ")
    assert len(gpus) == (told or len(re.findall(r'class="0x0302', text)))
    assert sum(len(card.nets) for card in cards) == text.count("<net ") - text.count('name="veth')
    assert all(re.search(device.address.lstrip("0") or "0", text, re.I) for device in devices)
    assert sum(sum(gpu.links.values()) for gpu in gpus) == sum(
        int(count) for count in re.findall(r'<(?:xgmi|nvlink) target="[^"]*" count="([0-9]+)"', text)
    )
    assert {nccl_distance(gpu, card) for gpu in gpus for card in cards} <= {"PIX", "PXB", "PHB", "SYS"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("azhpc-images/ndv5-topo", {"PIX": 8, "PHB": 24, "SYS": 32}),
        ("azhpc-images/ndv4-topo", {"PIX": 16, "SYS": 48}),
        ("aws-ofi-nccl/p5.48xl-topo", {"PIX": 32, "PHB": 224}),
        ("oci-hpc/topo-flattened", {"PIX": 16, "SYS": 48}),
        ("rccl/topo_8p_4nics", {"PXB": 8, "SYS": 24}),
    ],
)
def test_distances_in_real_topologies(name: str, expected: dict[str, int]) -> None:
    devices = parse_nccl_topo((HOSTS / f"nccl-topo/{name}.xml").read_text())
    gpus, cards = ([device for device in devices if device.kind == kind] for kind in ("gpu", "nic"))
    assert Counter(nccl_distance(gpu, card) for gpu in gpus for card in cards) == expected


@pytest.mark.parametrize("path", files("telegraf/nvidia_smi/*.xml", "netdata/nvidia_smi/*.xml"), ids=lambda p: p.stem)
def test_a_real_log_says_what_stands_in_it(path: Path) -> None:
    text = path.read_text()
    answers = parse_smi_xml(text)
    gpus = answers["gpus"]
    assert isinstance(gpus, list)
    assert len(gpus) == text.count("<gpu id=")
    version = re.search(r"<driver_version>([^<]*)<", text)
    assert answers["driver_version"] == (version[1] if version else None)
    for gpu in gpus:
        assert f"<product_name>{gpu['name']}<" in text
        assert f"<uuid>{gpu['uuid']}<" in text
        if gpu["memory_total_bytes"] is not None:
            assert f"<total>{gpu['memory_total_bytes'] >> 20} MiB<" in text
        if gpu["power_default_limit_milliwatts"] is not None:
            watts = gpu["power_default_limit_milliwatts"] / 1000
            assert f"<default_power_limit>{watts:.2f} W<" in text
        assert f"<performance_state>P{gpu['performance_state']}<" in text
        if gpu["throttle_reasons"] is not None:
            active = len(re.findall(r"<clocks_(?:event|throttle)_reason_\w+>Active<", text))
            assert gpu["throttle_reasons"].bit_count() == active
