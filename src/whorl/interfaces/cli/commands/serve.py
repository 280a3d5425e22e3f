"""`whorl serve`: the page in the browser and the HTTP API behind it."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import located
from whorl.interfaces.cli.stage import say

if TYPE_CHECKING:
    from whorl.interfaces.http.serving import Place
    from whorl.services.project import Project

PORT = 7411


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65_535),
              help="Port to listen at; 0 takes any that is free.")  # fmt: skip
@click.option("--open/--no-open", "opens", default=None,
              help="Open the page in the browser. [default: on a terminal]")  # fmt: skip
@click.option("--token-file", metavar="FILE",
              help="File with the token; without it, each start makes a new one.")  # fmt: skip
@click.option("--behind-proxy", is_flag=True,
              help="Believe the X-Forwarded headers of a proxy in front.")  # fmt: skip
@located
def serve(
    project: Project,
    *,
    host: str,
    port: int,
    opens: bool | None,
    token_file: str | None,
    behind_proxy: bool,
) -> int:
    """Serve the page and the HTTP API of this project; the printed link carries the token.

    \b
      whorl serve
      whorl serve --host 0.0.0.0 --token-file ~/.whorl-token --behind-proxy

    Runs that are started from the page are driven here. When the server ends they are left as
    they are, and can be resumed.
    """
    from whorl.interfaces.http.serving import Place, check_place, new_token, read_token

    token, odd = read_token(Path(token_file).expanduser()) if token_file else ("", [])
    place = Place(host, port, token, behind_proxy)
    for words in (*odd, *check_place(place)):
        say(f"warning: {words}")
    chosen = Place(host, port, token or new_token(), behind_proxy)
    if opens is None:
        opens = sys.stdout.isatty() and sys.stderr.isatty() and chosen.is_loopback
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    asyncio.run(_serve(project, chosen, opens=opens, shown=not token_file))
    say("stopped; runs that were under way are resumable")
    return 0


async def _serve(project: Project, place: Place, *, opens: bool, shown: bool) -> None:
    from whorl.interfaces.http.serving import serving

    async with serving(project, place) as (server, address):
        link = f"{address}/#token={place.token}"
        # A token of the operator's own is in a file, and stays there.
        click.echo(link if shown else address)
        sys.stdout.flush()
        say(f"serving {project.root}; end with Ctrl-C")
        if opens:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, link)
        await server.answer()


COMMANDS = {"serve": serve}
