"""What the collector asks of tools for drives, arrays and RAID controllers.

The tools are test doubles: small scripts of the same names that print a made-up answer and note how they were asked.
"""

import os
from pathlib import Path

import pytest

from advisor.commands._collected import script
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.probes import block, nvme, raid
from tests.host.test_collector import SHELLS, collect
from tests.trees import write_link, write_tree

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the tools are asked by root only")

CARD = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0"
DRIVE = "/sys/devices/pci0000:64/0000:64:02.0/0000:65:00.0"
STORCLI = '{"Controllers":[{"Command Status":{"Controller":0,"Status":"Success"},"Response Data":%s}]}'
ALL = STORCLI % '{"Basics":{"Model":"Made Up 9000"},"VD LIST":[{"DG/VD":"0/0","State":"Optl","Cache":"NRWTD"}]}'
DETAILS = STORCLI % '{"VD0 Properties":{"Write Cache(initial setting)":"WriteBack"}}'


def node(folder: Path, driver: str = "megaraid_sas") -> Path:
    """A node with a controller of one driver, an NVMe drive, an md array and a logical volume."""
    write_tree(
        folder,
        {
            f"{CARD}/class": "0x010400\n",
            f"{CARD}/vendor": "0x1000\n",
            f"{DRIVE}/nvme/nvme0/transport": "pcie\n",
            "/sys/devices/virtual/nvme-fabrics/ctl/nvme1/transport": "tcp\n",
            "/sys/devices/virtual/block/md0/md/level": "raid0\n",
            "/sys/devices/virtual/block/dm-0/dm/name": "vg-data\n",
            "/sys/devices/virtual/block/dm-0/dm/uuid": "LVM-Rkq7\n",
        },
    )
    write_link(folder, "/sys/bus/pci/devices/0000:02:00.0", f"../../..{CARD.removeprefix('/sys')}")
    write_link(folder, f"{CARD}/driver", f"../../../../bus/pci/drivers/{driver}")
    for name in ("md0", "dm-0"):
        write_link(folder, f"/sys/block/{name}", f"../devices/virtual/block/{name}")
    write_link(folder, "/sys/class/nvme/nvme0", f"../..{DRIVE.removeprefix('/sys')}/nvme/nvme0")
    write_link(folder, "/sys/class/nvme/nvme1", "../../devices/virtual/nvme-fabrics/ctl/nvme1")
    return folder


def double(folder: Path, name: str, body: str) -> None:
    """A test double of a tool; its command lines go to the file ``asked`` beside it."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {folder}/asked\n{body}\n')
    (folder / name).chmod(0o755)


def collected(tmp_path: Path, shell: str = "dash", driver: str = "megaraid_sas", **environment: str) -> Host:
    """The node as the script finds it with the doubles on its PATH, and no other tool of theirs."""
    text = script().replace("PATH=/usr/sbin:", f"PATH={tmp_path}/tools:/usr/sbin:")
    root = node(tmp_path / "node", driver)
    return open_root(collect(tmp_path, shell, text=text, ADVISOR_COLLECTOR_ROOT=str(root), **environment))


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "tools/asked").read_text().splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_answers_of_all_tools_are_read_from_the_capture(shell: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    double(tools, "perccli64", f"case $1 in /call) echo '{ALL}' ;; *) echo '{DETAILS}' ;; esac")
    double(tools, "nvme", "case $1 in id-ctrl) echo '{\"vwc\": 7}' ;; *) echo '{\"percent_used\": 3}' ;; esac")
    double(tools, "mdadm", "echo MD_LEVEL=raid0; echo MD_UUID=1:2:3:4")
    double(tools, "lvs", 'echo \'{"report":[{"lv":[{"lv_name":"data","vg_name":"vg","stripes":"4"}]}]}\'')
    host = collected(tmp_path, shell)
    (controller,) = raid.read(host).controllers or ()
    assert (controller.model, controller.tool) == ("Made Up 9000", "perccli64")
    (drive,) = controller.drives or ()
    assert (drive.configured_write_policy, drive.write_policy) == ("write back", "write through")
    (local, far) = nvme.read(host).controllers or ()
    assert (local.volatile_write_cache, local.percent_used, far.volatile_write_cache) == (True, 3, None)
    found = block.read(host)
    assert [one.uuid for one in found.md or ()] == ["1:2:3:4"]
    assert [(one.device, one.stripes) for one in found.lvm or ()] == [("dm-0", 4)]
    assert sorted(asked(tmp_path)) == [
        "lvs --reportformat json --units b --nosuffix -o lv_name,vg_name,segtype,stripes,stripe_size,lv_attr",
        "mdadm --detail --export /dev/md0",
        "nvme id-ctrl -o json /dev/nvme0",
        "nvme smart-log -o json /dev/nvme0",
        "perccli64 /call show all J nolog",
        "perccli64 /call/vall show all J nolog",
    ]
    assert host.gaps.get("command: storcli64 /call show all J nolog", "absent") == "absent"


@pytest.mark.parametrize(
    ("driver", "tool", "lines"),
    [
        ("megaraid_sas", "MegaCli64", ["-LDInfo -Lall -aAll", "-AdpBbuCmd -aAll", "-AdpAllInfo -aAll"]),
        ("hpsa", "hpssacli", ["ctrl all show config detail"]),
        ("smartpqi", "arcconf", [f"GETCONFIG {n} AL nologs" for n in range(1, 5)]),
        ("aacraid", "arcconf", [f"GETCONFIG {n} AL nologs" for n in range(1, 5)]),
        ("mpt3sas", "storcli64", []),
    ],
)
def test_each_controller_is_asked_with_its_own_tool(driver: str, tool: str, lines: list[str], tmp_path: Path) -> None:
    double(tmp_path / "tools", tool, "echo told")
    double(tmp_path / "tools", "lvs", "")
    host = collected(tmp_path, driver=driver)
    wanted = [f"{tool} {line}{' -NoLog' if tool == 'MegaCli64' else ''}" for line in lines]
    assert [line for line in asked(tmp_path) if line.startswith(tool)] == wanted
    raid.read(host)
    assert "not captured" not in [host.gaps[path] for path in host.gaps if path.startswith("command: ")]


def test_the_older_tool_is_not_asked_where_the_newer_one_answers(tmp_path: Path) -> None:
    double(tmp_path / "tools", "storcli64", f"echo '{ALL}'")
    double(tmp_path / "tools", "MegaCli64", "echo told")
    collected(tmp_path)
    assert not [line for line in asked(tmp_path) if line.startswith("MegaCli")]


def test_a_slow_tool_has_a_longer_time_of_its_own_and_no_more(tmp_path: Path) -> None:
    double(tmp_path / "tools", "storcli64", f"sleep 3; echo '{ALL}'")
    double(tmp_path / "tools", "nvme", "exec sleep 996")
    host = collected(
        tmp_path,
        ADVISOR_COLLECTOR_JOB_SECONDS="1",
        ADVISOR_COLLECTOR_TOOL_SECONDS="30",
        ADVISOR_COLLECTOR_SECONDS="100",
    )
    assert [one.model for one in raid.read(host).controllers or ()] == ["Made Up 9000"]
    nvme.read(host)
    assert host.gaps["command: nvme smart-log -o json /dev/nvme0"] == "timed out"


def test_a_tool_that_hangs_is_given_up_and_no_other_waits_for_its_lock(tmp_path: Path) -> None:
    double(tmp_path / "tools", "storcli64", "exec sleep 995")
    double(tmp_path / "tools", "MegaCli64", "echo told")
    host = collected(tmp_path, ADVISOR_COLLECTOR_TOOL_SECONDS="1")
    raid.read(host)
    assert host.gaps["command: storcli64 /call show all J nolog"] == "timed out"
    assert not [line for line in asked(tmp_path) if line.startswith("MegaCli")]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_oldest_tool_for_smart_arrays_is_asked_for_each_controller(shell: str, tmp_path: Path) -> None:
    line = "/dev/sda: (Smart Array P9i) RAID 5 Volume 0 status: OK."
    double(tmp_path / "tools", "cciss_vol_status", f"echo '{line}'")
    scsi = f"{CARD}/host0/target0:0:0/0:0:0"
    root = tmp_path / "node"
    write_tree(root, {f"{scsi}:0/type": "12\n", f"{scsi}:1/type": "0\n", "/sys/block/cciss!c1d0/size": "8\n"})
    for n in range(2):
        write_tree(root, {f"{scsi}:{n}/scsi_generic/sg{n}/": ""})
        write_link(root, f"{scsi}:{n}/scsi_generic/sg{n}/device", f"../../../0:0:0:{n}")
        write_link(root, f"/sys/class/scsi_generic/sg{n}", f"../..{scsi.removeprefix('/sys')}:{n}/scsi_generic/sg{n}")
    host = collected(tmp_path, shell, "hpsa")
    assert asked(tmp_path) == ["cciss_vol_status -V /dev/sg0", "cciss_vol_status -V /dev/cciss/c1d0"]
    first, *_ = raid.read(host).controllers or ()
    assert (first.address, first.model) == ("0000:02:00.0", "Smart Array P9i")
