"""The types of the base classes of scikit-learn, which states none; only type checkers read them."""

from typing import Any, Self

class BaseEstimator:
    """See ``sklearn.base.BaseEstimator``."""

    def __init__(self, **params: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor."""
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any: ...

class TransformerMixin:
    """See ``sklearn.base.TransformerMixin``."""

    def __init_subclass__(cls, auto_wrap_output_keys: Any = (), **options: Any) -> None: ...
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the transformed rows."""
        raise NotImplementedError
