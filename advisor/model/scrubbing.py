r"""Text for files that others read, without what tells one host or one device from others of its kind. Pure.

Every committed file passes here, whatever it holds; what knows more (a field marked `Private`, the options of a mount,
NCCL's variables) leaves out more on its own.

* What stands behind ``/dev/disk/by-id/`` and its like, or behind ``UUID=`` and ``LABEL=``, hardware addresses, GUIDs
  and GIDs become ``...``: nothing is looked up by them.
* Names by which facts find each other stay apart: ``enx001122aabbcc`` becomes ``enxMAC01``, ``ibx...`` with 16 digits
  ``ibxGUID01``, ``luks-<UUID>`` ``luks-UUID01``, a name of multipath ``WWID01``, a container's ``ID01``. They are
  numbered in the order of what they hide, over all facts: the same devices give the same text.
* The host's name becomes ``HOSTNAME``, alone or as part of a longer name (``rhel_node17-root``); of a ``-`` in it
  device mapper's names have two and systemd's units ``\x2d``. What else that name may mean decides how far this goes:

  - An everyday word (``data``, ``gpu``, ``node``, ``ubuntu``), a number or less than three characters tells nothing of
    anyone and stays: thousands of hosts are called so.
  - A name with a digit in it (``node17``) means nothing else and goes wherever it stands, unless the kernel or the
    hardware has that word too: ``node1`` is a folder of sysfs, ``h100`` a card, ``nfs4`` a file system.
  - Any other (``atlas``, and ``node1``) may be a word of a sentence. It goes only as part of a name that facts give to
    what people make: a volume, a mount, a file of configuration. Such a name is replaced as a whole, here and in every
    text; between the slashes of a path it must have a ``-`` or ``_`` beside it (``10-atlas.conf``, not ``nccl.conf`` of
    a host called nccl), or be all there is in the path of a mount (``/data/atlas``).
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_HEX = "[0-9a-fA-F]"
_KINDS = ("mac", "guid", "uuid", "id", "wwid")
_IN_NAMES = re.compile(
    rf"""
    (?<![0-9A-Za-z]) (?P<lead>[a-z]{{2,6}}x) (?: (?P<mac>{_HEX}{{12}}) | (?P<guid>{_HEX}{{16}}) ) (?![0-9A-Za-z])
    | (?: (?<![0-9A-Za-z]) | (?<=pod) )
        (?P<uuid> {_HEX}{{8}}(?P<dash>[-_])(?:{_HEX}{{4}}(?P=dash)){{3}}{_HEX}{{12}} ) (?![0-9A-Za-z])
    | (?<=[/-]) (?P<id> {_HEX}{{64}} ) (?![0-9A-Za-z])
    | (?: (?<![0-9A-Za-z.]) (?=3\d*[a-f]) (?P<wwid> 3[0-9a-f]{{16}}(?:[0-9a-f]{{16}})? )
        | (?:(?<=\bnaa\.)|(?<=\beui\.)|(?<=\bwwn-0x)) (?P<told>{_HEX}{{16,32}}) ) (?![0-9A-Za-z])
    """,
    re.VERBOSE,
)
"""systemd's names of network interfaces (``enx``, ``wlx`` ...) and those of RDMA devices (``ibx``, ``rocex``), UUIDs,
numbers of containers, and world-wide names as multipath and udev write them."""
_ONE_DEVICE = re.compile(
    rf"""
    (?P<place> /dev/disk/by-(?:id|label|partlabel|uuid|partuuid)/ | (?<!\w)(?<!\w-)(?:PART)?(?:UUID|LABEL)=
        | (?<!\w)(?<!\w-)ID=(?=[a-z]+-) ) [^\s,"'`|]+
    | (?<![\w:]) (?:
        {_HEX}{{2}}(?::{_HEX}{{2}}){{5,}} | {_HEX}{{2}}(?:-{_HEX}{{2}}){{5}}
        | (?:{_HEX}{{4}}:){{3}}{_HEX}{{4}} | (?:{_HEX}{{4}}:){{7}}{_HEX}{{4}}
      ) (?![\w:]|-{_HEX}{{2}}\b)
    """,
    re.VERBOSE,
)
_HIDDEN = re.compile(
    r"\b[a-z]{2,6}x(?:MAC|GUID)\d\d|(?<![0-9A-Za-z])(?:UUID|ID|WWID)\d\d\b|(?<![0-9A-Za-z])HOSTNAME(?![0-9A-Za-z])"
)
EVERYDAY = frozenset((
    "localhost", "localdomain", "local", "root", "user", "users", "home", "data", "mnt", "tmp", "var", "usr", "etc",
    "dev", "run", "opt", "srv", "boot", "lib", "linux", "node", "gpu", "nobody", "nfs", "com", "org", "net", "edu",
    "gov", "int", "none", "container", "default", "admin", "server", "host", "scratch",
))  # fmt: skip
"""Names that tell nothing of anyone, and would hit words that mean something else."""
_ALSO_EVERYDAY = frozenset((
    "ubuntu", "debian", "rhel", "rocky", "alma", "centos", "fedora", "suse", "nvidia", "mellanox", "amd", "intel",
    "cpu", "gpus", "nodes", "master", "worker", "workers", "compute", "login", "head", "cluster", "storage", "cache",
    "backup", "swap", "disk", "mapper", "system", "network", "train", "training", "test", "dgx", "hgx", "performance",
    "docker", "kubernetes", "slurm", "cloud", "instance", "machine", "virtual", "workstation", "desktop",
))  # fmt: skip
"""What images and benches call every machine, and words of every report."""
SHORTEST_NAME = 3
_TECHNICAL = re.compile(r"[a-z]{1,2}\d{1,4}[a-z]{0,2}|(?:cgroup|cuda|ext|gen|ipv|mlx|nfs|pcie|raid|sha|smb)\d+")
"""What sentences call cards, file systems and versions."""
_LITERAL = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<name>\s*:)?')
"""Of a JSON document: a text, or the name of a field."""
_WORD_ENDS = r"(?<![0-9A-Za-z]){}(?![0-9A-Za-z])"
_PARTS = re.compile(r"[^\s,\"'=:]+")
_JOINED = re.compile(r"HOSTNAME(?:[_-]|\\x2d)|(?:[_-]|x2d)HOSTNAME")
_NOBODYS = ("/sys/", "/proc/", "/dev/disk/")
"""Where people name nothing."""


@dataclass(frozen=True)
class Known:
    """Texts of the facts of a host, by whose words they hold."""

    people: Collection[str] = ()
    """Names of volumes, mounts and swap."""
    paths: Collection[str] = ()
    """Of other files and folders."""
    machine: Collection[str] = ()
    """Words of the kernel and the hardware, and all others."""
    names: Collection[str] = ()
    """Of the host."""


@dataclass(frozen=True)
class Scrubber:
    """What is replaced in text, and by what."""

    numbered: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By kind and identifier in lower case."""
    hosts: re.Pattern[str] | None = None
    """Where the host's name goes whatever stands around it."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Whole names that hold the host's, with what they become."""
    whole: re.Pattern[str] | None = None

    @classmethod
    def of(cls, known: Known) -> "Scrubber":
        """For the host whose facts these are."""
        anywhere: list[str] = []
        inside: list[str] = []
        for name in known.names:
            pattern = _of_host(name)
            if pattern is not None:
                (anywhere if _is_rare(name, pattern, known.machine) else inside).append(pattern)
        within = dict(_named(inside, known))
        either = "|".join(map(re.escape, sorted(within, key=lambda name: (-len(name), name))))
        return cls(
            numbered=_numbers((*known.people, *known.paths, *known.machine)),
            hosts=re.compile(_WORD_ENDS.format(_either(anywhere)), re.IGNORECASE) if anywhere else None,
            within=within,
            whole=re.compile(rf"(?<![0-9A-Za-z_-])(?:{either})(?![0-9A-Za-z_-])") if within else None,
        )

    def text(self, text: str) -> str:
        """``text`` fit for others; the same again when it has passed before."""
        text = self.devices(text)
        if self.whole is not None:
            text = self.whole.sub(lambda found: self.within[found[0]], text)
        return text if self.hosts is None else self.hosts.sub("HOSTNAME", text)

    def devices(self, text: str) -> str:
        """``text`` without what tells one device; of names of facts nothing is replaced."""
        text = _ONE_DEVICE.sub(lambda found: (found["place"] or "") + "...", text)
        return _IN_NAMES.sub(self._number, text)

    def comments(self, text: str) -> str:
        """``text`` of a file that is run or installed: only its comments are for people, the rest must stay true."""
        lines = text.split("\n")
        return "\n".join(self.text(line) if line.lstrip().startswith("#") else line for line in lines)

    def json(self, document: str) -> str:
        """A JSON ``document``: its texts pass, but neither its names nor its numbers, whose digits mean something."""
        return _LITERAL.sub(self._literal, document)

    def _literal(self, found: re.Match[str]) -> str:
        if found["name"] is not None:
            return found[0]
        text = str(json.loads(found["text"]))
        scrubbed = self.text(text)
        return found[0] if scrubbed == text else json.dumps(scrubbed, ensure_ascii=False)

    def hides(self, text: str) -> bool:
        """Whether something of ``text`` is not for others, or was replaced before."""
        return self.text(text) != text or _HIDDEN.search(text) is not None

    def _number(self, found: re.Match[str]) -> str:
        kind, identifier = _identifier(found)
        return (found["lead"] or "") + self.numbered.get((kind, identifier), kind.upper())


def may_be(shown: str, text: str) -> bool:
    """Whether ``shown``, which perhaps lost something to a `Scrubber`, is what is left of ``text``."""
    kept = _HIDDEN.split(shown)
    if len(kept) == 1 or shown == text:
        return shown == text
    return re.fullmatch("[^/]+".join(map(re.escape, kept)), text) is not None


def _identifier(found: re.Match[str]) -> tuple[str, str]:
    kind = next((kind for kind in _KINDS if found[kind] is not None), "wwid")
    return kind, (found["told"] or found[kind]).lower()


def _numbers(texts: Iterable[str]) -> dict[tuple[str, str], str]:
    of_kind: dict[str, set[str]] = defaultdict(set)
    for found in _IN_NAMES.finditer(_ONE_DEVICE.sub("", "\n".join(texts))):
        kind, identifier = _identifier(found)
        of_kind[kind].add(identifier)
    return {
        (kind, identifier): f"{kind.upper()}{number:02}"
        for kind, found in of_kind.items()
        for number, identifier in enumerate(sorted(found), 1)
    }


def _of_host(name: str) -> str | None:
    """The pattern of a host's name, with its domain or without; ``None`` for one that tells nothing."""
    short, _, domain = name.strip().partition(".")
    plain = short.lower()
    if len(plain) < SHORTEST_NAME or plain.isdecimal() or plain in EVERYDAY or plain in _ALSO_EVERYDAY:
        return None
    dash = r"(?:--?|(?:\\x2d){1,2})"
    pattern = dash.join(map(re.escape, short.split("-")))
    return pattern + (rf"(?:\.{re.escape(domain)})?" if domain else "")


def _is_rare(name: str, pattern: str, machine: Iterable[str]) -> bool:
    """Whether the name means nothing else in any text."""
    short = name.strip().partition(".")[0].lower()
    if not any(char.isdigit() for char in short) or _TECHNICAL.fullmatch(short):
        return False
    alone = re.compile(_WORD_ENDS.format(pattern), re.IGNORECASE)
    return not any(map(alone.search, machine))


def _either(patterns: Sequence[str]) -> str:
    return "(?:" + "|".join(sorted(patterns, key=lambda pattern: (-len(pattern), pattern))) + ")"


def _named(patterns: Sequence[str], known: Known) -> Iterator[tuple[str, str]]:
    """Names that people gave and that hold the host's, with what becomes of them."""
    if not patterns:
        return
    host = re.compile(_WORD_ENDS.format(_either(patterns)), re.IGNORECASE)
    people = frozenset(known.people)
    written = (path for path in known.paths if path.startswith("/etc/"))
    for text in (*people, *written):
        if host.search(text) is None or text.startswith(_NOBODYS):
            continue
        for part in _PARTS.findall(text):
            above = ""
            for word in part.split("/"):
                made = host.sub("HOSTNAME", word)
                if made != word and _JOINED.search(made):
                    yield word, made
                elif made == "HOSTNAME" and above.startswith("/") and text in people:
                    yield f"{above}{word}", f"{above}HOSTNAME"
                above += f"{word}/"
