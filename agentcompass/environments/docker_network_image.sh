#!/bin/sh
# Builds the image of the helper that enforces network mode allowlist on docker, on this engine:
# Debian with nftables and python3. From the base image $1 (default debian:bookworm-slim) where the
# engine has or can pull it, else from Debian's packages, which needs debootstrap and to be root.
set -eu

name=agentcompass-network:2
base=${1:-debian:bookworm-slim}

if docker image inspect "$base" >/dev/null 2>&1 || docker pull "$base"; then
    printf 'FROM %s\nRUN apt-get update && apt-get install -y --no-install-recommends nftables python3\n' "$base" |
        docker build --tag "$name" -
    exit
fi
root=$(mktemp -d)
trap 'rm -rf "$root" "$root.log"' EXIT
debootstrap --variant=minbase --include=nftables,python3 bookworm "$root" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log" >&2
    exit 1
}
tar -C "$root" -c . | docker import - "$name"
