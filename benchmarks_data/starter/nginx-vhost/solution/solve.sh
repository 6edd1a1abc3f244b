#!/bin/bash
# The header is repeated wherever a location has an add_header of its own: such a location inherits
# none of those above it.
set -e
cd "${APP_DIR:-/app}"

python3 - <<'PY'
from pathlib import Path

HSTS = 'add_header Strict-Transport-Security "max-age=31536000" always;\n'
path = Path("nginx/shop.conf")
text = path.read_text()


def replace(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)


replace(
    "    server 10.0.3.11:8080 max_fails=2 fail_timeout=15s;\n",
    "    server 10.0.3.11:8080 max_fails=2 fail_timeout=15s down;\n",
)
replace(
    "    keepalive 16;\n",
    "    server 10.0.3.13:8080 max_fails=2 fail_timeout=15s backup;\n    keepalive 16;\n",
)
replace(
    "        proxy_pass http://app;\n        proxy_set_header Host $host;\n    }\n}\n",
    "        return 301 https://$host$request_uri;\n    }\n}\n",
)
replace("ssl_protocols TLSv1 TLSv1.1 TLSv1.2;", "ssl_protocols TLSv1.2 TLSv1.3;")
for header in ("X-Content-Type-Options", "Cache-Control", "Access-Control", "Retry-After"):
    line = next(line for line in text.splitlines(True) if f"add_header {header}" in line)
    replace(line, line + line[: len(line) - len(line.lstrip())] + HSTS)
replace(
    "        proxy_request_buffering off;\n",
    "        proxy_request_buffering off;\n        client_max_body_size 50m;\n",
)
path.write_text(text)
PY
cat nginx/shop.conf
