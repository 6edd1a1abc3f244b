"""What looks at results after the fact."""
