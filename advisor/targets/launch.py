"""How ranks are started: ``job/launch.sh``. Key: ``numa-binding``; value: ``node`` or ``socket``.

Which node is a rank's is found where the job runs, never written down. https://docs.pytorch.org/docs/main/elastic/numa.html
"""

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.gpu import Gpu, others_only
from advisor.targets._base import Seen, SetBy
from advisor.targets._values import named as named

SCOPE: Scope = "job"
SUGGESTED = False
KEY = "numa-binding"
MODES = ("node", "socket")
"""Those of torchrun's that numactl can bring about as well."""


def wrong(key: str, value: Value) -> str | None:
    """What the script does not know."""
    if key != KEY:
        return f"{key!r} is not {KEY}"
    return None if value in MODES else f"{key} must be one of {', '.join(MODES)} but is {value!r}"


def text(key: str, value: Value) -> str:
    """The mode."""
    return str(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``key=mode``"""
    return f"{setting.key}={setting.value}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing: how the job is started is not a fact of the host."""
    return Seen(None, "", "how the job is started is not known")


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why the script could bind nothing: it asks nvidia-smi where a rank's GPU is."""
    if not others_only(snapshot.get(Gpu)):
        return None
    return (
        "no GPU here is NVIDIA's, and job/launch.sh asks nvidia-smi where the GPU of a rank is: bind ranks where they "
        "are started (srun --cpu-bind, mpirun --bind-to numa, torchrun --numa-binding)"
    )


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Nothing: no configuration file holds it."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this mode."""
    return seen == value


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``: there are no numbers to compare."""
    return value
