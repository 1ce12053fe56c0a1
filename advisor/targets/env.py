"""Environment variables of the training job: ``job/env.sh``. Key: the name. The operator's environment wins.

What differs from node to node is not written down but found where the job runs: such a value begins with ``@`` and
names a function of env.sh (``@alike-rdma-ports`` for NCCL_IB_HCA). What is written down for NCCL stands in
``job/nccl.conf`` as well.
"""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.nccl_conf import NcclConf
from advisor.targets._base import Seen, SetBy
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers, shquote, unprintable

SCOPE: Scope = "job"
SUGGESTED = False
# POSIX lets a name hold more, but no shell can assign to it.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
ALIKE_PORTS = "@alike-rdma-ports"
COMPUTED = {("NCCL_IB_HCA", ALIKE_PORTS): "advisor_alike_rdma_ports"}
"""Name and value to the function of env.sh that finds it on the node."""
_HARMLESS = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")
"""What may be added to a vendor's profile: it changes what is told, not what is done."""
_NOT_READ = "the job's environment is not known before it starts"


def wrong(key: str, value: Value) -> str | None:
    """What makes this variable impossible to write."""
    if not _NAME.fullmatch(key):
        return f"{key!r} is no name that a shell can assign to (letters, digits and _)"
    return unprintable(text(key, value))


def text(key: str, value: Value) -> str:
    """The value before shell quoting; numbers of a tuple are separated by commas, as NCCL and OpenMP read lists."""
    return plain(value).replace(" ", ",") if isinstance(value, tuple) else plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """Sets the variable unless it is set, even to nothing, and hands it on to children."""
    name = setting.key
    function = COMPUTED.get((name, text(name, setting.value)))
    if function is not None:
        found = f'[ -n "${{{name}+set}}" ] || {{ {name}=$({function}); [ -n "${name}" ] || unset {name}; }}'
        return f'{found}; [ -z "${{{name}+set}}" ] || export {name}'
    return f'[ -n "${{{name}+set}}" ] || {name}={shquote(text(name, setting.value))}; export {name}'


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing: the job's environment is made later, and env.sh leaves a variable that is set as it is."""
    return Seen(None, "", _NOT_READ)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why the vendor of this machine knows better; else ``None``: every process can be given a variable."""
    conf = snapshot.get(NcclConf)
    if conf is None or conf.vendor is None or not key.startswith("NCCL_") or key in _HARMLESS:
        return None
    return f"{conf.vendor} brings a profile for NCCL with this machine ({', '.join(conf.vendor_paths or ())})"


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lines of NCCL's files and of what gives variables to logins that set it."""
    conf = snapshot.get(NcclConf) or NcclConf()
    of_nccl = [(one.value, one.path, one.line) for one in conf.lines or () if one.name == key and one.counts]
    of_logins = [(one.value, one.path, one.line) for one in conf.logins or () if one.name == key]
    return tuple(SetBy(value or "", path, line) for value, path, line in (*of_nccl, *of_logins))


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen, text(key, value))
