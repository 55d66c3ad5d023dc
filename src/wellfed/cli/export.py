"""`wellfed export`."""

import click


@click.command("export")
def command() -> None:
    r"""Turn a packed data set back into files.

    Example: wellfed export x
    """
