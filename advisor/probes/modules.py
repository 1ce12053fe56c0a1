"""Kernel modules that matter for training, their parameters, and what modprobe.d and the command line ask for.

An option that the module does not know is only warned of by the kernel, so a line of modprobe.d proves nothing:
compare with ``accepts``. Format: modprobe.d(5), https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host, command_origin
from advisor.host.fields import read_fields
from advisor.host.secret_names import names_secret
from advisor.model.facts import Facts, File, Seen
from advisor.probes._cmdline import CMDLINE, read_cmdline, split_words
from advisor.probes._collected import Collected
from advisor.probes._dropins import Line, drop_ins, file_text, joined, lines_of
from advisor.probes._kept_out import KeptOut, of_lines, of_words

ORIGIN = "/sys/module"
FOLDERS = tuple(f"{top}/modprobe.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
BOOT_FOLDERS = tuple(f"{top}/modules-load.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
"""Lists of modules that systemd loads at boot: modules-load.d(5)."""
OF_INTEREST = (
    "bonding", "ena", "gve", "ib_core", "ib_uverbs", "lustre", "md_mod", "megaraid_sas", "mlx4_core", "mlx5_core",
    "mlx5_ib", "mpt3sas", "nfs", "nouveau", "nv_peer_mem", "nvidia", "nvidia_drm", "nvidia_peermem", "nvidia_uvm",
    "nvme", "nvme_core", "rdma_cm", "rdma_ucm", "smartpqi", "sunrpc", "virtio_net", "zfs", "zswap",
)  # fmt: skip
ALL_VISIBLE = ("mlx5_core", "mlx5_ib")
"""Modules that show every parameter in /sys/module (drivers/net/ethernet/mellanox/mlx5/core/main.c). Others hide some
(mode 0: all NVreg_ ones of nvidia), so that only modinfo knows."""
ALWAYS_ACCEPTED = ("async_probe", "dyndbg")
"""The kernel itself takes these for every module (kernel/module/main.c)."""
_OPERATORS = ("/etc/", "/run/")
"""Whose options are held against what the module takes; those of the distribution and the boot loader are listed."""
_KNOWN_BY_MODINFO = ("nvidia",)
"""Asked for whenever it is loaded: it hides its parameters and they are worth setting."""


class Parameter(Facts):
    """The present value of a module's parameter."""

    read_from: ClassVar[str] = "/sys/module/*/parameters/*"
    name: str
    value: Annotated[str | None, "as the kernel prints it"] = None


class Module(Facts):
    """One module of interest, from its folder below ``/sys/module``."""

    read_from: ClassVar[str] = "/sys/module/*"
    name: Annotated[str, "with underscores"]
    loaded: Annotated[bool | None, "loaded, or built in and shown in /sys/module"] = None
    built_in: Annotated[bool | None, "part of the kernel image (it has no initstate)"] = None
    version: Annotated[str | None, File("version"), "drivers from outside the kernel have one, most others not"] = None
    parameters: Annotated[tuple[Parameter, ...] | None, File("parameters"), "readable parameters by name"] = None
    accepts: Annotated[tuple[str, ...] | None, "parameters that it is known to take"] = None
    accepts_no_others: Annotated[bool | None, "accepts is complete; else hidden parameters may exist"] = None


class ModuleOption(Facts):
    """One ``parameter=value`` that a configuration file or the kernel command line asks for."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = (
        "/etc/modprobe.d/*.conf, /usr/lib/modprobe.d/*.conf, "
        "/lib/modprobe.d/*.conf, /run/modprobe.d/*.conf, /proc/cmdline"
    )
    module: Annotated[str, "with underscores"]
    parameter: str
    value: Annotated[str | None, "none for a parameter without =; ... for what may be a credential"] = None
    path: str = ""
    line: int | None = None
    wins: Annotated[bool, "nothing later sets the same parameter"] = True
    accepted: Annotated[bool | None, "the module takes this parameter; false: the kernel ignores it"] = None


class AtBoot(Facts):
    """One line of modules-load.d."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = (
        "/etc/modules-load.d/*.conf, /run/modules-load.d/*.conf, /usr/local/lib/modules-load.d/*.conf, "
        "/usr/lib/modules-load.d/*.conf, /lib/modules-load.d/*.conf"
    )
    module: Annotated[str, "with underscores"]
    path: str = ""
    line: int | None = None


class Modules(Facts):
    """Modules of interest and configured ones, loaded or not, and all options that are asked for."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/sys/module"
    modules: Annotated[tuple[Module, ...] | None, "by name"] = None
    options: Annotated[tuple[ModuleOption, ...] | None, "in the order in which modprobe adds them up"] = None
    at_boot: Annotated[tuple[AtBoot, ...] | None, "modules that systemd is told to load at boot"] = None
    kept_out: Annotated[tuple[KeptOut, ...] | None, "lines that keep modules from being loaded"] = None


COLLECTED = Collected(
    folders=(
        (ORIGIN, ""),
        *((f"{ORIGIN}/{name}", "version initstate") for name in OF_INTEREST),
        *((f"{ORIGIN}/{name}/parameters", "*") for name in OF_INTEREST),
        *((folder, "*.conf") for folder in (*FOLDERS, *BOOT_FOLDERS)),
    ),
    files=("/proc/cmdline",),
)


def read(host: Host) -> Modules:
    """The kernel modules of ``host``."""
    shown = host.names(ORIGIN)
    lines = _lines(host)
    options = _options(host, lines, frozenset(shown or ()))
    wanted: dict[str, set[str]] = {name: set() for name in OF_INTEREST}
    for option in options or ():
        if option.path.startswith(_OPERATORS) or (option.path == CMDLINE and option.module in OF_INTEREST):
            wanted.setdefault(option.module, set()).add(option.parameter)
    at_boot = _at_boot(host)
    for one in at_boot or ():
        if one.path.startswith(_OPERATORS):
            wanted.setdefault(one.module, set())
    modules = {name: _module(host, name, shown, wanted[name]) for name in sorted(wanted)}
    judged = None if options is None else tuple(_judged(option, modules.get(option.module)) for option in options)
    return Modules(
        origin=ORIGIN,
        modules=tuple(modules.values()),
        options=judged,
        at_boot=at_boot,
        kept_out=None if lines is None else of_lines(lines) + of_words(read_cmdline(host) or ()),
        origins={"options": FOLDERS[0], "at_boot": BOOT_FOLDERS[0], "kept_out": FOLDERS[0]},
    )


def _at_boot(host: Host) -> tuple[AtBoot, ...] | None:
    files = drop_ins(host, BOOT_FOLDERS)
    if files is None:
        return None
    return tuple(one for path in files for one in parse_at_boot(file_text(host, path) or "", path))


def parse_at_boot(text: str, path: str) -> tuple[AtBoot, ...]:
    """The modules in a file of modules-load.d. Sample: ``# RDMA`` + ``ib_umad``"""
    lines = ((number, raw.strip()) for number, raw in enumerate(text.split("\n"), 1))
    return tuple(
        AtBoot(origin=path, module=line.replace("-", "_"), path=path, line=number)
        for number, line in lines
        if line and line[0] not in "#;"
    )


def module_named(modules: Modules, name: str) -> Module | None:
    """The module of this name, ``-`` and ``_`` being the same; ``None`` when it is not listed."""
    wanted = name.replace("-", "_")
    return next((module for module in modules.modules or () if module.name == wanted), None)


def _module(host: Host, name: str, shown: tuple[str, ...] | None, wanted: set[str]) -> Module:
    """One module. modinfo, which costs a process, is asked only for ``wanted`` parameters that are not visible."""
    folder = f"{ORIGIN}/{name}"
    if shown is None or name not in shown:
        loaded = False if shown is not None and host.exists(folder) is False else None
        accepts = _modinfo(host, name) if wanted else None
        complete = True if accepts is not None else None
        return Module(origin=folder, name=name, loaded=loaded, accepts=accepts, accepts_no_others=complete)
    files = host.names(folder) or ()
    parameters = _parameters(host, folder) if "parameters" in files else ()
    visible = {parameter.name for parameter in parameters or ()}
    told = _modinfo(host, name) if wanted - visible or name in _KNOWN_BY_MODINFO else None
    complete = told is not None or (name in ALL_VISIBLE and parameters is not None)
    state = host.exists(f"{folder}/initstate")
    given: dict[str, object] = {} if "version" in files else {"version": None}
    return read_fields(
        host,
        Module,
        folder,
        name=name,
        loaded=True,
        # A module that was loaded has a state; what is part of the kernel has none.
        built_in=None if state is None else not state,
        parameters=parameters,
        accepts=tuple(sorted(visible | set(told or ()))) if visible or complete else None,
        accepts_no_others=complete,
        **given,
    )


def _parameters(host: Host, folder: str) -> tuple[Parameter, ...] | None:
    names = host.names(f"{folder}/parameters")
    if names is None:
        return None
    return tuple(
        Parameter(origin=f"{folder}/parameters/{name}", name=name, value=host.text(f"{folder}/parameters/{name}"))
        for name in names
    )


def _modinfo(host: Host, name: str) -> tuple[str, ...] | None:
    """The parameters that the module's file declares, hidden ones too."""
    argv = ("modinfo", "-F", "parm", name)
    output = host.run(argv)
    if output is None:
        return None
    if output.returncode != 0:
        host.missed(command_origin(argv), "unsupported")
        return None
    return parse_modinfo(output.stdout)


def parse_modinfo(text: str) -> tuple[str, ...]:
    """Parameter names in the output of ``modinfo -F parm``. Sample: ``prof_sel:profile selector (uint)``"""
    return tuple(sorted({line.partition(":")[0].strip() for line in text.split("\n") if ":" in line}))


def _judged(option: ModuleOption, module: Module | None) -> ModuleOption:
    """``option`` with whether its module takes it."""
    accepted: bool | None = None
    if option.parameter in ALWAYS_ACCEPTED or (module and option.parameter in (module.accepts or ())):
        accepted = True
    elif module and module.accepts_no_others:
        accepted = False
    origins = {"accepted": f"{ORIGIN}/{option.module}/parameters"}
    return option.model_copy(update={"accepted": accepted, "origins": origins})


def _lines(host: Host) -> tuple[Line, ...] | None:
    """The lines of modprobe.d that count, in their order."""
    files = drop_ins(host, FOLDERS)
    return None if files is None else tuple(line for path in files for line in lines_of(host, path))


def _options(host: Host, lines: tuple[Line, ...] | None, shown: frozenset[str]) -> tuple[ModuleOption, ...] | None:
    """All options, in the order in which modprobe adds them up: files by name, then the kernel command line."""
    words = read_cmdline(host)
    if lines is None and words is None:
        return None
    found = [option for line in lines or () for option in _of_line(line)]
    found += parse_cmdline_options(words or (), shown | set(OF_INTEREST))
    last = {(option.module, option.parameter): number for number, option in enumerate(found)}
    return tuple(
        option if last[option.module, option.parameter] == number else option.model_copy(update={"wins": False})
        for number, option in enumerate(found)
    )


def parse_modprobe(text: str, path: str) -> tuple[ModuleOption, ...]:
    """The options in a modprobe.d file; lines of other kinds (alias, install, softdep ...) say nothing of them.

    Sample: ``options nvidia-drm modeset=1 fbdev=1``
    """
    return tuple(option for line in joined(text, path) for option in _of_line(line))


def _of_line(line: Line) -> tuple[ModuleOption, ...]:
    words = split_words(line.text)
    if len(words) < 3 or words[0] != "options":
        return ()
    return tuple(_option(words[1], word, line.path, line.number) for word in words[2:])


def parse_cmdline_options(words: tuple[str, ...], modules: frozenset[str] | set[str]) -> tuple[ModuleOption, ...]:
    """The words ``module.parameter=value`` of the kernel command line; other words have dots too (``rd.lvm.lv=``)."""
    found = []
    for word in words:
        module, dot, option = word.partition("=")[0].partition(".")
        if dot and option and module.replace("-", "_") in modules:
            found.append(_option(module, word[len(module) + 1 :], CMDLINE, None))
    return tuple(found)


def _option(module: str, word: str, path: str, line: int | None) -> ModuleOption:
    name, equals, value = word.partition("=")
    return ModuleOption(
        origin=path,
        module=module.replace("-", "_"),
        parameter=name.replace("-", "_"),
        value=None if not equals else "..." if names_secret(name) else value,
        path=path,
        line=line,
    )
