"""Whether the node is at work for somebody else: measuring then would be wrong, and rude."""

import re
import time
from collections.abc import Callable

from advisor.errors import BusyError
from advisor.host.base import Host
from advisor.model.snapshot import Snapshot
from advisor.probes.gpu import Gpu

CPU_PRESSURE = "/proc/pressure/cpu"
MOST_PRESSURE_PERCENT = 20.0
"""Share of the last ten seconds in which some task waited for a CPU."""
PATIENCE_SECONDS = 30.0
"""How long a node may take to become quiet: the installation of advisor itself is still felt for ten seconds."""
_LOOK_SECONDS = 3.0
_SOME = re.compile(r"^some avg10=(\d+(?:\.\d+)?)\b", re.ASCII | re.MULTILINE)


def pressure_percent(text: str) -> float | None:
    """The share of the last 10 s in which some task waited, in percent.

    Sample of /proc/pressure/cpu (https://docs.kernel.org/accounting/psi.html):

        some avg10=0.22 avg60=0.10 avg300=0.05 total=123456
        full avg10=0.00 avg60=0.00 avg300=0.00 total=0
    """
    found = _SOME.search(text)
    return float(found[1]) if found else None


def refuse_when_busy(host: Host) -> str | None:
    """Raises BusyError when CPUs are contended; a note when that could not be told."""
    text = host.text(CPU_PRESSURE)
    percent = pressure_percent(text) if text is not None else None
    if percent is None:
        return f"whether others use the CPUs could not be told: {CPU_PRESSURE} gave nothing"
    if percent > MOST_PRESSURE_PERCENT:
        raise BusyError(
            f"the node is busy: tasks waited for a CPU in {percent:g} % of the last 10 s "
            f"({CPU_PRESSURE}, more than {MOST_PRESSURE_PERCENT:g} %), so a measurement would mislead; "
            "wait, or give --allow-busy"
        )
    return None


def wait_until_quiet(host: Host, say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep) -> str | None:
    """As `refuse_when_busy`, but gives the node some time first."""
    waited = 0.0
    while True:
        try:
            return refuse_when_busy(host)
        except BusyError:
            if waited >= PATIENCE_SECONDS:
                raise
        if waited == 0:
            say(f"the CPUs are in use; waiting up to {PATIENCE_SECONDS:g} s for them (--allow-busy does not wait)")
        sleep(_LOOK_SECONDS)
        waited += _LOOK_SECONDS


def refuse_foreign_gpu_work(snapshot: Snapshot) -> None:
    """Raises BusyError when some process computes on a GPU: no trial runs yet, so it is somebody else's."""
    gpus = (snapshot.get(Gpu) or Gpu()).gpus or ()
    busy = [one for one in gpus if one.compute_processes]
    if busy:
        named = ", ".join(
            f"GPU {one.index} (processes {', '.join(map(str, one.compute_processes or ()))})" for one in busy
        )
        raise BusyError(
            f"the node is busy: processes compute on {named}, so a measurement would mislead and disturb them; "
            "wait, or give --allow-busy"
        )
