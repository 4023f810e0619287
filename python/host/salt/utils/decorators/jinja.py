"""Decorators of functions for Jinja, which Brine's templates do not get from Python."""


class JinjaFilter:
    """Returns the function that it decorates."""

    def __init__(self, name=None):
        self.name = name

    def __call__(self, function):
        return function


jinja_filter = JinjaFilter
JinjaTest = jinja_test = JinjaGlobal = jinja_global = JinjaFilter
