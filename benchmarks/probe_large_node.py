"""`advisor probe` of a made-up large node, against plainly opening and reading the same files, in one run.

    python benchmarks/probe_large_node.py [--rounds 5]

The node lies in a temporary folder: 8 GPUs, 10 NICs, 8 NVMe drives, 256 CPUs, 4,000 interrupts; and the same CPUs
with a quarter, a half and twice the devices. Each probing runs in a process of its own, whose peak memory is read; its
time is that of probing and deriving (advisor's start is not in it), the best of the rounds. Prints a line for each
size; exits 1 when probing the full node takes more than 3 times the plain reading or 150 MB, or when the time grows
faster than the node. Run it on a machine that does nothing else.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.gpu_node import gpu_node

MOST_RATIO = 3.0
MOST_MEMORY_MB = 150.0
MOST_GROWTH = 1.25
"""How much more time a device may cost on the largest node than on the full one: noise, not a power."""
SIZES = {"quarter": 0.25, "half": 0.5, "full": 1.0, "double": 2.0}
PROBE = """
import resource, sys, time
from advisor.commands._snapshot import probe_host
from advisor.discover import units
from advisor.host.captured import open_root
units("probes"), units("derived")
host = open_root(sys.argv[1])
start = time.perf_counter()
snapshot, defects = probe_host(host)
seconds = time.perf_counter() - start
assert not defects, defects
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
FILES = """
import sys
from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.host.recording import Recorder
host = Recorder.of(open_root(sys.argv[1]))
probe_host(host)
answers = [answer for (question, _), answer in host.answers.items() if question == "data"]
read = {answer.place for answer in answers if answer.value is not None}
print("\\n".join(sys.argv[1] + path for path in sorted(read)))
"""
PLAIN = """
import sys, time
paths = sys.stdin.read().split("\\n")
start = time.perf_counter()
for path in paths:
    with open(path, "rb") as file:
        file.read()
print(time.perf_counter() - start)
"""


def main() -> int:
    """Measures every size and returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'node':8} {'files':>7} {'plain s':>8} {'probe s':>8} {'ratio':>6} {'us/file':>8} {'peak MB':>8}")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, size in SIZES.items():
            rows[name] = _measure(Path(folder) / name, size, rounds)
            files, plain, probe, memory = rows[name]
            cost = probe / files * 1e6
            print(f"{name:8} {files:7} {plain:8.3f} {probe:8.3f} {probe / plain:6.2f} {cost:8.1f} {memory:8.1f}")
    files, plain, probe, memory = rows["full"]
    growth = (rows["double"][2] / rows["double"][0]) / (probe / files)
    print(
        f"ratio {probe / plain:.2f} (at most {MOST_RATIO}), peak {memory:.0f} MB (at most {MOST_MEMORY_MB:.0f}), ",
        end="",
    )
    print(f"time per file at twice the size {growth:.2f} of the full node's (at most {MOST_GROWTH})")
    return int(probe / plain > MOST_RATIO or memory > MOST_MEMORY_MB or growth > MOST_GROWTH)


def _measure(folder: Path, size: float, rounds: int) -> tuple[int, float, float, float]:
    """How many files were read, the seconds of reading and of probing, and the peak memory in MB."""
    made = gpu_node(256, *(max(2, round(count * size)) for count in (8, 10, 8, 4000)))
    folder.mkdir()
    made.write(folder)
    paths = _run(FILES, str(folder))
    plain, probe, memory = [], [], []
    for _ in range(rounds):
        plain.append(float(_run(PLAIN, given=paths)))
        seconds, peak = _run(PROBE, str(folder)).split()
        probe.append(float(seconds))
        memory.append(float(peak))
    return paths.count("\n") + 1, min(plain), min(probe), max(memory)


def _run(program: str, *arguments: str, given: str = "") -> str:
    argv = [sys.executable, "-c", program, *arguments]
    return subprocess.run(argv, input=given, capture_output=True, text=True, check=True, timeout=300).stdout.rstrip(
        "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
