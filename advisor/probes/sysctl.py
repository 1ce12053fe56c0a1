"""Kernel parameters below /proc/sys, and what the sysctl.d files ask for.

A field's name is the key with underscores; its `File` mark is the path, so ``vm.dirty_ratio`` is ``vm_dirty_ratio``.
Meaning of the keys: https://docs.kernel.org/admin-guide/sysctl/ and https://docs.kernel.org/networking/ip-sysctl.html
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Seen, SeenAs, Volatile, marks
from advisor.probes._collected import Collected
from advisor.probes._dropins import Line, drop_ins, file_text

ORIGIN = "/proc/sys"
FOLDERS = tuple(f"{top}/sysctl.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
SYSCTL_CONF = "/etc/sysctl.conf"
SYSTEMD = ("/usr/lib/systemd/systemd-sysctl", "/lib/systemd/systemd-sysctl")
"""Reads sysctl.d alone; sysctl.conf counts for it only where a link in sysctl.d leads there."""
_PRIVATE = ("hostname", "domainname", "stable_secret", "tcp_fastopen_key")
"""Last parts of keys whose values name the host or are secret."""


class SysctlLine(Facts):
    """One assignment in a sysctl.d file or in ``/etc/sysctl.conf``."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = (
        "/etc/sysctl.d/*.conf, /etc/sysctl.conf, /run/sysctl.d/*.conf, "
        "/usr/local/lib/sysctl.d/*.conf, /usr/lib/sysctl.d/*.conf, /lib/sysctl.d/*.conf"
    )
    key: Annotated[str, "with dots between its parts, as sysctl(8) prints it"]
    value: str
    path: str
    line: int
    ignore_errors: Annotated[bool, "the line starts with -"] = False
    pattern: Annotated[bool, "the key holds * or ?"] = False
    wins: Annotated[bool, "no later line sets the same key"] = True
    live: Annotated[str | None, "the value in force, one blank between words; none for a pattern"] = None


class Sysctl(Facts):
    """Values in force and the lines that ask for values at boot. Units are those that the key's name states."""

    seen: ClassVar[Seen | None] = "host"
    vm_swappiness: Annotated[int | None, File("vm/swappiness"), "0..200"] = None
    vm_dirty_ratio: Annotated[int | None, File("vm/dirty_ratio"), "percent; 0 when vm_dirty_bytes is set"] = None
    vm_dirty_background_ratio: Annotated[int | None, File("vm/dirty_background_ratio"), "percent"] = None
    vm_dirty_bytes: Annotated[int | None, File("vm/dirty_bytes"), "0 when the ratio is set"] = None
    vm_dirty_background_bytes: Annotated[int | None, File("vm/dirty_background_bytes")] = None
    vm_dirty_expire_centisecs: Annotated[int | None, File("vm/dirty_expire_centisecs")] = None
    vm_dirty_writeback_centisecs: Annotated[int | None, File("vm/dirty_writeback_centisecs")] = None
    vm_zone_reclaim_mode: Annotated[int | None, File("vm/zone_reclaim_mode"), "bit mask"] = None
    vm_min_free_kbytes: Annotated[int | None, File("vm/min_free_kbytes")] = None
    vm_max_map_count: Annotated[int | None, File("vm/max_map_count")] = None
    vm_overcommit_memory: Annotated[int | None, File("vm/overcommit_memory"), "0, 1, or 2 (strict)"] = None
    vm_overcommit_ratio: Annotated[int | None, File("vm/overcommit_ratio"), "percent"] = None
    vm_vfs_cache_pressure: Annotated[int | None, File("vm/vfs_cache_pressure")] = None
    vm_watermark_scale_factor: Annotated[int | None, File("vm/watermark_scale_factor")] = None
    vm_compaction_proactiveness: Annotated[int | None, File("vm/compaction_proactiveness")] = None
    vm_nr_hugepages: Annotated[int | None, File("vm/nr_hugepages")] = None
    kernel_numa_balancing: Annotated[int | None, File("kernel/numa_balancing"), "0 off, 1 on, 2 tiering"] = None
    kernel_perf_event_paranoid: Annotated[int | None, File("kernel/perf_event_paranoid")] = None
    kernel_task_delayacct: Annotated[int | None, File("kernel/task_delayacct")] = None
    kernel_pid_max: Annotated[int | None, File("kernel/pid_max")] = None
    kernel_threads_max: Annotated[int | None, File("kernel/threads-max")] = None
    kernel_dmesg_restrict: Annotated[int | None, File("kernel/dmesg_restrict")] = None
    kernel_tainted: Annotated[int | None, File("kernel/tainted"), "bit mask"] = None
    kernel_shmmax: Annotated[int | None, File("kernel/shmmax"), "bytes"] = None
    kernel_shmall: Annotated[int | None, File("kernel/shmall"), "pages"] = None
    kernel_shmmni: Annotated[int | None, File("kernel/shmmni")] = None
    kernel_sched_autogroup_enabled: Annotated[int | None, File("kernel/sched_autogroup_enabled")] = None
    kernel_nmi_watchdog: Annotated[int | None, File("kernel/nmi_watchdog")] = None
    kernel_timer_migration: Annotated[int | None, File("kernel/timer_migration")] = None
    kernel_yama_ptrace_scope: Annotated[int | None, File("kernel/yama/ptrace_scope")] = None
    fs_file_max: Annotated[int | None, File("fs/file-max"), "open files of the whole host"] = None
    fs_nr_open: Annotated[int | None, File("fs/nr_open"), "most that any process may open"] = None
    fs_file_nr: Annotated[tuple[int, ...] | None, File("fs/file-nr"), Volatile(), "open, free, most"] = None
    fs_aio_max_nr: Annotated[int | None, File("fs/aio-max-nr"), "asynchronous requests of the whole host"] = None
    fs_aio_nr: Annotated[int | None, File("fs/aio-nr"), Volatile(), "asynchronous requests in use"] = None
    fs_inotify_max_user_instances: Annotated[int | None, File("fs/inotify/max_user_instances")] = None
    fs_inotify_max_user_watches: Annotated[int | None, File("fs/inotify/max_user_watches")] = None
    net_core_rmem_max: Annotated[int | None, SeenAs("own"), File("net/core/rmem_max"), "bytes"] = None
    net_core_wmem_max: Annotated[int | None, SeenAs("own"), File("net/core/wmem_max"), "bytes"] = None
    net_core_rmem_default: Annotated[int | None, SeenAs("own"), File("net/core/rmem_default"), "bytes"] = None
    net_core_wmem_default: Annotated[int | None, SeenAs("own"), File("net/core/wmem_default"), "bytes"] = None
    net_core_optmem_max: Annotated[int | None, SeenAs("own"), File("net/core/optmem_max"), "bytes"] = None
    net_core_netdev_max_backlog: Annotated[
        int | None, SeenAs("own"), File("net/core/netdev_max_backlog"), "packets"
    ] = None
    net_core_netdev_budget: Annotated[int | None, SeenAs("own"), File("net/core/netdev_budget"), "packets"] = None
    net_core_netdev_budget_usecs: Annotated[int | None, SeenAs("own"), File("net/core/netdev_budget_usecs")] = None
    net_core_somaxconn: Annotated[int | None, SeenAs("own"), File("net/core/somaxconn"), "connections"] = None
    net_core_default_qdisc: Annotated[str | None, SeenAs("own"), File("net/core/default_qdisc")] = None
    net_core_busy_poll: Annotated[int | None, SeenAs("own"), File("net/core/busy_poll"), "microseconds"] = None
    net_core_busy_read: Annotated[int | None, SeenAs("own"), File("net/core/busy_read"), "microseconds"] = None
    net_core_rps_sock_flow_entries: Annotated[int | None, SeenAs("own"), File("net/core/rps_sock_flow_entries")] = None
    net_ipv4_tcp_rmem: Annotated[
        tuple[int, ...] | None, SeenAs("own"), File("net/ipv4/tcp_rmem"), "least, first, most bytes"
    ] = None
    net_ipv4_tcp_wmem: Annotated[
        tuple[int, ...] | None, SeenAs("own"), File("net/ipv4/tcp_wmem"), "least, first, most bytes"
    ] = None
    net_ipv4_tcp_mem: Annotated[
        tuple[int, ...] | None, SeenAs("own"), File("net/ipv4/tcp_mem"), "low, pressure, high pages"
    ] = None
    net_ipv4_tcp_congestion_control: Annotated[str | None, SeenAs("own"), File("net/ipv4/tcp_congestion_control")] = (
        None
    )
    net_ipv4_tcp_available_congestion_control: Annotated[
        str | None, SeenAs("own"), File("net/ipv4/tcp_available_congestion_control"), "names with blanks between"
    ] = None
    net_ipv4_tcp_slow_start_after_idle: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/tcp_slow_start_after_idle")
    ] = None
    net_ipv4_tcp_timestamps: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_timestamps"), "0, 1 or 2"] = None
    net_ipv4_tcp_sack: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_sack")] = None
    net_ipv4_tcp_window_scaling: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_window_scaling")] = None
    net_ipv4_tcp_mtu_probing: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_mtu_probing"), "0, 1 or 2"] = None
    net_ipv4_tcp_moderate_rcvbuf: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_moderate_rcvbuf")] = None
    net_ipv4_tcp_no_metrics_save: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_no_metrics_save")] = None
    net_ipv4_tcp_notsent_lowat: Annotated[int | None, SeenAs("own"), File("net/ipv4/tcp_notsent_lowat"), "bytes"] = None
    net_ipv4_tcp_low_latency: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/tcp_low_latency"), "no effect since 4.14"
    ] = None
    net_ipv4_ip_local_port_range: Annotated[
        tuple[int, ...] | None, SeenAs("own"), File("net/ipv4/ip_local_port_range")
    ] = None
    net_ipv4_conf_all_rp_filter: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/conf/all/rp_filter"), "0, 1 or 2"
    ] = None
    net_ipv4_conf_default_rp_filter: Annotated[int | None, SeenAs("own"), File("net/ipv4/conf/default/rp_filter")] = (
        None
    )
    net_ipv4_conf_all_arp_ignore: Annotated[int | None, SeenAs("own"), File("net/ipv4/conf/all/arp_ignore")] = None
    net_ipv4_conf_all_arp_announce: Annotated[int | None, SeenAs("own"), File("net/ipv4/conf/all/arp_announce")] = None
    net_ipv4_neigh_default_gc_thresh1: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/neigh/default/gc_thresh1")
    ] = None
    net_ipv4_neigh_default_gc_thresh2: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/neigh/default/gc_thresh2")
    ] = None
    net_ipv4_neigh_default_gc_thresh3: Annotated[
        int | None, SeenAs("own"), File("net/ipv4/neigh/default/gc_thresh3")
    ] = None
    sunrpc_tcp_slot_table_entries: Annotated[int | None, File("sunrpc/tcp_slot_table_entries")] = None
    sunrpc_tcp_max_slot_table_entries: Annotated[int | None, File("sunrpc/tcp_max_slot_table_entries")] = None
    configured: Annotated[
        tuple[SysctlLine, ...] | None, "assignments of the sysctl.d files in the order in which they are applied"
    ] = None


COLLECTED = Collected(
    models=((ORIGIN, Sysctl),),
    folders=tuple((folder, "*.conf") for folder in FOLDERS),
    files=(SYSCTL_CONF,),
    there=SYSTEMD,
)


def read(host: Host) -> Sysctl:
    """The kernel parameters of ``host``."""
    return read_fields(host, Sysctl, ORIGIN, configured=_configured(host), origins={"configured": FOLDERS[0]})


def live_value(sysctl: Sysctl, key: str) -> tuple[str | None, str]:
    """The value of ``key`` (``vm.swappiness``, also with slashes) as the kernel prints it, and its path.

    Without a value the path is where its gap stands; a key that no field reads has no value and no gap.
    """
    name = key_file(key)
    path = f"{ORIGIN}/{name}"
    field = next((f for f, mark in marks(Sysctl).items() if mark.file is not None and mark.file.name == name), None)
    value = None if field is None else getattr(sysctl, field)
    if value is None:
        return None, path
    return "\t".join(map(str, value)) if isinstance(value, tuple) else str(value), path


def key_file(key: str) -> str:
    """The file of a key below ``/proc/sys``; the first of ``.`` and ``/`` in it is what separates its parts."""
    first = next((char for char in key if char in "./"), "/")
    return key if first == "/" else key.translate(str.maketrans("./", "/."))


def _configured(host: Host) -> tuple[SysctlLine, ...] | None:
    """The lines of all files, in the order in which they are applied."""
    files = drop_ins(host, FOLDERS)
    if files is None:
        return None
    linked = any(path.endswith("/99-sysctl.conf") for path in files)
    if not linked and not any(host.exists(program) for program in SYSTEMD):
        # Without systemd it is procps that applies the files, and this one after all others.
        files = (*files, SYSCTL_CONF)
    found = [line for path in files for line in parse_sysctl_lines(file_text(host, path) or "", path)]
    last = {line.key: number for number, line in enumerate(found)}
    return tuple(_in_force(host, line, last[line.key] == number) for number, line in enumerate(found))


def _in_force(host: Host, line: SysctlLine, wins: bool) -> SysctlLine:
    """``line`` with the value that the kernel has, read for lines that win."""
    update: dict[str, object] = {"wins": wins}
    if wins and not line.pattern:
        path = f"{ORIGIN}/{key_file(line.key)}"
        text = host.text(path)
        update |= {"live": None if text is None else " ".join(text.split()), "origins": {"live": path}}
    return line.model_copy(update=update)


def parse_sysctl_lines(text: str, path: str) -> tuple[SysctlLine, ...]:
    """The assignments in a sysctl.d file. Samples: ``vm.swappiness = 10``, ``-net/ipv4/conf/eth0.5/rp_filter=2``

    A backslash at the end of a line, or of a comment, means nothing to systemd-sysctl and sysctl(8).
    """
    rows = ((number, raw.strip()) for number, raw in enumerate(text.split("\n"), 1))
    lines = (Line(row, path, number) for number, row in rows if row and row[0] not in "#;")
    return tuple(line for raw in lines if (line := _line(raw)) is not None)


def _line(raw: Line) -> SysctlLine | None:
    """One assignment; ``None`` for a line that only takes a key out of patterns (``-key``), and for private keys."""
    name, equals, value = raw.text.partition("=")
    ignore = name.startswith("-")
    name = name.lstrip("-").strip().lstrip("/")
    key = key_name(name)
    parts = key_file(name).split("/")
    if not equals or any(part in ("", ".", "..") for part in parts) or parts[-1] in _PRIVATE:
        return None
    return SysctlLine(
        origin=raw.path,
        key=key,
        value=" ".join(value.split()),
        path=raw.path,
        line=raw.number,
        ignore_errors=ignore,
        pattern=any(char in key for char in "*?["),
    )


def key_name(key: str) -> str:
    """A key with dots between its parts; a dot inside a part (an interface ``eth0.5``) becomes a slash."""
    return key_file(key).translate(str.maketrans("./", "/."))
