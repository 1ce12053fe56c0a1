"""Whether a machine is virtual, by whom, and in whose cloud, from what firmware and CPU say.

The list of names follows what systemd-detect-virt(1) documents; clouds that rent out whole machines too (Amazon EC2,
Oracle, Alibaba) put the same vendor into the firmware of both, so there the CPU has the last word.
"""

from dataclasses import dataclass

_VM_VENDORS = (
    ("QEMU", "kvm"),
    ("KVM", "kvm"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "apple"),
    ("OpenStack", "kvm"),
    ("CloudStack", "kvm"),
    ("oVirt", "kvm"),
    ("RHEV", "kvm"),
    ("Nutanix AHV", "kvm"),
    ("Virtual Machine", "microsoft"),
)
"""Words that firmware of virtual machines only has in its vendor, product or BIOS vendor."""
_CLOUDS = (
    ("Amazon EC2", "aws"),
    ("Google Compute Engine", "gcp"),
    ("Google", "gcp"),
    ("Alibaba Cloud", "alibaba"),
    ("OracleCloud.com", "oci"),
    ("7783-7084-3265-9085-8269-3286-77", "azure"),
    ("OpenStack", "openstack"),
    ("DigitalOcean", "digitalocean"),
    ("Tencent Cloud", "tencent"),
    ("HUAWEICLOUD", "huawei"),
    ("Hetzner", "hetzner"),
    ("Scaleway", "scaleway"),
)
_BUILT_IN = {"aws": "amazon", "gcp": "google"}
"""Clouds with hypervisors of their own."""


@dataclass(frozen=True)
class Firmware:
    """What DMI says; ``None`` for what it does not tell."""

    vendor: str | None = None
    product: str | None = None
    bios: str | None = None
    asset_tag: str | None = None

    def texts(self) -> tuple[str, ...]:
        """All that is known."""
        return tuple(text for text in (self.vendor, self.product, self.bios, self.asset_tag) if text)


@dataclass(frozen=True)
class Signs:
    """What else tells a virtual machine; ``None`` for what is not known."""

    cpu_flag: bool | None = None
    """x86: the CPU says so."""
    hypervisor_type: str | None = None
    """/sys/hypervisor/type"""
    xen_control: bool = False
    """This is Xen's own domain 0, which has the hardware."""
    device_tree: str | None = None
    """Compatible string of the hypervisor node of a device tree."""
    cpuinfo_platform: str | None = None
    """POWER: PowerNV has the hardware, pSeries is a guest."""


def cloud_of(firmware: Firmware) -> str | None:
    """The cloud's short name, ``none`` for firmware of no cloud, ``None`` without any firmware text."""
    texts = firmware.texts()
    found = next((cloud for word, cloud in _CLOUDS if any(word in text for text in texts)), None)
    return found or ("none" if firmware.vendor else None)


def hypervisor_of(firmware: Firmware, signs: Signs) -> str | None:
    """The hypervisor's name, when the machine is virtual and something names it."""
    if signs.hypervisor_type:
        return signs.hypervisor_type
    named = _vm_vendor(firmware)
    return _BUILT_IN.get(cloud_of(firmware) or "") or named or signs.device_tree


def virtual_of(firmware: Firmware, signs: Signs) -> bool | None:
    """Whether the machine is virtual; false only when something says that it has the hardware."""
    if signs.xen_control:
        return False
    if signs.cpu_flag or signs.hypervisor_type or signs.device_tree or _vm_vendor(firmware):
        return True
    if signs.cpuinfo_platform is not None:
        return {"PowerNV": False, "pSeries": True}.get(signs.cpuinfo_platform.split()[0])
    if firmware.vendor is None:
        return None
    if signs.cpu_flag is None and cloud_of(firmware) in ("aws", "gcp", "oci", "alibaba"):
        # Without the CPU's word only the name of a machine type tells.
        return None if cloud_of(firmware) != "aws" else ".metal" not in (firmware.product or "")
    return False


def _vm_vendor(firmware: Firmware) -> str | None:
    texts = (firmware.vendor or "", firmware.product or "", firmware.bios or "")
    return next((name for word, name in _VM_VENDORS if any(word in text for text in texts)), None)
