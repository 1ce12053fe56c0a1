"""Tells which of its jobs this installation can do here, and what each of the others lacks."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import click

SCHEMA_VERSION = 1
_PROGRAMS = {
    "ethtool": "rings, channels, offloads and drops of network cards",
    "modinfo": "which parameters a kernel module takes",
    "nvme": "caches and health of NVMe drives (as root)",
    "lvs": "the layout of LVM (as root)",
    "systemd-detect-virt": "some kinds of virtual machines",
}
"""What the probes ask, and what is not known without it."""
_LEAST = {"torch": (2, 2), "optuna": (5, 0), "numpy": (1, 26), "scipy": (1, 11), "pillow": (10, 3), "psutil": (6, 0)}
"""As in pyproject.toml."""


@dataclass(frozen=True)
class Job:
    """One thing that advisor is for."""

    name: str
    able: Literal["yes", "partly", "no"]
    about: str
    remedy: str = ""


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(form: str, quiet: bool, no_color: bool) -> None:
    """Looks whether this installation can read, judge, write, measure and install here, and says what is missing.

    Exit status: 0, whatever is missing.
    """
    from advisor.inputs import printable

    jobs = [*_jobs()]
    if form == "json" and not quiet:
        document = {"schema_version": SCHEMA_VERSION, "jobs": [asdict(job) for job in jobs]}
        click.echo(json.dumps(document, indent=1, sort_keys=True))
    for job in jobs if form == "text" and not quiet else ():
        click.echo(f"{job.able:<7} {printable(f'{job.name}: {job.about}')}")
        if job.remedy:
            click.echo(f"{'':<7} {printable(job.remedy)}")


def _jobs() -> Iterator[Job]:
    from advisor.host.live import LiveHost

    host = LiveHost.here()
    yield _reading(host.root_user)
    yield _asking_gpus(host.nvml(), host.gaps.get("nvml"))
    yield _judging()
    yield _writing()
    yield measuring(_LEAST)
    yield _installing(host.root_user)


def _reading(root: bool | None) -> Job:
    from advisor.host.commands import find_program

    missing = [name for name in _PROGRAMS if find_program(name) is None]
    lost = "; ".join(f"without {name}: {_PROGRAMS[name]}" for name in missing)
    about = "as root, all that the kernel shows" if root else "without root, which hides some facts"
    remedy = f"install {', '.join(missing)} to know more ({lost})" if missing else ""
    if not root:
        remedy = "; ".join(part for part in ("start it with sudo to see more", remedy) if part)
    return Job("read this host (probe)", "yes" if root and not missing else "partly", about, remedy)


def _asking_gpus(answers: object, gap: str | None) -> Job:
    name = "ask NVIDIA GPUs (NVML)"
    if isinstance(answers, dict) and "failure" not in answers:
        return Job(name, "yes", f"{len(answers.get('gpus') or ())} GPUs answered")
    if isinstance(answers, dict):
        return Job(name, "no", f"the library gave nothing: {answers['failure']}", "see advisor probe")
    remedy = "give --nvidia-smi-xml FILE where GPUs are hidden from here"
    return Job(name, "no", f"no NVIDIA driver can be seen ({gap or 'not asked'})", remedy)


def _judging() -> Job:
    from advisor.commands._rules import loaded
    from advisor.errors import RuleError

    try:
        return Job("judge it (check)", "yes", f"{len(loaded())} rules are sound")
    except RuleError as error:
        return Job("judge it (check)", "no", str(error).partition("\n")[0], "install advisor again")


def _writing() -> Job:
    from advisor.data import template_texts
    from advisor.errors import TemplateError

    try:
        return Job("write configuration (render)", "yes", f"{len(template_texts())} templates are there")
    except TemplateError as error:
        return Job("write configuration (render)", "no", str(error), "install advisor again")


def measuring(least: Mapping[str, tuple[int, ...]]) -> Job:
    """Whether trials can run, with at least these versions of packages."""
    import os

    found = {name: _version(name) for name in least}
    lacking = [f"{name} (not installed)" for name, version in found.items() if version is None]
    lacking += [f"{n} {'.'.join(map(str, v))}" for n, v in found.items() if v is not None and v < least[n]]
    if lacking:
        wanted = ", ".join(f"{name}>={'.'.join(map(str, version))}" for name, version in least.items())
        return Job("measure (tune)", "no", f"missing or too old: {', '.join(lacking)}", f"install {wanted}")
    if not os.access("/dev/shm", os.W_OK):
        told = "/dev/shm cannot be written to, so no trial with workers can run"
        return Job("measure (tune)", "partly", told, "mount a tmpfs there")
    return Job("measure (tune)", "yes", f"torch {'.'.join(map(str, found['torch'] or ()))} is there")


def _version(name: str) -> tuple[int, ...] | None:
    """The first numbers of an installed package's version, without importing it."""
    import re
    from importlib import metadata

    try:
        numbers = re.match(r"\d{1,9}(?:\.\d{1,9})*", metadata.version(name))
    except metadata.PackageNotFoundError:
        return None
    return tuple(map(int, numbers[0].split("."))) if numbers else None


def _installing(root: bool | None) -> Job:
    from advisor.host.live import LiveHost
    from advisor.probes import platform

    name = "install and undo (apply, rollback)"
    inside = platform.read(LiveHost.here()).container
    if inside is not False:
        why = "this is a container" if inside else "it cannot be told whether this is a container"
        return Job(
            name, "partly", f"{why}: only other roots can be changed", "run it on the host, or give --target-root"
        )
    if not root:
        return Job(name, "partly", "without root only other roots can be changed", "start it with sudo")
    return Job(name, "yes", "as root, on this host")
