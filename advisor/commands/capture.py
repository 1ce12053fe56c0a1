"""Copies what the probes read into a folder or tar that gives the same facts elsewhere, without names and secrets."""

import click

from advisor.commands._given import no_given_options
from advisor.commands._options import sample_option


@click.command()
@click.argument("dest")
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one, say what collector.sh made.")
@sample_option
@click.option("--no-redact", is_flag=True, help="Keep names, addresses and identifiers as they are.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
@no_given_options
def command(
    dest: str, root: str | None, sample: float | None, no_redact: bool, form: str, quiet: bool, no_color: bool
) -> int:
    """Copies what the probes read into DEST: a new folder, or a new file that ends in .tar, .tar.gz or .tgz.

    Names of hosts and people, addresses, MACs, GUIDs, serial numbers and credentials become tokens that keep their
    form, so that `advisor check --root DEST` finds the same. With --sample the counters are read twice, so that it
    also tells what grows. Exit status 0; 3 for a defect in a probe.
    """
    import json

    from advisor.commands._snapshot import read_again
    from advisor.discover import units
    from advisor.host.base import Host
    from advisor.host.captured import open_root
    from advisor.host.recording import Recorder
    from advisor.host.redaction import known_names, redacted
    from advisor.host.redaction_key import redaction_key
    from advisor.host.saving import Second, save_capture
    from advisor.inputs import printable
    from advisor.probes._run import read_all

    host = open_root(root or "/")

    def listening(host: Host) -> Recorder:
        made = Recorder.of(host)
        if made.kind == "live":
            made.kind = "capture"  # the Python environment, which a capture does not have, is left out
        return made

    recorder, probes = listening(host), units("probes")
    first = read_all(recorder, probes)
    second = read_again(host, first, probes, sample, listening)
    again = second.host if second is not None and isinstance(second.host, Recorder) else None
    saved = recorder
    if not no_redact:
        names, key = known_names(host), redaction_key()
        saved = redacted(recorder, names, key)
        again = again and redacted(again, names, key, recorder)
    save_capture(saved, dest, Second(again, second.seconds) if again is not None and second is not None else None)
    if sample is not None and second is None and not quiet:
        click.echo("advisor: --sample tells nothing here: a captured host can be read once only", err=True)
    questions = [question for question, _ in recorder.answers]
    told = {
        "schema_version": 1,
        "path": dest,
        "redacted": not no_redact,
        "files": questions.count("data"),
        "commands": questions.count("run"),
    }
    if form == "json" and not quiet:
        click.echo(json.dumps(told, indent=1, sort_keys=True))
    elif not quiet:
        done = "names and secrets kept: do not share it" if no_redact else "names, addresses and secrets replaced"
        click.echo(f"Wrote {printable(dest)}: {told['files']} files and {told['commands']} commands asked for; {done}")
    for defect in first.defects:
        click.echo(f"advisor: defect in probe {defect.probe}: {printable(defect.error)}", err=True)
    return 3 if first.defects else 0
