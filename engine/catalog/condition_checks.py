"""Checks of conditions from outside, which a tree alone does not make."""

from crossview.engine.catalog.checks import MAX_LABEL, MAX_NAME, MAX_TEXT, check_attributes, check_characters
from crossview.engine.values.conditions.dates import Date
from crossview.engine.values.conditions.filter import Filter, FilterForm, filter_of
from crossview.engine.values.conditions.tree import COMPARISONS, Condition, FieldTest, conjuncts
from crossview.engine.values.errors import InvalidInputError

MAX_VALUES = 10_000
"""Maximum number of values of a test."""
_MOST = {"label": MAX_LABEL, "view": MAX_NAME, "key": MAX_LABEL}


def check_filter(form: FilterForm) -> Filter:
    """Return a filter in any form as a valid filter; InvalidInputError describes the problem of any other."""
    checked_filter = filter_of(form)
    if not checked_filter.is_empty:
        check_condition(checked_filter.condition)
    return checked_filter


def check_condition(condition: Condition) -> None:
    """Raise InvalidInputError for texts that no field can have, and for bounds that no score is between."""
    for test in condition.tests():
        for name in test.field.path:
            check_characters(name, "a name in a condition", MAX_NAME)
        if len(test.values) > MAX_VALUES:
            raise InvalidInputError(f"{test.field} may have at most {MAX_VALUES:,} values, not {len(test.values):,}")
        for value in test.values:
            if isinstance(value, str):
                check_characters(value, f"a value of {test.field.kind}", _MOST.get(test.field.kind, MAX_TEXT))
            elif not isinstance(value, Date):
                check_attributes({str(test.field): value})  # no item has a larger number
    bounds = {
        (part.field, part.operator): part.values[0]
        for part in conjuncts(condition)
        if isinstance(part, FieldTest) and part.operator in COMPARISONS and part.field.kind == "score"
    }
    for (field, operator), value in bounds.items():
        most = bounds.get((field, "<="))
        if operator == ">=" and isinstance(most, int | float) and isinstance(value, int | float) and value > most:
            raise InvalidInputError(f"no item has {field.path[0]} of at least {value:g} and at most {most:g}")
