"""Reading XML that a stranger wrote: no document type is fetched, no entity is expanded, sizes are bounded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

MOST_ELEMENTS = 200_000
"""nvidia-smi writes some 700 for a GPU, and about as many supported clocks."""
DEEPEST = 64
_SHOWN = 40
"""Characters of a wrong text that a message shows."""


class NotReadable(ValueError):
    """The text is not what it was given as; the message says what it is instead, in words that end a sentence."""


@dataclass
class Element:
    """One element: its name, attributes, elements in it, and the text directly in it without white space around."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: "list[Element]" = field(default_factory=list)
    text: str = ""

    def child(self, tag: str) -> "Element | None":
        """The first element of that name directly in this one."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, tag: str) -> "Iterator[Element]":
        """The elements of that name directly in this one."""
        return (child for child in self.children if child.tag == tag)

    def at(self, path: str) -> "Element | None":
        """The element that a path of names leads to. Sample: ``pci/pcie_gen/max_link_gen``"""
        here: Element | None = self
        for tag in path.split("/"):
            here = here.child(tag) if here is not None else None
        return here

    def below(self, tag: str) -> "Iterator[Element]":
        """The elements of that name anywhere in this one, in the order of the file."""
        todo = list(reversed(self.children))
        while todo:
            here = todo.pop()
            if here.tag == tag:
                yield here
            todo.extend(reversed(here.children))


def parse_xml(text: str) -> Element:
    """The root of an XML document. Raises NotReadable.

    Sample: ``<system version="1"><cpu numaid="0"/></system>``. A ``<!DOCTYPE`` line that names an outside file, as
    nvidia-smi writes it, is passed over; one that brings declarations of its own is refused.
    """
    builder = _Builder()
    # expat sees entities of a document type only; without one, and none declared, nothing can be expanded.
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.EntityDeclHandler = builder.entity
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    try:
        parser.Parse(text.lstrip("\ufeff \t\r\n"), True)
    except expat.ExpatError as error:
        raise NotReadable(f"is not XML: line {error.lineno}: {expat.ErrorString(error.code)}") from None
    if builder.root is None:
        raise NotReadable("is not XML: it holds no element")
    return builder.root


class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self.open: list[tuple[Element, list[str]]] = []
        self.count = 0

    def doctype(self, name: str, system: str | None, public: str | None, has_own: bool | int) -> None:
        if has_own:
            raise NotReadable("declares a document type of its own, which no tool that writes this file does")

    def entity(self, *_: object) -> None:
        raise NotReadable("declares entities, which no tool that writes this file does")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MOST_ELEMENTS:
            raise NotReadable(f"has more than {MOST_ELEMENTS} elements, which no such file has")
        if len(self.open) >= DEEPEST:
            raise NotReadable(f"nests elements more than {DEEPEST} deep, which no such file does")
        element = Element(tag, attributes)
        if self.open:
            self.open[-1][0].children.append(element)
        else:
            self.root = element
        self.open.append((element, []))

    def end(self, _: str) -> None:
        element, texts = self.open.pop()
        element.text = "".join(texts).strip()

    def characters(self, data: str) -> None:
        self.open[-1][1].append(data)


def expect_root(root: Element, tag: str, what: str) -> None:
    """Raises NotReadable where the document is of another kind; ``what``: what it should have been."""
    if root.tag != tag:
        raise NotReadable(f"is not {what}: it holds <{root.tag[:_SHOWN]}>, not <{tag}>")
