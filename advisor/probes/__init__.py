"""One subject, one file: its fact models and ``read(host)``, which returns them. Parsing is apart from reading."""
