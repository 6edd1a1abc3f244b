#!/usr/bin/env bash
# The images of the Docker tests, from Debian's packages and no registry; cached by content.
#   agentcompass-test:bookworm   bash procps git gcc python3 tmux
#   agentcompass-test:busybox    busybox and its sh
#   agentcompass-test:noshell    sleep and printf alone
# Needs debootstrap, busybox-static, a running engine, and to be root (or sudo).
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
content="$(sha256sum "$here/build.sh" | cut -c1-16)"
mirror="${DEBIAN_MIRROR:-}"
packages=bash,procps,git,gcc,libc6-dev,python3,tmux
work="$(mktemp -d)"
trap 'as_root rm -rf "$work"' EXIT

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

is_cached() {
  [ "$(docker image inspect --format '{{index .Config.Labels "test-content"}}' "$1" 2>/dev/null)" = "$content" ]
}

import() { # NAME FOLDER
  as_root tar -C "$2" -c . | docker import \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change "LABEL test-content=$content" - "$1" >/dev/null
  echo "built $1"
}

folders() { mkdir -p "$1"/{bin,dev,etc,proc,root,sys,tmp} && chmod 1777 "$1/tmp"; }

bookworm() {
  local root="$work/bookworm"
  as_root debootstrap --variant=minbase --include="$packages" bookworm "$root" $mirror >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }
  as_root rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man}/*
  import agentcompass-test:bookworm "$root"
}

busybox() {
  local root="$work/busybox" name
  folders "$root"
  cp /bin/busybox "$root/bin/busybox"
  for name in $(/bin/busybox --list); do
    [ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  import agentcompass-test:busybox "$root"
}

noshell() {
  local root="$work/noshell"
  folders "$root"
  cp /bin/busybox "$root/bin/sleep"
  ln -s sleep "$root/bin/printf"
  import agentcompass-test:noshell "$root"
}

for name in bookworm busybox noshell; do
  if is_cached "agentcompass-test:$name"; then echo "cached agentcompass-test:$name"; else "$name"; fi
done

# The helper of network mode allowlist, by the script that ships.
if docker image inspect agentcompass-network:2 >/dev/null 2>&1; then
  echo "cached agentcompass-network:2"
else
  as_root sh "$here/../../agentcompass/environments/docker_network_image.sh" >/dev/null
  echo "built agentcompass-network:2"
fi
