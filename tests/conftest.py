"""What holds for all tests: in CI, where the tools are installed, a test that is skipped for want of one fails."""

import os
from collections.abc import Iterator

import pytest

# Neither a tool nor the project's fault: what may be missing in CI too.
_MAY_BE_MISSING = (
    "beside the checkout",
    "a GPU",
    "emulated machine",
    "root",
    "allow",
    "cannot be mounted here",
    "stands in for",
)


# Tests start small programs (sleep, mount); a PATH of nothing but Python, sh and git must not make them fail.
os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture(scope="session", autouse=True)
def _base_of_temporary_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Made before a test changes where temporary files go."""
    tmp_path_factory.getbasetemp()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Turns a skip for a missing tool into a failure when ``CI=true``."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2])
        if not any(words in reason for words in _MAY_BE_MISSING):
            report.outcome = "failed"
            report.longrepr = f"{reason} (in CI a missing tool is a failure)"
    return report
