"""What several targets ask of the host's facts."""

from advisor.model.snapshot import Snapshot


def in_container(snapshot: Snapshot) -> bool:
    """Whether the facts were read inside a container, where the host's settings are not ours to make."""
    return bool(getattr(snapshot.section("platform"), "container", None))
