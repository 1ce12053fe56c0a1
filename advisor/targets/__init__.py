"""One kind of setting, one file: where its value is seen in a Snapshot, what the host can take, how it is written."""
