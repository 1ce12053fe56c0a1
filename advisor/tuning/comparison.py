"""The interleaved comparison at the end of a search: A B C A B C, so that drift hits all alike."""

import math
from dataclasses import replace
from statistics import median

from advisor.figures import count_text
from advisor.model.trial import Config
from advisor.tuning.choice import FINAL, LEAST_GAIN, choose, round_of
from advisor.tuning.cost import rate
from advisor.tuning.progress import Said
from advisor.tuning.session import FINAL_WINDOWS, FINALISTS, LEAST_ROUNDS, NEAR, Session
from advisor.tuning.statistics import spread

ROUNDS, MOST_ROUNDS = 5, 12
"""Of the comparison; and of one that five rounds leave open."""
CLOSE = 0.02
"""What is preferred may be slower than the fastest by so much before more rounds look closer."""
DISTURBED, OUTLIER, MOST_REPEATS = 0.88, 3.0, 2
"""A run below this share of the median of its configuration's rounds, and so many deviations below it, is repeated, so
often at most."""
OVERDRAFT_SHARE = 0.1
"""Of the budget: what it may be overdrawn by to complete the least comparison."""
CHEAP = 0.98
"""Of the fastest: what the cheapest must come near."""


def compare(session: Session) -> None:
    """Measures the finalists and the baseline in turn, A B C A B C, as far as the budget goes."""
    finalists = _finalists(session)
    if len(finalists) < 2:
        return
    exhaustive = session.limits.exhaustive
    overdraft = math.inf if exhaustive else OVERDRAFT_SHARE * session.limits.budget_seconds
    done = max((number for t in session.trials if (number := round_of(t)) is not None), default=1)
    for number in range(done, MOST_ROUNDS + 1):
        if number > ROUNDS and not _open(session):
            return
        room = session.left() + (overdraft if number <= (ROUNDS if exhaustive else LEAST_ROUNDS) else 0)
        if number > 1 and room < len(finalists) * session.typical():
            session.listen(Said(f"the budget ended the comparison after {count_text(number - 1, 'round')}"))
            return
        for config in finalists:
            if not any(round_of(t) == number and t.config == config for t in session.trials):
                session.measure(config, f"{FINAL} {number}", windows=FINAL_WINDOWS)
        if number >= LEAST_ROUNDS:
            _repeat_disturbed(session, overdraft)
            if _settled(session):
                return


def _repeat_disturbed(session: Session, overdraft: float) -> None:
    """Runs again what falls out of its own row of rounds, of whatever configuration, so that none is favoured."""
    found: dict[tuple[Config, str], list[float]] = {}
    for trial in session.good():
        if round_of(trial) is not None:
            found.setdefault((trial.config, trial.origin), []).append(rate(trial.measurement) or 0.0)
    rows: dict[Config, list[float]] = {}
    for (config, _), speeds in found.items():
        rows.setdefault(config, []).append(max(speeds))
    noise = spread([speed / median(row) for row in rows.values() for speed in row])
    for (config, origin), speeds in found.items():
        is_disturbed = max(speeds) < min(DISTURBED, 1 - OUTLIER * noise) * median(rows[config])
        room = session.left() + overdraft > session.typical()
        if is_disturbed and len(speeds) <= MOST_REPEATS and room:
            session.measure(config, origin, windows=FINAL_WINDOWS)


def _finalists(session: Session) -> list[Config]:
    """The baseline, the fastest, the cheapest that comes near it, the runner-up; and those of a resumed comparison.

    A point whose step is in autocast meets itself without: what autocast brings to the loop is not known till then.
    """
    resumed = [t.config for t in session.trials if round_of(t) is not None]
    speeds = session.speeds()
    if not speeds:
        return resumed
    fastest, best = next(iter(speeds.items()))
    near = [config for config, speed in speeds.items() if speed >= NEAR * best]
    cheap = min([c for c in near if speeds[c] >= CHEAP * best], key=session.preference)
    plain = [replace(cheap, amp=None)] if cheap.amp is not None else []  # as fast, it would be preferred
    wanted = list(dict.fromkeys([cheap, *plain, fastest, *near]))[: max(_seats(session), 1 + len(plain))]
    base = [session.job.baseline] if session.job.baseline in speeds else []
    return list(dict.fromkeys([*base, *resumed, *wanted]))


def _seats(session: Session) -> int:
    """How many finalists beside the baseline there is time for."""
    if session.limits.exhaustive:
        return FINALISTS
    rounds = LEAST_ROUNDS * max(session.typical(), 1e-9)
    return int(min(max(session.left() / rounds - 1, 1), FINALISTS))


def _open(session: Session) -> bool:
    """Whether the rounds so far cannot tell from noise what seems to be a gain, or a loss of what is preferred."""
    choice = choose(session.trials, session.job.baseline)
    gain, chosen = choice.gain, choice.of(choice.config) if choice.config is not None else None
    if gain is not None and gain.value >= 1 + LEAST_GAIN and not gain.excludes_one():
        return True
    best = max((c.samples_per_second for c in choice.candidates if c.rounds), default=0.0)
    return chosen is not None and chosen.samples_per_second * (1 + CLOSE) < best


def _settled(session: Session) -> bool:
    """Whether further rounds would not change what is said."""
    choice = choose(session.trials, session.job.baseline)
    gain, compared = choice.gain, [c for c in choice.candidates if c.rounds]
    if gain is None or not gain.excludes_one() or gain.low is None or gain.low <= 1.1:
        return False
    return sum(c.samples_per_second >= NEAR * compared[0].samples_per_second for c in compared) == 1
