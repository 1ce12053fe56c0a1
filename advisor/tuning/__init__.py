"""The search: space, study, trial processes, statistics, choice."""
