"""Use the agent's cache from many threads and print, as JSON, what was seen."""

import json
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

from loading_cache import LoadingCache  # noqa: E402

PATIENCE = 3  # how long a thread may take that should not wait for anything
SETTLE = 0.2  # how long threads that have begun get to arrive where they wait


class Loader:
    """Loads what it is told to, once its gate opens."""

    def __init__(self, answer):
        self.answer, self.calls = answer, []
        self.lock, self.gate = threading.Lock(), threading.Event()

    def __call__(self, key):
        with self.lock:
            self.calls.append(key)
            number = self.calls.count(key)
        self.gate.wait(PATIENCE * 2)
        answer = self.answer(key, number)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Asker(threading.Thread):
    """Calls something in a thread and keeps what came back; 'stuck' when nothing did."""

    def __init__(self, call, *arguments):
        super().__init__(daemon=True)
        self.call, self.arguments, self.got = call, arguments, "stuck"
        self.begun = threading.Event()
        self.start()

    def run(self):
        self.begun.set()
        try:
            self.got = self.call(*self.arguments)
        except BaseException as error:
            self.got = f"{type(error).__name__}: {error}"


def settle(askers):
    for asker in askers:
        asker.begun.wait()
    time.sleep(SETTLE)


def outcome(askers):
    end = time.monotonic() + PATIENCE
    for asker in askers:
        asker.join(max(0, end - time.monotonic()))
    return [asker.got for asker in askers]


def one_load_serves_all():
    loader = Loader(lambda key, number: f"{key}{number}")
    cache = LoadingCache(loader)
    askers = [Asker(cache.get, "a") for _ in range(12)]
    settle(askers)
    loader.gate.set()
    return [outcome(askers), len(loader.calls), cache.get("a"), len(cache)]


def none_is_a_value():
    loader = Loader(lambda key, number: None)
    loader.gate.set()
    cache = LoadingCache(loader)
    return [cache.get("a"), cache.get("a"), len(loader.calls), len(cache)]


def keys_do_not_wait_for_each_other():
    meeting = threading.Barrier(4)

    def load(key):
        meeting.wait(PATIENCE)  # breaks unless four loads run at the same time
        return key.upper()

    cache = LoadingCache(load)
    askers = [Asker(cache.get, key) for key in "abcd" for _ in range(3)]
    return outcome(askers)


def kept_values_are_served_during_a_load():
    loader = Loader(lambda key, number: key.upper())
    loader.gate.set()
    cache = LoadingCache(loader)
    cache.get("kept")
    loader.gate.clear()
    slow = Asker(cache.get, "slow")
    settle([slow])
    quick = Asker(cache.get, "kept")
    seen = outcome([quick])
    loader.gate.set()
    return seen + outcome([slow])


def a_failure_reaches_all_who_wait():
    loader = Loader(
        lambda key, number: ValueError(f"no {key}") if number == 1 else f"{key}{number}"
    )
    cache = LoadingCache(loader)
    askers = [Asker(cache.get, "a") for _ in range(8)]
    settle(askers)
    loader.gate.set()
    return [outcome(askers), len(loader.calls), len(cache)]


def a_failure_is_not_kept():
    loader = Loader(lambda key, number: OSError("down") if number < 3 else f"{key}{number}")
    loader.gate.set()
    cache = LoadingCache(loader)
    return [outcome([Asker(cache.get, "a")]) for _ in range(4)] + [len(loader.calls)]


def invalidate_does_not_wait_or_disturb():
    loader = Loader(lambda key, number: f"{key}{number}")
    cache = LoadingCache(loader)
    askers = [Asker(cache.get, "a") for _ in range(5)]
    settle(askers)
    seen = outcome([Asker(cache.invalidate, "a")])
    loader.gate.set()
    return seen + outcome(askers)


def invalidation_under_load_breaks_nothing():
    cache = LoadingCache(lambda key: key.upper())
    end = time.monotonic() + 0.5
    odd = set()

    def ask():
        while time.monotonic() < end:
            got = cache.get("a")
            if got != "A":
                odd.add(str(got))

    def forget():
        while time.monotonic() < end:
            cache.invalidate("a")

    sys.setswitchinterval(1e-6)
    askers = [Asker(ask) for _ in range(4)] + [Asker(forget) for _ in range(3)]
    return [outcome(askers), sorted(odd)]


json.dump(globals()[sys.argv[2]](), sys.stdout)
sys.stdout.flush()
