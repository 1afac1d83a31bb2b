#!/bin/sh
# run_folder.sh NOTES OUTPUT [OPTION...]: `deid run` on each table in the folder NOTES that has no output in OUTPUT yet.
#
# The exit code speaks for the whole folder, in the order in which a scheduler must act: 3 when a table failed and may be
# tried again, 2 when a person must act, 1 when notes are in quarantine, 0. The tables after a failed one are done first.
# Quarantine of a table is reported once, also when another table had to be tried again in between.
set -u
notes=$1 output=$2
shift 2
umask 077
held_back=$output/.held-back
again=0 person=0

for table in "$notes"/*.jsonl "$notes"/*.jsonl.gz "$notes"/*.csv "$notes"/*.parquet; do
    [ -e "$table" ] || continue
    name=${table##*/}
    # A finished table has its report; one that came later, or is unfinished, has none.
    [ -e "$output/$name.manifest.json" ] && continue
    deid run "$table" --out "$output/$name" --resume "$@"
    code=$?
    case $code in
        0) ;;
        1) : >> "$held_back" ;;
        2) person=1 ;;
        *) again=1 ;;
    esac
done

[ "$again" = 1 ] && exit 3
[ "$person" = 1 ] && exit 2
if [ -e "$held_back" ]; then
    rm "$held_back"
    exit 1
fi
exit 0
