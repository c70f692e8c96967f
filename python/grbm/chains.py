"""Chains as {name: [chain, draw, ...]}: what sample(..., return_chain=True) gives, and what ArviZ reads as it is."""

from __future__ import annotations

import importlib.util
import os
from typing import Any, Mapping

import numpy as np

from .evaluation import ess, rhat


def summarize(chain: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """R̂ and effective sample sizes of every quantity of a chain.

    >>> chain = grbm.Model.initial(3, 2).sample_chain(4, steps=200)
    >>> summary = grbm.summarize(chain)
    >>> bool(summary["energy"]["rhat"] < 1.1), summary["v"]["ess_bulk"].shape
    (True, (3,))
    """
    return {
        name: {"rhat": rhat(draws), "ess_bulk": ess(draws, "bulk"), "ess_tail": ess(draws, "tail")}
        for name, draws in chain.items()
    }


def to_xarray(chain: Mapping[str, np.ndarray]) -> Any:
    """A chain as an xarray.Dataset with the dimensions chain and draw, which ArviZ takes for a posterior.

    >>> chain = grbm.Model.initial(3, 2).sample_chain(4, steps=20)
    >>> try:
    ...     dimensions = dict(grbm.to_xarray(chain).sizes)
    ... except ImportError:  # xarray is not installed
    ...     dimensions = {"chain": 4, "draw": 20}
    >>> dimensions["chain"], dimensions["draw"]
    (4, 20)
    """
    try:
        import xarray
    except ImportError as error:
        raise ImportError("to_xarray and to_netcdf need xarray (Debian: python3-xarray)") from error
    variables = {
        name: (["chain", "draw", *(f"{name}_dim_{d}" for d in range(draws.ndim - 2))], draws)
        for name, draws in chain.items()
    }
    return xarray.Dataset(variables)


def to_netcdf(chain: Mapping[str, np.ndarray], path: str | os.PathLike[str]) -> None:
    """Writes a chain as a netCDF file: in the group "posterior", as ArviZ has it, where netCDF4 or h5netcdf is installed,
    otherwise as netCDF 3, which has no groups.

    >>> chain = grbm.Model.initial(3, 2).sample_chain(4, steps=20)
    >>> try:
    ...     grbm.to_netcdf(chain, os.path.join(folder, "chain.nc"))
    ... except ImportError:  # xarray is not installed
    ...     pass
    """
    dataset = to_xarray(chain)
    if importlib.util.find_spec("netCDF4") or importlib.util.find_spec("h5netcdf"):
        dataset.to_netcdf(path, group="posterior")
    else:
        # netCDF 3 has no unsigned bytes.
        small = {name: values.astype(np.int8) for name, values in dataset.items() if values.dtype == np.uint8}
        dataset.assign(small).to_netcdf(path, engine="scipy")
