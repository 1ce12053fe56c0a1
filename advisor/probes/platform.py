"""What kind of machine this is: virtual or not, container or not, whose cloud, which kernel.

Nothing here names the host: no serial, no UUID, no host name.
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File


class Platform(Facts):
    """The kind of machine that the other facts are from. A gate is ``None`` when nothing tells."""

    virtual: Annotated[bool | None, "a virtual machine; false only with positive evidence of hardware"] = None
    hypervisor: Annotated[str | None, "kvm, xen, vmware, microsoft, amazon, google ..."] = None
    container: Annotated[bool | None, "the reader runs in a container"] = None
    container_kind: Annotated[str | None, "docker, podman, kubernetes, lxc, systemd-nspawn ..."] = None
    cloud: Annotated[str | None, "aws, azure, gcp, oci, alibaba, openstack, by firmware; none is none known"] = None
    kernel_release: Annotated[str | None, File("proc/sys/kernel/osrelease"), "as uname -r"] = None
    kernel_version: Annotated[tuple[int, int, int] | None, File("proc/sys/kernel/osrelease")] = None
    cmdline: Annotated[tuple[str, ...] | None, File("proc/cmdline"), "words of the kernel command line"] = None
    architecture: Annotated[str | None, "x86_64, aarch64, ppc64le ..."] = None
    system_vendor: Annotated[str | None, File("sys/class/dmi/id/sys_vendor")] = None
    product_name: Annotated[str | None, File("sys/class/dmi/id/product_name")] = None
    bios_vendor: Annotated[str | None, File("sys/class/dmi/id/bios_vendor")] = None
    chassis_type: Annotated[int | None, File("sys/class/dmi/id/chassis_type"), "SMBIOS chassis type"] = None
    portable: Annotated[bool | None, "a laptop or tablet, by chassis or battery"] = None
    desktop: Annotated[bool | None, "a desktop or workstation, by chassis"] = None
    init: Annotated[str | None, "program of process 1: systemd, init, tini ..."] = None
    pressure_available: Annotated[bool | None, File("proc/pressure/cpu"), "the kernel measures pressure (PSI)"] = None
    root_user: Annotated[bool | None, "the reader is root"] = None


def read(host: Host) -> Platform:
    """The kind of machine that ``host`` is."""
    return Platform(origin="/", root_user=host.root_user)
