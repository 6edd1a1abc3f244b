"""Tests of the billing package."""
