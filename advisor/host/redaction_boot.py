"""The kernel command line without the names of host, disks and servers, and without credentials."""

import re

from advisor.host.boot_words import shown_word
from advisor.host.redaction_mounts import is_secret
from advisor.host.redaction_words import Words

_PLAIN_VALUE = re.compile(r"[\d,.:%+*-]*[kmgtKMGT]?|true|false|yes|no|on|off|auto|n|y", re.IGNORECASE)
_PLAIN_NAMES = re.compile(
    r"console|earlycon|loglevel|panic|quiet|init|root(?:fstype|delay|wait)|video|vga|debug|fsck\.\w+|selinux|security"
    r"|systemd\.(?:unit|show_status|log_level)"
)
_FOR_INIT = re.compile(
    r"(?:rd|systemd|inst|ks|ignition|coreos|cloud|ds|dracut|luks|udev|ostree|boot|vconsole|locale)[._-].*"
)
"""Words with dots that are no parameters of modules."""


def boot_words(words: Words, text: str) -> str:
    """A command line: values stay where they tell how the machine runs."""
    return re.sub(r'(?:"[^"]*"?|[^"\s])+', lambda found: _boot_word(words, found[0]), text)


def _boot_word(words: Words, word: str) -> str:
    name, equals, value = word.partition("=")
    if not value:
        return word
    if is_secret(name) or re.search(r"(?:^|[._-])pwd?$", name):
        return name + equals + words.secret(value)
    if shown_word(word) == word or _PLAIN_VALUE.fullmatch(value) or _PLAIN_NAMES.fullmatch(name):
        return word
    if "." in name and not _FOR_INIT.fullmatch(name) and not _NAMING.fullmatch(name):
        return word
    value = words.forms(value)
    return name + equals + re.sub(r'[^\s:/,\[\]=;()"@]+', lambda found: words.peer(found[0]), value)


_NAMING = re.compile(r".*[._-](?:host|hostname|ip|nameserver|url|label|server|iscsi.*)", re.IGNORECASE)
