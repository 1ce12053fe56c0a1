"""The page of all facts: docs/facts.md, made from the fact models."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from advisor.model.facts import Facts, FieldMarks, Seen, marks

_UNITS = {
    *("bytes", "kbytes", "pages", "seconds", "microseconds", "milliseconds", "usecs", "centisecs"),
    *("mbps", "gts", "khz", "mhz", "percent", "watts", "celsius"),
}
_KINDS = {bool: "yes or no", int: "number", float: "number", str: "text"}
_SEEN = {"host": "host's", "own": "its own", "masked": "hidden", None: "?"}
_HEAD = """\
# Facts

What `advisor probe` reads, made from the code. Rules use these names. A fact is a value, or nothing with the reason
why: absent, denied, unsupported, error, timed out, distrusted (read and not believed), not captured.

- **read from**: the file below which, or the command by which, it is read; `*` stands for names and numbers.
- **root**: only root can read it.
- **container**: what a container sees: the host's value, its own, or usually nothing (hidden).
- *changes*: changes by itself, so it never stands in a file meant for git. *private*: kept out of every file.
"""


@dataclass(frozen=True)
class Section:
    """What one probe reads: its name in rules, a line about it, its model."""

    name: str
    about: str
    model: type[Facts]
    folders: Mapping[type[Facts], str] = field(default_factory=dict)
    """Where the files of models lie, as patterns."""


def facts_page(sections: list[Section]) -> str:
    """The page, in Markdown."""
    return "\n".join([_HEAD, *(line for section in sections for line in _section(section))])


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.name}\n"
    yield f"{section.about}\n"
    for place, model, seen, folder in _models(section.name, section.model, None, "", section):
        rows = [
            _row(place, name, mark, model, seen, folder)
            for name, mark in marks(model).items()
            if not _inner(model.model_fields[name].annotation)
        ]
        if rows:
            yield "| fact | what | kind | read from | root | container |\n|---|---|---|---|---|---|"
            yield "\n".join(rows) + "\n"


def _models(
    place: str, model: type[Facts], seen: Seen | None, folder: str, section: Section
) -> Iterator[tuple[str, type[Facts], Seen | None, str]]:
    """Each model below a section with the name of its place, what a container sees of it, and where it is read."""
    here, folder = model.seen or seen, model.read_from or section.folders.get(model, folder)
    yield place, model, here, folder
    for name, mark in marks(model).items():
        annotation = model.model_fields[name].annotation
        inner = _inner(annotation)
        if inner is not None:
            below = f"{place}.{name}" + ("[]" if _is_list(annotation) else "")
            yield from _models(below, inner, mark.seen or here, mark.source or folder, section)


def _row(place: str, name: str, mark: FieldMarks, model: type[Facts], seen: Seen | None, folder: str) -> str:
    source = mark.source or (f"{folder.rstrip('/')}/{mark.file.name}" if mark.file else folder)
    notes = [word for word, holds in (("changes", mark.volatile), ("private", mark.private)) if holds]
    about = _cell(mark.about) + "".join(f" *{note}*" for note in notes)
    kind = _kind(model.model_fields[name].annotation) + _unit(name)
    return (
        f"| `{place}.{name}` | {about.strip()} | {kind} | `{_cell(source)}` | {'root' if mark.root else ''} "
        f"| {_SEEN[mark.seen or seen]} |"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _unit(name: str) -> str:
    unit = name.rpartition("_")[2]
    return f", {unit}" if unit in _UNITS else ""


def _kind(annotation: Any) -> str:
    """What a field holds, in plain words."""
    parts = [part for part in get_args(annotation) if part is not type(None) and part is not ...]
    if _is_list(annotation):
        items = next(part for part in [annotation, *parts] if getattr(part, "__origin__", None) is tuple)
        return "list of " + _kind(get_args(items)[0]) + "s"
    if getattr(annotation, "__origin__", None) is dict or any(getattr(p, "__origin__", None) is dict for p in parts):
        return "names and values"
    return _KINDS.get(parts[0] if parts else annotation, "text")


def _is_list(annotation: Any) -> bool:
    return any(getattr(part, "__origin__", None) is tuple for part in (annotation, *get_args(annotation)))


def _inner(annotation: Any) -> type[Facts] | None:
    """The fact model inside a field's type."""
    if isinstance(annotation, type) and issubclass(annotation, Facts):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner(part)) is not None), None)
