"""The emulated machine starts only when asked for, and ends with the table of what was true and what was found."""

import pytest

TABLE = pytest.StashKey[list[tuple[str, str, str, str]]]()
"""Where, path, found and verdict of each fact that was compared."""


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
    if rows:
        terminalreporter.section("facts of the emulated machine")
    for where, path, found, verdict in rows:
        terminalreporter.write_line(f"{verdict:6} {where:10} {path:62} {found}")
