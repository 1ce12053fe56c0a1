"""The kernel's command line: values by name, and what it says of the IOMMU and of PCI."""

from pathlib import Path

import pytest

from advisor.host.boot_words import shown_word
from advisor.model.facts import evidence_path
from advisor.probes._cmdline import parse_cmdline
from advisor.probes.boot import Boot, boot_of, read
from tests.trees import write_capture, write_tree


def boot(text: str) -> Boot:
    return boot_of(parse_cmdline(text))


def test_parameters_have_their_values_in_order() -> None:
    found = boot('hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=512 quiet isolcpus="managed_irq,domain,2-9" nosmt')
    assert found.parameters == {
        "hugepagesz": ("1G", "2M"),
        "hugepages": ("16", "512"),
        "quiet": (),
        "isolcpus": ("managed_irq,domain,2-9",),
        "nosmt": (),
    }


def test_names_with_dashes_and_underscores_are_one() -> None:
    found = boot("module-blacklist=nouveau module_blacklist=nvidiafb nvme-core.io_timeout=9")
    assert found.parameters == {"module_blacklist": ("nouveau", "nvidiafb"), "nvme_core.io_timeout": ("9",)}


def test_what_names_the_host_has_no_value() -> None:
    found = boot(
        "root=UUID=1b2c ip=10.0.0.7::gw::node17 sysctl.kernel.hostname=node17 sysctl.vm.swappiness=1 -- node17"
    )
    assert found.parameters == {"root": (), "ip": (), "sysctl.kernel.hostname": (), "sysctl.vm.swappiness": ("1",)}
    assert "node17" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("text", "passthrough"),
    [
        ("iommu=pt", True),
        ("intel_iommu=on iommu=pt", True),
        ("iommu=force,pt", True),
        ("iommu=pt iommu=nopt", False),
        ("iommu.passthrough=1", True),
        ("iommu.passthrough=0 iommu.passthrough=on", True),
        ("iommu.passthrough=0", False),
        ("iommu=pt iommu.passthrough=0", False),
        ("iommu.passthrough=0 iommu=pt", True),
        ("iommu=pt iommu=force", True),
        ("iommu.passthrough=maybe", None),
        ("intel_iommu=on", None),
        ("quiet", None),
    ],
)
def test_whether_dma_shall_pass_untranslated(text: str, passthrough: bool | None) -> None:
    assert boot(text).iommu_passthrough is passthrough


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("iommu.strict=0", False),
        ("intel_iommu=on,strict", True),
        ("amd_iommu=fullflush iommu.strict=0", True),
        ("iommu=pt", None),
    ],
)
def test_how_soon_entries_are_dropped(text: str, strict: bool | None) -> None:
    assert boot(text).iommu_strict is strict


def test_options_of_pci_and_iommu_are_split() -> None:
    found = boot("pci=realloc=on,noats pci=disable_acs_redir=0000:00:1c.0;pci:8086:2030,pcie_bus_perf amd_iommu=off")
    devices = ("0000:00:1c.0", "pci:8086:2030")
    assert found.pci == ("realloc=on", "noats", "disable_acs_redir=" + ";".join(devices), "pcie_bus_perf")
    assert (found.acs_redirection_off, found.amd_iommu, found.intel_iommu, found.iommu) == (devices, ("off",), (), ())


def test_what_is_not_told_is_absent_and_not_off(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/proc/cmdline": "ro quiet\n"})
    found = read(host)
    assert (found.iommu, found.iommu_passthrough) == ((), None)
    assert host.gaps[evidence_path(found, "iommu_passthrough")] == "absent"


def test_without_the_file_nothing_is_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    assert read(host) == Boot(origin="/proc/cmdline")
    assert host.gaps["/proc/cmdline"] == "not captured"


@pytest.mark.parametrize(
    "word",
    [
        *("isolcpus=1-3", "nohz_full=1-3", "rcu_nocbs=1-3", "mitigations=off", "iommu=pt", "intel_iommu=on"),
        *("amd_iommu=off", "iommu.passthrough=1", "iommu.strict=0", "pci=realloc", "default_hugepagesz=1G"),
        *("hugepages=8", "transparent_hugepage=never", "processor.max_cstate=1", "intel_idle.max_cstate=0"),
        *("cpufreq.default_governor=performance", "intel_pstate=disable", "amd_pstate=active", "numa=off"),
        *("numa_balancing=disable", "psi=1", "systemd.unified_cgroup_hierarchy=1", "cgroup.memory=nokmem"),
        *(
            "init_on_alloc=0",
            "init_on_free=0",
            "nosmt=force",
            "audit=0",
            "pcie_aspm=off",
            "pcie_acs_override=downstream",
        ),
    ],
)
def test_words_that_matter_keep_their_values(word: str) -> None:
    assert shown_word(word) == word


@pytest.mark.parametrize(
    "word", ["root=/dev/sda1", "ip=10.0.0.7", "BOOT_IMAGE=/vmlinuz", "cryptdevice=x", "password=y"]
)
def test_all_others_lose_them(word: str) -> None:
    assert shown_word(word) == word.partition("=")[0]
