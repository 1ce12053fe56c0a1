"""From settings to files: merge, render, write."""
