#!/bin/bash
# De-identify what came in, every night from cron:
#
#   30 22 * * *  /opt/deid/nightly.sh /data/in /data/out /etc/deid/study.key
#
# Writes OUT/DATE from IN/DATE and a log beside it. What a night did not finish is finished by a later one first.
# Exit codes: 0 done, 1 notes are in quarantine, 2 a person must act, 3 failed again and again.
set -u
in=$1 out=$2 key=$3
tries=${DEID_TRIES:-5} pause_s=${DEID_PAUSE_S:-60}
umask 077
mkdir -p "$out"

# One night at a time: the lock ends with this process, however it ends.
exec 9>"$out/.nightly.lock"
flock -n 9 || { echo "another night is still at work" >&2; exit 0; }

# Prints the exit code of the last try for one folder.
run_folder() {
    local day=$1 code=3 try
    for ((try = 1; try <= tries; try++)); do
        deid run "$in/$day" --key "$key" -o "$out/$day" --resume --progress json 2>>"$out/$day.log"
        code=$?
        case $code in
            0 | 1 | 2) break ;;      # done, done with quarantine, a person must act
            *) sleep "$pause_s" ;;   # a failure, a signal, lack of memory: go on where it ended
        esac
    done
    echo "$code"
}

worst=0
for folder in "$in"/*/; do
    day=$(basename "$folder")
    # A finished folder has its report; one that came later, or is unfinished, has none.
    [ -e "$out/$day.manifest.json" ] && continue
    code=$(run_folder "$day")
    [ "$code" -gt 3 ] && code=3
    [ "$code" -gt "$worst" ] && worst=$code
    echo "$(date -Is) $day exit code $code"
done
exit "$worst"
