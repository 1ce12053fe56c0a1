"""Copies what the probes read into a folder or tar that gives the same facts elsewhere, without names and secrets."""

import click


@click.command()
@click.argument("dest")
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one, say what collector.sh made.")
@click.option("--no-redact", is_flag=True, help="Keep names, addresses and identifiers as they are.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(dest: str, root: str | None, no_redact: bool, form: str, quiet: bool, no_color: bool) -> int:
    """Copies what the probes read into DEST: a new folder, or a new file that ends in .tar, .tar.gz or .tgz.

    Names of hosts and people, addresses, MACs, GUIDs, serial numbers and credentials become tokens that keep their
    form, so that `advisor check --root DEST` finds the same. Exit status 0; 3 for a defect in a probe.
    """
    import json

    from advisor.discover import units
    from advisor.host.captured import open_root
    from advisor.host.recording import Recorder
    from advisor.host.redaction import known_names, redacted
    from advisor.host.redaction_key import redaction_key
    from advisor.host.saving import save_capture
    from advisor.inputs import printable
    from advisor.probes._run import run_probes

    host = open_root(root or "/")
    recorder = Recorder.of(host)
    if recorder.kind == "live":
        recorder.kind = "capture"  # the Python environment, which a capture does not have, is left out
    _, defects = run_probes(recorder, units("probes"))
    saved = recorder if no_redact else redacted(recorder, known_names(host), redaction_key())
    save_capture(saved, dest)
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
    for defect in defects:
        click.echo(f"advisor: defect in probe {defect.probe}: {printable(defect.error)}", err=True)
    return 3 if defects else 0
