# SPDX-License-Identifier: Apache-2.0
"""The environments under which a library is measured: one that is not at its best proves nothing."""

import shlex
from dataclasses import dataclass

RECORDED = "TUTTI_SETTING"  # records of launches keep variables that begin so


@dataclass(frozen=True)
class Setting:
    """Variables of the environment, as a shell takes them: VAR=VALUE VAR=VALUE."""

    name: str
    text: str = ""
    library: str = ""  # empty: any

    def environment(self):
        """The variables, and the name that tells launches apart; the default is what a library does unasked."""
        if not self.text:
            return {}
        return dict(word.split("=", 1) for word in shlex.split(self.text)) | {RECORDED: f"{self.name} {self.text}"}


DEFAULT = Setting("default")
SETTINGS = (
    DEFAULT,
    Setting("ucx", "OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any "
                   "UCX_TLS=posix,cma,self", "openmpi"),
)


def settings_for(library, more=()):
    """Those of openmpi or mpich; of two of the same name the later one, so that a user's replaces the table's."""
    return list({setting.name: setting for setting in (*SETTINGS, *more) if setting.library in ("", library)}.values())


def setting_of(launch):
    """Under which a launch that is on record ran."""
    name, _, text = (launch.get("env") or {}).get(RECORDED, DEFAULT.name).partition(" ")
    return Setting(name, text)


def expected(launches):
    """Names of the settings that a complete comparison has: the table's, and those that any launch had."""
    vendors = {launch["mpi"].get("vendor", "").lower().replace(" ", "") for launch in launches if launch.get("mpi")}
    known = [setting for vendor in vendors for setting in settings_for(vendor)]
    return list(dict.fromkeys(setting.name for setting in [*known, *map(setting_of, launches)]))
