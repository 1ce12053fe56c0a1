"""How values of settings are told to a reader."""

import pytest

from advisor.model.setting import Reason, Setting, Value
from advisor.reports._findings import setting_text


@pytest.mark.parametrize(
    ("target", "key", "value", "told"),
    [
        ("mount", "/data:nobarrier", False, "removed"),
        ("mount", "/data:noatime", True, "added"),
        ("mount", "/data:nconnect", 8, "8"),
        ("dataloader", "pin_memory", False, "False"),
        ("sysctl", "net.ipv4.tcp_rmem", (1, 2, 3), "1 2 3"),
    ],
)
def test_a_value_is_told_as_what_it_does(target: str, key: str, value: Value, told: str) -> None:
    assert setting_text(Setting(target, key, value, Reason("rule", "a/b", "helps"))) == told
