"""One report format, one file; its name is the value of --format. They return text."""
