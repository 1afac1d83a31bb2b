#!/bin/sh
# install_models.sh MODELS KEY FOLDER: copy signed models to FOLDER, which appears whole or not at all.
#
# KEY is the public key of those who sign models. The signature and the digest of every file are checked before the copy
# and in the copy. A FOLDER that is there is checked and kept, so this may run again, and beside servers that read it.
set -eu
models=$1 key=$2 folder=$3

if [ -e "$folder" ]; then
    deid models verify "$folder" --key "$key"
    cmp "$models/release.json" "$folder/release.json" || {
        echo "install_models.sh: $folder holds other models; give these a folder of their own" >&2
        exit 2
    }
    exit 0
fi
deid models verify "$models" --key "$key"
partial=$folder.partial
rm -rf "$partial"
cp -R "$models" "$partial"
deid models verify "$partial" --key "$key"
mv "$partial" "$folder"
