"""What came of a trial, told from the texts that Python, PyTorch and the kernel really write."""

import pytest

from advisor.tuning.outcome import Ending, classify, ending_from, measurement_from, place_in, warnings_in

WORKER = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 742, in __next__
    data = self._next_data()
  File "/opt/venv/lib/python3.11/site-packages/torch/_utils.py", line 750, in reraise
    raise exception
{kind}: Caught {kind} in DataLoader worker process 1.
Original Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", line 54, in fetch
    data = [self.dataset[idx] for idx in possibly_batched_index]
  File "/home/ada/train/data.py", line 88, in __getitem__
    return decode(path)
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/collate.py", line 277, in collate_tensor_fn
    storage = elem._typed_storage()._new_shared(numel, device=elem.device)
{text}
"""
LOST = "RuntimeError: DataLoader worker (pid(s) 4242) exited unexpectedly"
EXITED = (
    "DataLoader worker (pid 22864) exited unexpectedly with exit code 3. Details are lost due to multiprocessing. "
    "Rerunning with num_workers=0 may give better error trace."
)
GONE = """Traceback (most recent call last):
  File "/tmp/trial-4b09x92c/advisor/workloads/_loader.py", line 72, in __iter__
    yield from batches
  File "/usr/lib/python3.11/multiprocessing/connection.py", line 631, in SocketClient
    s.connect(address)
FileNotFoundError: [Errno 2] No such file or directory
"""
SHM = "RuntimeError: unable to allocate shared memory(shm) for file </torch_17_3_0>: No space left on device (28)"
CUDA = (
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
    "'spawn' start method"
)
SPAWN = """Traceback (most recent call last):
  File "/usr/lib/python3.14/multiprocessing/popen_forkserver.py", line 47, in _launch
    reduction.dump(process_obj, buf)
_pickle.PicklingError: Can't pickle local object <function factory.<locals>.<lambda> at 0x7f>
"""


def worker(kind: str, text: str) -> str:
    return WORKER.format(kind=kind, text=text)


def failed(text: str, **others: object) -> Ending:
    return Ending(failure={"text": text}, status=1, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ending", "outcome", "said"),
    [
        (Ending(ended_by="memory limit", detail="took 900 MiB"), "out-of-memory", "took 900 MiB"),
        (Ending(ended_by="machine memory", detail="only 9 MiB left"), "out-of-memory", "only 9 MiB left"),
        (Ending(ended_by="not started", detail="x cannot be run"), "user-error", "x cannot be run"),
        (Ending(ended_by="stopped"), "killed", "stopped"),
        (Ending(ended_by="supervisor lost"), "killed", "watched over"),
        (
            Ending(ended_by="time limit", limit_seconds=60, last_progress="warming up"),
            "timed-out",
            "(last seen: warming",
        ),
        (failed(worker("RuntimeError", SHM)), "no-space-in-shm", "</torch_17_3_0>: No space left on device (28)"),
        (
            failed("RuntimeError: unable to write to file </torch_17_3_0>: No space left on device (28)"),
            "no-space-in-shm",
            "unable to write",
        ),
        (
            failed(LOST, output="ERROR: Unexpected bus error encountered in worker. This might be caused by ...\n"),
            "no-space-in-shm",
            "Unexpected bus error",
        ),
        (
            failed(LOST, output="ERROR: Unexpected bus error encountered in worker.\n", least_shm_share=0.9),
            "user-error",
            "90% of /dev/shm was free",
        ),
        (Ending(status=-7), "no-space-in-shm", "bus error"),
        (failed("OSError: [Errno 28] No space left on device: '/scratch/x'"), "user-error", "/scratch/x"),
        (failed(worker("MemoryError", "MemoryError")), "out-of-memory", "MemoryError"),
        (
            failed(worker("ValueError", f"{CUDA}\n\nThe above exception was ...\n\nValueError: no image")),
            "user-error",
            "Cannot re-initialize CUDA in forked subprocess; ValueError: no image",
        ),
        (failed(worker("RuntimeError", CUDA)), "user-error", f"{CUDA} (/"),
        (failed("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 GiB"), "out-of-memory", "9 GiB"),
        (failed("torch.OutOfMemoryError: CUDA out of memory. Tried to"), "out-of-memory", "CUDA out of memory"),
        (failed("torch.AcceleratorError: CUDA error: out of memory\nCUDA kernel"), "out-of-memory", "out of memory"),
        (
            failed(
                "RuntimeError: [enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory: you"
            ),
            "out-of-memory",
            "can't allocate memory",
        ),
        (failed("OSError: [Errno 12] Cannot allocate memory"), "out-of-memory", "Cannot allocate memory"),
        (failed("RuntimeError: DataLoader timed out after 54.0 seconds"), "timed-out", "a worker gave no batch"),
        (
            failed(
                "RuntimeError: Too many open files. Communication with the workers is no longer possible. Please "
                "increase the limit using `ulimit -n` in the shell"
            ),
            "too-many-files",
            "Communication with the workers is no longer possible",
        ),
        (failed("OSError: [Errno 24] Too many open files: '/data/7.jpg'"), "too-many-files", "/data/7.jpg"),
        (failed("RuntimeError: received 0 items of ancdata"), "too-many-files", "0 items of ancdata (ulimit -n"),
        (
            failed("RuntimeError: unable to open shared memory object </torch_29919_1396182366> in read-write mode"),
            "too-many-files",
            "unable to open shared memory object",
        ),
        (failed(LOST), "killed", "exited unexpectedly"),
        (failed(GONE, output=f"{EXITED}\n"), "user-error", "a worker exited by itself, with status 3"),
        (Ending(failure={"text": GONE, "death": EXITED}, status=1), "user-error", "exited by itself, with status 3"),
        (Ending(failure={"text": GONE, "death": LOST}, status=1), "killed", "exited unexpectedly"),
        (failed(GONE), "user-error", "FileNotFoundError"),
        (Ending(status=1, output=f"RuntimeError: {EXITED}\n"), "user-error", "exited by itself, with status 3"),
        (failed(LOST, oom_kills=1), "out-of-memory", "OOM killer"),
        (
            failed("RuntimeError: DataLoader worker (pid 9) is killed by signal: Killed. "),
            "killed",
            "is killed by signal: Killed",
        ),
        (
            failed("RuntimeError: DataLoader worker (pid 9) is killed by signal: Segmentation fault. "),
            "user-error",
            "native code crashed",
        ),
        (
            failed(LOST, output="ERROR: Unexpected segmentation fault encountered in worker.\n"),
            "user-error",
            "native code crashed",
        ),
        (Ending(status=-11), "user-error", "SIGSEGV"),
        (Ending(status=-9), "killed", "SIGKILL"),
        (Ending(status=-15), "killed", "SIGTERM"),
        (Ending(status=-9, oom_kills=1), "out-of-memory", "OOM killer"),
        (Ending(status=3, output="bye\n\n"), "user-error", "status 3: bye"),
        (
            failed(worker("ValueError", "ValueError: bad sample 7")),
            "user-error",
            "ValueError: bad sample 7 (/home/ada/train/data.py:88)",
        ),
        (failed(SPAWN), "user-error", "so what they get must be picklable"),
        (Ending(failure={"workload_error": "x.py does not exist"}), "user-error", "x.py does not exist"),
        (Ending(failure={"too_slow": "not one window"}), "timed-out", "not one window"),
        (Ending(result={}), "ok", ""),
    ],
)
def test_an_ending_is_told_as_what_it_is(ending: Ending, outcome: str, said: str) -> None:
    told, message = classify(ending)
    assert told == outcome
    assert said in message
    assert message.isprintable()


def test_a_message_is_one_printable_line_of_bounded_length() -> None:
    _, message = classify(failed("ValueError: \x1b[31mred\x07 " + "long " * 1000))
    assert message.isprintable()
    assert len(message) <= 400


def test_the_place_is_in_the_users_code_if_any_is() -> None:
    assert place_in(worker("ValueError", "ValueError: x")) == "/home/ada/train/data.py:88"
    assert place_in('  File "/opt/lib/python3.11/site-packages/a.py", line 3, in f') == (
        "/opt/lib/python3.11/site-packages/a.py:3"
    )
    assert place_in("no traceback") is None


def test_the_place_is_never_in_advisor_itself() -> None:
    ours = 'File "/tmp/trial-hj9yexpy/advisor/workloads/_loader.py", line 63, in __iter__\n'
    torchs = 'File "/x/site-packages/torch/utils/data/_utils/collate.py", line 272, in collate_tensor_fn\n'
    script = 'File "/tmp/trial-hj9yexpy/trial_child.py", line 11, in <module>\n'
    assert place_in(ours + torchs) == "/x/site-packages/torch/utils/data/_utils/collate.py:272"
    assert place_in(script + ours) is None
    assert place_in(ours + 'File "/usr/lib/python3.11/multiprocessing/reduction.py", line 60, in dump\n') is None
    assert place_in('File "/home/ada/trial-7/advisor.py", line 2, in f\n' + ours) == "/home/ada/trial-7/advisor.py:2"


def test_warnings_are_told_once_without_their_place() -> None:
    line = "/x/torch/utils/data/dataloader.py:627: UserWarning: This DataLoader will create 8 worker processes\n"
    printed = f"starting\n{line}  warnings.warn(\n{line}a.py:3: FutureWarning: use torch.amp\nWarning: not one\n"
    assert warnings_in(printed) == (
        "UserWarning: This DataLoader will create 8 worker processes",
        "FutureWarning: use torch.amp",
    )


def test_rates_that_were_measured_before_a_failure_are_kept() -> None:
    measured = measurement_from(ending_from({"ended_by": "time limit", "windows": [10.0, 11.0], "limit_seconds": 9}))
    assert measured.outcome == "timed-out"
    assert measured.samples_per_second == (10.0, 11.0)


def test_processes_that_could_not_be_killed_are_named() -> None:
    measured = measurement_from(ending_from({"result": {"samples_per_second": [1.0]}, "unkillable": [7, 8]}))
    assert measured.notes["not_killed"] == "7 8"
