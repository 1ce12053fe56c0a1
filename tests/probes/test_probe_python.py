"""The Python environment: read live, without importing what is in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.host.live import LiveHost
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.python import default_start_method, parse_torch_version, read
from tests.trees import write_tree

TORCH = "__version__ = '2.9.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip = None\n"


def test_the_interpreter_is_this_one() -> None:
    facts = read(LiveHost.here())
    assert facts.version == sys.version_info[:3]
    assert facts.implementation == sys.implementation.name


def test_torch_is_what_its_own_import_says() -> None:
    code = "import torch; print(torch.__version__, torch.version.cuda)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        pytest.skip("torch is not installed here")
    facts = read(LiveHost.here())
    version, cuda = done.stdout.split()
    assert "+".join(part for part in (facts.torch_version, facts.torch_build) if part) == version
    assert str(facts.torch_cuda) == cuda


def test_no_folder_of_this_machine_gets_into_committed_files() -> None:
    host = LiveHost.here()
    text = committed_json(Snapshot(Source(kind="live"), {"python": read(host)}, host.gaps))
    assert json.loads(text)["facts"]["python"]["version"]
    assert "site-packages" not in text


def test_a_captured_host_does_not_tell(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    facts = read(host)
    assert (facts.version, facts.torch_version, facts.start_method) == (None, None, None)
    assert host.gaps["python environment"] == "not captured"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TORCH, ("2.9.0+cu130", "13.0")),
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", ("2.13.0+cpu", None)),
        ("__version__ = '2.2.0'\ncuda = '12.1'\n", ("2.2.0", "12.1")),
        ("", (None, None)),
    ],
    ids=["cuda", "cpu", "older form", "empty"],
)
def test_torch_versions(text: str, expected: tuple[str | None, str | None]) -> None:
    assert parse_torch_version(text) == expected


@pytest.mark.parametrize(("version", "method"), [((3, 11), "fork"), ((3, 13), "fork"), ((3, 14), "forkserver")])
def test_start_methods(version: tuple[int, int], method: str) -> None:
    assert default_start_method(version) == method
