"""Folders for temporary files and caches that are full or missing: one sentence that names them, exit status 2."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._cache import cache_folder
from advisor.commands._workload import wanted
from advisor.errors import InputError
from advisor.model.trial import Config
from advisor.tuning.study import open_study
from advisor.tuning.trial import TrialRequest, run_trial
from tests.namespaces import NEW_MOUNTS, apart, mount_tmpfs

WORKLOAD = "def factory(): return [1.0] * 100\n"
FULL = "No space left on device"


def fill(folder: Path) -> None:
    """Leaves no block for another file."""
    with (folder / "filler").open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(b"x" * 4096)
        except OSError:
            return


def test_a_full_folder_for_temporary_files_is_named() -> None:
    def act() -> None:
        mount_tmpfs(folder, "size=8k,mode=0777")
        tempfile.tempdir = folder
        (Path(folder) / "filler").write_bytes(b"x" * 4096)
        with pytest.raises(InputError) as caught:
            run_trial(TrialRequest(Config(batch_size=1), "image-files"))
        said = f"cannot write in {folder}, the folder for temporary files: {FULL}; make room there or set TMPDIR"
        assert str(caught.value).startswith(said)
        assert os.listdir(folder) == ["filler"]

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # not tmp_path: of a long one /tmp is used instead
        apart(NEW_MOUNTS, act)


def test_a_full_cache_is_named_by_what_is_written_there(tmp_path: Path) -> None:
    def act() -> None:
        mount_tmpfs(str(tmp_path), "size=64k,mode=0777")
        with open_study(tmp_path, "k", (32,)):
            pass
        fill(tmp_path)
        with pytest.raises(InputError, match=rf"cannot write the study {tmp_path}/k\.journal: {FULL}; make room"):
            use_up(tmp_path)
        with pytest.raises(InputError, match=rf"cannot make the images of image-files in {tmp_path}: {FULL}"):
            wanted("image-files", None, None, None, 60.0, tmp_path)

    def use_up(folder: Path) -> None:
        with open_study(folder, "k", (32,)) as study:
            for _ in range(100):
                study.begin(Config(0, None, 32), "baseline")

    apart(NEW_MOUNTS, act)


def test_without_any_folder_for_temporary_files_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with /tmp, /var/tmp and the current folder on file systems that cannot be written."""
    (tmp_path / "train.py").write_text(WORKLOAD)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = (
        "import sys, tempfile; tempfile._candidate_tempdir_list = lambda: ['/proc/none', '/sys']\n"
        "from advisor.cli import main; main()"
    )
    command = ["tune", "--workload", f"{tmp_path}/train.py:factory", "--allow-busy", "--out", f"{tmp_path}/OUT"]
    for cache in (str(tmp_path / "cache"), "/proc"):
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            env={**os.environ, "XDG_CACHE_HOME": cache},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.endswith(
            "advisor: No usable temporary directory found in ['/proc/none', '/sys']: "
            "set TMPDIR to a folder that can be written and has room\n"
        )


def test_an_interrupted_run_leaves_no_cache_in_the_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert run(["tune", "--workload", "nowhere.py:factory", "--allow-busy", "--out", str(tmp_path / "OUT")]) == 2
    assert f"{tmp_path}/advisor-" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_no_cache_and_no_room_for_another_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(InputError, match=rf"cannot write in {tmp_path}/gone, the folder"), cache_folder({}):
        pass
