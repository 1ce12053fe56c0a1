"""Mount tables, fstab and mount units without servers, accounts, credentials, labels and serial numbers."""

import re

from advisor.host.redaction_words import Words
from advisor.host.tokens import Tokens

TABLES = re.compile(r"/proc/(?:[^/]+/)?(?:mountinfo|mounts|mountstats)|/etc/fstab")
UNITS = re.compile(r"/.*/systemd/system/[^/]+\.mount")
_SECRET_OPTION = re.compile(r"pass|secret|cred|token|key|user|auth|jwt|identity", re.IGNORECASE)
_NO_SECRETS = ("user_id", "group_id", "default_permissions")
_NAMING_OPTIONS = {
    "addr", "backup-volfile-servers", "backupvolfile-server", "clientaddr", "domain", "dom", "fsid", "host",
    "hostname", "ip", "mon_addr", "mountaddr", "name", "server", "srcaddr", "unc", "url", "workgroup",
}  # fmt: skip
_LABEL = re.compile(r"(?P<kind>(?:PART)?LABEL=|ID=)(?P<name>.+)")
_WEKA = re.compile(
    r"(?m)^(?P<servers>[^\s/=#]+)(?=/\S*[ \t]+\S+[ \t]+wekafs\b)|(?<= - wekafs )(?P<mounted>[^\s/]+)(?=/)"
)
"""The servers before the file system's name, as this one is mounted without a colon between them."""


def names_of(tokens: Tokens, text: str) -> dict[str, str]:
    """Servers, accounts and credentials in a mount table or unit, in lower case, with their tokens."""
    found: dict[str, str] = {}
    for word in re.split(r"[\s,]+", text):
        name, equals, value = word.partition("=")
        if equals and value and is_secret(name):
            found[value.lower()] = tokens.word(value)
    for server in re.findall(r"(?:^|[\s,@=])(?:[\w.-]+@)?([A-Za-z][\w.-]*):/", text) + re.findall(
        r"[\s=]//([\w.-]+)/", text
    ):
        found[server.lower()] = tokens.host(server)
    return found


def is_secret(name: str) -> bool:
    """Whether the value of an option with this name is a credential."""
    return _SECRET_OPTION.search(name) is not None and name not in _NO_SECRETS


def mount_table(words: Words, text: str) -> str:
    """A mount table: servers in sources, options one by one."""
    text = _WEKA.sub(lambda found: _servers(words, found[0]), text)
    return re.sub(r"\S+", lambda found: mount_word(words, found[0]), text)


def mount_word(words: Words, word: str) -> str:
    """A source or a list of options."""
    if word.startswith("//"):
        server, slash, share = word[2:].partition("/")
        return "//" + words.authority(server) + slash + share
    if label := _LABEL.fullmatch(word):
        return label["kind"] + words.secret(label["name"])
    if "://" in word.partition("=")[0]:
        return word  # as every URL, by what is in it
    before, colon, path = word.partition(":/")
    if colon and "=" not in before and not before.startswith("/"):
        return _servers(words, before) + colon + path
    return mount_options(words, word) if "=" in word else word


def mount_options(words: Words, text: str) -> str:
    """A list of options with commas between."""
    return ",".join(_option(words, option) for option in text.split(","))


def _option(words: Words, option: str) -> str:
    name, equals, value = option.partition("=")
    if not value:
        return option
    if is_secret(name):
        return f"{name}={words.secret(value)}"
    if name in _NAMING_OPTIONS:
        return name + equals + re.sub(r"[^\s:/\\\[\]]+", lambda found: words.peer(found[0]), value)
    return option


def _servers(words: Words, text: str) -> str:
    return re.sub(r"[^,:@\[\]]+", lambda found: words.peer(found[0]), text)
