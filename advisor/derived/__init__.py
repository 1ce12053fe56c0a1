"""Facts out of facts, pure: one file, one model and ``derive(...)``, whose inputs are found by annotation."""
