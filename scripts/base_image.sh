#!/usr/bin/env bash
# Make a base image of packages of Debian 12 alone: a small system with Python 3.11, and the packages that are named.
#
#   base_image.sh NAME [PACKAGE]...
#   base_image.sh deid-base
#   base_image.sh deid-base-java openjdk-17-jre-headless
#
# Needs root, debootstrap, and buildah. The packages come from where this machine has its own from, or from
# $DEBIAN_MIRROR and $DEBIAN_SECURITY_MIRROR.
set -euo pipefail
name=${1:?usage: base_image.sh NAME [PACKAGE]...}
shift
mirror_of() { apt-get indextargets --format '$(SITE)' 'Created-By: Packages' "Codename: $1" | head -n 1; }
mirror=${DEBIAN_MIRROR:-$(mirror_of bookworm)}
security=${DEBIAN_SECURITY_MIRROR:-$(mirror_of bookworm-security)}
: "${mirror:?no mirror of Debian 12 is set up for apt; name one in DEBIAN_MIRROR}"
: "${security:?no mirror of the security updates of Debian 12 is set up for apt; name one in DEBIAN_SECURITY_MIRROR}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
packages=python3.11,libpython3.11,tzdata
debootstrap --variant=minbase --include="$packages" bookworm "$root" "$mirror" > "$work/log" \
    || { tail -n 20 "$work/log" "$root/debootstrap/debootstrap.log" >&2 || true; exit 1; }

# What has been corrected since the release, and the further packages. No service starts, and no package that is only
# recommended comes along. /proc is for the packages of Java; the mount ends with the command.
inside() {
    unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" env DEBIAN_FRONTEND=noninteractive "$@"' "$root" "$@"
}
echo "deb $mirror bookworm main" > "$root/etc/apt/sources.list"
echo "deb $mirror bookworm-updates main" >> "$root/etc/apt/sources.list"
echo "deb $security bookworm-security main" >> "$root/etc/apt/sources.list"
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
inside apt-get update --quiet=2
inside apt-get upgrade --yes --quiet=2 > "$work/log"
if [ $# -gt 0 ]; then
    mkdir -p "$root/usr/share/man/man1" # the links of Java's packages go there
    inside apt-get install --yes --quiet=2 --no-install-recommends "$@" > "$work/log"
fi

# Nothing that says where the packages came from, and nothing that only people read. Licences stay.
inside apt-get clean
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/* "$root"/var/log/* "$root"/usr/sbin/policy-rc.d \
    "$root"/etc/apt/sources.list* "$root"/usr/share/{man,info,locale,lintian} "$root"/etc/resolv.conf "$root"/etc/hostname
find "$root/usr/share/doc" -type f ! -name copyright -delete
find "$root/usr/share/doc" -type l -delete
find "$root/usr/share/doc" -type d -empty -delete

container=$(buildah from scratch)
buildah add --quiet "$container" "$root" / > /dev/null
buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd /bin/bash "$container"
buildah commit --quiet --rm --format docker "$container" "$name"
