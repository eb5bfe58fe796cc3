#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# signoff.sh - for a human: add your Signed-off-by to each patch of the series,
# and write the signed patches to build/signed, as commits also to the branch
# ualink-signed of build/linux. Nothing else changes. By this you certify the
# Developer's Certificate of Origin: read the patches first.
#   NAME='Your Name' EMAIL=you@example.org
. "$(dirname "$0")/lib.sh"
if [ -z "${NAME:-}" ] || [ -z "${EMAIL:-}" ]; then
	die "usage: make signoff NAME='Your Name' EMAIL=you@example.org"
fi
"$here/tree.sh"
scratch=$build/signoff
rm -rf "$scratch" "$build/signed"
list_series
[ ${#series[@]} -gt 0 ] || die "there are no patches"
git_plain clone -q --shared --no-checkout "$tree" "$scratch"
s() { git_plain -C "$scratch" "$@"; }
base=$(g rev-parse 'base^{commit}')
s update-ref --no-deref HEAD "$base"
s read-tree HEAD
for p in "${series[@]}"; do
	s -c user.name="$NAME" -c user.email="$EMAIL" am -q --no-3way "$p"
	s log -1 --format=%B | s interpret-trailers --trailer "Signed-off-by: $NAME <$EMAIL>" |
		s commit -q --amend --no-verify -F -
done
mkdir "$build/signed"
s format-patch -q -n --cover-letter --base="$base" --no-signature --no-thread --stat=78 --abbrev=12 \
	-o "$build/signed" "$base..HEAD"
python3 "$here/cover.py" "$build/signed/0000-cover-letter.patch" "$patches/0000-cover-letter.patch" "$build/signed/0001-"*.patch
g fetch -q --force "$scratch" HEAD:refs/heads/ualink-signed
rm -rf "$scratch"
echo "${#series[@]} patches, signed off by $NAME <$EMAIL>, in $build/signed"
