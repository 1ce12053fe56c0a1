"""Text of the generated files out of templates and a Plan; touches no file.

A template's name is its path in OUT plus ``.j2``; names starting with ``_`` are parts for other templates. One with
``[unit]`` in its path is rendered for each entry of ``each["unit"]``, which it sees as ``unit`` and whose name takes
that place. ``written`` are the paths of the files that came before, in the order of names.
"""

import json
import re
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from advisor.errors import TemplateError
from advisor.planning.playbook import handlers, steps
from advisor.targets._values import shquote

SUFFIX = ".j2"
_COMMENT_LIMIT = 400
_EACH = re.compile(r"\[([a-z_]+)\]")


def render(templates: Mapping[str, str], context: Mapping[str, Any]) -> dict[str, str]:
    """Path in OUT to content, sorted; a template that renders to white space only gives no file.

    Raises TemplateError that names file and line of every wrong template.
    """
    from jinja2 import TemplateNotFound, TemplateSyntaxError

    environment = _environment(templates)
    wrong: list[str] = []
    files: dict[str, str] = {}
    for name in sorted(templates):
        try:
            template = environment.get_template(name)
            if not _is_part(name):
                context = {**context, "written": [path for path, text in files.items() if text.strip()]}
                files |= {path: _checked(template.render(seen)) for path, seen in _places(name, context)}
        except TemplateSyntaxError as error:
            wrong.append(f"{error.name or name}:{error.lineno}: {error.message}")
        except TemplateNotFound as error:
            wrong.append(f"{name}:{_line(error, templates)}: there is no template {str(error)!r}")
        except Exception as error:  # noqa: BLE001 - a template may raise whatever its expressions raise
            wrong.append(f"{name}:{_line(error, templates)}: {error or type(error).__name__}")
    if wrong:
        raise TemplateError("\n".join(wrong))
    return {path: text for path, text in files.items() if text.strip()}


def comment(value: object) -> str:
    """``value`` as one line that is safe behind ``#`` in every generated file: shortened, controls made visible."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value)).strip()
    if len(text) > _COMMENT_LIMIT:
        text = text[:_COMMENT_LIMIT].rstrip() + " ..."
    # A backslash at the end of a line makes modprobe.d swallow the line that follows, even from a comment.
    return text[:-1] + "\\x5c" if text.endswith("\\") else text


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True)


_FILTERS: Mapping[str, Callable[..., object]] = {
    "comment": comment,
    "shquote": shquote,
    "json": _json,
    "python": lambda value: ascii(value),
    "steps": steps,
    "handlers": handlers,
}


def _environment(templates: Mapping[str, str]) -> Any:
    from jinja2 import FunctionLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def source(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        return (templates[name], name, lambda: True) if name in templates else None

    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    return environment


def _is_part(name: str) -> bool:
    return name.rpartition("/")[2].startswith("_")


def _path(name: str) -> str:
    if not name.endswith(SUFFIX) or name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f"the name of a template must be a path in OUT that ends with {SUFFIX}")
    return name.removesuffix(SUFFIX)


def _places(name: str, context: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Path in OUT and variables of each file that a template makes."""
    path = _path(name)
    found = _EACH.search(path)
    if found is None:
        return [(path, context)]
    items: Mapping[str, Any] = context["each"][found[1]]
    wrong = [item for item in items if "/" in item or item.startswith(".") or not item.isprintable()]
    if wrong:
        raise ValueError(f"{wrong[0]!r} cannot be part of a path")
    return [(path.replace(found[0], item), {**context, found[1]: items[item]}) for item in sorted(items)]


def _checked(text: str) -> str:
    """``text`` if it holds only what is meant to be in it: the last gate before a file."""
    for number, line in enumerate(text.split("\n"), 1):
        for char in line:
            if not char.isprintable() and char != "\t":
                code = char.encode("unicode_escape").decode()
                raise ValueError(f"line {number} of the result holds {code}, which the template must quote or refuse")
    return text


def _line(error: Exception, templates: Mapping[str, str]) -> int:
    """The template's line that raised; 1 when it raised outside any template."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in templates]
    return next((line for line in reversed(lines) if line), 1)
