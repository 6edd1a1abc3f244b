"""Which processes inside a container are ended, told to its own `sh`: no more is needed there."""

# In the environment of every process of an exec, so that they are found wherever they went.
EXEC = "AGENTCOMPASS_EXEC"

# Everything that carries the token $1, everything below it, and everything in one session with
# it, though it has cleared its environment. Where $3 is `cleared`, the command itself has, and is
# one of those without any token that were started from outside the container. SIGTERM first; after
# $2 seconds SIGKILL, until two looks in a row find nobody: one alone may miss what is being forked.
END_FAMILY = r"""
command -v grep >/dev/null || exit 3
# That of busybox stops at a NUL.
if printf 'a\0b' | grep -qF b; then
    marked() { grep -lsF -- "$1" /proc/${2:-[0-9]*}/environ; }
else
    marked() {
        for environ in /proc/${2:-[0-9]*}/environ; do
            { tr '\0' '\n' <"$environ"; } 2>/dev/null | grep -qF -- "$1" && echo "$environ"
        done
    }
fi
cleared() {
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        pid=${line%% *}
        set -- ${line##*) }
        case $1:$2:$pid in Z:* | X:* | *:1) continue ;; *:0:*) ;; *) continue ;; esac
        [ -n "$(marked AGENTCOMPASS_EXEC= "$pid")" ] || printf '%s ' "$pid"
    done
}
family() {
    pids=" " sids=" "
    for file in $(marked "$token"); do
        file=${file#/proc/}
        pids="$pids${file%/environ} "
    done
    [ "$mode" != cleared ] || pids="$pids$(cleared)"
    [ "$pids" != " " ] || return 1
    grown=yes
    while [ -n "$grown" ]; do
        grown=
        for file in /proc/[0-9]*/stat; do
            { read -r line <"$file"; } 2>/dev/null || continue
            pid=${line%% *}
            set -- ${line##*) }
            case $1 in Z | X) continue ;; esac
            case $pids in
            *" $pid "*)
                case $sids in *" $4 "*) ;; *) sids="$sids$4 " grown=yes ;; esac
                continue
                ;;
            esac
            case $pids in *" $2 "*) pids="$pids$pid " grown=yes && continue ;; esac
            case $sids in *" $4 "*) pids="$pids$pid " grown=yes ;; esac
        done
    done
}
token=$1 grace=$2 mode=$3 empty=0
if family; then
    kill -TERM $pids 2>/dev/null
    sleep "$grace"
fi
while [ $empty -lt 2 ]; do
    if family; then
        empty=0
        kill -KILL $pids 2>/dev/null
    else
        empty=$((empty + 1))
    fi
done
"""

# Everything but init, its first child (which keeps the container alive) and this very shell.
END_ALL = r"""
others() {
    pids= keeper=
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        pid=${line%% *}
        set -- ${line##*) }
        case $1 in Z | X) continue ;; esac
        [ "$pid" != 1 ] && [ "$pid" != $$ ] || continue
        if [ "$2" = 1 ] && { [ -z "$keeper" ] || [ "$pid" -lt "$keeper" ]; }; then
            pids="$pids $keeper" keeper=$pid
        else
            pids="$pids $pid"
        fi
    done
    [ -n "${pids# }" ]
}
empty=0
if others; then
    kill -TERM $pids 2>/dev/null
    sleep "$1"
fi
while [ $empty -lt 2 ]; do
    if others; then
        empty=0
        kill -KILL $pids 2>/dev/null
    else
        empty=$((empty + 1))
    fi
done
"""
