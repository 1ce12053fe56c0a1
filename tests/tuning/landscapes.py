"""Simulated hosts for the search: a DataLoader played batch by batch on a machine that no formula of advisor describes.

Workers take batches in turn and are given one more for each that the loop takes, as PyTorch does. Samples differ
(log-normal, some of them far slower); busy workers share cores whose second thread is worth a third; disks answer later
the more is asked of them; a step has plateaus in its batch size and is slowed down by busy cores. Of all that the
search knows nothing but what its trials measure, with noise, disturbed windows and disturbed trials.
"""

import math
from dataclasses import dataclass, field
from random import Random

from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.batching import Batching, Declared, baseline, batching
from advisor.tuning.session import Job
from advisor.tuning.space import PREFETCH_FACTORS, Resources

DRAWN = 512
"""Batches whose times are drawn; the loader plays them round and round."""
WINDOW_SECONDS, LEAST_STEPS = 2.0, 20
IMPORT_SECONDS, WORKER_SECONDS = 3.0, 0.03
LONGEST_WARM_UP_SECONDS = 18.0
SECOND_THREAD = 0.33
ROUNDS = 8


@dataclass(frozen=True)
class Landscape:
    """One host and one job, of which a rank is simulated. Times are in seconds, of one sample unless said."""

    name: str
    cpus: int
    """Logical CPUs of the node."""
    ranks: int
    cpu: float
    wait: float
    spread: float = 0.3
    """Of the logarithm of a sample's time."""
    slow_share: float = 0.0
    slow_factor: float = 20.0
    sample_bytes: int = 150_000
    depth: float = 200.0
    """Reads of this rank at once beyond which they wait for each other."""
    launch: float = 3e-3
    """Of a step, whatever its batch."""
    step: float = 0.0
    """Of a step for each sample; 0 and no launch: the loader alone."""
    update: float = 0.0
    wave: int = 1
    """The accelerator takes so many samples at once: a batch costs whole waves."""
    per_batch: float = 3e-4
    """Of the loop for each batch that it takes from a worker."""
    bytes_per_second: float = 4e9
    """At which the loop copies what workers send."""
    crowding: float = 0.5
    """How much of the step is lost when all CPUs are busy."""
    thrash: float = 0.0
    """How much slower a sample's CPU work becomes with each further worker: caches, memory bandwidth, locks."""
    far: float = 1.0
    """How many times slower CPU work is for workers beyond half of the CPUs: the other socket."""
    declared: Declared = field(default_factory=lambda: Declared(batch_size=32, has_step=True))
    shm_bytes: int = 64 << 30
    noise: float = 0.02
    window_noise: float = 0.02
    outliers: float = 0.05

    @property
    def threads(self) -> float:
        """Logical CPUs of a rank."""
        return self.cpus / self.ranks

    def batching(self) -> Batching:
        """How the global batch may be cut."""
        return batching(self.declared, self.ranks, None)

    def job(self) -> Job:
        """What the search is told."""
        cut = self.batching()
        room = Resources(
            cpus=self.threads, memory_bytes=64 << 30, shm_bytes=self.shm_bytes // self.ranks, files=1 << 20
        )
        return Job(baseline(self.declared, cut), cut, room, pin_memory=True, trained=self.declared.has_step)

    def workers(self) -> tuple[int, ...]:
        """Numbers of workers of the grid: all up to 16, then in steps of an eighth, to the end of what may help."""
        useful = 1.25 * self.threads * (self.cpu + self.wait) / self.cpu
        most = int(min(useful, max(8 * self.threads, 32)))
        found = [0]
        while found[-1] < most:
            found.append(min(found[-1] + max(1, found[-1] // 8), most))
        return tuple(found)

    def grid(self) -> list[Config]:
        """All points that fit into shared memory."""
        cut, points = self.batching(), []
        for batch in cut.choices:
            for workers in self.workers():
                for prefetch in PREFETCH_FACTORS if workers else (None,):
                    config = Config(
                        workers, prefetch, batch, cut.accumulation(batch), pin_memory=True,
                        persistent_workers=workers > 0,
                    )  # fmt: skip
                    if self.fits(config):
                        points.append(config)
        return points

    def fits(self, config: Config) -> bool:
        """Whether the batches in flight fit into /dev/shm."""
        flying = config.num_workers * (config.prefetch_factor or 0) + 1
        need = flying * (config.batch_size or 1) * self.sample_bytes if config.num_workers else 0
        return need * self.ranks <= self.shm_bytes

    def step_seconds(self, config: Config) -> float:
        """Of one micro-batch on quiet cores, the share of the update included."""
        batch = config.batch_size or 1
        waves = math.ceil(batch / self.wave) * self.wave
        return self.launch + self.step * waves + self.update / config.accumulation


class Host:
    """A `Landscape` that can be measured; what a point really gives is worked out once."""

    def __init__(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self._times: dict[int, list[tuple[float, float]]] = {}
        self._rates: dict[tuple[int, int, int, Part], float] = {}

    def rate(self, config: Config, part: Part = "loop") -> float:
        """Samples per second that ``config`` really gives, 0 when it does not fit."""
        if not self.landscape.fits(config):
            return 0.0
        batch = config.batch_size or 1
        key = (config.num_workers, config.prefetch_factor or 0, batch, part)
        if key not in self._rates:
            self._rates[key] = batch / self._step_rate(config, part)
        return self._rates[key]

    def _step_rate(self, config: Config, part: Part) -> float:
        """Seconds per micro-batch in the steady state."""
        step = self.landscape.step_seconds(config) if part != "loader" else 0.0
        if part == "cached":
            return step
        times, land, batch = self._drawn(config.batch_size or 1), self.landscape, config.batch_size or 1
        if config.num_workers == 0:
            return step + sum(c + w for c, w in times) / len(times)
        take = land.per_batch + batch * land.sample_bytes / land.bytes_per_second
        slower = later = lost = 1.0
        seconds = step + sum(c + w for c, w in times) / len(times) / config.num_workers
        for _ in range(ROUNDS):
            slower, later, lost = self._crowded(config.num_workers, batch / seconds, slower, later)
            found = _played(config, [c * slower + w * later for c, w in times], step * lost + take)
            seconds = (seconds * found) ** 0.5
        return found

    def _crowded(self, workers: int, per_second: float, slower: float, later: float) -> tuple[float, float, float]:
        """How much slower CPU work, reads and steps are at a rate of samples, by how many are at work at once."""
        land = self.landscape
        cores = land.threads / 2
        busy = min(per_second * land.cpu * slower, float(workers)) + 1.0
        whole = min(busy, cores) + SECOND_THREAD * max(min(busy, land.threads) - cores, 0.0)
        whole /= 1 + 0.004 * max(workers - land.threads, 0.0) + land.thrash * (workers - 1)
        whole /= 1 + (land.far - 1) * max(workers - cores, 0.0) / workers
        reads = min(per_second * land.wait * later, float(workers)) / land.depth
        load = min(busy / land.threads, 1.0)
        return max(busy / whole, 1.0), 1 + reads**2, 1 + land.crowding * max(load - 0.5, 0.0) ** 2 * 4

    def _drawn(self, batch: int) -> list[tuple[float, float]]:
        """CPU time and waiting of the batches of this size."""
        if batch not in self._times:
            land, dice = self.landscape, Random(f"{self.landscape.name} {batch}")
            mean = math.exp(land.spread**2 / 2)
            few = min(batch, 64)  # beyond that sums hardly differ; the rest is scaled
            made = []
            for _ in range(DRAWN):
                cpu = wait = 0.0
                for _ in range(few):
                    size = math.exp(dice.gauss(0, land.spread)) / mean
                    size *= land.slow_factor if dice.random() < land.slow_share else 1.0
                    cpu, wait = cpu + size * land.cpu, wait + size * land.wait
                made.append((cpu * batch / few, wait * batch / few))
            self._times[batch] = made
        return self._times[batch]


def _played(config: Config, durations: list[float], step: float) -> float:
    """Seconds per batch once the first have gone: the loop takes batches in order, each worker every so many."""
    workers, ahead = config.num_workers, config.num_workers * (config.prefetch_factor or 1)
    settled = 2 * ahead + 20
    count = settled + max(3 * workers, 256)
    free, taken = [0.0] * workers, [0.0] * count
    now = started = 0.0
    drawn = len(durations)
    for number in range(count):
        worker = number % workers
        asked = taken[number - ahead] if number >= ahead else 0.0
        begin = free[worker] if free[worker] > asked else asked
        done = free[worker] = begin + durations[number % drawn]
        now = taken[number] = done if done > now else now  # the loop takes it, and asks for another
        if number == settled:
            started = now
        now += step
    return (taken[-1] - started) / (count - 1 - settled)


@dataclass
class Measured:
    """A host under trial: what a trial says and the time that it takes. ``seed`` decides the noise."""

    host: Host
    seed: int
    now: float = 0.0
    trials: int = 0

    def __post_init__(self) -> None:
        self.dice = Random(f"{self.host.landscape.name} {self.seed}")

    def clock(self) -> float:
        """Seconds of trials so far."""
        return self.now

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        """One trial."""
        self.trials += 1
        land, batch = self.host.landscape, config.batch_size or 1
        true = self.host.rate(config, part)
        self.now += trial_seconds(config, true, windows)
        if true == 0.0:
            return Measurement("no-space-in-shm", message="No space left on device (28)")
        bias = math.exp(self.dice.gauss(0, land.noise))
        if self.dice.random() < land.outliers / 2:
            bias *= 1 - self.dice.uniform(0.1, 0.4)
        rates = tuple(true * bias * self._window() for _ in range(windows))
        seconds = batch / true
        trained = part != "loader" and land.declared.has_step
        step = land.step_seconds(config)
        return Measurement(
            "ok",
            samples_per_second=rates,
            wait_share=max(1 - step / seconds, 0.0) if trained else None,
            step_seconds=tuple(batch / rate for rate in rates) if trained else (),
            batch_bytes=batch * land.sample_bytes,
            notes={"samples": int(true * windows * window_seconds(seconds)), **self._notes(config, part)},
        )

    def _window(self) -> float:
        land = self.host.landscape
        disturbed = 1 - self.dice.uniform(0.1, 0.4) if self.dice.random() < land.outliers else 1.0
        return disturbed * math.exp(self.dice.gauss(0, land.window_noise))

    def _notes(self, config: Config, part: Part) -> dict[str, float | int | str]:
        """What a trial tells of a sample: the mean of those that it happened to read, if it read any."""
        land = self.host.landscape
        if part == "cached":
            return {}
        slow = 1 + land.slow_share * (land.slow_factor - 1)
        seen = slow * math.exp(self.dice.gauss(0, 0.05))
        notes: dict[str, float | int | str] = {
            "cpu_seconds_per_sample": land.cpu * seen,
            "blocked_seconds_per_sample": land.wait * seen,
            "tensors_per_batch": 2,
        }
        if config.num_workers:
            take = land.per_batch / (config.batch_size or 1) + land.sample_bytes / land.bytes_per_second
            notes["loop_cpu_seconds_per_sample"] = take * seen / slow
        return notes


def trial_seconds(config: Config, rate: float, windows: int) -> float:
    """What a trial takes: imports, workers, the backlog, and its windows of two seconds or twenty steps."""
    start = IMPORT_SECONDS + WORKER_SECONDS * config.num_workers
    if rate == 0.0:
        return start
    step = (config.batch_size or 1) / rate
    backlog = 2 * config.num_workers * (config.prefetch_factor or 0) + 10
    warm = min(max(backlog * step, 0.3), LONGEST_WARM_UP_SECONDS)
    return start + warm + windows * window_seconds(step)


def window_seconds(step: float) -> float:
    """What a window takes with steps of so many seconds."""
    return max(WINDOW_SECONDS, LEAST_STEPS * step)


def grid_seconds(host: Host, windows: int = 5) -> float:
    """What measuring the whole grid takes, with so many windows a point."""
    return sum(trial_seconds(c, host.rate(c), windows) for c in host.landscape.grid())
