"""Types only: frozen, small, without any knowledge of files, processes or output."""
