"""The only package that touches the machine: its files, commands, limits and NVML."""
