"""What is measured: one workload, one file."""
