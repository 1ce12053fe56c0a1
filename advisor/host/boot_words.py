"""Words of the kernel command line: which say how the machine runs, and which may name it."""

import re

_SHOWN = re.compile(
    r"(?:(?:amd_|intel_)?iommu|(?:amd|intel)_pstate|pcie?|(?:default_)?hugepages(?:z)?|transparent_hugepage|isolcpus|nohz"
    r"|nohz_full|rcu_nocbs|irqaffinity|mitigations|numa|numa_balancing|psi|init_on_(?:alloc|free)|nosmt|audit|maxcpus"
    r"|nr_cpus|mem|swapaccount|elevator|clocksource|tsc|idle|skew_tick|(?:nmi_)?watchdog|preempt|selinux|apparmor"
    r"|crashkernel|swiotlb|acpi|hpet|movable_node|cgroup_disable|cgroup_no_v1|module_blacklist"
    r"|(?:modprobe|rd\.driver)\.blacklist|systemd\.unified_cgroup_hierarchy|net\.ifnames"
    r"|pcie_(?:aspm|ports|port_pm|hp|acs_override)|pci_stub\.ids|intremap|irqpoll|kthread_cpus|memmap|kernelcore"
    r"|movablecore|cma|numa_cma|hugetlb_(?:cma|free_vmemmap)|thp_anon|thp_shmem|mce|noirqdebug|threadirqs|softlockup_panic"
    r"|nmi_watchdog|randomize_kstack_offset|slub_debug|slab_debug|page_owner|numa_zonelist_order|nokaslr|efi|pti|l1tf|mds"
    r"|tsx|tsx_async_abort|srbds|spectre_v2(?:_user)?|spectre_bhi|spec_store_bypass_disable|spec_rstack_overflow|retbleed"
    r"|mmio_stale_data|gather_data_sampling|reg_file_data_sampling|sysctl\.(?:vm|net)[./].*"
    r"|(?:iommu|processor|intel_idle|cpufreq|cpuidle|cgroup|zswap|nvme|nvme_core|nouveau|nvidia\w*|mlx\w+|scsi_mod|dm_mod"
    r"|kvm\w*|workqueue|rcutree|rcupdate|pcie?\w*|vfio\w*|ib_\w+|rdma_\w+|ice|i40e|ixgbe|bnxt_\w+|ena|efa|gve|irdma|zfs"
    r"|spl|md_mod|raid\d+|megaraid_sas|mpt3sas|smartpqi|aacraid|sched|printk|psi)\..*)"
)
"""Words of the command line that are kept with their values; the others may name the host, its disks or its servers."""


def shown_word(word: str) -> str:
    """A word of the command line fit for a file that others read: ``root=UUID=...`` becomes ``root``."""
    name = word.partition("=")[0]
    # The kernel takes - and _ in names for the same.
    return word if _SHOWN.fullmatch(name.replace("-", "_")) else name
