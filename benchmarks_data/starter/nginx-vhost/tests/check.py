"""The checks: what the edited configuration means, and that nothing else changed."""

import os
import re
import unittest
from pathlib import Path

APP = Path(os.environ.get("APP_DIR", "/app"))
HERE = Path(__file__).resolve().parent
TOKEN = re.compile(
    r"""#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{};]|(?:\\.|[^\s{};"'#\\])[^\s{};]*"""
)
HSTS = "strict-transport-security"
ACME = "/.well-known/acme-challenge/"


class Block:
    """A directive with its arguments and, if it opens a block, the directives in it."""

    def __init__(self, words, inner=None):
        self.words, self.inner = words, inner

    name = property(lambda self: self.words[0])
    args = property(lambda self: self.words[1:])

    def all(self, name):
        return [directive for directive in self.inner if directive.name == name]

    def one(self, name, *args):
        found = [d for d in self.all(name) if not args or d.args == list(args)]
        if len(found) != 1:
            raise AssertionError(f"{len(found)} of: {name} {' '.join(args)}")
        return found[0]

    def shape(self, ignored=()):
        """The block without its order, its comments and what may change."""
        parts = [child.shape(ignored) for child in self.inner or [] if child.name not in ignored]
        return (tuple(self.words), tuple(sorted(parts)))


def words_of(text):
    for match in TOKEN.finditer(text):
        word = match.group()
        if not word.startswith("#"):
            yield word[1:-1].replace("\\" + word[0], word[0]) if word[0] in "\"'" else word


def parsed(text):
    stack, words = [Block(["main"], [])], []
    for word in words_of(text):
        if word == ";":
            stack[-1].inner.append(Block(words))
            words = []
        elif word == "{":
            stack.append(Block(words, []))
            words = []
        elif word == "}":
            closed = stack.pop()
            stack[-1].inner.append(closed)
        else:
            words.append(word)
    if len(stack) != 1 or words:
        raise AssertionError("the file does not parse: a brace or a semicolon is missing")
    return stack[0]


def servers(main):
    plain, tls = [], []
    for server in main.all("server"):
        (tls if any("ssl" in listen.args for listen in server.all("listen")) else plain).append(
            server
        )
    return plain, tls


def headers_by_location(block, path="server", inherited=None):
    """nginx inherits add_header only where a level has none of its own."""
    own = {d.args[0].lower(): d.args[1:] for d in block.all("add_header")}
    effective = own or inherited or {}
    yield path, effective
    for location in block.all("location"):
        yield from headers_by_location(location, path + " " + " ".join(location.args), effective)


class Checks(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        self.before = parsed((HERE / "original.conf").read_text())
        self.after = parsed((APP / "nginx/shop.conf").read_text())
        plain, tls = servers(self.after)
        self.assertEqual((len(plain), len(tls)), (1, 1), "one server for http, one for https")
        self.plain, self.tls = plain[0], tls[0]
        self.old_plain, self.old_tls = (found[0] for found in servers(self.before))

    def test_plain_http_redirects(self):
        ((code, target),) = (d.args for d in self.plain.one("location", "/").all("return"))
        self.assertEqual(code, "301")
        self.assertIn(
            target,
            {
                "https://$host$request_uri",
                "https://${host}${request_uri}",
                "https://${host}$request_uri",
                "https://$http_host$request_uri",
            },
        )
        self.assertEqual(self.plain.one("location", "/").all("proxy_pass"), [])

    def test_the_acme_challenge_is_still_served(self):
        allowed = {"listen", "server_name", "location"}
        self.assertEqual(
            {d.name for d in self.plain.inner} - allowed, set(), "runs before locations"
        )
        self.assertEqual({tuple(d.args) for d in self.plain.all("location")}, {(ACME,), ("/",)})
        old, new = (server.one("location", ACME) for server in (self.old_plain, self.plain))
        self.assertEqual(new.shape(), old.shape())

    def test_http_listens_as_before(self):
        for name in ("listen", "server_name"):
            old, new = (sorted(d.words for d in s.all(name)) for s in (self.old_plain, self.plain))
            self.assertEqual(new, old)

    def test_tls_versions(self):
        self.assertEqual(sorted(self.tls.one("ssl_protocols").args), ["TLSv1.2", "TLSv1.3"])

    def test_hsts_reaches_every_response(self):
        for place, headers in headers_by_location(self.tls):
            self.assertEqual(headers.get(HSTS), ["max-age=31536000", "always"], f"in {place}")

    def test_headers_of_today_are_still_sent(self):
        after = dict(headers_by_location(self.tls))
        for place, headers in headers_by_location(self.old_tls):
            for name, value in headers.items():
                self.assertEqual(after[place].get(name, [])[:1], value[:1], f"{name} in {place}")

    def test_only_uploads_may_be_large(self):
        upload = self.tls.one("location", "/upload/")
        self.assertIn(upload.one("client_max_body_size").args, (["50m"], ["50M"]))
        self.assertEqual(self.tls.one("client_max_body_size").args, ["2m"])

    def test_the_upstream(self):
        common = {"max_fails=2", "fail_timeout=15s"}
        lines = {
            d.args[0]: set(d.args[1:]) for d in self.after.one("upstream", "app").all("server")
        }
        self.assertEqual(
            set(lines), {f"10.0.3.{last}:8080" for last in (10, 11, 12, 13)}, "the servers of app"
        )
        self.assertEqual(lines["10.0.3.10:8080"], common)
        self.assertEqual(lines["10.0.3.11:8080"], common | {"down"})
        self.assertEqual(lines["10.0.3.12:8080"], common)
        self.assertIn("backup", lines["10.0.3.13:8080"])
        self.assertNotIn("down", lines["10.0.3.13:8080"])

    def test_nothing_else_changed(self):
        ignored = {"ssl_protocols", "add_header"}
        old = [d.shape(ignored) for d in self.old_tls.inner if d.name not in ignored]
        new = [d.shape(ignored) for d in self.tls.inner if d.name not in ignored]
        limits = {(("client_max_body_size", size), ()) for size in ("50m", "50M")}
        new = [(head, tuple(p for p in parts if p not in limits)) for head, parts in new]
        self.assertEqual(sorted(new), sorted(old))
        for name in {d.name for d in self.before.inner + self.after.inner} - {"server", "upstream"}:
            self.assertEqual(
                [d.shape() for d in self.after.all(name)],
                [d.shape() for d in self.before.all(name)],
            )
        old_app, new_app = (main.one("upstream", "app") for main in (self.before, self.after))
        self.assertEqual(new_app.shape({"server"}), old_app.shape({"server"}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
