"""A redacted recording: no planted secret is left in it, and it gives the same facts and findings."""

import json
import re
from pathlib import Path

import pytest

from advisor.commands._rules import loaded
from advisor.commands._snapshot import derive
from advisor.discover import units
from advisor.host.base import Host, Output
from advisor.host.captured import open_root
from advisor.host.recording import Answer, Recorder
from advisor.host.redaction import known_names, redacted
from advisor.host.saving import save_capture
from advisor.model.snapshot import Snapshot, committed_json
from advisor.probes._run import run_probes
from advisor.probes._xml import parse_xml
from advisor.rulebook.evaluate import evaluate
from tests.trees import write_capture, write_link

KEY = b"0" * 32
MOUNTSTATS = ("/proc/self/mountstats", 65536)
PCI = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
RDMA = f"{PCI}/infiniband/mlx5_0"
POD = "7d3f2b1a_90aa_4bcd_8e21_5566778899aa"
CONTAINER = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SECRETS = {
    "host name": "quokka17",
    "domain": "zorgon.example",
    "second host": "filer03",
    "login": "mallory",
    "home": "trudy",
    "password": "hunter2hunter2",
    "ceph secret": "AQBSecretKeyMaterial==",
    "boot password": "pbkdf2.sha512.10000",
    "API key": "sk-live-1234567890",
    "IPv4": "10.47.11.5",
    "server's IPv4": "10.47.11.250",
    "public IPv4": "203.0.7.9",
    "IPv4 in a GID": "0a2f:0b05",
    "IPv6": "2001:db8:77:1::5",
    "MAC": "0c:42:a1:5e:77:31",
    "MAC in a GID": "0e42:a1ff:fe5e:7731",
    "GUID": "0c42:a103:005e:7731",
    "GPU": "8932f937-d72c-4106-c12f-20bd9faed9f6",
    "GPU serial": "1652922004321",
    "NVMe serial": "S4EVNF0M5512",
    "disk UUID": "1b2c3d4e-aaaa-bbbb-cccc-0123456789ab",
    "LVM UUID": "Rkq9aZpLmVnO",
    "asset tag": "ACME-000731",
    "container": CONTAINER,
    "pod": POD,
    "comment": "ask Peggy",
    "target": "iqn.2001-05.com.vendor:storage.lun7",
}  # fmt: skip
MOUNTS = (
    "22 1 0:21 / / rw,relatime shared:1 - ext4 /dev/mapper/quokka17-root rw\n"
    "23 22 0:22 / /sys rw - sysfs sysfs rw\n"
    "24 22 0:6 / /dev/shm rw - tmpfs tmpfs rw,size=65536k\n"
    "30 23 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    "40 22 0:40 / /data/sets rw,noatime - nfs4 filer03.zorgon.example:/export/mallory rw,vers=4.2,rsize=1048576,hard,"
    "proto=tcp,nconnect=8,clientaddr=10.47.11.5,addr=10.47.11.250\n"
    "41 22 0:41 / /win rw - cifs //filer03/share rw,vers=3.0,username=mallory,domain=ZORGON.EXAMPLE,"
    "password=hunter2hunter2,addr=10.47.11.250\n"
    "42 22 0:42 / /ceph rw - ceph 10.47.11.250:6789,[2001:db8:77:1::5]:6789:/ rw,name=mallory,"
    "secret=AQBSecretKeyMaterial==\n"
    "43 22 0:43 / /lustre rw - lustre 10.47.11.250@o2ib:10.47.11.5@tcp1:/fsx rw,flock\n"
    "44 22 0:44 / /home/trudy rw - nfs mallory@filer03:/home rw,vers=3,soft,addr=203.0.7.9\n"
)
GIDS = {
    0: ("fe80:0000:0000:0000:0e42:a1ff:fe5e:7731", "IB/RoCE v1"),
    1: ("fe80:0000:0000:0000:0e42:a1ff:fe5e:7731", "RoCE v2"),
    2: ("0000:0000:0000:0000:0000:ffff:0a2f:0b05", "IB/RoCE v1"),
    3: ("0000:0000:0000:0000:0000:ffff:0a2f:0b05", "RoCE v2"),
}
GPU = {
    "index": 0, "lost": False, "name": "NVIDIA H200", "bus_id": "0000:5d:00.0", "serial": "1652922004321",
    "uuid": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "gaps": {},
}  # fmt: skip


def node(folder: Path) -> Host:
    """A node with RoCE, network mounts with credentials, a container, and secrets wherever they may stand."""
    group = f"/kubepods.slice/kubepods-pod{POD}.slice/cri-containerd-{CONTAINER}.scope"
    port = f"{RDMA}/ports/1"
    files: dict[str, str | bytes] = {
        "/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu lm\nvendor_id\t: GenuineIntel\n",
        "/proc/meminfo": "MemTotal:       16777216 kB\nSwapTotal:          0 kB\n",
        "/proc/self/mountinfo": MOUNTS,
        "/proc/self/cgroup": f"0::{group}\n",
        f"/sys/fs/cgroup{group}/memory.max": "8589934592\n",
        f"/sys/fs/cgroup{group}/cpu.max": "200000 100000\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1b2c3d4e-aaaa-bbbb-cccc-0123456789ab ro iommu=pt "
        "ip=10.47.11.5::10.47.11.250:255.255.255.0:quokka17:eth0:none systemd.hostname=quokka17 "
        "rd.iscsi.initiator=iqn.2001-05.com.vendor:storage.lun7 grub_password=pbkdf2.sha512.10000 "
        "nvidia.NVreg_EnablePCIERelaxedOrderingMode=1 url=http://mallory:hunter2hunter2@filer03/x\n",
        "/proc/sys/kernel/osrelease": "5.15.0-91-generic\n",
        "/proc/sys/kernel/hostname": "quokka17\n",
        "/proc/sys/kernel/domainname": "zorgon.example\n",
        "/proc/sys/vm/swappiness": "60\n",
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\nmallory:x:1001:1001:Mallory M:/home/mallory:/bin/sh\n",
        "/etc/resolv.conf": "search zorgon.example\nnameserver 10.47.11.250\n",
        "/etc/fstab": "# ask Peggy before you change this\nfiler03:/export /data/sets nfs4 nconnect=8,hard 0 0\n"
        "//filer03/share /win cifs username=mallory,password=hunter2hunter2 0 0\nUUID="
        "1b2c3d4e-aaaa-bbbb-cccc-0123456789ab / ext4 noatime 0 1\n",
        "/etc/sysctl.d/10-quokka17.conf": "; ask Peggy\nvm.swappiness = 10\nkernel.hostname = quokka17\n",
        "/etc/modprobe.d/lab.conf": "# for mallory@zorgon.example\noptions nvme io_queue_depth=512\n"
        "options foo api_token=sk-live-1234567890\n",
        "/sys/class/nvme/nvme0/serial": "S4EVNF0M5512        \n",
        "/sys/class/nvme/nvme0/model": "Fast Drive 3840\n",
        "/sys/class/dmi/id/sys_vendor": "Supermicro\n",
        "/sys/class/dmi/id/product_name": "SYS-821GE-TNHR\n",
        "/sys/class/dmi/id/chassis_asset_tag": "ACME-000731\n",
        "/sys/block/dm-0/dm/name": "quokka17-root\n",
        "/sys/block/dm-0/dm/uuid": "LVM-Rkq9aZpLmVnO\n",
        "/sys/block/dm-0/size": "1000\n",
        f"{PCI}/class": "0x020000\n",
        f"{PCI}/vendor": "0x15b3\n",
        f"{PCI}/device/": "",
        f"{PCI}/numa_node": "1\n",
        f"{PCI}/net/eth0/address": "0c:42:a1:5e:77:31\n",
        f"{PCI}/net/eth0/mtu": "4200\n",
        f"{PCI}/net/eth0/type": "1\n",
        f"{RDMA}/node_guid": "0c42:a103:005e:7731\n",
        f"{RDMA}/node_type": "1: CA\n",
        f"{RDMA}/fw_ver": "28.41.10.5\n",
        f"{port}/state": "4: ACTIVE\n",
        f"{port}/link_layer": "Ethernet\n",
        f"{port}/rate": "400 Gb/sec (4X NDR)\n",
    }  # fmt: skip
    for index, (gid, kind) in GIDS.items():
        files[f"{port}/gids/{index}"] = gid + "\n"
        files[f"{port}/gid_attrs/types/{index}"] = kind + "\n"
        files[f"{port}/gid_attrs/ndevs/{index}"] = "eth0\n"
    del files[f"{PCI}/device/"]
    root = folder / "node"
    outputs = {
        ("ethtool", "-x", "eth0"): "RX flow hash indirection table for eth0 with 2 RX ring(s):\n    0:      0     1\n"
        "RSS hash key:\n0c:42:a1:5e:77:31:0c:42:a1:5e\nRSS hash function:\n    toeplitz: on\n",
        ("ethtool", "-i", "eth0"): "driver: mlx5_core\nversion: 24.10.0.6\nfirmware-version: 28.41.1000\n",
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": "GPU-8932f937", "NCCL_SOCKET_IFNAME": "eth0", "SLURM_NODELIST": "quokka[17-19]",
        "KUBERNETES_SERVICE_HOST": "10.47.11.250", "SLURM_JOB_USER": "mallory", "PATH": "/home/trudy/bin:/usr/bin",
        "OMP_NUM_THREADS": "4", "TORCH_HOME": "/home/mallory/.cache",
    }  # fmt: skip
    use = {"/": [4096, 1000, 500, 10, 5], "/dev/shm": [4096, 16, 16, 10, 5]}
    write_capture(
        root,
        files,
        outputs=outputs,
        affinity=[0],
        statvfs=use,
        environment=environment,
        nvml={"gpus": [GPU], "driver_version": "580.95.5.1", "cuda_version": "13.0", "gaps": {}},
    )
    write_link(root / "fs", "/sys/class/net/eth0", "../../.." + f"{PCI}/net/eth0")
    write_link(root / "fs", "/sys/class/infiniband/mlx5_0", "../../.." + RDMA)
    write_link(root / "fs", "/sys/bus/pci/devices/0000:3b:00.0", "../../../.." + PCI)
    for below in ("net/eth0", "infiniband/mlx5_0"):
        write_link(root / "fs", f"{PCI}/{below}/device", "../../../0000:3b:00.0")
    return open_root(str(root))


def recorded(host: Host) -> tuple[Recorder, Snapshot]:
    recorder = Recorder.of(host)
    snapshot, defects = run_probes(recorder, units("probes"))
    assert defects == ()
    return recorder, derive(snapshot)


def test_no_planted_secret_is_left(tmp_path: Path) -> None:
    host = node(tmp_path)
    recorder, _ = recorded(host)
    save_capture(recorder, tmp_path / "raw.tar")
    save_capture(redacted(recorder, known_names(host), KEY), tmp_path / "safe.tar")
    raw, safe = ((tmp_path / f"{name}.tar").read_bytes().lower() for name in ("raw", "safe"))
    planted = {name: secret for name, secret in SECRETS.items() if secret.lower().encode() in raw}
    assert set(SECRETS) - set(planted) == set()
    assert [name for name, secret in planted.items() if secret.lower().encode() in safe] == []


def _plain(snapshot: Snapshot) -> dict[str, object]:
    document = json.loads(committed_json(snapshot))["facts"]
    document |= {name: facts.model_dump() for name, facts in snapshot.derived.items()}
    text = json.dumps(document, sort_keys=True)
    # What people named is another name now: the same one for the same.
    for name in ("quokka17", "trudy", "Rkq9aZpLmVnO", "filer03", SECRETS["API key"]):
        text = text.replace(name, "NAMED")
    text = re.sub("[0-9a-f]{64}|[0-9a-f]{8}([-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}", "NUMBERED", text)
    return json.loads(re.sub(r"\bx[0-9a-f]{9}\b", "NAMED", text))


def _findings(snapshot: Snapshot) -> list[tuple[object, ...]]:
    report = evaluate(loaded(()), snapshot)
    assert report.defects == ()
    return sorted((f.rule, f.verdict, len(f.settings)) for f in report.findings)


def test_facts_and_findings_are_the_same(tmp_path: Path) -> None:
    host = node(tmp_path)
    recorder, raw = recorded(host)
    save_capture(redacted(recorder, known_names(host), KEY), tmp_path / "safe")
    _, safe = recorded(open_root(str(tmp_path / "safe")))
    was, is_now = _plain(raw), _plain(safe)
    assert is_now.keys() == was.keys()
    for section in was:
        assert is_now[section] == was[section], section
    assert raw.derived.keys() == safe.derived.keys()
    assert _findings(safe) == _findings(raw)


def test_a_capture_of_this_machine_gives_the_same_facts_redacted(tmp_path: Path) -> None:
    from advisor.host.live import LiveHost

    host = LiveHost.here()
    recorder = Recorder.of(host)
    recorder.kind = "capture"
    raw, _ = run_probes(recorder, units("probes"))
    save_capture(redacted(recorder, known_names(host), KEY), tmp_path / "safe.tar.gz")
    safe, _ = run_probes(open_root(str(tmp_path / "safe.tar.gz")), units("probes"))
    assert _findings(derive(safe)) == _findings(derive(raw))
    for name in set(raw.facts) - {"platform", "mounts", "cgroup", "system"}:
        assert safe.facts[name] == raw.facts[name], name
    unnamed = {"host_name": None, "boot_name": None}
    assert safe.facts["system"].model_copy(update=unnamed) == raw.facts["system"].model_copy(update=unnamed)


def test_the_same_key_gives_the_same_bytes(tmp_path: Path) -> None:
    host = node(tmp_path)
    recorder, _ = recorded(host)
    for name, key in (("a", KEY), ("b", KEY), ("c", b"1" * 32)):
        save_capture(redacted(recorder, known_names(host), key), tmp_path / f"{name}.tar")
    a, b, c = ((tmp_path / f"{name}.tar").read_bytes() for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("/proc/self/cgroup", "0::/user.slice\n", "0::/user.slice\n"),
        ("/sys/bus/pci/devices/0000:3b:00.0/numa_node", "1\n", "1\n"),
        ("/sys/module/x/version", "10.1.2.3\n", "10.1.2.3\n"),
        ("/sys/devices/system/node/node0/cpumap", "00000000,0000ffff\n", "00000000,0000ffff\n"),
        ("/proc/driver/nvidia/gpus/0000:3b:00.0/information", "Video BIOS: 96.00.61.00.01\n", None),
        ("/etc/sysctl.d/a.conf", "kernel.keys.maxkeys = 2000\n", "kernel.keys.maxkeys = 2000\n"),
        ("/etc/modprobe.d/a.conf", "options nvme x=1 # y\n# c\n", "options nvme x=1 # y\n#\n"),
        ("/sys/class/dmi/id/chassis_asset_tag", "Amazon EC2\n", "Amazon EC2\n"),
    ],
)
def test_what_is_no_secret_stays(place: str, text: str, expected: str | None) -> None:
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    recorder.answers["data", (place, 65536)] = Answer(place, text.encode(), None)
    made = redacted(recorder, ["node", "sys", "lib"], KEY)
    assert made.answers["data", (place, 65536)].value.decode() == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("SN = S4EVNF0M123456\nModel = X\n", "S4EVNF0M123456"),
        ('{\n "Serial Number" : "SK99887766",\n "Model" : "X"\n}\n', "SK99887766"),
        ("   Serial Number: PDNNK0BRH7\n   Model: X\n", "PDNNK0BRH7"),
        ("Host Name = quokka17\nModel = X\n", "quokka17"),
        ("WWN = 5000C500A1B2C3D4\nModel = X\n", "5000C500A1B2C3D4"),
        ("on quokka17: Model X\n", "quokka17"),
    ],
    ids=["SN", "JSON", "Serial Number", "Host Name", "WWN", "a known name"],
)
def test_what_programs_print_loses_numbers_and_names(text: str, secret: str) -> None:
    argv = ("raidtool", "show")
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    recorder.answers["run", argv] = Answer("command: raidtool show", Output(argv, 0, text, text), None)
    output = redacted(recorder, ["quokka17"], KEY).answers["run", argv].value
    for printed in (output.stdout, output.stderr):
        assert secret not in printed
        assert len(printed.split("\n")) == len(text.split("\n"))
        assert "Model" in printed


def test_nvidia_smis_xml_loses_serial_numbers_and_processes_but_stays_xml() -> None:
    argv = ("nvidia-smi", "-q", "-x")
    text = (
        "<gpu><serial>1650123456789</serial><uuid>GPU-8932f937-d72c-4106-c12f-20bd9faed9f6</uuid>\n"
        "<chassis_serial_number>N/A</chassis_serial_number><clusterUuid>N/A</clusterUuid>\n"
        "<process_name>python /home/someone/train.py --key=hunter2</process_name><pid>17</pid></gpu>\n"
    )
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    recorder.answers["run", argv] = Answer("command: nvidia-smi -q -x", Output(argv, 0, text), None)
    printed = redacted(recorder, [], KEY).answers["run", argv].value.stdout
    for secret in ("1650123456789", "8932f937", "someone", "hunter2"):
        assert secret not in printed
    assert "<chassis_serial_number>N/A</chassis_serial_number><clusterUuid>N/A<" in printed
    assert "<pid>17</pid></gpu>" in printed
    assert [element.tag for element in parse_xml(printed).children] == [
        *("serial", "uuid", "chassis_serial_number", "clusterUuid", "process_name", "pid")
    ]


@pytest.mark.parametrize(
    ("printed", "secret"),
    [
        ('  "SN": "            ZL2PVFA8",', "ZL2PVFA8"),
        ('"SAS Address": "500605b002e04f10",', "500605b002e04f10"),
        ("SAS Address(0): 0x50000393d84ba992", "50000393d84ba992"),
        ("   Controller World Wide Name     : 50000D1F048FCC00", "50000D1F048FCC00"),
        ("            WWN Port: 51402EC01526FD80", "51402EC01526FD80"),
        ("            WWID: 51402EC01526FD80", "51402EC01526FD80"),
        ("0        500605b002e04f10 \n", "500605b002e04f10"),
        ("MD_UUID=57219006:b1527c59:de32536d:bb88a27f\n", "b1527c59"),
        ("MD_NAME=quokka17:0\n", "quokka17"),
        ('"subnqn" : "nqn.2014.08.org.nvmexpress:144d144dS4EVNF0M1  Made Up",', "S4EVNF0M1"),
        ("   connector 1I box 1 bay 4   HP   EF0300FARMU    6SJ8ND840000N5191GHP     HPD6", "6SJ8ND840000N5191GHP"),
    ],
)
def test_what_storage_tools_print_of_hardware_is_replaced(printed: str, secret: str) -> None:
    argv = ("made-up-tool",)
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    recorder.answers["run", argv] = Answer("command: made-up-tool", Output(argv, 0, printed), None)
    output = redacted(recorder, [], KEY).answers["run", argv].value.stdout
    assert secret not in output
    assert output[:5] == printed[:5]


def test_servers_in_mountstats_are_replaced() -> None:
    text = "device filer17.example.org:/x mounted on /x with fstype nfs4 statvers=1.1\n\topts:\trw,addr=192.0.2.9\n"
    recorder = Recorder(kind="capture", root_user=None, inner=open_root("/"))
    recorder.answers["data", MOUNTSTATS] = Answer(MOUNTSTATS[0], text.encode(), None)
    made = redacted(recorder, [], KEY).answers["data", MOUNTSTATS].value.decode()
    assert "filer17" not in made
    assert "192.0.2.9" not in made
    assert ":/x mounted on /x with fstype nfs4" in made
