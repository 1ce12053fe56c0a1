"""A recording without what names its host, its people or its network, and without credentials.

Pure: answers in, answers out. What is found by its form (addresses, MACs, GUIDs, UUIDs, WWNs) is replaced wherever it
stands, in paths too, so that every question still meets its answer. Names have no form of their own: they are replaced
where names stand (mounts, configuration, command line, environment), by what is known of the host and by position.
"""

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.host.base import Host, Output
from advisor.host.pci_space import without_serials
from advisor.host.recording import Answer, Recorder
from advisor.host.tokens import Tokens

_HEX = "[0-9a-fA-F]"
_FORMS = re.compile(
    rf"""
    (?P<gid> (?<![\w:]) (?:{_HEX}{{4}}:){{7}}{_HEX}{{4}} (?![\w:]) )
    | (?P<guid> (?<![\w:]) (?:{_HEX}{{4}}:){{3}}{_HEX}{{4}} (?![\w:]) )
    | (?P<mac> (?<![\w:]) {_HEX}{{2}}(?P<sep>[:-]) (?:{_HEX}{{2}}(?P=sep)){{4,}}{_HEX}{{2}} (?![\w:]) )
    | (?P<gpu> (?<=GPU-){_HEX}{{2,}}[0-9a-fA-F-]* )
    | (?P<uuid> (?:(?<!{_HEX})|(?<=pod)) {_HEX}{{8}}(?P<dash>[-_])(?:{_HEX}{{4}}(?P=dash)){{3}}{_HEX}{{12}} (?!{_HEX}) )
    | (?P<long> (?<![0-9a-zA-Z]) {_HEX}{{32,}} (?![0-9a-zA-Z]) )
    | (?P<wwn> (?:(?<=naa\.)|(?<=eui\.)|(?<=wwn-0x)){_HEX}{{8,}} )
    | (?P<iqn> (?:(?<=iqn\.)|(?<=nqn\.))\d{{4}}-\d\d\.[\w.:-]+ )
    | (?P<ipv6> (?<![\w:.]) (?:{_HEX}{{0,4}}:){{2,7}}(?:(?:\d{{1,3}}\.){{3}}\d{{1,3}}|{_HEX}{{0,4}}) (?![\w:]) )
    | (?P<ipv4> (?<![\w.]) (?:\d{{1,3}}\.){{3}}\d{{1,3}} (?!\.?\w) )
    | (?P<dashed> (?<=\bip-) (?:\d{{1,3}}-){{3}}\d{{1,3}} \b )
    """,
    re.VERBOSE,
)
_HOMES = re.compile(r"(?<=/home/)[^/\s,:=]+|(?<=/users/)[^/\s,:=]+|(?<=/Users/)[^/\s,:=]+")
_URL = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<rest>[^/\s,]*)")
_ACCOUNT = re.compile(r"[\w.+-]+@[\w.-]+")
_SERVICES = re.compile(r"(?:tcp|o2ib|kfi)\d*|(?:\d{1,10})?\.service", re.ASCII)
"""What stands after @ in the names of Lustre's networks and of systemd's units."""
_SECRET_OPTION = re.compile(r"pass|secret|cred|token|key|user|auth|jwt", re.IGNORECASE)
_SECRET_SETTING = re.compile(
    r"(?:^|[._-])(?:pass(?:word|wd|phrase)?|secret|token|credentials?)(?:$|[._-])", re.IGNORECASE
)
_NO_SECRETS = ("user_id", "group_id", "default_permissions")
_NAMING_OPTIONS = {
    "addr", "clientaddr", "domain", "dom", "fsid", "host", "hostname", "ip", "mon_addr", "mountaddr", "name", "server",
    "srcaddr", "unc", "workgroup",
}  # fmt: skip
_NAMING_WORDS = re.compile(
    r"(?:.*[._-])?(?:host|hostname|ip|nfsroot|netroot|nameserver|url|ks|ds|label|machine_id|ifname|iscsi.*)",
    re.IGNORECASE,
)
_PLAIN_VARIABLE = re.compile(
    r"(?:CUDA|NCCL|GLOO|OMP|GOMP|KMP|MKL|OPENBLAS|MALLOC|TORCH|PYTORCH|LANG|LC)(?:_|$)|container$"
)
_PLAIN_VALUE = re.compile(r"[\d,. :-]*|true|false|yes|no|on|off|[A-Z]{1,12}", re.IGNORECASE)
_VERSIONS = re.compile(r"version|fw_ver|release|bios|/dmi/", re.IGNORECASE)
"""Where four numbers with dots between are no address."""
_PCI_SPACE = re.compile(rf"/sys/.*{_HEX}{{2}}:{_HEX}{{2}}\.[0-7]/config")
"""A binary file, with the card's serial number in it."""
_MOUNT_TABLES = re.compile(r"/proc/(?:[^/]+/)?(?:mountinfo|mounts|mountstats)|/etc/fstab")
_ROUTES = re.compile(r"/proc/(?:[^/]+/)?net/route")
_ROUTE = re.compile(r"(?m)^(?P<name>\S+[ \t]+)(?P<to>[0-9A-F]{8})(?P<gap>[ \t]+)(?P<by>[0-9A-F]{8})(?=[ \t])")
"""Interface, destination and gateway: addresses in hexadecimal, the last byte first."""
_CMDLINE = "/proc/cmdline"
_CGROUPS = "/sys/fs/cgroup"
_NAMED_TEXTS = re.compile(r"/proc/swaps|/proc/(?:[^/]+/)?(?:cgroup|cpuset)|.*/dm/name|/proc/cmdline")
"""Files of the kernel in which names that people gave stand."""
_LABELLED = re.compile(
    r"""(?im)^(?P<label>[^\n:="]*?"?(?:serial(?:[ _]?(?:number|no\.?))?|\bSN|WWID|WWN(?:[ ]port)?|host[ _]?name"""
    r"""|unique[ _]id\w*|SAS[ ]address(?:\(\d+\))?|world[- ]wide[ ]name|MD_(?:DEV)?NAME|MD_UUID"""
    r"""|\w*NQN|eui64|n?guid)"?[ \t]*[:=][ \t]*"?[ \t]*)(?P<value>[^\s",{\[][^\n",]*)"""
)
"""Numbers and names that programs print, by the label before them. Samples: ``SN = S4EVNF0M``, ``"Serial No": "x"``"""
_PRINTED_WWN = re.compile(r"(?:(?<![0-9a-zA-Z])|(?<=\b0x))[35][0-9a-fA-F]{15}(?![0-9a-zA-Z])")
"""World-wide names as tools of drives and controllers list them, without a label."""
_CCISS_DRIVE = re.compile(
    r"(?m)^(?P<place>[ \t]*(?:b\d+t\d+ )?connector [^\n]{1,40}? bay \d+[ ]+\S+[ ]+\S+[ ]+)(?P<serial>\S+)"
)
"""A line of cciss_vol_status: place, vendor, model, serial number, firmware."""
_SMI_NAMED = re.compile(
    r"<(?P<tag>serial|\w*_serial_number|process_name|pdi|\w*guid|cluster\w*|host_id|host_?name)>[ \t]*"
    r"(?!\[?(?:N/A|None)\b)(?P<value>[^<>\n]{1,1000}?)[ \t]*(?=</)",
    re.IGNORECASE,
)
"""Elements of nvidia-smi's XML that name a card, the machine or what somebody runs. Sample: ``<serial>165</serial>``"""
_CLOUD_TAGS = re.compile(r"Amazon EC2|OracleCloud\.com|7783-7084-3265-9085-8269-3286-77|No Asset (?:Tag|Information)|")
"""Asset tags that clouds use to tell themselves apart; others are the owner's numbers."""
_NUMBERED = re.compile(r"^/(?:sys|proc)/.*/(?:\w*serial|subsysnqn|hostnqn|wwid)$")
"""Files that hold the number of one device or machine, whatever its form."""
_EVERYDAY = frozenset((
    "localhost", "localdomain", "local", "root", "user", "users", "home", "data", "mnt", "tmp", "var", "usr", "etc",
    "dev", "run", "opt", "srv", "boot", "lib", "linux", "node", "gpu", "nobody", "nfs", "com", "org", "net", "edu",
    "gov", "int", "none", "container", "default", "admin", "server", "host", "scratch",
))  # fmt: skip
"""Names that tell nothing of anyone, and would hit words that mean something else."""
_SHORTEST_NAME = 3
_WORD = re.compile(r"[0-9A-Za-z]+")


def known_names(host: Host) -> tuple[str, ...]:
    """The names of the host, its domains and its people, as far as its files and this environment tell them."""
    names = [host.text(path) or "" for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname")]
    names.append(host.text("/etc/hostname") or "")
    for line in (host.text("/etc/resolv.conf") or "").split("\n"):
        words = line.split()
        names += words[1:] if words[:1] in (["search"], ["domain"]) else []
    for line in (host.text("/etc/passwd", 1024 * 1024) or "").split("\n"):
        account = line.split(":")
        if len(account) > 3 and account[2].isdecimal() and 1000 <= int(account[2][:9]) < 65534:
            names.append(account[0])
    environment = host.environment() or {}
    names += [environment.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "HOSTNAME")]
    return tuple(sorted({name.strip() for name in names if name.strip()}))


def redacted(recorder: Recorder, names: Iterable[str], key: bytes, first: Recorder | None = None) -> Recorder:
    """``recorder`` with tokens instead of what is private; ``names`` are known to be. ``key`` makes the tokens.

    ``first``: an earlier recording of the same machine, whose files tell names too.
    """
    words = _Words.of(first or recorder, names, Tokens(key))
    made = replace(recorder, gaps={}, answers={}, links={})
    for (question, asked), answer in recorder.answers.items():
        made.answers[question, _asked(words, asked)] = Answer(
            words.path(answer.place), _answer(words, question, answer), answer.state
        )
    made.links.update({words.path(path): words.path(text) for path, text in recorder.links.items()})
    return made


def _asked(words: "_Words", asked: object) -> object:
    if isinstance(asked, tuple):
        return tuple(words.path(part) if isinstance(part, str) else part for part in asked)
    return words.path(asked) if isinstance(asked, str) else asked


def _answer(words: "_Words", question: str, answer: Answer) -> Any:
    value = answer.value
    if question == "data" and value is not None and _PCI_SPACE.fullmatch(answer.place):
        return without_serials(value)
    if question == "data" and value is not None:
        return words.content(answer.place, value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if question == "names" and value is not None:
        inside = answer.place.rstrip("/") + "/"
        return tuple(words.path(inside + name)[len(words.path(inside)) :] for name in value)
    if question in ("link", "real") and value is not None:
        return words.path(value)
    if isinstance(value, Output):
        argv = tuple(words.path(word) for word in value.argv)
        return Output(argv, value.returncode, words.output(value.stdout), words.output(value.stderr))
    if question == "environment" and value is not None:
        return {name: words.variable(name, text) for name, text in value.items()}
    if question == "nvml" and value is not None:
        return words.answers("", value)
    return value


@dataclass(frozen=True)
class _Words:
    """What is replaced, and by what."""

    tokens: Tokens
    known: Mapping[str, str] = field(default_factory=dict)
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, recorder: Recorder, names: Iterable[str], tokens: Tokens) -> "_Words":
        """``names`` and all that position tells to be private, less words that the kernel itself uses in paths."""
        bare = cls(tokens)
        found: dict[str, str] = {}
        for name in names:
            found.update({part.lower(): tokens.host(part) for part in (name, name.partition(".")[0])})
            found[name.lower()] = tokens.host(name)
        kernel = set(_EVERYDAY)
        for (question, _), answer in recorder.answers.items():
            if answer.place.startswith(("/sys/", "/proc/")) and not answer.place.startswith(_CGROUPS):
                kernel.update(word.lower() for word in _WORD.findall(answer.place))
            if question == "data" and answer.value and _MOUNT_TABLES.fullmatch(answer.place):
                found.update(bare.of_mounts(answer.value.decode("utf-8", "surrogateescape")))
        kept = {n: t for n, t in found.items() if len(n) >= _SHORTEST_NAME and n not in kernel and not n.isdecimal()}
        if not kept:
            return bare
        either = "|".join(map(re.escape, sorted(kept, key=lambda name: (-len(name), name))))
        return cls(tokens, kept, re.compile(rf"(?<![0-9A-Za-z])(?:{either})(?![0-9A-Za-z])", re.IGNORECASE))

    def of_mounts(self, text: str) -> dict[str, str]:
        """Servers, accounts and credentials in a mount table."""
        found: dict[str, str] = {}
        for word in re.split(r"[\s,]+", text):
            name, equals, value = word.partition("=")
            if equals and value and _is_secret(name):
                found[value.lower()] = self.tokens.word(value)
        for server in re.findall(r"(?:^|[\s,@])(?:[\w.-]+@)?([A-Za-z][\w.-]*):/", text) + re.findall(
            r"\s//([\w.-]+)/", text
        ):
            found[server.lower()] = self.tokens.host(server)
        return found

    def path(self, text: str) -> str:
        """A path or the word of a command; names only outside of what the kernel itself names."""
        if text.startswith(_CGROUPS):
            return _CGROUPS + self.named(self.forms(text[len(_CGROUPS) :], False))
        if text.startswith(("/sys/", "/proc/", "command: ")) or not text.startswith("/"):
            return self.forms(text, False)
        return self.named(self.forms(text))

    def forms(self, text: str, addresses: bool = True) -> str:
        """``text`` with everything replaced that has a form of its own."""
        return _FORMS.sub(lambda found: self._form(found, addresses), text)

    def _form(self, found: re.Match[str], addresses: bool) -> str:
        text, kind = found[0], found.lastgroup
        for name in ("gid", "guid", "mac", "gpu", "uuid", "long", "wwn", "iqn", "ipv6", "ipv4", "dashed"):
            if found[name] is not None:
                kind = name
        if kind in ("ipv6", "gid"):
            return _or_same(self.tokens.ipv6, text)
        if kind == "ipv4":
            return _or_same(self.tokens.ipv4, text) if addresses else text
        if kind == "dashed":
            return _or_same(lambda dashed: self.tokens.ipv4(dashed.replace("-", ".")).replace(".", "-"), text)
        if kind == "guid":
            return self.tokens.guid(text)
        if kind == "mac":
            return self.tokens.mac(text)
        if kind == "iqn":
            return text[:8] + self.tokens.word(text)
        return self.tokens.digits(text)

    def named(self, text: str) -> str:
        """``text`` with known names, homes, URLs' servers and accounts replaced."""
        text = _URL.sub(lambda found: found["scheme"] + self._authority(found["rest"]), text)
        text = _ACCOUNT.sub(self._account, text)
        if self.pattern is not None:
            text = self.pattern.sub(lambda found: self.known[found[0].lower()], text)
        return _HOMES.sub(lambda found: self._once(found[0], self.tokens.word), text)

    def _once(self, text: str, make: Callable[[str], str]) -> str:
        """A token for ``text`` unless it is one already."""
        return text if re.fullmatch(r"x[0-9a-f]{9}(?:\.x[0-9a-f]{9})*", text) else make(text)

    def _authority(self, text: str) -> str:
        account, at, server = text.rpartition("@")
        server, colon, port = server.partition(":")
        return (self.tokens.word(account) + at if at else "") + self._server(server) + colon + port

    def _server(self, text: str) -> str:
        return text if not text or _is_address(text) else self._once(text, self.tokens.host)

    def _account(self, found: re.Match[str]) -> str:
        account, _, server = found[0].partition("@")
        if _SERVICES.fullmatch(server):
            return found[0]
        shown = account if _is_address(account) else self._once(account, self.tokens.word)
        return f"{shown}@{server if _SERVICES.fullmatch(server) else self._server(server)}"

    def content(self, place: str, text: str) -> str:
        """The content of a file, by what stands in it."""
        if place.endswith("/chassis_asset_tag"):
            return text if _CLOUD_TAGS.fullmatch(text.strip()) else self.tokens.word(text.strip()) + "\n"
        if _NUMBERED.search(place):
            return re.sub(r"\S(?:.*\S)?", lambda found: self._once(found[0], self.tokens.word), text, count=1)
        if place.endswith("/dm/uuid"):
            return re.sub(r"(?<=-)\S+", lambda found: self.tokens.word(found[0]), text, count=1)
        if _ROUTES.fullmatch(place):
            return _ROUTE.sub(lambda f: f["name"] + self._hex_v4(f["to"]) + f["gap"] + self._hex_v4(f["by"]), text)
        if place == "/proc/cpuinfo":
            text = re.sub(r"(?m)^(Serial\s*: *)(\S+)", lambda found: found[1] + self.tokens.digits(found[2]), text)
        if _MOUNT_TABLES.fullmatch(place):
            text = "\n".join(self._mount(line) for line in _without_comments(place, text).split("\n"))
        elif place == _CMDLINE:
            text = re.sub(r'(?:"[^"]*"?|[^"\s])+', lambda found: self._boot_word(found[0]), text)
        elif not place.startswith(("/sys/", "/proc/")):
            text = "\n".join(self._setting(line) for line in _without_comments(place, text).split("\n"))
        text = self.forms(text, not _VERSIONS.search(place))
        if not place.startswith(("/sys/", "/proc/")) or _MOUNT_TABLES.fullmatch(place) or _NAMED_TEXTS.fullmatch(place):
            text = self.named(text)
        elif place == "/proc/version":
            text = _ACCOUNT.sub(self._account, text)
        return text

    def _hex_v4(self, text: str) -> str:
        """An address as /proc/net/route has it. Sample: ``0002A8C0`` is 192.168.2.0"""
        token = self.tokens.ipv4(str(ipaddress.IPv4Address(bytes.fromhex(text)[::-1])))
        return ipaddress.IPv4Address(token).packed[::-1].hex().upper()

    def _mount(self, line: str) -> str:
        """A line of a mount table: servers in its source, options one by one."""
        return re.sub(r"\S+", lambda found: self._mount_word(found[0]), line)

    def _mount_word(self, word: str) -> str:
        if word.startswith("//"):
            server, slash, share = word[2:].partition("/")
            return "//" + self._authority(server) + slash + share
        before, colon, path = word.partition(":/")
        if colon and "=" not in before and not before.startswith("/"):
            return re.sub(r"[^,:@\[\]]+", lambda found: self._peer(found[0]), before) + colon + path
        return ",".join(self._option(option) for option in word.split(",")) if "=" in word else word

    def _peer(self, text: str) -> str:
        return text if text.isdecimal() or _SERVICES.fullmatch(text) else self._server(text)

    def _option(self, option: str) -> str:
        name, equals, value = option.partition("=")
        if not value:
            return option
        if _is_secret(name):
            return f"{name}={self._once(value, self.tokens.word)}"
        if name in _NAMING_OPTIONS:
            return name + equals + re.sub(r"[^\s:/\\\[\]]+", lambda found: self._peer(found[0]), value)
        return option

    def _boot_word(self, word: str) -> str:
        name, equals, value = word.partition("=")
        if not value:
            return word
        if _is_secret(name):
            return name + equals + self.tokens.word(value)
        if name == "root" and value.startswith(("LABEL=", "PARTUUID=", "PARTLABEL=")):
            kind, _, label = value.partition("=")
            return f"{name}={kind}={self.tokens.word(label)}"
        if _NAMING_WORDS.fullmatch(name):
            return name + equals + re.sub(r"[^\s:/,\[\]=;]+", lambda found: self._peer(found[0]), value)
        return word

    def _setting(self, line: str) -> str:
        """A line of configuration whose key says that its value names the host or is secret."""
        found = re.match(r"(\s*-?[\w./-]*(?:hostname|domainname|_secret|fastopen_key)\s*=\s*)(\S.*)", line)
        if found:
            return found[1] + self.tokens.word(found[2])
        return re.sub(r"([\w.-]+)=(\S+)", self._pair, line)

    def _pair(self, found: re.Match[str]) -> str:
        return f"{found[1]}={self.tokens.word(found[2])}" if _SECRET_SETTING.search(found[1]) else found[0]

    def output(self, text: str) -> str:
        """What a command printed, by form, by known names and by labels."""
        text = _LABELLED.sub(lambda found: found["label"] + self._once(found["value"].rstrip(), self.tokens.word), text)
        text = _CCISS_DRIVE.sub(lambda found: found["place"] + self._once(found["serial"], self.tokens.word), text)
        text = _SMI_NAMED.sub(lambda found: f"<{found['tag']}>{self._once(found['value'], self.tokens.word)}", text)
        text = _PRINTED_WWN.sub(lambda found: self.tokens.digits(found[0]), text)
        return self.named(self.forms(text, False))

    def variable(self, name: str, text: str) -> str:
        """The value of an environment variable; those that say nothing of performance keep only plain values."""
        if _is_secret(name) and not name.startswith("NCCL_"):
            return self.tokens.word(text)
        if name == "KUBERNETES_SERVICE_HOST" or _PLAIN_VARIABLE.match(name) or _PLAIN_VALUE.fullmatch(text):
            return self.named(self.forms(text, "VERSION" not in name))
        if "PATH" in name:
            return self.named(self.forms(text))
        return self.tokens.word(text)

    def answers(self, name: str, value: Any) -> Any:
        """NVML's answers: identifiers by form, serial numbers by name."""
        if isinstance(value, Mapping):
            return {key: self.answers(str(key), item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.answers(name, item) for item in value]
        if isinstance(value, str):
            return self.tokens.word(value) if "serial" in name else self.forms(value, not _VERSIONS.search(name))
        return json.loads(json.dumps(value))


def _or_same(make: Callable[[str], str], text: str) -> str:
    """What ``make`` gives; ``text`` itself when it only looked like an address."""
    try:
        return make(text)
    except ValueError:
        return text


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_secret(name: str) -> bool:
    return _SECRET_OPTION.search(name) is not None and name not in _NO_SECRETS


def _without_comments(place: str, text: str) -> str:
    """``text`` with its comments emptied: people write names into them. Lines keep their numbers."""
    if place.startswith("/proc/"):
        return text
    return re.sub(r"(?m)^[ \t]*[#;].*$", "#", text)
