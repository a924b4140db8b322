"""Public names of each package in groups, for the pages of the reference: by the room of the package they live in."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

import mercer

PACKAGES = (
    "htest",
    "info",
    "causal",
    "learn",
    "kernels",
    "rkhs",
    "features",
    "gram",
    "plot",
    "report",
    "testing",
    "datasets",
)
# What comes first in its group, in this order; the other functions follow, then the classes.
_FIRST = (
    "two_sample",
    "independence",
    "goodness_of_fit",
    "drift",
    "power",
    "sample_size",
    "pairwise_independence",
    "mutual_information",
    "entropy",
    "divergence",
    "estimate",
    "causal_direction",
)
# Packages that are small have one group. For the others: the title of a group, and the modules or rooms whose names it has; what fits nowhere comes last.
_ROOMS: dict[str, dict[str, str]] = {
    "htest": {
        "Two samples": "samples",
        "Independence": "dependence",
        "Conditional independence": "conditional dependence.kci dependence.rcot dependence.conditional_strength dependence.partial_distance",
        "Goodness of fit": "goodness against_model_draws",
        "Series and streams": "serial_hsic surrogates monitor",
        "Null distributions": "nulls weighted_chi2",
        "Corrections and base classes": "corrections hypothesis_test result intervals explained_variation",
    },
    "info": {
        "Functions and their results": "entropies mutual_information estimate",
        "Measures": "information_measures mixture_measures hilbertian_metric",
        "Estimators": "adaptive_partition corrected_ksg density_estimates estimator knn ksg mixed_entropy moment_entropies "
        "neighbour_graph plug_in random_ties spacings spanning_tree kernel_information",
        "Distances of distributions": "indicator_metrics metric_value sliced_transport transport_metrics characteristic_function",
        "Association": "association correntropy",
        "Kernels on distributions": "divergence_kernels semigroup_kernels",
    },
    "learn": {
        "Regression and classification": "regression",
        "Support vector machines": "machines",
        "Large data": "landmarks",
        "Distributions as points": "distributions",
        "Components, clusters, smoothers": "components clusters smoothers",
        "Selection of features, separation of sources": "selection separation image_registration",
        "Shifts between samples": "adaptation",
        "Files": "saved_models onnx_export",
    },
    "kernels": {
        "On numbers and categories": "radial dot discrete shift_invariant sobolev function_space semigroup",
        "Algebra and wrappers": "algebra compose wrappers stein network_map",
        "From functions and matrices": "from_functions precomputed",
        "Bandwidths and defaults": "bandwidth default",
        "What theory says": "theory own_domain definite canonical_distance spectral_density",
        "Strings": "strings",
        "Sets": "sets",
        "Rankings": "rankings",
        "Trees": "trees",
        "Graphs": "graphs",
        "Series": "series",
        "Persistence diagrams": "diagrams",
        "Models of sequences": "dynamics",
        "Base classes": "base rules smooth",
    },
    "rkhs": {
        "Distances and dependence as numbers": "measures dependence_measures finite_set kernel_information "
        "partial_correlation stein_discrepancy mean_matching",
        "Functions and expansions": "function approximation bases expansion quadrature",
        "Distributions": "distributions gaussian mixture uniform logdensity rbm",
        "Embeddings": "embeddings",
        "Compression of samples": "compression",
    },
    "datasets": {
        "Two-sample problems": "two_sample_problems",
        "Independence problems": "independence_problems",
        "Causes and effects": "cause_effect_problems",
        "Songs, faces and films": "media_problems",
        "Real data": "real records",
    },
}

# Names whose module says something else.
_MOVED = {("htest", "FisherF"): "Null distributions"}

_OTHERS = "More"  # what has no group yet

Group = tuple[str, list[str]]  # a title, empty where the package has no groups, and names


def groups(package: str) -> list[Group]:
    """The groups of a package, each with its functions first."""
    names = _ordered(package)
    rooms = _ROOMS.get(package)
    if rooms is None:
        return [("", names)]
    of_room = {room: title for title, words in rooms.items() for room in words.split()}
    found: dict[str, list[str]] = {title: [] for title in (*rooms, _OTHERS)}
    for name in names:
        found[_MOVED.get((package, name)) or _title(package, name, of_room)].append(name)
    return [group for group in found.items() if group[1]]


def _ordered(package: str) -> list[str]:
    module = importlib.import_module(f"mercer.{package}")

    def key(name: str) -> tuple[int, bool, str]:
        rank = _FIRST.index(name) if name in _FIRST else len(_FIRST)
        return rank, inspect.isclass(getattr(module, name)), name.lower()

    return sorted(module.__all__, key=key)


def _title(package: str, name: str, of_room: dict[str, str]) -> str:
    """The group of a name: that of its own module, else that of the room around it, else the last one."""
    module = getattr(importlib.import_module(f"mercer.{package}"), name).__module__
    parts = module.split(".")[2:]
    rooms = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((of_room[room] for room in rooms if room in of_room), _OTHERS)


def listing() -> Iterator[str]:
    """The names of all packages as links, in the Markdown of the index of the reference."""
    for package in PACKAGES:
        first = (importlib.import_module(f"mercer.{package}").__doc__ or "").split("\n")[0]
        yield f"### [mercer.{package}](generated/mercer.{package}.rst)"
        yield first
        for title, names in groups(package):
            links = ", ".join(f"{{py:obj}}`{name} <mercer.{package}.{name}>`" for name in names)
            yield f"**{title}:** {links}" if title else links


def targets() -> dict[str, str]:
    """Full names by what the pages call them: `MMD`, `htest.MMD`, `mercer.two_sample`; names of two things are left out."""
    called: dict[str, set[str]] = {}
    for package in PACKAGES:
        for name in _ordered(package):
            full = f"mercer.{package}.{name}"
            own = [name] if len(name) > 1 else []  # K and L are matrices, too
            for short in (*own, f"{package}.{name}", full):
                called.setdefault(short, set()).add(full)
    for name in mercer.__all__:
        called.setdefault(f"mercer.{name}", called.get(name, {f"mercer.{name}"}))
    return {short: full.copy().pop() for short, full in called.items() if len(full) == 1}


def missing(documented: set[str]) -> list[str]:
    """Public names that no page documents: full names, apart from packages and from what `mercer` takes from them."""
    full = {f"mercer.{package}.{name}" for package in PACKAGES for name in _ordered(package)}
    taken = {name.rpartition(".")[2] for name in full} | {*PACKAGES, "cli"}
    own = {f"mercer.{name}" for name in mercer.__all__ if name not in taken}
    return sorted((full | own) - documented)
