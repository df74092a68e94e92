"""scikit-learn: a search over a grid, a forest and a cross-validation."""

from __future__ import annotations

from typing import Any

from benchmarks.engines import CPUS
from benchmarks.real.program import RealProgram, after_importing
from benchmarks.real.tools import Tools

_PEERS = ("fray", "ray", "pool", "joblib")


def data(samples: int) -> Any:
    after_importing("joblib", "sklearn.ensemble", "sklearn.model_selection", "sklearn.svm")(samples)
    from sklearn.datasets import make_classification

    return make_classification(n_samples=samples, n_features=20, n_informative=10, random_state=0)


def grid_search(tools: Tools, given: Any) -> Any:
    import joblib
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}, cv=3, n_jobs=CPUS)
    with joblib.parallel_config(tools.joblib_backend):
        search.fit(*given)
    return [round(score, 6) for score in search.cv_results_["mean_test_score"].tolist()]


def forest(tools: Tools, given: Any) -> Any:
    import joblib
    from sklearn.ensemble import RandomForestClassifier

    trees = RandomForestClassifier(n_estimators=60, random_state=0, n_jobs=CPUS)
    with joblib.parallel_config(tools.joblib_backend):
        trees.fit(*given)
    return [round(share, 6) for share in trees.feature_importances_.tolist()]


def cross_validation(tools: Tools, given: Any) -> Any:
    import joblib
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    model = GradientBoostingClassifier(n_estimators=20, random_state=0)
    with joblib.parallel_config(tools.joblib_backend):
        scores = cross_val_score(model, *given, cv=8, n_jobs=CPUS)
    return [round(score, 6) for score in scores.tolist()]


PROGRAMS = (
    RealProgram("grid_search", "GridSearchCV of an SVC, 12 settings, 3 folds", data, grid_search, 1500, 120, _PEERS),
    RealProgram("forest", "RandomForestClassifier of 60 trees", data, forest, 4000, 120, _PEERS),
    RealProgram("cross_val", "cross_val_score, 8 folds", data, cross_validation, 1500, 120, _PEERS),
)
