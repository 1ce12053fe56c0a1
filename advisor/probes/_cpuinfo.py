"""What /proc/cpuinfo says of the first CPU, and the architecture that follows. Its lines differ per architecture."""

from advisor.host.base import READ_LIMIT_BYTES, Host

CPUINFO = "/proc/cpuinfo"
ARCH = "/proc/sys/kernel/arch"
_FIRST_CPU_BYTES = READ_LIMIT_BYTES
_ALL_CPUS_BYTES = 8 * 1024 * 1024
UNAME = ("uname", "-m")


def read_first_cpu(host: Host) -> dict[str, str] | None:
    """The fields of the first CPU and of the machine, by name in small letters."""
    text = host.text(CPUINFO, _FIRST_CPU_BYTES)
    return None if text is None else parse_first_cpu(text)


def read_processors(host: Host) -> tuple[int, ...] | None:
    """Numbers of all CPUs listed; some kernels list offline ones too. ``None`` when the text lists none."""
    text = host.text(CPUINFO, _ALL_CPUS_BYTES)
    found = parse_processors(text or "")
    return found or None


def parse_first_cpu(text: str) -> dict[str, str]:
    r"""The first value of each field.

    Sample: ``model name\t: AMD EPYC 7763 64-Core Processor``
    """
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    return fields


def parse_processors(text: str) -> tuple[int, ...]:
    """The numbers after ``processor``, ascending. Samples: ``processor : 3``; on s390 ``processor 3: version = ...``"""
    found = set()
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        words = name.split()
        if not colon or not words or words[0] != "processor":
            continue
        number = words[1] if len(words) == 2 else value.strip()
        if number.isascii() and number.isdigit() and len(number) < 9:
            found.add(int(number))
    return tuple(sorted(found))


def hypervisor_flag(fields: dict[str, str]) -> bool | None:
    """Whether an x86 CPU says that it is virtual; ``None`` for other architectures."""
    flags = fields.get("flags")
    return None if flags is None else "hypervisor" in flags.split()


def read_architecture(host: Host, fields: dict[str, str] | None) -> tuple[str | None, str]:
    """The kernel's architecture as ``uname -m`` prints it, and where it was read."""
    if (told := host.text(ARCH)) is not None:
        return told.strip() or None, ARCH
    if (guessed := architecture_of(fields or {})) is not None:
        return guessed, CPUINFO
    output = host.run(UNAME)
    if output is not None and output.returncode == 0 and output.stdout.strip():
        return output.stdout.strip(), "command: " + " ".join(UNAME)
    return None, ARCH


def architecture_of(fields: dict[str, str]) -> str | None:
    """The architecture by the shape of cpuinfo; ``None`` where two architectures share a shape."""
    if "flags" in fields and "vendor_id" in fields:
        # Only 32-bit kernels list these bugs of the first Pentiums, also on CPUs that could do 64 bits.
        small = "f00f_bug" in fields or "fdiv_bug" in fields or "lm" not in fields["flags"].split()
        return "i686" if small else "x86_64"
    if "cpu implementer" in fields:
        return {"8": "aarch64", "AArch64": "aarch64", "7": "armv7l"}.get(fields.get("cpu architecture", ""))
    if fields.get("vendor_id") == "IBM/S390":
        return "s390x"
    if fields.get("arch") == "IA-64":
        return "ia64"
    isa = fields.get("isa", "")
    return "riscv64" if isa.startswith("rv64") else "loongarch64" if isa.startswith("loongarch64") else None
