"""Configuration without comments, credentials and names: of the files that may hold them, only what is read is kept.

Units, rules and profiles of shells hold passwords in places that have no form. Of these files the lines that say
how the machine runs are kept and all others are emptied, so that every line keeps its number.
"""

import re
from collections.abc import Callable

from advisor.host.redaction_boot import boot_words
from advisor.host.redaction_mounts import mount_options, mount_word
from advisor.host.redaction_printed import unnamed
from advisor.host.redaction_udev import udev_rules
from advisor.host.redaction_words import Words
from advisor.host.secret_names import names_secret

_UNIT_KEYS = re.compile(
    r"(?:Default)?Limit[A-Z]+|Allowed(?:CPUs|MemoryNodes)|CPU(?:Affinity|Quota|Weight)|Delegate|IOWeight|Nice|Slice"
    r"|Memory[A-Za-z]+|NUMA(?:Mask|Policy)|OOMScoreAdjust|(?:Default|User)?TasksMax|RemoveIPC|KillUserProcesses"
)
_MOUNT_KEYS = ("What", "Where", "Type", "Options")
_PROGRAM = "nvidia-persistenced"
"""The unit whose command line is read."""
_SHELL = re.compile(r"""(\s*(?:export\s+)?)([A-Z][A-Z0-9_]{2,80})=("[^"]*"|'[^']*'|[^\s;&|#]*)""", re.ASCII)
_SHELL_NAMES = (
    *("NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_DEBUG", "TORCH_FR_", "GLOO_"),
    *("UCX_", "FI_", "OMP_", "CUDA_", "RCCL_", "OFI_NCCL_"),
)
_TUNED_PLUGINS = frozenset((
    "main", "audio", "bootloader", "cpu", "disk", "irqbalance", "modules", "net", "scheduler", "selinux", "service",
    "sysctl", "sysfs", "systemd", "vm",
))  # fmt: skip
"""Sections that are kept; scripts and variables are not."""
_PAM = re.compile(r"(\s*-?session\s.*?\bpam_limits\.so)\b(.*)")
_LIMIT_VALUE = re.compile(r"[-+]?\d{1,20}[a-z]{0,2}|unlimited|infinity|/\S*", re.ASCII | re.IGNORECASE)
_KEPT_DOMAIN = re.compile(r"root|[*%]|[@%]?\d{0,10}:\d{0,10}", re.ASCII)
_IRQBALANCE = re.compile(r"\s*(?:IRQBALANCE_[A-Z_]+|OPTIONS)=")


def configuration(words: Words, place: str, text: str) -> str:
    """The content of a file that a person or a package wrote."""
    for pattern, made in _KINDS:
        if pattern.search(place):
            return made(words, place, text)
    return _settings(words, place, text)


def without_comments(text: str) -> str:
    """``text`` with its comments emptied: people write names into them. Lines keep their numbers."""
    return re.sub(r"(?m)^[ \t]*[#;].*$", "#", text)


def _settings(words: Words, place: str, text: str) -> str:
    """Lines whose key says that the value names the host or is secret lose it, and so do words behind a #."""
    return "\n".join(_setting(words, line) for line in without_comments(text).split("\n"))


def _setting(words: Words, line: str) -> str:
    found = re.match(r"(\s*-?[\w./-]*(?:hostname|domainname|_secret|fastopen_key)\s*=\s*)(\S.*)", line)
    if found:
        return found[1] + words.tokens.word(found[2])
    line = re.sub(r"(?<![\w.-])([\w.-]+)=(\S+)", lambda pair: _pair(words, pair), line)
    # Here these start no comment, though people think so: the words stay as many as they were.
    return re.sub(r"(?<=\s)[#;](?:\s.*)?$", lambda note: re.sub(r"[^\s#;]{3,}", _token(words), note[0]), line)


def _pair(words: Words, found: re.Match[str]) -> str:
    return f"{found[1]}={words.secret(found[2])}" if names_secret(found[1]) else found[0]


def _token(words: Words) -> Callable[[re.Match[str]], str]:
    return lambda found: words.secret(found[0])


def _modprobe(words: Words, place: str, text: str) -> str:
    """Options of modules; what install and remove run is left out."""
    made, kept = [], True
    goes_on = False
    for line in without_comments(text).split("\n"):
        if not goes_on:
            kept = line.split(None, 1)[:1] in (["options"], ["blacklist"], ["alias"], ["softdep"], ["#"])
        made.append(_setting(words, line) if kept else "")
        goes_on = line.endswith("\\")
    return "\n".join(made)


def _units(words: Words, place: str, text: str) -> str:
    """Sections, and the settings of limits, CPUs and memory; the section Mount of mount units."""
    made, key, goes_on = [], "", False
    for raw in text.split("\n"):
        line = raw.strip()
        if line[:1] in ("#", ";"):
            made.append("#")
            continue
        if line.startswith("[") and not goes_on:
            made.append(line.partition("]")[0] + "]")
        elif goes_on:
            made.append(_unit_value(words, place, key, line) if key else "")
        else:
            name, equals, value = line.partition("=")
            key = name.strip() if equals and _is_kept(place, name.strip()) else ""
            made.append(f"{key}={_unit_value(words, place, key, value.strip())}" if key else "")
        goes_on = line.endswith("\\")
    return "\n".join(made)


def _is_kept(place: str, key: str) -> bool:
    if place.endswith(".mount"):
        return key in _MOUNT_KEYS
    return _UNIT_KEYS.fullmatch(key) is not None or (key == "ExecStart" and _PROGRAM in place)


def _unit_value(words: Words, place: str, key: str, value: str) -> str:
    if key == "What":
        return mount_word(words, value)
    if key == "Options":
        return re.sub(r"\S+", lambda found: mount_options(words, found[0]), value)
    if key != "ExecStart":
        return value
    return re.sub(r"\S+", lambda found: _argument(words, found[0]), value)


def _argument(words: Words, word: str) -> str:
    """A word of a command line: programs and the names of options are kept."""
    if re.fullmatch(r"[-@:+!]*/\S+|--?[\w-]+|\\|\d+", word):
        return word
    name, equals, value = word.partition("=")
    return name + equals + words.secret(value) if equals and name.startswith("-") else words.secret(word)


def _shell(words: Words, place: str, text: str) -> str:
    """Assignments of variables that tell how jobs communicate."""
    return "\n".join(_assignment(words, line) for line in text.split("\n"))


def _assignment(words: Words, line: str) -> str:
    found = _SHELL.match(line)
    if found is None or not found[2].startswith(_SHELL_NAMES):
        return "#" if line.lstrip().startswith("#") else ""
    quote = found[3][:1] if found[3][:1] in ("'", '"') else ""
    value = unnamed(words, found[2], found[3].strip("'\"")) if found[3].strip("'\"") else ""
    return f"{found[1]}{found[2]}={quote}{value}{quote}"


def _nccl(words: Words, place: str, text: str) -> str:
    """Lines of a file of NCCL in the form that they had, wrong ones too; what stands behind a # is left out."""
    return "\n".join("#" if line.startswith("#") else _nccl_line(words, line) for line in text.split("\n"))


def _nccl_line(words: Words, line: str) -> str:
    found = re.fullmatch(r"(\s*(?:export\s+)?)([A-Z][A-Z0-9_]*)(\s*)=(\s*)(['\"]?)(.*?)(['\"]?)(\s+#.*)?(\s*)", line)
    if found is None:
        return re.sub(r"(?!export\b)[^\s='\"#]+", _token(words), line)
    lead, name, gap, before, quote, value, end, note, blank = (part or "" for part in found.groups())
    shown = unnamed(words, name, value) if value else ""
    note = re.sub(r"[^\s#]+", _token(words), note)
    return f"{lead}{name}{gap}={before}{quote}{shown}{end}{note}{blank}"


def _tuned(words: Words, place: str, text: str) -> str:
    """The sections of the plugins that tune; what a profile includes."""
    types = dict(re.findall(r"(?m)^\[([^\]\n]*)\][^\[]*?^\s*type\s*=\s*(\w+)", text))
    made, section = [], ""
    for raw in text.split("\n"):
        line = re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
        key, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("["):
            section = line[1:].partition("]")[0]
            made.append(line if types.get(section, section) in _TUNED_PLUGINS else "[left-out]")
        elif not equals or types.get(section, section) not in _TUNED_PLUGINS or key.startswith(";"):
            made.append("")
        elif section == "main":
            made.append(line if key in ("include", "type") else "")
        elif key.startswith("cmdline"):
            made.append(f"{key}={boot_words(words, value)}")
        else:
            made.append(_setting(words, line))
    return "\n".join(made)


def _tuned_main(words: Words, place: str, text: str) -> str:
    return "\n".join(line if re.match(r"\s*reapply_sysctl\s*=", line) else "" for line in text.split("\n"))


def _pam(words: Words, place: str, text: str) -> str:
    """Lines that set limits or include others."""
    made = []
    for line in text.split("\n"):
        found = _PAM.match(line)
        if found is not None:
            made.append(found[1] + "".join(re.findall(r"\s+(?:conf=\S+|[a-z_]+)(?!\S)", found[2])))
        else:
            made.append(line if re.match(r"\s*@include\s|\s*-?\w+\s+(?:include|substack)\s+[\w-]+\s*$", line) else "")
    return "\n".join(made)


def _limits(words: Words, place: str, text: str) -> str:
    """Limits of groups and users, whose names are replaced."""
    return "\n".join(_limit(words, line.partition("#")[0]) for line in text.split("\n"))


def _limit(words: Words, line: str) -> str:
    parts = line.split(None, 3)
    if not parts:
        return ""
    name = parts[0].lstrip("@%")
    if not _KEPT_DOMAIN.fullmatch(parts[0]) and name:
        parts[0] = parts[0][: len(parts[0]) - len(name)] + words.once(name, words.tokens.host)
    rest = [part if _LIMIT_VALUE.fullmatch(part.strip()) else words.secret(part.strip()) for part in parts[3:]]
    known = [part if re.fullmatch(r"[a-z-]{1,20}", part, re.IGNORECASE) else words.secret(part) for part in parts[1:3]]
    return " ".join((parts[0], *known, *rest))


def _irqbalance(words: Words, place: str, text: str) -> str:
    return "\n".join(line if _IRQBALANCE.match(line) else "" for line in text.split("\n"))


_KINDS: tuple[tuple[re.Pattern[str], Callable[[Words, str, str], str]], ...] = (
    (re.compile(r"/systemd/(?:system/|(?:system|logind)\.conf)"), _units),
    (re.compile(r"/udev/rules\.d/"), lambda words, place, text: udev_rules(words, text)),
    (re.compile(r"/tuned/.*/tuned\.conf$"), _tuned),
    (re.compile(r"/tuned-main\.conf$"), _tuned_main),
    (re.compile(r"^/etc/pam\.d/"), _pam),
    (re.compile(r"/security/limits"), _limits),
    (re.compile(r"^/etc/(?:environment$|profile\.d/)"), _shell),
    (re.compile(r"/modprobe\.d/"), _modprobe),
    (re.compile(r"/irqbalance$"), _irqbalance),
    # $NCCL_CONF_FILE may name a file anywhere.
    (re.compile(r"^/etc/nccl\.conf$|^(?!/(?:boot|dev|etc|lib|opt|run|usr|var)/)"), _nccl),
)
"""Where each kind of file lies."""
