"""Where the rules and templates lie: inside the installed package, else beside it in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def rules_folder() -> Path:
    """The folder of the shipped rules."""
    return _folder("_rules", "rules")


def templates_folder() -> Path:
    """The folder of the shipped templates; a template's path below it is its path in OUT plus ``.j2``."""
    return _folder("_templates", "templates")


def _folder(installed: str, in_checkout: str) -> Path:
    inside = _PACKAGE / installed
    return inside if inside.is_dir() else _PACKAGE.parent / in_checkout


def template_texts() -> dict[str, str]:
    """Every shipped template by its path below the folder of templates, sorted."""
    folder = templates_folder()
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.j2"))}
