"""What was kept of an emulated server with a real kernel: facts that its making decides."""

import pytest

from advisor.commands._snapshot import derive, probe_host
from advisor.host.captured import open_root
from advisor.model.snapshot import Snapshot
from tests.real_sources import KEPT
from tests.vm.test_emulated_machine import look

MIB = 1 << 20
TRUTH = [
    ("block.md[md0].level", "raid5", "mdadm --level=5"),
    ("block.md[md0].raid_disks", 3, "--raid-devices=3"),
    ("block.md[md0].consistency_policy", "bitmap", "--bitmap=internal"),
    ("block.md[md0].stripe_cache_entries", 512, "md/stripe_cache_size"),
    ("block.md[md0].sync_action", "recover", "it was being built"),
    ("block.md[md0].label", "server:scratch", "--homehost=server --name=scratch"),
    ("block.lvm[set].stripes", 2, "lvcreate -i 2"),
    ("block.lvm[set].stripe_bytes", 65536, "lvcreate -I 64"),
    ("block.lvm[logs].segment_type", "linear", "lvcreate"),
    ("block.devices[vdd].holders", ["dm-0", "dm-1"], "the volumes lie on it"),
    ("net.interfaces[bond0].bond_mode", "802.3ad", "bonding/mode"),
    ("net.interfaces[bond0].bond_hash_policy", "layer3+4", "bonding/xmit_hash_policy"),
    ("net.interfaces[bond0].bond_lacp_rate", "fast", "bonding/lacp_rate 1"),
    ("net.interfaces[bond0].bond_members", ["eth0", "eth1"], "bonding/slaves"),
    ("net.interfaces[bond1].bond_active_member", "eth2", "its only member"),
    ("net.interfaces[eth0].master", "bond0", "bonding/slaves"),
    ("net.interfaces[eth3.42].vlan_id", 42, "vconfig add"),
    ("net.interfaces[eth3.42].lower", ["eth3"], "vconfig add"),
    ("rdma.devices[rxe0].ports[1].link_layer", "Ethernet", "rdma link add"),
    ("cgroup.cpu_quota_cpus", 2.5, "cpu.max"),
    ("cgroup.memory_high_bytes", 600 * MIB, "memory.high"),
    ("cgroup.memory_swap_limit_bytes", 32 * MIB, "memory.swap.max"),
    ("limits.services[containerd].memlock_unlimited", False, "as init left it"),
    ("shm.memory_policy", "interleave:0-1", "mount -o mpol="),
    ("shm.segments[torch_].used_bytes", 2 * MIB, "dd"),
    ("boot.acs_redirection_off", ["pci:1b36:000c"], "pci=disable_acs_redir="),
    ("boot.iommu_strict", False, "iommu.strict=0"),
    ("nvme.controllers[nvme0].critical_warning", 0, "a drive without a fault"),
    ("tuned.profile", "hpc-compute", "active_profile"),
    ("system.taints", ["requested by user"], "kernel.tainted 64"),
]


@pytest.fixture(scope="module")
def server() -> Snapshot:
    snapshot, defects = probe_host(open_root(str(KEPT)))
    assert defects == ()
    return derive(snapshot, None)


@pytest.mark.parametrize(("path", "true", "why"), TRUTH, ids=[path for path, _, _ in TRUTH])
def test_the_truth_is_found(path: str, true: object, why: str, server: Snapshot) -> None:
    assert look(server, path) == true, why
