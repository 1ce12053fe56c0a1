"""The summary that `advisor probe` prints: the host in some lines, and what could not be read."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from advisor.derived.budget import Budget
from advisor.derived.topology import Topology
from advisor.figures import cpulist_text, size_text
from advisor.inputs import printable
from advisor.model.facts import GapState
from advisor.model.snapshot import Snapshot
from advisor.probes.block import Block
from advisor.probes.cpu import Cpu
from advisor.probes.given_topology import GivenTopology
from advisor.probes.gpu import Gpu
from advisor.probes.limits import Limits
from advisor.probes.memory import Memory
from advisor.probes.net import Interface, Net
from advisor.probes.numa import Numa
from advisor.probes.platform import Platform
from advisor.probes.rdma import Rdma
from advisor.probes.shm import Shm

_NAME_WIDTH = 10
_GAPS: tuple[tuple[GapState, str], ...] = (
    ("denied", "not allowed; root would see them"),
    ("timed out", "did not answer in time"),
    ("unsupported", "there, but the device or kernel gives no answer"),
    ("error", "could not be read"),
    ("distrusted", "read, but not believed: it contradicts another file"),
    ("not captured", "not in the capture"),
)
_NAMED_PATHS = 3


def summary(snapshot: Snapshot) -> str:
    """Lines for a terminal: one subject a line, ``unknown`` where nothing could be learnt, then the gaps."""
    rows = [(name, line(snapshot)) for name, line in _LINES]
    width = _NAME_WIDTH
    lines = [f"{name:{width}} {printable(text)}" for name, text in rows]
    return "\n".join([*lines, *_given_lines(snapshot), *_growth_lines(snapshot), *_gap_lines(snapshot)])


def _platform(snapshot: Snapshot) -> str:
    found = snapshot.get(Platform) or Platform()
    kind = {True: "virtual machine", False: "bare metal", None: "unknown whether virtual"}[found.virtual]
    if found.hypervisor:
        kind += f" ({found.hypervisor})"
    inside = {True: f"in a container ({found.container_kind or 'kind unknown'})", False: "not in a container"}
    words = [kind, inside.get(bool(found.container)) if found.container is not None else "unknown whether a container"]
    words += [f"cloud {found.cloud}"] if found.cloud else []
    return ", ".join([*(word for word in words if word), f"kernel {found.kernel_release or 'unknown'}"])


def _cpus(snapshot: Snapshot) -> str:
    cpu = snapshot.get(Cpu) or Cpu()
    budget = snapshot.get(Budget)
    counts = [
        f"{_count(None if cpu.online is None else len(cpu.online), 'CPU')} online",
        _count(cpu.cores, "core"),
        _count(cpu.packages, "package"),
    ]
    usable = "unknown" if budget is None or budget.cpus is None else str(budget.cpus)
    bound = f" (bound by {', '.join(budget.bound_by)})" if budget is not None and budget.bound_by else ""
    return f"{cpu.model or 'model unknown'}: {', '.join(counts)}; usable here: {usable}{bound}"


def _numa(snapshot: Snapshot) -> str:
    nodes = (snapshot.get(Numa) or Numa()).nodes
    if nodes is None:
        return "unknown"
    parts = [f"node {node.number}: CPUs {cpulist_text(node.cpus)}, {size_text(node.memory_bytes)}" for node in nodes]
    return "; ".join(parts) or "none"


def _memory(snapshot: Snapshot) -> str:
    memory = snapshot.get(Memory) or Memory()
    shm = snapshot.get(Shm) or Shm()
    budget = snapshot.get(Budget)
    usable = size_text(budget.memory_bytes if budget is not None else None)
    swap = size_text(memory.swap_total_bytes)
    return f"{size_text(memory.total_bytes)}, usable here {usable}, swap {swap}, /dev/shm {size_text(shm.size_bytes)}"


def _gpus(snapshot: Snapshot) -> str:
    gpu = snapshot.get(Gpu) or Gpu()
    if gpu.gpus is None:
        return "unknown"
    names = Counter(one.name or f"{one.vendor or 'unknown'} GPU" for one in gpu.gpus)
    driver = f"; driver {gpu.driver_version}" if gpu.driver_version else ""
    return (", ".join(f"{count} x {name}" for name, count in sorted(names.items())) or "none") + driver


def _network(snapshot: Snapshot) -> str:
    interfaces = (snapshot.get(Net) or Net()).interfaces
    if interfaces is None:
        return "unknown"
    return ", ".join(_interface(one) for one in interfaces if one.physical) or "no physical interface visible"


def _interface(one: Interface) -> str:
    speed = "speed unknown" if one.speed_mbps is None else f"{one.speed_mbps / 1000:g} Gb/s"
    return f"{one.name} ({one.driver or 'driver unknown'}, {speed}, {one.operstate or 'state unknown'})"


def _rdma(snapshot: Snapshot) -> str:
    rdma = snapshot.get(Rdma) or Rdma()
    if rdma.devices is None:
        return "unknown"
    return (
        f"{_count(len(rdma.devices), 'device')}, {_count(rdma.active_ports, 'active port')}" if rdma.devices else "none"
    )


def _storage(snapshot: Snapshot) -> str:
    devices = (snapshot.get(Block) or Block()).devices
    if devices is None:
        return "unknown"
    return ", ".join(f"{one.name} ({one.kind}, {size_text(one.size_bytes)})" for one in devices) or "none"


def _limits(snapshot: Snapshot) -> str:
    limits = snapshot.get(Limits) or Limits()
    memlock = _limit(limits.memlock_unlimited, limits.memlock_soft_bytes, size_text)
    return f"locked memory {memlock}, open files {_limit(limits.nofile_unlimited, limits.nofile_soft, str)}"


def _limit(unlimited: bool | None, value: int | None, text: Callable[[int], str]) -> str:
    if unlimited:
        return "unlimited"
    return "unknown" if value is None else text(value)


def _count(number: int | None, noun: str) -> str:
    if number is None:
        return f"unknown number of {noun}s"
    return f"{number} {noun}" + ("" if number == 1 else "s")


_LINES: Sequence[tuple[str, Callable[[Snapshot], str]]] = (
    ("Platform", _platform),
    ("CPU", _cpus),
    ("NUMA", _numa),
    ("Memory", _memory),
    ("GPU", _gpus),
    ("Network", _network),
    ("RDMA", _rdma),
    ("Storage", _storage),
    ("Limits", _limits),
)


def _growth_lines(snapshot: Snapshot) -> Iterator[str]:
    """How much was read twice; which counter grew by how much is in the JSON, and rules tell what it means."""
    sample = snapshot.sample
    if sample is None or not sample.seconds:
        return
    grew = sum(grown > 0 for grown in sample.growth.values())
    every, unknown = len(sample.growth) + len(sample.unknown), len(sample.unknown)
    lost = f", {unknown} cannot be compared" if unknown else ""
    apart = f"{min(sample.seconds.values()):.3g} s apart"
    yield f"{'Counters':{_NAME_WIDTH}} read twice, {apart}: {grew} of {every} grew{lost}"


def _given_lines(snapshot: Snapshot) -> Iterator[str]:
    """Where files given beside the host say something else, or are cut."""
    sections = (snapshot.get(Gpu) or Gpu(), snapshot.get(Topology) or Topology())
    differing = [one for section in sections for one in section.disagreements or ()]
    for one in differing[:_NAMED_PATHS]:
        values = f": here {one.here or 'none'}, there {one.given or 'none'}" if one.given is not None else ""
        yield printable(f"{'Differs':{_NAME_WIDTH}} {one.subject}, {one.what}{values} ({one.origin}); kept the host's")
    if len(differing) > _NAMED_PATHS:
        yield f"{'Differs':{_NAME_WIDTH}} and {len(differing) - _NAMED_PATHS} more; are the files of this host?"
    given = snapshot.get(GivenTopology) or GivenTopology()
    for places in (given.topo_m, given.nccl):
        if places is not None and places.incomplete:
            cut = ", ".join(places.incomplete)
            yield printable(f"{'Cut':{_NAME_WIDTH}} {places.origin}: what it says of {cut} is not whole")


def _gap_lines(snapshot: Snapshot) -> Iterator[str]:
    """What could not be read, by reason. What is absent is a fact, not a gap."""
    for state, meaning in _GAPS:
        paths = sorted(path for path, reason in snapshot.gaps.items() if reason == state)
        if paths:
            named = ", ".join(printable(path) for path in paths[:_NAMED_PATHS])
            more = f" and {len(paths) - _NAMED_PATHS} more" if len(paths) > _NAMED_PATHS else ""
            yield f"{'Gaps':{_NAME_WIDTH}} {len(paths)} {meaning}: {named}{more}"
