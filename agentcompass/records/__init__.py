"""Frozen records: what is asked, planned, observed and written."""
