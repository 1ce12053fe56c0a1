"""A capture whose names and texts were chosen to break out: none of them gets into a line that counts."""

import subprocess
from pathlib import Path

import pytest

from advisor.cli import run
from tests.trees import write_link, write_tree

EVIL = "PWNED"
"""Part of every hostile text; comments may show it, made visible, other lines never."""
TEXTS = (
    f"x;touch {EVIL}",
    f"$(touch {EVIL})",
    f"`touch {EVIL}`",
    f'x", RUN+="/bin/sh -c {EVIL}',
    f"x' {EVIL} '",
    f"x\\\\{EVIL}",
    f"x%{EVIL}",
    f"{{{{ {EVIL} }}}}",
)
RULE = """\
title: A rule that takes texts of the host
severity: warn
basis: kernel-doc
each: {each}
fails: '{says} != "fine"'
says: "{{{says}}}"
why: because
fix: do it
sources: ["https://docs.kernel.org/"]
set: [{{target: {target}, key: "{key}", value: {value}, says: "{{{says}}}"}}]
examples:
  - {{name: bad, facts: {{{section}: {{{items}: [{item}]}}}}, expect: fails}}
  - {{name: good, facts: {{{section}: {{{items}: [{fine}]}}}}, expect: holds}}
  - {{name: dark, facts: {{}}, expect: unknown}}
"""
RULES = {
    "sysctl": ("one in net.interfaces", "one.name", "sysctl", "net/ipv4/conf/{one.name}/rp_filter", 2, "net"),
    "sysctl-value": ("one in net.interfaces", "one.name", "sysctl", "vm.swappiness", "one.name", "net"),
    "udev": ("one in block.devices", "one.name", "udev", "{one.name}/scheduler", "\"'none'\"", "block"),
    "mount": ("one in mounts.fstab", "one.point", "mount", "{one.point}:noatime", "true", "mounts"),
    "env": ("one in mounts.fstab", "one.point", "env", "HOSTILE_{one.line}", "one.point", "mounts"),
    "modprobe": ("one in mounts.fstab", "one.point", "modprobe", "nvme.{one.point}", "one.point", "mounts"),
}
ITEMS = {"net": ("interfaces", "{name: a, physical: true}"), "block": ("devices", "{name: a, kind: nvme}"),
         "mounts": ("fstab", "{line: 1, point: /a, fstype: ext4, kind: local}")}  # fmt: skip


def hostile_machine(folder: Path) -> Path:
    """A machine with these texts as names of interfaces and disks, in fstab, and as the profile of TuneD."""
    points = [text.replace(" ", "\\040") for text in TEXTS]
    files = {
        "/proc/sys/vm/swappiness": "60\n",
        "/etc/fstab": "".join(f"/dev/sd{n} /m{point} ext4 {EVIL} 0 0\n" for n, point in enumerate(points)),
        "/etc/tuned/active_profile": f"x\n[sysctl]\nkernel.core_pattern=|{EVIL}\n",
        "/usr/lib/systemd/system/tuned.service": "[Service]\n",
        "/etc/systemd/system/": "",
    }
    for number, text in enumerate(TEXTS):
        name = text.replace("/", "!")
        files[f"/sys/devices/pci0000:00/0000:00:{number:02x}.0/net/{name}/mtu"] = "1500\n"
        files[f"/sys/devices/virtual/block/{name}/queue/scheduler"] = "[mq-deadline] none\n"
    write_tree(folder, files)
    for number, text in enumerate(TEXTS):
        name, device = text.replace("/", "!"), f"/sys/devices/pci0000:00/0000:00:{number:02x}.0"
        write_link(folder, f"/sys/class/net/{name}", f"{folder}{device}/net/{name}")
        write_link(folder, f"{device}/net/{name}/device", f"{folder}{device}")
        write_link(folder, f"/sys/block/{name}", f"{folder}/sys/devices/virtual/block/{name}")
    return folder


def write_rules(folder: Path) -> Path:
    (folder / "test").mkdir(parents=True)
    for name, (each, says, target, key, value, section) in RULES.items():
        items, item = ITEMS[section]
        fine = item.replace("name: a", "name: fine").replace("point: /a", "point: fine")
        about = {"each": each, "says": says, "target": target, "key": key, "value": value, "section": section}
        text = RULE.format(items=items, item=item, fine=fine, **about)
        (folder / "test" / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    root, rules = hostile_machine(folder / "host"), write_rules(folder / "rules")
    places = ["--root", str(root), "--rules", str(rules), "--out", str(folder / "out")]
    assert run(["render", "--quiet", *places, "--set", "sysctl:vm.swappiness=1"]) == 0
    return folder / "out"


def lines(out: Path) -> dict[str, list[str]]:
    files = [path for part in ("host", "job", "suggested") for path in (out / part).rglob("*") if path.is_file()]
    return {path.relative_to(out).as_posix(): path.read_text().splitlines() for path in files}


def test_the_machine_is_as_hostile_as_it_is_meant(out: Path) -> None:
    told = (out / "report.md").read_text()
    assert told.count(EVIL) > 20


def test_no_hostile_text_is_in_a_line_that_counts(out: Path) -> None:
    found = {name: [row for row in rows if EVIL in row and row[:1] != "#"] for name, rows in lines(out).items()}
    quoted = found.pop("job/env.sh")
    assert {name: rows for name, rows in found.items() if rows} == {}
    assert quoted
    assert all(f"HOSTILE_{n}=" in "".join(quoted) for n in range(1, len(TEXTS) + 1))


def test_what_is_quoted_for_a_shell_stays_a_value(out: Path, tmp_path: Path) -> None:
    argv = ["sh", "-euc", '. "$1"; env -0', "sh", str(out / "job/env.sh")]
    done = subprocess.run(argv, capture_output=True, cwd=tmp_path, timeout=30, env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (0, b"")
    values = [row.split("=", 1)[1] for row in done.stdout.decode().split("\0") if row.startswith("HOSTILE_")]
    assert len(values) == len(TEXTS)
    assert all(EVIL in value for value in values)
    assert list(tmp_path.iterdir()) == []


def test_comments_end_no_line_early(out: Path) -> None:
    for name, rows in lines(out).items():
        assert not [row for row in rows if row.startswith("#") and row.endswith("\\")], name
        assert all(row.isprintable() for row in rows), name
