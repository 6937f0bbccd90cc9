"""The doctor command."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from crossview.server.commands.common import JsonOption, print_json
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.hints import completed
from crossview.server.commands.output import say
from crossview.server.commands.serve import ConfigOption, configuration_of

if TYPE_CHECKING:
    from crossview.server.commands.doctor_checks import Diagnosis


@dataclass(frozen=True)
class PrintedDiagnoses:
    """The results of all checks, and whether the server can run."""

    healthy: bool
    checks: "list[Diagnosis]"


def doctor(home: HomeOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the machine, the home and the settings of a server.

    Each finding names its remedy. The exit code is 1 if there is an error, and 0 if there are only warnings.

    Examples:
        crossview doctor
        crossview doctor --home /srv/crossview --config crossview.toml --json
    """
    from crossview.engine.values.errors import InvalidInputError
    from crossview.server.commands.doctor_checks import Diagnosis, diagnoses
    from crossview.server.wire.settings import ServerSettings

    flags = {} if home is None else {"home": home}
    try:
        settings = configuration_of(flags, config).settings
        checks = [Diagnosis("settings", "ok", "the settings can be used")]
    except InvalidInputError as error:  # the other checks use the defaults
        settings = ServerSettings(home=home)
        checks = [Diagnosis("settings", "error", str(error), "crossview serve --print-config, after the correction")]
    checks += (replace(check, message=completed(check.message)) for check in diagnoses(settings))
    healthy = all(check.level != "error" for check in checks)
    if as_json:
        print_json(PrintedDiagnoses(healthy, checks))
    else:
        for check in checks:
            remedy = f"\n         -> {check.remedy}" if check.remedy else ""
            say(f"{check.level:<8} {check.check}: {check.message}{remedy}")
    if not healthy:
        raise typer.Exit(1)
