"""What programs, the environment and NVML tell, without names, numbers of single devices and credentials."""

import json
import re
from collections.abc import Mapping
from typing import Any

from advisor.host.redaction_mounts import is_secret
from advisor.host.redaction_words import VERSIONS, Words

_PLAIN_VARIABLE = re.compile(
    r"(?:CUDA|FI|GLOO|HIP|HSA|NCCL|OFI_NCCL|RCCL|ROCR|UCX|OMP|GOMP|KMP|MKL|OPENBLAS|MALLOC|TORCH|PYTORCH|LANG|LC)(?:_|$)|container$"
)
_PLAIN_VALUE = re.compile(r"[\d,. :-]*|true|false|yes|no|on|off|[A-Z]{1,12}", re.IGNORECASE)
_TUNING = re.compile(r"(?:CUDA|FI|GLOO|HIP|HSA|NCCL|OFI_NCCL|OMP|RCCL|ROCR|TORCH_NCCL|UCX)_")
_SECRET_TUNING = re.compile(r"PASS|SECRET|CRED|TOKEN|AUTH|JWT")
"""These libraries have keys that are no secrets: ``NCCL_IB_PKEY``."""
_NAMES_HOSTS = re.compile(r"(?:^|_)(?:COMM_ID|ADDR|ADDRESS|ADDR_RANGE|HOSTNAME|SERVER|STATS_DEST)$")
_NO_HOSTS = ("udp", "tcp", "file", "stdout", "stderr")
_LABELLED = re.compile(
    r"""(?im)^(?P<label>[^\n:="]{0,200}?"?(?:serial(?:[ _]?(?:number|no\.?))?|\bSN|WWID|WWN(?:[ ]port)?|host[ _]?name"""
    r"""|unique[ _]id\w*|SAS[ ]address(?:\(\d+\))?|world[- ]wide[ ]name|MD_(?:DEV)?NAME|MD_UUID"""
    r"""|\w{0,40}NQN|eui64|n?guid)"?[ \t]*[:=][ \t]*"?[ \t]*)(?P<value>[^\s",{\[][^\n",]*)"""
)
"""Numbers and names that programs print, by the label before them. Samples: ``SN = S4EVNF0M``, ``"Serial No": "x"``"""
_LONG = re.compile(r"(?=.*\d)[\w-]{6,}|[A-Z]{8}")
"""A number that means nothing else; some drives' have letters only."""
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


def printed(words: Words, text: str) -> str:
    """What a command printed, by form, by known names and by labels."""
    told = {value for found in _LABELLED.finditer(text) if _LONG.fullmatch(value := found["value"].rstrip())}
    text = _LABELLED.sub(lambda found: found["label"] + words.once(found["value"].rstrip(), words.tokens.word), text)
    text = _CCISS_DRIVE.sub(lambda found: found["place"] + words.once(found["serial"], words.tokens.word), text)
    text = _SMI_NAMED.sub(lambda found: f"<{found['tag']}>{words.once(found['value'], words.tokens.word)}", text)
    text = _PRINTED_WWN.sub(lambda found: words.tokens.digits(found[0]), text)
    for value in sorted(told):  # a list of drives may tell their numbers once more without a label
        text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", words.once(value, words.tokens.word), text)
    return words.named(words.forms(text, False))


def variable(words: Words, name: str, text: str) -> str:
    """The value of an environment variable; those that say nothing of performance keep only plain values."""
    made = unnamed(words, name, text)
    return words.named(words.forms(made, "VERSION" not in name)) if made == text else made


def unnamed(words: Words, name: str, text: str) -> str:
    """The value of a variable where its name decides; as it is where forms and known names are left to replace."""
    if name == "NCCL_HOSTID" or (_SECRET_TUNING.search(name) if _TUNING.match(name) else is_secret(name)):
        return words.tokens.word(text)
    if _NAMES_HOSTS.search(name) and _TUNING.match(name):
        return ",".join(_peer(words, one) for one in text.split(","))
    if name == "KUBERNETES_SERVICE_HOST" or _PLAIN_VARIABLE.match(name) or _PLAIN_VALUE.fullmatch(text):
        return text
    return text if "PATH" in name else words.tokens.word(text)


def _peer(words: Words, text: str) -> str:
    """An address, or a host with what stands around it, which is kept. Samples: ``10.1.2.0/24``, ``udp:node3:5555``"""
    if words.forms(text) != text:
        return text
    return re.sub(r"[^\s:/\[\]]+", lambda found: found[0] if found[0] in _NO_HOSTS else words.peer(found[0]), text)


def answers(words: Words, name: str, value: Any) -> Any:
    """NVML's answers: identifiers by form, serial numbers by name."""
    if isinstance(value, Mapping):
        return {key: answers(words, str(key), item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [answers(words, name, item) for item in value]
    if isinstance(value, str):
        return words.tokens.word(value) if "serial" in name else words.forms(value, not VERSIONS.search(name))
    return json.loads(json.dumps(value))
