"""`whorl explain` and `whorl schema`: what is known without any run."""

from __future__ import annotations

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import print_json


@click.command()
@click.argument("code", metavar="CODE")
def explain(code: str) -> int:
    """Explain an error CODE: what it means, why, an example, how to fix it.

    \b
      whorl explain W004
    """
    from whorl.explanations import codes
    from whorl.explanations import explain as page_of

    page = page_of(code)
    if page is None:
        known = codes()
        hint = did_you_mean(code, known)
        raise UsageError(
            f"no error has the code {code!r}", help=hint or f"known: {' '.join(known)}"
        )
    click.echo(page.rstrip())
    return 0


@click.command()
def schema() -> int:
    """Print the JSON Schema of native workflow files, for editors.

    \b
      whorl schema > whorl.schema.json
    """
    from whorl.dialects.native import native_schema

    print_json(native_schema())
    return 0


COMMANDS = {"explain": explain, "schema": schema}
