"""What the windows of a trial tell together: waiting for data, the cost of a sample. Pure."""

from advisor.tuning.measuring import Figures, Window

SATURATED = 0.1
"""When the loop waits for this share of its time at least, the workers never wait for work."""
HAND_OVER_SECONDS = 0.001
"""What handing a batch over blocks a worker (pipe, descriptors, its own feeding thread): 0.7 ms seen on two CPUs."""


def wait_share(windows: tuple[Window, ...]) -> float:
    """Of the measured time: waiting for data as the loop, or the accelerator if there is one, saw it."""
    seconds = sum(w.seconds for w in windows)
    busy = [w.device_busy_seconds for w in windows if w.device_busy_seconds is not None]
    if len(busy) == len(windows):
        return min(max(1 - sum(busy) / seconds, 0.0), 1.0)
    return sum(w.wait_seconds for w in windows) / seconds


def cost_of_a_sample(figures: Figures, workers: int) -> dict[str, float]:
    """CPU time and blocked time of a sample, as far as they can be told apart from waiting for work or for a CPU."""
    if figures.loading_samples == 0:
        return {}
    of_the_loop = figures.loading_cpu_seconds / figures.loading_samples
    if workers == 0:
        idle = figures.loading_wall_seconds - figures.loading_cpu_seconds - figures.loading_delay_seconds
        return {
            "cpu_seconds_per_sample": of_the_loop,
            "blocked_seconds_per_sample": max(idle, 0.0) / figures.loading_samples,
        }
    samples = sum(w.samples for w in figures.windows)
    seconds = sum(w.seconds for w in figures.windows)
    cpu = sum(w.workers_cpu_seconds or 0.0 for w in figures.windows)
    delay = sum(w.workers_delay_seconds or 0.0 for w in figures.windows)
    if min(w.workers_cpu_seconds or 0.0 for w in figures.windows) < 0:
        return {}  # workers that another process has started were replaced in between
    cost = {"cpu_seconds_per_sample": cpu / samples, "loop_cpu_seconds_per_sample": of_the_loop}
    # What the loop itself does with a batch, taking it out of shared memory, is no waiting for workers.
    waited = sum(w.wait_seconds for w in figures.windows) - of_the_loop * samples
    if waited / seconds >= SATURATED:
        handing_over = HAND_OVER_SECONDS * sum(w.steps for w in figures.windows)
        cost["blocked_seconds_per_sample"] = max(workers * seconds - cpu - delay - handing_over, 0.0) / samples
    return cost
