"""What is never written, in other spellings and by other ways."""

import pytest

from advisor.model.setting import Rank
from advisor.targets._denied import denied


@pytest.mark.parametrize(
    ("target", "key", "value"),
    [
        ("mount", "/data:barrier", "barrier=0"),
        ("mount", "/data:barrier", "barrier=00"),
        ("mount", "/data:barrier", "barrier=0x0"),
        ("mount", "/data:barrier", "barrier=+0"),
        ("cmdline", "sysctl.vm.drop_caches", "3"),
        ("cmdline", "sysctl.net.ipv4.tcp_sack", "0"),
        ("cmdline", "mlx5_core.log_max_qp", "18"),
    ],
    ids=lambda value: value,
)
@pytest.mark.parametrize("rank", ["rule", "operator"])
def test_another_spelling_is_denied_as_well(target: str, key: str, value: str, rank: Rank) -> None:
    assert denied(target, key, value, rank) is not None


@pytest.mark.parametrize(
    ("target", "key", "value"),
    [("mount", "/data:barrier", "barrier=1"), ("cmdline", "sysctl.vm.swappiness", "10"), ("cmdline", "iommu", "pt")],
    ids=lambda value: value,
)
def test_what_does_no_harm_is_not(target: str, key: str, value: str) -> None:
    assert denied(target, key, value, "rule") is None
