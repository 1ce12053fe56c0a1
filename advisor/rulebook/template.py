"""Texts with expressions in braces: ``"{dev.address} runs on {dev.link_width} lanes"``.

``{{`` and ``}}`` are braces. ``{x:bytes}`` prints a size, ``{x:cpus}`` a CPU list, ``{x:list}`` items with commas.
A phrase in double square brackets is left out when a value in it is unknown: ``"GPU {g.index}[[ at {g.address}]]"``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from advisor.figures import cpulist_text, size_text
from advisor.inputs import printable
from advisor.rulebook.language import Expression, Scope, compile_expression
from advisor.rulebook.language_compiler import Mistake
from advisor.rulebook.language_types import Type
from advisor.rulebook.language_values import PRIVATE, Run, Thing, Unknown

UNKNOWN = "unknown"
_OPEN, _CLOSE = "[[", "]]"
_VALUE_LIMIT = 200
"""Characters of one value: facts are as long as the host makes them."""
_FORMAT = re.compile(r":\s*([a-z]+)\s*$", re.ASCII)
_LARGEST_SIZE = 2**70
"""Larger numbers of bytes are no sizes and do not fit a float."""


Part = str | tuple[Expression, str]
"""Plain text, or an expression with the name of its format."""


@dataclass(frozen=True)
class Phrase:
    """What is left out when a value in it is unknown."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Template:
    """A text and the expressions in it."""

    text: str
    parts: tuple[Part | Phrase, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions in the braces."""
        flat = [inner for part in self.parts for inner in (part.parts if isinstance(part, Phrase) else (part,))]
        return tuple(part[0] for part in flat if not isinstance(part, str))

    def filled(self, run: Run) -> str:
        """The text with its values, safe to print on one line. Raises Defective."""
        return "".join(_filled(part, run) for part in self.parts)


def compile_template(text: str, scope: Scope) -> Template:
    """The compiled form of a text. Raises Mistake."""
    parts: list[Part | Phrase] = []
    start = 0
    while (opened := text.find(_OPEN, start)) >= 0:
        closed = text.find(_CLOSE, opened)
        if closed < 0:
            raise Mistake(f"this {_OPEN!r} is not closed", opened)
        parts += _parts(text, start, opened, scope)
        parts.append(Phrase(tuple(_parts(text, opened + len(_OPEN), closed, scope))))
        start = closed + len(_CLOSE)
    return Template(text, (*parts, *_parts(text, start, len(text), scope)))


def _parts(whole: str, start: int, end: int, scope: Scope) -> Iterator[Part]:
    at, text = start, whole[:end]
    while at < len(text):
        brace = next((i for i in range(at, len(text)) if text[i] in "{}"), len(text))
        if brace > at:
            yield text[at:brace]
        at = brace
        if text[at : at + 2] in ("{{", "}}"):
            yield text[at]
            at += 2
        elif text[at : at + 1] == "}":
            raise Mistake("a single '}'; write }} for a brace", at)
        elif at < len(text):
            end = _end(text, at)
            yield _filled_in(text[at + 1 : end], at + 1, scope)
            at = end + 1


def _end(text: str, start: int) -> int:
    """The place of the brace that closes the one at ``start``; quotes hide braces."""
    quote = ""
    for at in range(start + 1, len(text)):
        if quote:
            quote = "" if text[at] == quote else quote
        elif text[at] in "'\"":
            quote = text[at]
        elif text[at] == "}":
            return at
    raise Mistake("this '{' is not closed", start)


def _filled_in(inside: str, offset: int, scope: Scope) -> tuple[Expression, str]:
    found = _FORMAT.search(inside)
    form = found[1] if found else ""
    if found and form not in _FORMATS:
        raise Mistake(f"there is no format {form!r}; there are {', '.join(_FORMATS)}", offset + found.start(1))
    accepts = _FORMATS[form][0] if form else _plain
    try:
        expression = compile_expression(inside[: found.start()] if found else inside, scope, lambda found: True)
    except Mistake as mistake:
        raise Mistake(mistake.message, offset + mistake.offset) from None
    if not accepts(expression.type):
        raise Mistake(f"{expression.type} cannot be printed{f' as {form}' if form else ''}", offset)
    return expression, form


def _plain(found: Type) -> bool:
    return found.kind not in ("facts", "map", "version")


def _filled(part: Part | Phrase, run: Run) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Phrase):
        text = _printed(part, run)
        return UNKNOWN if text is None else text
    texts = [inner if isinstance(inner, str) else _printed(inner, run) for inner in part.parts]
    told = [text for text in texts if text is not None]
    return "".join(told) if len(told) == len(texts) else ""


def _printed(part: tuple[Expression, str], run: Run) -> str | None:
    """The value as text; ``None`` when it is unknown."""
    expression, form = part
    # A run of its own shows which facts this one value rests on.
    own = Run(run.snapshot, run.items)
    value = expression.evaluate(own)
    run.seen.update(own.seen)
    run.aside.update(own.aside)
    if any(evidence.value == PRIVATE for evidence in own.evidence()):
        return PRIVATE
    return None if isinstance(value, Unknown) else shown(value, form)


def shown(value: object, form: str = "") -> str:
    """``value`` as text of one line."""
    text = _FORMATS[form][1](value) if form else _text(value)
    text = printable(text)
    return text if len(text) <= _VALUE_LIMIT else text[:_VALUE_LIMIT] + " ..."


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value) or "none"
    if isinstance(value, Thing):
        return value.label
    return UNKNOWN if isinstance(value, Unknown) else str(value)


def _size(value: object) -> str:
    """``64 MiB``; whole where it is whole."""
    if not isinstance(value, int | float) or abs(value) >= _LARGEST_SIZE:
        return _text(value)
    return size_text(int(value))


def _cpu_list(value: object) -> str:
    """``0-3,8``."""
    if not isinstance(value, tuple) or not all(isinstance(number, int) for number in value):
        return _text(value)
    return cpulist_text(value)


def _is_list(found: Type) -> bool:
    return found.kind in ("list", "any")


_FORMATS: Mapping[str, tuple[Callable[[Type], bool], Callable[[object], str]]] = {
    "bytes": (lambda found: found.is_number, _size),
    "cpus": (_is_list, _cpu_list),
    "list": (_is_list, _text),
}
