"""Hypothesis profiles; `HYPOTHESIS_PROFILE` chooses one, CI takes `ci`."""

import os

from hypothesis import Phase, settings

settings.register_profile("dev", max_examples=50, deadline=None, print_blob=True)
settings.register_profile("ci", max_examples=200, deadline=None, print_blob=True)
# Whether a test fails is all that `tests.mutations` asks, not by how small an example.
settings.register_profile(
    "mutations",
    settings.get_profile("ci"),
    max_examples=2000,
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.register_profile("nightly", max_examples=5000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
