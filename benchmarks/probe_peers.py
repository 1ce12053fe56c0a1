"""`advisor probe` against its peers as whole processes, in turn, in one run.

    python benchmarks/probe_peers.py [--rounds 7] [--install]

Peers: ``ansible localhost -m setup -c local``, ``facter --json``, ``lshw -json``. ``--install`` fetches the missing
ones (ansible-core into a virtual environment in the temporary folder, facter and lshw by apt-get as root). Prints the
median wall and CPU seconds of each and the peer's median over advisor's; exits 1 when advisor is less than 5 times
faster than ansible, or slower than facter. Run it on a machine that does nothing else.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEAST_RATIO = {"ansible": 5.0, "facter": 1.0}


def main() -> int:
    """Runs all in turn and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--install", action="store_true", help="fetch the peers that are missing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = {"advisor": _advisor(folder), **_peers(arguments.install)}
        samples = _measure(commands, arguments.rounds)
    return _report(samples)


def _advisor(folder: str) -> list[str]:
    beside = Path(sys.executable).with_name("advisor")
    return [str(beside), "probe", "--quiet", "--out", folder]


def _peers(install: bool) -> dict[str, list[str]]:
    found = {
        "ansible": _ansible(install),
        "facter": _debian("facter", ["--json"], install),
        "lshw": _debian("lshw", ["-json", "-quiet"], install),
    }
    for name in (name for name, command in found.items() if command is None):
        print(f"{name}: not installed, left out (--install fetches it)", file=sys.stderr)
    return {name: command for name, command in found.items() if command}


def _ansible(install: bool) -> list[str] | None:
    arguments = ["localhost", "-m", "setup", "-c", "local"]
    present = shutil.which("ansible")
    if present:
        return [present, *arguments]
    folder = Path(tempfile.gettempdir()) / "advisor-benchmark-ansible"
    if install and not (folder / "bin" / "ansible").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "ansible-core"], check=True)
    return [str(folder / "bin" / "ansible"), *arguments] if (folder / "bin" / "ansible").exists() else None


def _debian(name: str, arguments: list[str], install: bool) -> list[str] | None:
    if shutil.which(name) is None and install:
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", name], check=True)
    path = shutil.which(name)
    return [path, *arguments] if path else None


def _measure(commands: dict[str, list[str]], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU seconds of each command, run in turn; the first round warms the caches and does not count."""
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            taken = _timed(command)
            if number:
                samples[name].append(taken)
    return samples


def _timed(command: list[str]) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ)
    wall = time.perf_counter() - start
    # facter exits with 1 where it cannot resolve some fact, after it has printed all the others.
    if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
        raise SystemExit(f"{' '.join(command)} failed with status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _report(samples: dict[str, list[tuple[float, float]]]) -> int:
    walls = {name: statistics.median(wall for wall, _ in taken) for name, taken in samples.items()}
    cpus = {name: statistics.median(cpu for _, cpu in taken) for name, taken in samples.items()}
    status = 0
    print(f"{'command':10} {'wall s':>8} {'cpu s':>8} {'wall / advisor':>15}")
    for name in samples:
        ratio = walls[name] / walls["advisor"]
        verdict = ""
        if name in LEAST_RATIO and ratio < LEAST_RATIO[name]:
            verdict, status = f"  below the limit of {LEAST_RATIO[name]:g}", 1
        print(f"{name:10} {walls[name]:8.3f} {cpus[name]:8.3f} {ratio:15.2f}{verdict}")
    return status


if __name__ == "__main__":
    sys.exit(main())
