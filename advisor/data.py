"""Where the rules and templates lie: inside the installed package, else beside it in a checkout."""

from pathlib import Path

from advisor.errors import SourceError, TemplateError
from advisor.inputs import printable, read_text

_PACKAGE = Path(__file__).resolve().parent
_TEMPLATE_LIMIT_BYTES = 1024 * 1024


def rules_folder() -> Path:
    """The folder of the shipped rules."""
    return _folder("_rules", "rules")


def templates_folder() -> Path:
    """The folder of the shipped templates; a template's path below it is its path in OUT plus ``.j2``."""
    return _folder("_templates", "templates")


def _folder(installed: str, in_checkout: str) -> Path:
    inside = _PACKAGE / installed
    return inside if inside.is_dir() else _PACKAGE.parent / in_checkout


def template_texts(folder: Path | None = None) -> dict[str, str]:
    """Every template by its path below ``folder`` (default: the shipped ones), sorted.

    Raises TemplateError for one that cannot be read, and when there is none: a run would take its files away again.
    """
    folder = folder or templates_folder()
    try:
        texts = {
            path.relative_to(folder).as_posix(): read_text(path, _TEMPLATE_LIMIT_BYTES)
            for path in sorted(folder.rglob("*.j2"))
        }
    except SourceError as error:
        raise TemplateError(str(error)) from None
    if not texts:
        raise TemplateError(
            f"there is no template in {printable(folder)}; install advisor again, or restore the folder"
        )
    return texts
