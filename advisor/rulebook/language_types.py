"""Static types of the condition language, read off the annotations of fact models."""

import types
import typing
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from advisor.model.facts import Facts

Kind = Literal["int", "float", "bool", "str", "version", "list", "map", "facts", "any"]
_NAMED: Mapping[Kind, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "version": "a version",
    "any": "a value of no fixed type",
}


@dataclass(frozen=True)
class Type:
    """What is known of a value before there is one."""

    kind: Kind
    item: "Type | None" = None
    """Of a list or a map."""
    items: "tuple[Type, ...] | None" = None
    """Of a list whose length is fixed."""
    model: type[Facts] | None = None
    choices: tuple[str, ...] = ()
    """The only texts that there are, when the model names them."""

    def __str__(self) -> str:
        if self.kind in ("list", "map"):
            return f"a {self.kind}"
        return self.model.__name__ if self.model else _NAMED[self.kind]

    @property
    def is_number(self) -> bool:
        """Whether there is arithmetic on it."""
        return self.kind in ("int", "float", "any")


INT, FLOAT, BOOL, STR, VERSION, ANY = (
    Type("int"),
    Type("float"),
    Type("bool"),
    Type("str"),
    Type("version"),
    Type("any"),
)
EMPTY = Type("list", items=())
_PLAIN: Mapping[object, Type] = {int: INT, float: FLOAT, bool: BOOL, str: STR}


@cache
def field_type(model: type[Facts], name: str) -> Type:
    """The type of a field when it has a value."""
    return type_of(model.model_fields[name].annotation)


def field_names(model: type[Facts]) -> tuple[str, ...]:
    """The fields that rules may name."""
    return tuple(name for name in model.model_fields if name not in ("origin", "origins"))


def type_of(annotation: Any) -> Type:
    """The type that an annotation stands for; ``None`` in a union is left out."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return type_of(arguments[0])
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return joined(type_of(a) for a in arguments if a is not type(None))
    if origin is Literal:
        texts = all(isinstance(a, str) for a in arguments)
        return Type("str", choices=arguments) if texts else joined(_PLAIN.get(type(a), ANY) for a in arguments)
    if isinstance(origin, type):
        return _container(origin, arguments)
    if isinstance(annotation, type) and issubclass(annotation, Facts):
        return Type("facts", model=annotation)
    return _PLAIN.get(annotation, ANY)


def _container(origin: type, arguments: tuple[Any, ...]) -> Type:
    if issubclass(origin, tuple) and arguments[-1:] != (...,):
        items = tuple(type_of(a) for a in arguments)
        return Type("list", item=joined(items), items=items)
    if issubclass(origin, Mapping):
        return Type("map", item=type_of(arguments[1]))
    if issubclass(origin, Sequence | Set):
        return Type("list", item=type_of(arguments[0]))
    return ANY


def joined(found: Iterable[Type]) -> Type:
    """The one type that all have; number for a mix of numbers, else a value of no fixed type. ``()`` is any list."""
    kinds = list(dict.fromkeys(found))
    if any(t.kind == "list" and t.items is None for t in kinds):
        kinds = [t for t in kinds if t != EMPTY]
    if len(kinds) == 1:
        return kinds[0]
    if kinds and all(t.kind in ("int", "float") for t in kinds):
        return FLOAT
    if kinds and all(t.kind == "str" for t in kinds):
        return STR
    return ANY


def comparable(left: Type, right: Type) -> bool:
    """Whether ``==`` between them can ever be true."""
    if "any" in (left.kind, right.kind):
        return True
    if left.kind == "list" and right.kind == "list":
        return left.item is None or right.item is None or comparable(left.item, right.item)
    if "facts" in (left.kind, right.kind) or "map" in (left.kind, right.kind):
        return False
    return left.kind == right.kind or (left.is_number and right.is_number)


def ordered(of: Type) -> bool:
    """Whether ``<`` has a meaning: for numbers, versions and lists of numbers. Texts have none: "5.9" > "5.10"."""
    return of.is_number or of.kind == "version" or (of.kind == "list" and of.item is not None and of.item.is_number)
