"""What failed in a search is told once for each cause."""

from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.failures import failures


def test_what_differs_by_chance_alone_is_one_cause() -> None:
    messages = [
        "ConnectionRefusedError: /tmp/trial-hj9yexpy/t/pymp-1z_a7q/listener-abc0 (pid 17)",
        "ConnectionRefusedError: /tmp/trial-z50tm9wg/t/pymp-k3kd1x/listener-q_d1 (pid 18)",
        "KeyError: 'label'",
    ]
    trials = [
        Trial(number, Config(number, 2, 16), Measurement("user-error", message=message))
        for number, message in enumerate(messages, 1)
    ]
    assert failures(trials) == [
        f"w1 p2 b16 a1, w2 p2 b16 a1: user-error: {messages[0]}",
        "w3 p2 b16 a1: user-error: KeyError: 'label'",
    ]
