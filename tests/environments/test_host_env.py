"""The variables of commands on this host, whatever the host is like."""

from agentcompass.environments._host_env import host_variables
from tests.ordinary_user import ordinary_user


def test_a_home_that_may_not_be_looked_into_stops_no_session() -> None:
    with ordinary_user() as folder:
        home = folder / "home"
        (home / ".pyenv").mkdir(parents=True)
        home.chmod(0)
        variables = host_variables({"HOME": str(home)}, ())
    assert "PYENV_ROOT" not in variables
