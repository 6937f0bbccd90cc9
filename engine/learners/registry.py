"""The registry of learners by name, and the chains that specs describe."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from crossview.engine.learners.frame.base import MultiViewLearner
from crossview.engine.learners.frame.capabilities import main_position
from crossview.engine.learners.frame.chain import Chain
from crossview.engine.learners.frame.inner import InnerProduct
from crossview.engine.learners.frame.kernels import KernelMap
from crossview.engine.learners.frame.normalization import L1, L2, Scale, Sqrt, Standardize
from crossview.engine.learners.frame.settings import check_settings
from crossview.engine.learners.frame.stage import Stage, learner_name, parse_stages, present_settings
from crossview.engine.learners.hashing.hasher import Sign
from crossview.engine.learners.hashing.itq import ITQ
from crossview.engine.learners.hashing.lsh import LSH
from crossview.engine.learners.hashing.npp_hash import NPPHash
from crossview.engine.learners.papers.attributes.relative import RelativeAttributes
from crossview.engine.learners.papers.joint.joint import JointMetrics
from crossview.engine.learners.papers.joint.mt_lmnn import MultiTaskLMNN
from crossview.engine.learners.papers.metrics.fantope import Fantope
from crossview.engine.learners.papers.metrics.lmnn import LMNN
from crossview.engine.learners.papers.metrics.qwise import QuadrupletWise
from crossview.engine.learners.papers.musl.musl import MuSL
from crossview.engine.learners.papers.npp.multi_npp import Hybrid, MultiNPP
from crossview.engine.learners.subspace.cca import CanonicalCorrelation
from crossview.engine.learners.subspace.class_instance import ClassInstance
from crossview.engine.learners.subspace.co_em import CoEM
from crossview.engine.learners.subspace.csa import CanonicalSimilarity
from crossview.engine.learners.subspace.instances import Instances
from crossview.engine.learners.subspace.lda import LinearDiscriminants
from crossview.engine.learners.subspace.pca import PCA
from crossview.engine.learners.subspace.pls import PartialLeastSquares
from crossview.engine.learners.subspace.posteriors import ClassPosteriors
from crossview.engine.learners.subspace.semantic import SemanticMatching
from crossview.features.installed import installed, load

MAX_ITEMS = "max_items"
"""The setting of every pipeline: the maximum number of items to learn from."""

LEARNERS: dict[str, type[MultiViewLearner]] = {
    learner.name: learner
    for learner in (
        PCA,
        CanonicalCorrelation,
        CanonicalSimilarity,
        MultiNPP,
        Hybrid,
        L1,
        L2,
        Sqrt,
        Standardize,
        Scale,
        InnerProduct,
        KernelMap,
        SemanticMatching,
        PartialLeastSquares,
        LinearDiscriminants,
        Fantope,
        LMNN,
        QuadrupletWise,
        JointMetrics,
        MultiTaskLMNN,
        RelativeAttributes,
        Sign,
        LSH,
        ITQ,
        MuSL,
        NPPHash,
        ClassPosteriors,
        CoEM,
        Instances,
        ClassInstance,
    )
}


def learner_class(name: str) -> type[MultiViewLearner]:
    """Return a learner's class, of this package or, for a name that it does not have, of another installed package.

    Raises:
        ValueError: for an unknown name, listing the known ones; or if the class of another package cannot be loaded.
    """
    present = learner_name(name)  # stored states and settings of users may have names of earlier versions
    if present in LEARNERS:
        return LEARNERS[present]
    plugins = installed("learner")
    if present not in plugins:
        names = sorted({*LEARNERS, *plugins})
        raise ValueError(f"there is no learner {name!r}; there are: {', '.join(names)}")
    return load("learner", plugins[present], MultiViewLearner)


def learners_of_comparisons() -> str:
    """Return the names of the learners that can learn from comparisons of items."""
    return ", ".join(name for name, learner in LEARNERS.items() if learner.capabilities.takes_comparisons)


def learners_of_taxonomies() -> str:
    """Return the names of the learners that can learn from a tree of classes."""
    return ", ".join(name for name, learner in LEARNERS.items() if learner.capabilities.takes_taxonomy)


def from_state(state: Mapping[str, Any]) -> MultiViewLearner:
    """Return the fitted learner or chain whose ``to_state`` returned a state.

    Raises:
        ImportError: if the package of a learner is not installed, or fails.
    """
    name = state["learner"]
    if name != Chain.name:
        try:
            kind = learner_class(name)
        except ValueError as error:  # it was there for the training
            gone = f"its learner {name!r} is of a package that is not installed"
            raise ImportError(str(error) if name in installed("learner") else gone) from error
        return kind.from_state(state)
    steps = state["steps"]
    fitted_steps = [from_state(steps[str(number)]) for number in range(len(steps))]
    return Chain.from_state({**state, "params": {**state["params"], "steps": fitted_steps}})


def main_stage(stages: Sequence[Stage]) -> int:
    """Return the position of the main stage of a pipeline: the last whose learner is not auxiliary.

    Raises:
        ValueError: for an unknown learner, listing the known ones.
    """
    return main_position([learner_class(stage.name).capabilities for stage in stages])


def parse_chain(spec: str, settings: Mapping[str, Any] | None = None) -> Chain:
    """Return the chain that a spec describes, with numbers of views after an at sign; see ``build_chain``."""
    return build_chain(parse_stages(spec), settings)


def build_chain(stages: Sequence[Stage], settings: Mapping[str, Any] | None = None) -> Chain:
    """Return the unfitted chain of some stages.

    Args:
        stages: learners, first to last, with views counted from 0 ("0", "2").
        settings: further parameters of the main stage, and "max_items" of the chain. "kernel__bandwidth" is the
            parameter "bandwidth" of every "kernel" among the stages. If neither a stage nor a setting gives the
            dimensions of the main stage, they are at least the number of columns that the last stage needs, such as one
            for each bit of "itq".

    Raises:
        ValueError: for unknown names or parameters, listing the known ones, or values out of range.
    """
    main = main_stage(stages)
    stages = [replace(stage, name=learner_name(stage.name)) for stage in stages]
    own, by_learner = _by_learner(settings or {}, [stage.name for stage in stages])
    most = own.get(MAX_ITEMS)
    if MAX_ITEMS not in learner_class(stages[main].name)().settings():
        own.pop(MAX_ITEMS, None)
    steps = [
        _learner(stage, by_learner.get(stage.name, {}) | (own if number == main else {}), number == main)
        for number, stage in enumerate(stages)
    ]
    if "n_components" not in own and stages[main].argument is None:
        _widen(steps[main], steps[-1])
    chain = Chain(steps, max_items=most)
    check_settings(chain)
    return chain


def _widen(learner: MultiViewLearner, last: MultiViewLearner) -> None:
    """Raise the dimensions of a learner to the number of columns that the last stage needs, if it is higher.

    A user who asks for an "itq" of 64 bits does not expect an error because the learner's default is 32 dimensions.
    """
    own = learner.get_params().get("n_components")
    if isinstance(own, int) and own < last.least_columns:
        learner.set_params(n_components=last.least_columns)


def _by_learner(settings: Mapping[str, Any], names: Sequence[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the settings without a learner's name, and the other settings by learner."""
    own: dict[str, Any] = {}
    by_learner: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        name, separator, param = key.partition("__")
        if not separator:
            own[key] = value
        elif (present := learner_name(name)) not in names:
            raise ValueError(f"setting {key!r} is for {name!r}, but the learners are {', '.join(names)}")
        else:
            by_learner.setdefault(present, {})[param] = value
    return own, by_learner


def _learner(stage: Stage, settings: Mapping[str, Any], main: bool) -> MultiViewLearner:
    learner = learner_class(stage.name)
    params = present_settings(stage.name, settings)
    if stage.argument is not None:
        if learner.capabilities.main_parameter is None:
            raise ValueError(f"{stage.name!r} takes no value, got {str(stage)!r}")
        params = {learner.capabilities.main_parameter: _value(stage.argument)} | params
    if stage.views is not None:
        params["views"] = [_value(view) for view in stage.views]
    names = sorted(set(learner().settings()) - {"view_slices"})
    if unknown := sorted(set(params) - set(names)):
        raise ValueError(f"{stage.name!r} has no parameter {', '.join(unknown)}; it has: {', '.join(names)}")
    instance = learner().set_params(**params)
    # Checked here, so that a training refuses a wrong value before it reads any row, under the name that the user gave.
    check_settings(instance, {} if main else {setting: f"{stage.name}__{setting}" for setting in settings})
    return instance


def _value(text: str) -> int | float | str:
    """Return a text as a number, if it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
