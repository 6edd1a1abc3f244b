#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > migrate.py <<'PY'
"""Print the settings of an INI file as JSON, see MIGRATION.md."""

import configparser
import json
import re
import sys
from urllib.parse import quote

SWITCHES = {
    **dict.fromkeys(("yes", "on", "true", "1"), True),
    **dict.fromkeys(("no", "off", "false", "0"), False),
}
DURATION = re.compile("(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
LISTEN = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]:]+)):([0-9]+)")


def port(text):
    if not re.fullmatch("[0-9]+", text) or not 1 <= int(text) <= 65535:
        raise ValueError("a port is a number from 1 to 65535")
    return int(text)


def listen(text):
    match = LISTEN.fullmatch(text)
    if not match:
        raise ValueError("expected host:port")
    return {"host": match.group(1) or match.group(2), "port": port(match.group(3))}


def duration(text):
    match = DURATION.fullmatch(text)
    if not text or not match:
        raise ValueError("expected a duration such as 1h30m")
    return sum(int(n or 0) * unit for n, unit in zip(match.groups(), (86400, 3600, 60, 1)))


def size(text):
    match = re.fullmatch("([0-9]+)([KMG]?)", text)
    if not match:
        raise ValueError("expected a size such as 64M")
    return int(match.group(1)) * 1024 ** " KMG".index(match.group(2) or " ")


def switch(text):
    if text.lower() not in SWITCHES:
        raise ValueError("expected yes or no")
    return SWITCHES[text.lower()]


def items(text):
    return [item.strip() for item in text.split(",") if item.strip()]


def escaped(text):
    return quote(text, safe="")


class Settings:
    """Hands out values one by one and knows which were never asked for."""

    def __init__(self, name):
        parser = configparser.ConfigParser(
            delimiters=("=",), interpolation=None, default_section="", empty_lines_in_values=False
        )
        with open(name, encoding="utf-8") as file:
            parser.read_string("".join(line.lstrip() for line in file))
        self.left = {section: dict(parser[section]) for section in parser.sections()}

    def take(self, section, key, convert, default=None):
        text = self.left.get(section, {}).pop(key, None)
        if text is None:
            return default
        try:
            return convert(text)
        except ValueError as error:
            sys.exit(f"{section}.{key}: {error}, not {text!r}")

    def database(self):
        if "database" not in self.left:
            return None
        user, password = (self.take("database", key, escaped) for key in ("user", "password"))
        host, name = self.take("database", "host", str), self.take("database", "name", escaped)
        for key, value in (("host", host), ("name", name)):
            if not value:
                sys.exit(f"database.{key}: is missing")
        login = f"{user}:{password}@" if user and password else f"{user}@" if user else ""
        return f"postgresql://{login}{host}:{self.take('database', 'port', port, 5432)}/{name}"

    def features(self):
        keys = list(self.left.get("features", {}))
        return {key: self.take("features", key, switch) for key in keys}

    def migrated(self):
        return {
            "version": 2,
            "listen": self.take("server", "listen", listen, {"host": "127.0.0.1", "port": 8000}),
            "database": self.database(),
            "cache": {
                "ttl_seconds": self.take("cache", "ttl", duration, 60),
                "max_bytes": self.take("cache", "max_size", size),
            },
            "features": self.features(),
            "allowed_hosts": self.take("server", "allowed_hosts", items, []),
            "unknown": {
                f"{section}.{key}": text
                for section, rest in self.left.items()
                for key, text in rest.items()
            },
        }


print(json.dumps(Settings(sys.argv[1]).migrated(), indent=2))
PY
python3 migrate.py settings/staging.ini
