#!/usr/bin/env bash
# See to it that a Docker Engine answers: install it and what builds the images, and start it.
set -euo pipefail

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

answers() { docker version >/dev/null 2>&1; }

missing=()
command -v docker >/dev/null && { answers || command -v dockerd >/dev/null; } || missing+=(docker.io iptables)
command -v debootstrap >/dev/null || missing+=(debootstrap)
[ -x /bin/busybox ] || missing+=(busybox-static)
if [ "${#missing[@]}" -gt 0 ]; then
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
fi

log="${TMPDIR:-/tmp}/dockerd.log"
# As it comes, and where the kernel lacks what that needs, without overlays and without iptables.
for options in "" "--storage-driver=vfs" "--storage-driver=vfs --iptables=false --bridge=none"; do
  answers && break
  # shellcheck disable=SC2086
  as_root sh -c "setsid nohup dockerd $options >'$log' 2>&1 &"
  for _ in $(seq 60); do
    answers && break
    pgrep -x dockerd >/dev/null || break
    sleep 0.5
  done
done
answers || { echo "no Docker Engine can be started:" >&2; tail -n 20 "$log" >&2; exit 1; }
docker version --format 'Docker Engine {{.Server.Version}}'
