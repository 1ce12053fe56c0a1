"""A Snapshot: all facts of one host at one time, what was missing, and what was derived from them."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.errors import SourceError
from advisor.model.facts import Facts, GapState, marks
from advisor.model.sample import GrowthGap, Number, Sample
from advisor.model.scrubbing import Known, Scrubber

SCHEMA_VERSION = 1
SourceKind = Literal["live", "capture", "tree", "facts"]
F = TypeVar("F", bound=Facts)
M = TypeVar("M", bound=BaseModel)
_OF_PEOPLE = ("block", "memory", "mounts", "zfs")
"""Sections in which volumes, mounts and swap have the names that people gave them."""
_OF_KERNEL = ("driver", "family", "firmware", "fstype", "kind", "model", "scheduler", "schedulers", "state", "vendor")
"""Fields of theirs that hold words of the kernel and of makers."""
_SHOWN = 80
"""Characters of a wrong value that a message shows."""


class Source(BaseModel):
    """Where a Snapshot was read from. Carries no name of the host."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: SourceKind = "facts"
    """``live``; ``capture``: recorded what it looked for; ``tree``: a missing file says nothing; ``facts``: JSON."""
    root_user: bool | None = None
    """Whether the reader was root; ``None`` when a capture does not say."""


@dataclass(frozen=True)
class Snapshot:
    """Facts by section name (the probe's file name), gaps by path, and derived facts by section name."""

    source: Source
    facts: Mapping[str, Facts]
    gaps: Mapping[str, GapState]
    derived: Mapping[str, Facts] = field(default_factory=dict)
    sample: Sample | None = None
    """What grew until a second reading; ``None`` when there was only one."""

    def section(self, name: str) -> Facts | None:
        """A probed or derived section, ``None`` when its probe failed or its inputs were missing."""
        return self.facts.get(name) or self.derived.get(name)

    def get(self, model: type[F]) -> F | None:
        """The first section of this model's type."""
        for facts in (*self.facts.values(), *self.derived.values()):
            if isinstance(facts, model):
                return facts
        return None

    def gap(self, path: str) -> GapState | None:
        """Why ``path`` gave no value; the gap of its nearest folder when it has none of its own."""
        while path:
            if path in self.gaps:
                return self.gaps[path]
            path = path.rpartition("/")[0]
        return None

    def with_derived(self, derived: Mapping[str, Facts]) -> "Snapshot":
        """The same Snapshot with these derived sections."""
        return replace(self, derived=dict(derived))


def scrubber_of(snapshot: Snapshot) -> Scrubber:
    """What takes out of any text about this host what is not for others."""
    told: set[tuple[bool, str]] = {(False, path) for path in snapshot.gaps}
    for name, facts in snapshot.facts.items():
        for field_name, text in _texts(_plain(facts, keep_volatile=False)):
            told.add((name in _OF_PEOPLE and field_name not in _OF_KERNEL, text))
    free = {(named, text) for named, text in told if not text.startswith(("/sys/", "/proc/"))}
    people = {text for named, text in free if named}
    paths = {text for _, text in free if text.startswith("/")} - people
    machine = {text for _, text in told} - people - paths
    names = [name for facts in snapshot.facts.values() for name in _host_names(facts)]
    return Scrubber.of(Known(people, paths, machine, names))


def committed_json(snapshot: Snapshot, scrubber: Scrubber | None = None) -> str:
    """The text of ``facts.json``: host facts without volatile and private fields; sorted keys, final newline."""
    kept = {name: _plain(facts, keep_volatile=False) for name, facts in snapshot.facts.items()}
    return _json(snapshot, kept, scrubber or scrubber_of(snapshot))


def full_json(snapshot: Snapshot, scrubber: Scrubber | None = None) -> str:
    """The text of ``observations.json``: all facts but the private ones; changes from run to run."""
    kept = {name: _plain(facts, keep_volatile=True) for name, facts in snapshot.facts.items()}
    sample = snapshot.sample
    further = {} if sample is None else {"sample": asdict(sample)}
    return _json(snapshot, kept, scrubber or scrubber_of(snapshot), further)


def _json(
    snapshot: Snapshot, facts: Mapping[str, Any], scrubber: Scrubber, further: Mapping[str, Any] | None = None
) -> str:
    document = {
        "schema_version": SCHEMA_VERSION,
        "source": snapshot.source.model_dump(),
        "gaps": {scrubber.text(path): state for path, state in snapshot.gaps.items()},
        **_scrubbed({"facts": facts, **(further or {})}, cache(scrubber.text), cache(scrubber.devices)),
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def _scrubbed(value: Any, text: Callable[[str], str], name: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name(key): _scrubbed(item, text, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_scrubbed(item, text, name) for item in value]
    return text(value) if isinstance(value, str) else value


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text in JSON types with the name of its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, field)


def _host_names(facts: Facts) -> Iterator[str]:
    for name, mark in marks(type(facts)).items():
        value = getattr(facts, name)
        if mark.names_host and isinstance(value, str):
            yield value


def _plain(value: Any, keep_volatile: bool) -> Any:
    """Facts as JSON types; ``None`` fields and empty origins are left out, so that files stay short."""
    if isinstance(value, Facts):
        known = marks(type(value))
        kept = {}
        for name in type(value).model_fields:
            item = getattr(value, name)
            mark = known.get(name)
            if item is None or (name in ("origin", "origins") and not item):
                continue
            if mark is not None and (mark.private or (mark.volatile and not keep_volatile)):
                continue
            kept[name] = _plain(item, keep_volatile)
        return kept
    if isinstance(value, Mapping):
        return {str(key): _plain(item, keep_volatile) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(item, keep_volatile) for item in value]
    return value


def parse_snapshot(text: str, models: Mapping[str, type[Facts]], where: str) -> Snapshot:
    """The Snapshot that `committed_json` or `full_json` wrote; ``where`` names the file in errors.

    Raises SourceError for anything else: wrong JSON, wrong version, unknown sections or fields.
    """
    document = _document(text, where)
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or type(version) is not int:
        got = repr(version)[:_SHOWN]
        raise SourceError(f"{where}: schema_version must be {SCHEMA_VERSION} but is {got}; probe the host again")
    for name in sorted(set(document) - {"schema_version", "source", "facts", "gaps", "sample"}):
        raise SourceError(f"{where}: unknown key {name[:_SHOWN]!r}")
    source = _checked(Source, document.get("source", {}), where, "source")
    gaps = _checked(_Gaps, {"gaps": document.get("gaps", {})}, where, "").gaps
    facts = dict(_sections(document, models, where))
    told = _checked(SampleTold, document["sample"], where, "sample") if "sample" in document else None
    sample = None if told is None else Sample(told.seconds, told.growth, told.unknown)
    return Snapshot(source.model_copy(update={"kind": "facts"}), facts, gaps, sample=sample)


def _checked(model: type[M], value: object, where: str, place: str) -> M:
    """``value`` as the model, by JSON's strict types: a number in quotes is a mistake, not a number."""
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        full = ".".join([part for part in [place] if part] + [str(part) for part in first["loc"]])[:_SHOWN]
        raise SourceError(f"{where}: {full}: {first['msg']}, got {_shown(first['input'])}") from None


def _shown(value: object) -> str:
    return repr(value if isinstance(value, str) else str(value))[:_SHOWN]


class SampleTold(BaseModel):
    """The growth of counters between two readings of them; only in observations.json."""

    model_config = ConfigDict(extra="forbid")

    seconds: dict[str, Annotated[float, Field(gt=0)]]
    """Between the two readings, by section."""
    growth: dict[str, Number]
    unknown: dict[str, GrowthGap] = {}


class _Gaps(BaseModel):
    gaps: dict[str, GapState]


def _document(text: str, where: str) -> dict[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_without_repetition)
    except json.JSONDecodeError as error:
        raise SourceError(f"{where}:{error.lineno}: not JSON ({error.msg})") from None
    except RecursionError:
        raise SourceError(f"{where}:1: not JSON (nested too deep)") from None
    except ValueError as error:  # a number of thousands of digits, or one of two values for one key
        raise SourceError(f"{where}: not facts: {str(error).partition(';')[0]}") from None
    if not isinstance(document, dict):
        raise SourceError(f"{where}: must hold a JSON object but holds {type(document).__name__}")
    return document


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the file; two values for one key, as a merge leaves them behind, are no fact."""
    found = dict(pairs)
    if len(found) < len(pairs):
        left = iter(found)  # in the order of the pairs, each key once
        twice = next(name for name, _ in pairs if name != next(left, None))
        raise ValueError(f"the key {twice[:_SHOWN]!r} stands twice in one object")
    return found


def _sections(document: dict[str, Any], models: Mapping[str, type[Facts]], where: str) -> Iterator[tuple[str, Facts]]:
    sections = document.get("facts", {})
    if not isinstance(sections, dict):
        raise SourceError(f"{where}: facts must be an object but is {type(sections).__name__}")
    for name, value in sections.items():
        if name not in models:
            known = ", ".join(sorted(models))
            raise SourceError(f"{where}: unknown section {name[:_SHOWN]!r}; known are {known}")
        yield name, _checked(models[name], value, where, name)
