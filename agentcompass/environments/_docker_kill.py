"""Which processes inside a container are ended, told to its own `sh`: no more is needed there."""

# In the environment of every process of an exec, so that they are found wherever they went.
EXEC = "AGENTCOMPASS_EXEC"

# Everything that carries the token $1, everything below it, everything in one session with it,
# though it has cleared its environment, and who was seen to belong to these before: a parent that
# ends takes the link along. Where $3 is `cleared`, the command itself has, and is one of those
# without any token that were started from outside the container. Where $4 is `alone`, no other
# command can have left what has no token, is init's child and is younger than the command.
# Who is found is stopped at once: what forks on would make a look endless. SIGTERM first; after $2
# seconds SIGKILL, until two looks in a row find nobody: one alone may miss what is being forked.
# The image's PATH may lead nowhere, and what is before these folders is more often a task's.
END_FAMILY = r"""
PATH=/usr/bin:/bin:$PATH
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
has_token() { [ -n "$(marked AGENTCOMPASS_EXEC= "$1")" ]; }
# Whether $1 with parent $2, session $3 and start $4 is one of the family.
belongs() {
    case $seen in *" $1:$4 "*) return 0 ;; esac
    case $pids in *" $2 "*) return 0 ;; esac
    case $sids in *" $3 "*) return 0 ;; esac
    case $2:$mode in 0:cleared) ! has_token "$1" && return 0 ;; esac
    case $2:$who:$began in *:) return 1 ;; 1:alone:*) ;; *) return 1 ;; esac
    [ "$4" -ge "$began" ] && ! has_token "$1"
}
family() {
    pids=" " sids=" " grown=yes
    for file in $(marked "$token"); do
        file=${file#/proc/}
        pids="$pids${file%/environ} "
    done
    kill -STOP $pids 2>/dev/null
    while [ -n "$grown" ]; do
        grown=
        for file in /proc/[0-9]*/stat; do
            { read -r line <"$file"; } 2>/dev/null || continue
            pid=${line%% *}
            set -- ${line##*) }
            case $1:$pid in Z:* | X:* | *:1) continue ;; esac
            case $pids in
            *" $pid "*) ;;
            *) belongs "$pid" "$2" "$4" "${20}" && pids="$pids$pid " grown=yes || continue ;;
            esac
            case $sids in *" $4 "*) ;; *) sids="$sids$4 " grown=yes ;; esac
            case $seen in *" $pid:${20} "*) ;; *) seen="$seen$pid:${20} " ;; esac
            [ "$2" != 0 ] || began=${20}
        done
        kill -STOP $pids 2>/dev/null
    done
    [ "$pids" != " " ]
}
token=$1 grace=$2 mode=$3 who=$4 seen=" " began= empty=0
if family; then
    kill -TERM $pids 2>/dev/null
    kill -CONT $pids 2>/dev/null
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

# Asks everybody but init and the program $1, which keeps the container alive.
ASK_ALL = r"""
for process in /proc/[0-9]*; do
    pid=${process#/proc/}
    case $pid in 1 | $$) continue ;; esac
    [ "$process/exe" -ef "$1" ] || kill -TERM "$pid" 2>/dev/null
done
exit 0
"""
