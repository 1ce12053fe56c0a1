"""One verb, one file; its name is the verb, with ``_`` for ``-``."""
