"""Whether the node is at work for somebody else: measuring then would be wrong, and rude."""

import re

from advisor.errors import BusyError
from advisor.host.base import Host

CPU_PRESSURE = "/proc/pressure/cpu"
MOST_PRESSURE_PERCENT = 20.0
"""Share of the last ten seconds in which some task waited for a CPU."""
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
