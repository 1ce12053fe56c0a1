"""A made-up node of two sockets with fast cards whose queues interrupt here and there, for rules and for irq-affinity.

CPUs 0-3 are one socket and 4-7 the other, two to a core. Nothing here moves interrupts but who writes to /proc/irq.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.model.snapshot import Snapshot, Source
from advisor.probes._irqbalance import Irqbalance
from advisor.probes.irq import Irq
from advisor.targets import interrupts
from tests.plans import generated, needed, ran, wish
from tests.trees import write_capture, write_link, write_tree

CPU = "/sys/devices/system/cpu"
BUS = "/sys/devices/pci0000:3a/0000:3a:00.0"
IB = "/sys/class/infiniband"
CPUS = 8
NAME = "mlx5_comp{n}@pci:{address}"
RULE = "network/interrupts-far-from-card"
NEAR = wish("interrupts", "nic-queues", "near")
XFS, NFS = "36 35 8:1 / /data rw - xfs /dev/sda1 rw\n", "36 35 0:40 / /data rw - nfs4 filer:/data rw,vers=4.2\n"


def quiet_host() -> Snapshot:
    """What is known of a host on which irqbalance neither runs nor starts."""
    return Snapshot(Source(kind="live"), {"irq": Irq(irqbalance=Irqbalance(running=False, enabled=False))}, {})


def installed() -> dict[str, str]:
    """The script and its unit, by their path on the node."""
    made = generated(NEAR, host=quiet_host())
    return {path.removeprefix("host"): text for path, text in made.items() if path.startswith("host/")}


class IrqNode:
    """A node in the folder of a test; its files may be changed before and after it is written."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "capture/fs"
        self.files: dict[str, str | None] = {
            f"{CPU}/online": f"0-{CPUS - 1}\n",
            f"{CPU}/isolated": "\n",
            "/proc/1/comm": "systemd\n",
            "/proc/self/mountinfo": XFS,
            "/sys/fs/cgroup/system.slice/sshd.service/cgroup.procs": "77\n",
        }
        for cpu in range(CPUS):
            first = cpu // 2 * 2
            self.files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{first}-{first + 1}\n"
        self.links: dict[str, str] = {}
        self.names: dict[int, str] = {}

    def card(
        self, name: str, address: str, cpus: Sequence[int], first: int = 40, near: str = "0-3", called: str = NAME
    ) -> str:
        """Adds a card whose queues interrupt ``cpus``, one each, from interrupt ``first`` on; its folder comes back."""
        place = f"{BUS}/{address}"
        self.files |= {f"{place}/class": "0x020000\n", f"{place}/vendor": "0x15b3\n", f"{place}/numa_node": "0\n"}
        self.files[f"{place}/local_cpulist"] = f"{near}\n"
        net = {"type": "1", "speed": "100000", "operstate": "up", "mtu": "9000", "flags": "0x1003"}
        self.files |= {f"{place}/net/{name}/{file}": f"{text}\n" for file, text in net.items()}
        self.links |= {f"/sys/bus/pci/devices/{address}": place, f"/sys/class/net/{name}": f"{place}/net/{name}"}
        self.links[f"{place}/net/{name}/device"] = place
        for number, cpu in enumerate((7, *cpus), start=first - 1):
            label = f"mlx5_async0@pci:{address}" if number < first else called.format(n=number - first, address=address)
            self.files[f"{place}/msi_irqs/{number}"] = "msix\n"
            self.irq(number, str(cpu))
            self.files[f"/proc/irq/{number}/{label}/"] = ""
            self.names[number] = label
        return place

    def irq(self, number: int, cpus: str, effective: str | None = None) -> None:
        """Where an interrupt may go, and where it goes if that is not the same."""
        folder = f"/proc/irq/{number}"
        self.files |= {f"{folder}/smp_affinity_list": f"{cpus}\n", f"{folder}/smp_affinity": "ff\n"}
        self.files[f"{folder}/effective_affinity_list"] = f"{effective or cpus}\n"
        self.files[f"{folder}/affinity_hint"] = "0\n"

    def rdma(self, device: str, place: str, netdev: str = "ens1", state: str = "4: ACTIVE") -> None:
        """Adds an RDMA device of the card in folder ``place`` with one port, whose GID belongs to ``netdev``."""
        port = f"{place}/infiniband/{device}/ports/1"
        self.files |= {f"{port}/state": f"{state}\n", f"{port}/phys_state": "5: LinkUp\n"}
        self.files |= {f"{port}/gids/0": "fe80:0000:0000:0000:0202:c9ff:fe00:0001\n"}
        self.files[f"{port}/gid_attrs/ndevs/0"] = f"{netdev}\n"
        self.links |= {f"{IB}/{device}": f"{place}/infiniband/{device}"}
        self.links[f"{place}/infiniband/{device}/device"] = place

    def bond(self, name: str, members: Mapping[str, str]) -> None:
        """Bonds interfaces, by name, of the cards in these folders."""
        place = f"/sys/devices/virtual/net/{name}"
        self.files |= {f"{place}/uevent": f"DEVTYPE=bond\nINTERFACE={name}\n", f"{place}/bonding/mode": "802.3ad 4\n"}
        self.files[f"{place}/bonding/slaves"] = f"{' '.join(members)}\n"
        self.links |= {f"{card}/net/{member}/master": place for member, card in members.items()}
        self.links[f"/sys/class/net/{name}"] = place

    def write(self) -> "IrqNode":
        table = [" " * 10 + "".join(f"{f'CPU{n}':>11}" for n in range(CPUS))]
        table += [
            f"{number:>6}:{'          0' * CPUS}  IR-PCI-MSIX {number}-edge      {label}"
            for number, label in sorted(self.names.items())
        ]
        self.files["/proc/interrupts"] = "\n".join(table) + "\n"
        write_capture(self.root.parent, {path: text for path, text in self.files.items() if text is not None})
        for path, target in self.links.items():
            above = "/".join([".."] * (path.count("/") - 1))
            write_link(self.root, path, f"{above}{target}")
        (self.folder / "irq-affinity").write_text(installed()[interrupts.SCRIPT])
        return self

    def put(self, path: str, text: str) -> None:
        """Writes one more file of a node that is written."""
        write_tree(self.root, {path: text})

    def run(self, *options: str) -> tuple[list[str], list[str]]:
        """What the script prints, and what it says beside that."""
        needed("bash")
        env = {"PATH": "/usr/bin:/bin", "ADVISOR_ROOT": str(self.root)}
        done = ran(["bash", self.folder / "irq-affinity", *options], env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines()

    def placed(self) -> dict[int, str]:
        """Where each interrupt may go."""
        found = sorted((self.root / "proc/irq").iterdir(), key=lambda one: int(one.name))
        return {int(one.name): (one / "smp_affinity_list").read_text().strip() for one in found}

    def verdicts(self) -> dict[str, str]:
        """What the rule says of each card, by its first interface."""
        snapshot, defects = probe_host(open_root(str(self.root.parent)))
        assert not defects
        found = [one for one in evaluated(snapshot).findings if one.rule == RULE]
        return {one.subject: one.verdict for one in found}
