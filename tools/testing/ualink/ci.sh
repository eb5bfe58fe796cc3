#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# ci.sh [JOB...] - the jobs of ci/gitlab-ci.yml, which are for others: the lines of each
# script as they stand, in a clone of build/linux with nothing of this repository in it.
# Writes build/results/ci.tap. Not part of the check: each job builds a kernel anew.
. "$(dirname "$0")/lib.sh"
[ -n "${NO_DEPS:-}" ] || "$here/deps.sh" ci
yml=$here/ci/gitlab-ci.yml
clone=$build/ci/linux
"$here/tree.sh"

# jobs, or with a name the script of that job
jobs() {
	python3 - "$yml" "$@" <<-'END'
		import sys
		import yaml
		jobs = yaml.safe_load(open(sys.argv[1]))
		if len(sys.argv) > 2:
		    print("\n".join(jobs[sys.argv[2]]["script"]))
		else:
		    print("\n".join(j for j in jobs if not j.startswith(".")))
	END
}

fresh_clone() {
	local root
	mkdir -p "$build/ci"
	[ -e "$clone/.git" ] || git_plain clone -q --shared --no-checkout "$tree" "$clone"
	git_plain -C "$clone" fetch -q "$tree" HEAD
	git_plain -C "$clone" checkout -q -f --detach FETCH_HEAD
	# what is not in a commit yet
	g diff HEAD --binary | git_plain -C "$clone" apply --allow-empty
	for root in $roots; do
		rsync -a --exclude=/testing/ualink --exclude=/testing/igt "$top/$root/" "$clone/$root/"
	done
}

job() {
	local name=$1
	fresh_clone || return
	jobs "$name" > "$build/ci/script"
	[ -s "$build/ci/script" ] || { echo "no script"; return 1; }
	# found by the compiler's name only
	(cd "$clone" && PATH=/usr/lib/ccache:$PATH timeout 3000 bash -eu -o pipefail "$build/ci/script")
}

if [ $# -gt 0 ]; then names=("$@"); else mapfile -t names < <(jobs); fi
tap_start ci
for name in "${names[@]}"; do tap_check "$name" job "$name"; done
tap_done
