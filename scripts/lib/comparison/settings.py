# SPDX-License-Identifier: Apache-2.0
"""The environments in which a library is measured, so that it is at its best."""

import shlex
from dataclasses import dataclass

RECORDED = "TUTTI_SETTING"  # records of launches keep variables with this prefix


@dataclass(frozen=True)
class Setting:
    """Environment variables in the syntax of a shell: VAR=VALUE VAR=VALUE."""

    name: str
    text: str = ""
    library: str = ""  # empty: any library

    def environment(self):
        """Returns the variables, and the name, which distinguishes launches; the default sets none."""
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
    """Returns the settings for openmpi or mpich; of two with the same name the later one, so that a user's replaces a built-in one."""
    return list({setting.name: setting for setting in (*SETTINGS, *more) if setting.library in ("", library)}.values())


def setting_of(launch):
    """Returns the setting of a recorded launch."""
    name, _, text = (launch.get("env") or {}).get(RECORDED, DEFAULT.name).partition(" ")
    return Setting(name, text)


def expected(launches):
    """Returns the names of the settings of a complete comparison: built-in ones and those of any launch."""
    vendors = {launch["mpi"].get("vendor", "").lower().replace(" ", "") for launch in launches if launch.get("mpi")}
    known = [setting for vendor in vendors for setting in settings_for(vendor)]
    return list(dict.fromkeys(setting.name for setting in [*known, *map(setting_of, launches)]))
