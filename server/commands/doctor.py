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
    checks += (replace(one, message=completed(one.message)) for one in diagnoses(settings))
    healthy = all(one.level != "error" for one in checks)
    if as_json:
        print_json(PrintedDiagnoses(healthy, checks))
    else:
        for one in checks:
            say(f"{one.level:<8} {one.check}: {one.message}" + (f"\n         -> {one.remedy}" if one.remedy else ""))
    if not healthy:
        raise typer.Exit(1)
