"""What the terminal that standard output goes to can show."""

import os
import shutil
import sys

from advisor.reports._look import Look


def look_at(no_color: bool) -> Look:
    """The look of reports: ``COLUMNS``, ``NO_COLOR``, the encoding, and whether it is a terminal at all."""
    terminal = sys.stdout.isatty()
    color = terminal and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return Look(shutil.get_terminal_size((80, 24)).columns, color, encoding.startswith("utf"))
