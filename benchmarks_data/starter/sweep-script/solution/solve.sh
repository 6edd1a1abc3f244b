#!/bin/bash
set -e
cd "${APP_DIR:-/app}"

cat > sweep.sh <<'SWEEP'
#!/bin/bash
# Move uploaded reports from the inbox to the archive.

if [ $# -ne 2 ] || [ -z "$2" ] || [ ! -d "$1" ]; then
    echo "usage: sweep.sh INBOX ARCHIVE" >&2
    exit 2
fi

absolute() {
    case $1 in
        /*) printf '%s\n' "$1" ;;
        *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

inbox=$(absolute "$1")
archive=$(absolute "$2")
moved=0
failed=0

move() {
    local from=$inbox/$1 to=$archive/$1
    if [ -e "$to" ] || [ -L "$to" ]; then
        echo "exists already: $to" >&2
        return 1
    fi
    mkdir -p "${to%/*}" && cp -pT "$from" "$to" && cmp -s "$from" "$to" && rm -f "$from"
}

mkdir -p "$archive"
while IFS= read -r -d '' path; do
    if move "$path"; then
        moved=$((moved + 1))
    else
        failed=$((failed + 1))
    fi
done < <(find "$inbox/" -type f -name '*.csv' -printf '%P\0')

echo "moved $moved, failed $failed"
[ "$failed" -eq 0 ]
SWEEP
bash -n sweep.sh
