"""`mainspring server`: a process that answers over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from mainspring.cli.options import home_option


@click.command()
@click.option("--host", help="Listen at this address; without, MAINSPRING_HOST or 127.0.0.1.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Listen at this port; 0 takes a free one."
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The certificate for TLS, in PEM format.",
)
@click.option(
    "--tls-key", type=click.Path(path_type=Path, dir_okay=False), help="The key that belongs to it."
)
@click.option(
    "--behind-proxy", is_flag=True, help="A proxy in front of it does TLS and says who called."
)
@home_option
def server(
    host: str | None,
    port: int | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    home: Path | None,
) -> int:
    """Run a server: everything that the command line can do, over HTTP.

    Callers need a token: `mainspring token create`. Several servers may run behind a load balancer.
    Elsewhere than on this machine's own address it needs TLS, or a proxy that does it.
    """
    import msgspec

    from mainspring.app import run_server
    from mainspring.cli.session import check_beside_database
    from mainspring.config import load_config

    check_beside_database(home)
    config = load_config(home=home)
    listening = msgspec.structs.replace(
        config.listening,
        host=host or config.listening.host,
        port=config.listening.port if port is None else port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        behind_proxy=behind_proxy,
    )
    return run_server(msgspec.structs.replace(config, listening=listening))
