"""The one place that holds the version; imported before anything heavy."""

__version__ = "0.1.0"
