"""What advisor never writes, whoever asks: settings that lose data, break the host or have no effect.

Rows for targets that are only ever suggested (mount, cmdline, block, pci, raid, command) stand here too, so that
there is one list.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from advisor.model.setting import Rank

_SYSCTL_VM = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_SYSCTL_KERNEL = "https://docs.kernel.org/admin-guide/sysctl/kernel.html"
_SYSCTL_NET = "https://docs.kernel.org/admin-guide/sysctl/net.html"
_IP_SYSCTL = "https://docs.kernel.org/networking/ip-sysctl.html"
_PARAMETERS = "https://docs.kernel.org/admin-guide/kernel-parameters.html"
_NFS = "https://man7.org/linux/man-pages/man5/nfs.5.html"
_LD_SO = "https://man7.org/linux/man-pages/man8/ld.so.8.html"
_BASH = "https://www.gnu.org/software/bash/manual/html_node/Bash-Variables.html"
_MLX5 = "https://github.com/torvalds/linux/blob/master/drivers/net/ethernet/mellanox/mlx5/core/main.c"
_EXT4 = "https://docs.kernel.org/admin-guide/ext4.html"
_ZFS = "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html"
_STORCLI = "https://docs.broadcom.com/doc/12352476"
_QUEUE = "https://docs.kernel.org/block/queue-sysfs.html"
_PCI = "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci"
_SWAPOFF = "https://man7.org/linux/man-pages/man8/swapon.8.html"
_TMPFS = "https://docs.kernel.org/filesystems/tmpfs.html"


@dataclass(frozen=True)
class Denied:
    """Keys and values (shell patterns) of one target that are never written."""

    target: str
    key: str
    value: str
    reason: str
    source: str
    operator_may: bool = False
    """Only rules and trials are denied: it starts a program, which must be the operator's own decision."""


def _rows(source: str, *rows: tuple[str, str, str, str], operator_may: bool = False) -> tuple[Denied, ...]:
    return tuple(Denied(*row, source, operator_may) for row in rows)


DENIED: tuple[Denied, ...] = (
    *_rows(
        _SYSCTL_VM,
        ("sysctl", "vm.drop_caches", "*", "it throws the page cache away once and is no setting"),
        ("sysctl", "vm.zone_reclaim_mode", "*", "it evicts cached data, and authorities disagree about it"),
        ("sysctl", "vm.min_free_kbytes", "*", "set too high it runs the host out of memory at once"),
    ),
    *_rows(
        _IP_SYSCTL,
        ("sysctl", "net.ipv4.tcp_timestamps", "0", "it costs the measurement of round-trip times"),
        ("sysctl", "net.ipv4.tcp_sack", "0", "one lost packet then resends a whole window"),
        ("sysctl", "net.ipv4.tcp_mem", "*", "the kernel sizes it from memory at boot, in pages"),
    ),
    *_rows(
        _SYSCTL_NET,
        ("sysctl", "net.core.rmem_default", "*", "it grows every socket of the host"),
        ("sysctl", "net.core.wmem_default", "*", "it grows every socket of the host"),
    ),
    *_rows(
        _SYSCTL_KERNEL,
        ("sysctl", "kernel.core_pattern", "*", "the kernel runs what it names"),
        ("sysctl", "kernel.hotplug", "*", "the kernel runs what it names"),
        ("sysctl", "kernel.modprobe", "*", "the kernel runs what it names"),
        operator_may=True,
    ),
    *_rows(_MLX5, ("modprobe", "mlx5_core.log_max_*", "*", "mlx5_core has no such parameter; the kernel ignores it")),
    *_rows(_LD_SO, ("env", "LD_*", "*", "it loads code into every process of the job"), operator_may=True),
    *_rows(
        _BASH,
        ("env", "BASH_ENV", "*", "every shell of the job would run it"),
        ("env", "ENV", "*", "every shell of the job would run it"),
        ("env", "BASHOPTS", "*", "it changes how every shell of the job reads scripts"),
        ("env", "SHELLOPTS", "*", "it changes how every shell of the job reads scripts"),
        ("env", "IFS", "*", "it changes how every shell of the job splits words"),
    ),
    *_rows(
        _PARAMETERS,
        ("cmdline", "mitigations", "off", "it removes the host's protection between users"),
        ("cmdline", "isolcpus", "*", "the scheduler no longer places loader workers there"),
    ),
    *_rows(
        _EXT4,
        ("mount", "*", "nobarrier", "a power loss then loses data that was reported as written"),
        ("mount", "*", "barrier=0*", "a power loss then loses data that was reported as written"),
        ("mount", "*", "barrier=+0*", "a power loss then loses data that was reported as written"),
    ),
    *_rows(
        _NFS,
        ("mount", "*", "noac", "every stat and write then waits for the NFS server"),
        ("mount", "*", "soft", "a time-out of the NFS server then loses writes silently"),
    ),
    *_rows(_ZFS, ("zfs", "compression", "off", "lz4 costs next to nothing and saves reads")),
    *_rows(_STORCLI, ("raid", "wrcache", "awb", "without a charged battery a power loss loses data")),
    *_rows(_QUEUE, ("block", "*write_cache", "write through", "the kernel then no longer flushes the disk's cache")),
    *_rows(_PCI, ("pci", "*numa_node", "*", "it taints the kernel; the firmware must say it")),
    *_rows(_SWAPOFF, ("command", "*", "swapoff*", "memory that does not fit is then killed instead of swapped")),
    *_rows(_TMPFS, ("command", "*", "rm */dev/shm*", "a running job may still use the segment")),
)


def denied(target: str, key: str, value: str, rank: Rank) -> Denied | None:
    """The row that forbids this setting, if any."""
    if target == "cmdline" and "." in key:
        # The kernel command line sets them as well: sysctl.KEY=, MODULE.PARAMETER=
        meant, name = ("sysctl", key.removeprefix("sysctl.")) if key.startswith("sysctl.") else ("modprobe", key)
        return denied(meant, name, value, rank)
    for row in DENIED:
        if row.operator_may and rank == "operator":
            continue
        if row.target == target and fnmatchcase(key, row.key) and fnmatchcase(value.strip().lower(), row.value):
            return row
    return None
