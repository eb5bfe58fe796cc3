#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# clean.sh clean|distclean - remove what was built. clean keeps build/linux, the
# downloads, sparse and the compiler cache; distclean removes all of build/, but
# not commits in build/linux that are in no patch, unless FORCE=1.
. "$(dirname "$0")/lib.sh"
case ${1:-} in
clean)
	rm -rf "$build"/{um,qemu}-* "$build"/{log,results,bisect,lint,verify,apply,refresh,signoff,signed,uapi,uapi-headers,demo,demo-static,igt,igt-src,igt-patches} "$build"/libdrm-*
	rm -f "$build"/.lock-* "$build"/.*-cmd "$build"/.kcsan-*
	;;
distclean)
	if [ -z "${FORCE:-}" ] && [ -f "$tree/.git/ualink/head" ]; then
		[ "$(g rev-parse ualink)" = "$(cat "$tree/.git/ualink/head")" ] && [ -z "$(g status --porcelain --untracked-files=no)" ] ||
			die "build/linux has work that is not in the patches: make refresh, or FORCE=1"
	fi
	if [ -z "${FORCE:-}" ] && [ -f "$build/libdrm/.git/ualink" ]; then
		[ "$(git_plain -C "$build/libdrm" rev-parse HEAD)" = "$(cut -d' ' -f2 "$build/libdrm/.git/ualink")" ] ||
			die "build/libdrm has work that is not in the patches: make libdrm-refresh, or FORCE=1"
	fi
	rm -rf "$build"
	;;
*) die "usage: clean.sh clean|distclean" ;;
esac
