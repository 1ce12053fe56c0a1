"""What kind of machine this is: virtual or not, container or not, whose cloud, which kernel.

Nothing here names the host: no serial, no UUID, no host name.
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host, command_origin
from advisor.host.boot_words import shown_word
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, ReadFrom, Seen, SeenAs
from advisor.probes._cmdline import read_cmdline
from advisor.probes._collected import Collected
from advisor.probes._container import MARKS, container_mark, in_container
from advisor.probes._cpuinfo import CPUINFO, hypervisor_flag, read_architecture, read_first_cpu
from advisor.probes._mountinfo import read_mountinfo
from advisor.probes._virtual import Firmware, Signs, cloud_of, hypervisor_of, virtual_of

DMI = "/sys/class/dmi/id"
GROUPS = "/proc/self/cgroup"
POWER_SUPPLY = "/sys/class/power_supply"
DETECT_VIRT = ("systemd-detect-virt", "--vm")
# SMBIOS specification (DSP0134), System Enclosure or Chassis Types.
_PORTABLE = frozenset((8, 9, 10, 14, 30, 31, 32))
_DESKTOP = frozenset((3, 4, 5, 6, 7, 13, 15, 16))
_CHASSIS_UNKNOWN = 2


class Platform(Facts):
    """The kind of machine that the other facts are from. A gate is ``None`` when nothing tells."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/"
    virtual: Annotated[
        bool | None,
        ReadFrom("/sys/class/dmi/id/*, /proc/cpuinfo"),
        "a virtual machine; false only with positive evidence of hardware",
    ] = None
    hypervisor: Annotated[
        str | None,
        ReadFrom("/sys/class/dmi/id/*, command: systemd-detect-virt --vm"),
        "kvm, xen, vmware, microsoft, amazon, google ...",
    ] = None
    container: Annotated[
        bool | None, ReadFrom("/.dockerenv, /run/*, /proc/self/cgroup"), SeenAs("own"), "the reader runs in a container"
    ] = None
    container_kind: Annotated[
        str | None,
        ReadFrom("/.dockerenv, /run/*, /proc/self/cgroup"),
        SeenAs("own"),
        "docker, podman, kubernetes, lxc, systemd-nspawn ...",
    ] = None
    cloud: Annotated[
        str | None,
        ReadFrom("/sys/class/dmi/id/*"),
        "aws, azure, gcp, oci, alibaba, openstack, by firmware; none is none known",
    ] = None
    kernel_release: Annotated[str | None, File("proc/sys/kernel/osrelease"), "as uname -r"] = None
    kernel_version: Annotated[tuple[int, int, int] | None, File("proc/sys/kernel/osrelease")] = None
    cmdline: Annotated[
        tuple[str, ...] | None,
        File("proc/cmdline"),
        "words of the kernel command line; what may name the host has lost its value",
    ] = None
    architecture: Annotated[
        str | None, ReadFrom("/proc/sys/kernel/arch, command: uname -m"), "x86_64, aarch64, ppc64le ..."
    ] = None
    system_vendor: Annotated[str | None, File("sys/class/dmi/id/sys_vendor")] = None
    product_name: Annotated[str | None, File("sys/class/dmi/id/product_name")] = None
    bios_vendor: Annotated[str | None, File("sys/class/dmi/id/bios_vendor")] = None
    chassis_type: Annotated[int | None, File("sys/class/dmi/id/chassis_type"), "SMBIOS chassis type"] = None
    portable: Annotated[
        bool | None,
        ReadFrom("/sys/class/dmi/id/chassis_type, /sys/class/power_supply"),
        "a laptop or tablet, by chassis or battery",
    ] = None
    desktop: Annotated[
        bool | None, ReadFrom("/sys/class/dmi/id/chassis_type"), "a desktop or workstation, by chassis"
    ] = None
    init: Annotated[
        str | None, ReadFrom("/proc/1/comm"), SeenAs("own"), "program of process 1: systemd, init, tini ..."
    ] = None
    pressure_available: Annotated[bool | None, File("proc/pressure/cpu"), "the kernel measures pressure (PSI)"] = None
    root_user: Annotated[bool | None, ReadFrom("call: geteuid"), SeenAs("own"), "the reader is root"] = None


COLLECTED = Collected(
    folders=(
        ("/sys/class/dmi/id", "sys_vendor product_name bios_vendor chassis_asset_tag chassis_type"),
        ("/sys/class/power_supply", "*"),
        ("/sys/class/power_supply/*", "type scope"),
    ),
    files=(
        *("/proc/cmdline", "/proc/version", "/proc/1/comm", "/proc/pressure/cpu", "/proc/sys/kernel/arch"),
        *("/proc/sys/kernel/osrelease", "/proc/xen/capabilities", "/sys/hypervisor/type"),
        "/run/systemd/container",
    ),
    large_files=("/proc/device-tree/hypervisor/compatible",),
    there=tuple(path for path, _ in MARKS),
    commands=(DETECT_VIRT,),
)


def read(host: Host) -> Platform:
    """The kind of machine that ``host`` is."""
    cpuinfo = read_first_cpu(host)
    firmware = _firmware(host)
    signs = _signs(host, cpuinfo)
    groups = host.text(GROUPS)
    mark = container_mark(host, groups, read_mountinfo(host) or (), GROUPS)
    architecture, architecture_path = read_architecture(host, cpuinfo)
    virtual = virtual_of(firmware, signs)
    origins = {"architecture": architecture_path}
    origins |= dict.fromkeys(("container", "container_kind"), mark[1] if mark else GROUPS)
    origins |= {"virtual": CPUINFO if signs.cpu_flag is not None else f"{DMI}/sys_vendor"}
    origins |= {"cloud": f"{DMI}/sys_vendor", "portable": f"{DMI}/chassis_type", "desktop": f"{DMI}/chassis_type"}
    return read_fields(
        host,
        Platform,
        "/",
        virtual=virtual,
        hypervisor=_hypervisor(host, firmware, signs, origins) if virtual else None,
        container=in_container(host, mark, groups),
        container_kind=mark[0] if mark else None,
        cloud=cloud_of(firmware),
        system_vendor=firmware.vendor,
        product_name=firmware.product,
        bios_vendor=firmware.bios,
        **_kernel(host, origins),
        cmdline=_cmdline(host),
        architecture=architecture,
        **_chassis(host, origins),
        init=host.text("/proc/1/comm"),
        pressure_available=_pressure(host),
        root_user=host.root_user,
        origins={**origins, "init": "/proc/1/comm"},
    )


def _firmware(host: Host) -> Firmware:
    names = ("sys_vendor", "product_name", "bios_vendor", "chassis_asset_tag")
    vendor, product, bios, tag = (host.text(f"{DMI}/{name}") or None for name in names)
    return Firmware(vendor, product, bios, tag)


def _signs(host: Host, cpuinfo: dict[str, str] | None) -> Signs:
    kind = host.text("/sys/hypervisor/type")
    compatible = None
    if cpuinfo is None or "flags" not in cpuinfo:
        # Only machines without x86's CPU flag describe themselves by a device tree.
        compatible = host.text("/proc/device-tree/hypervisor/compatible")
    return Signs(
        cpu_flag=hypervisor_flag(cpuinfo or {}),
        hypervisor_type=kind or None,
        xen_control=kind == "xen" and "control_d" in (host.text("/proc/xen/capabilities") or ""),
        device_tree={"linux,kvm": "kvm"}.get(compatible or "", compatible),
        cpuinfo_platform=(cpuinfo or {}).get("platform") or None,
    )


def _hypervisor(host: Host, firmware: Firmware, signs: Signs, origins: dict[str, str]) -> str | None:
    """The hypervisor's name by firmware, else by the program that asks the CPU for it."""
    origins["hypervisor"] = f"{DMI}/sys_vendor"
    if (named := hypervisor_of(firmware, signs)) is not None:
        return named
    origins["hypervisor"] = command_origin(DETECT_VIRT)
    output = host.run(DETECT_VIRT)
    word = "" if output is None or output.returncode != 0 else output.stdout.strip()
    return word if word not in ("", "none", "vm-other") else None


def _kernel(host: Host, origins: dict[str, str]) -> dict[str, object]:
    release = host.text("/proc/sys/kernel/osrelease")
    if release is None and (banner := host.text("/proc/version")) is not None:
        release = parse_release(banner)
        origins |= dict.fromkeys(("kernel_release", "kernel_version"), "/proc/version")
    return {"kernel_release": release, "kernel_version": parse_version(release or "")}


def parse_release(banner: str) -> str | None:
    """The release in ``/proc/version``. Sample: ``Linux version 5.15.0-91-generic (buildd@...) (gcc ...)``"""
    found = re.match(r"Linux version (\S+)", banner)
    return None if found is None else found[1]


def parse_version(release: str) -> tuple[int, int, int] | None:
    """The first three numbers of a kernel's release. Samples: ``5.15.0-91-generic``, ``6.19-rc3``"""
    found = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", release, re.ASCII)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def _cmdline(host: Host) -> tuple[str, ...] | None:
    words = read_cmdline(host)
    return None if words is None else tuple(shown_word(word) for word in words)


def _chassis(host: Host, origins: dict[str, str]) -> dict[str, object]:
    text = host.text(f"{DMI}/chassis_type") or ""
    chassis = int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) else None
    known = chassis is not None and chassis != _CHASSIS_UNKNOWN
    portable = chassis in _PORTABLE if known else None
    if not portable and (battery := _has_battery(host)) is not None:
        portable = battery
        origins["portable"] = POWER_SUPPLY
    return {"chassis_type": chassis, "portable": portable, "desktop": chassis in _DESKTOP if known else None}


def _has_battery(host: Host) -> bool | None:
    """Whether the machine itself (not a mouse) has a battery."""
    names = host.names(POWER_SUPPLY)
    if names is None:
        seen = host.gaps.get(POWER_SUPPLY) == "absent" and bool(host.names(POWER_SUPPLY.rpartition("/")[0]))
        return False if seen else None
    kinds = ((name, host.text(f"{POWER_SUPPLY}/{name}/type")) for name in names)
    return any(kind == "Battery" and host.text(f"{POWER_SUPPLY}/{name}/scope") != "Device" for name, kind in kinds)


def _pressure(host: Host) -> bool | None:
    """Whether the kernel measures pressure: the file may be there and refuse to be read."""
    if host.text("/proc/pressure/cpu") is not None:
        return True
    return False if host.gaps.get("/proc/pressure/cpu") in ("absent", "unsupported") else None
