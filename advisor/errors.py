"""All errors that advisor raises on purpose.

AdvisorError                  the root; carries the exit status
├── InputError                what the user gave is wrong (exit 2)
│   ├── SourceError           a --root, --facts or capture that cannot be read
│   ├── RuleError             a rule file, with file, line and column
│   ├── TemplateError         a template
│   └── WorkloadError         a workload path, module or factory
├── ConflictError             two settings of equal rank disagree (exit 3)
├── ApplyError                the host cannot be changed, or not be put back (exit 3)
├── BusyError                 the node is doing somebody else's work (exit 3)
└── Interrupted               Ctrl-C, after everything was put in order (exit 130)

A message is one sentence or more that says what was wrong, what was got, where, and what to do.
"""


class AdvisorError(Exception):
    """Something the user must be told in plain words."""

    exit_status = 3


class InputError(AdvisorError):
    """Options, files or values that the user gave are wrong."""

    exit_status = 2


class SourceError(InputError):
    """A root, snapshot or capture cannot be read."""


class RuleError(InputError):
    """A rule file is wrong."""


class TemplateError(InputError):
    """A template is wrong."""


class WorkloadError(InputError):
    """A workload cannot be loaded."""


class ConflictError(AdvisorError):
    """Two settings of the same rank want different values for one key."""


class ApplyError(AdvisorError):
    """Files could not be installed or put back; says in which state the host is."""


class BusyError(AdvisorError):
    """The node is at work for somebody else; measuring now would be wrong and rude."""


class Interrupted(AdvisorError):
    """The user stopped the run; what was measured so far is kept."""

    exit_status = 130
