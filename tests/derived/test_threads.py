"""OMP_NUM_THREADS of the session counts before that of logins; without both it is known to be left open."""

import pytest

from advisor.derived.threads import derive, parse_threads
from advisor.model.facts import evidence_path
from advisor.probes.nccl_conf import NcclConf, ShellLine, Variable


def conf(environment: str | None, login: str | None, known: bool = True) -> NcclConf:
    """A session and a login file, each with its number of threads; ``known``: both were looked at."""
    here = () if environment is None else (Variable(origin="environment", name="OMP_NUM_THREADS", value=environment),)
    path = "/etc/profile.d/omp.sh"
    lines = () if login is None else (ShellLine(origin=path, name="OMP_NUM_THREADS", value=login, path=path, line=1),)
    other = Variable(origin="environment", name="NCCL_DEBUG", value="INFO")
    return NcclConf(
        origin="/etc/nccl.conf",
        environment=(other, *here) if known else None,
        logins=lines if known or lines else None,
        origins={"environment": "environment", "logins": "/etc/profile.d"},
    )


@pytest.mark.parametrize(
    ("session", "login", "told", "threads", "path"),
    [
        ("8", "4", True, 8, "environment"),
        (None, "4", True, 4, "/etc/profile.d/omp.sh"),
        (None, None, False, None, "/etc/profile.d"),
        ("many", None, True, None, "environment"),
    ],
)
def test_the_session_counts_first(
    session: str | None, login: str | None, told: bool, threads: int | None, path: str
) -> None:
    found = derive(conf(session, login))
    assert (found.openmp_told, found.openmp, evidence_path(found, "openmp_told")) == (told, threads, path)


def test_a_host_whose_environment_was_not_kept_leaves_it_open() -> None:
    found = derive(conf(None, None, known=False))
    assert (found.openmp_told, found.openmp, evidence_path(found, "openmp_told")) == (None, None, "environment")


def test_what_logins_set_is_known_without_the_environment() -> None:
    assert derive(conf(None, "4", known=False)).openmp == 4


@pytest.mark.parametrize(
    ("text", "threads"), [("8", 8), (" 4,2 ", 4), ("0", None), ("-1", None), ("", None), ("\u0664", None)]
)
def test_the_outermost_number_counts(text: str, threads: int | None) -> None:
    assert parse_threads(text) == threads
