"""The emulated machine starts only when asked for, and ends with the table of what was true and what was found."""

import pytest

TABLE = pytest.StashKey[list[tuple[str, str, str, str, str, str]]]()
"""Verdict, where, path, what it should be, what was found, and which line of the machine's making says so."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the emulated machine out unless ``-m`` names it: it takes minutes of one or two CPUs."""
    if "vm" in str(config.option.markexpr).split():
        return
    left_out = [item for item in items if item.get_closest_marker("vm")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints the table."""
    rows = config.stash.get(TABLE, [])
    if not rows:
        return
    right = sum(verdict == "right" for verdict, *_ in rows)
    terminalreporter.section(f"facts of the emulated machine: {right} of {len(rows)} right")
    for verdict, where, path, true, found, why in rows:
        terminalreporter.write_line(f"{verdict:6} {where:10} {path:62} {true:40} {found:40} {why}")
