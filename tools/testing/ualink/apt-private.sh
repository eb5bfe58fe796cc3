# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# apt-private.sh - an apt of our own, to fetch Debian source packages. Sourced.
# It never touches /etc/apt, /var/lib/apt or /var/cache/apt, needs no root, and
# takes the mirror from the machine's own apt configuration (or DEBIAN_MIRROR).
#   apt_private DIR 'deb trixie-backports main' 'deb-src trixie main' ...
# exports APT_CONFIG; then use apt-get and apt-cache as ever.

# What an update would fetch is known even where nobody has run one yet, and to
# print it needs neither root nor the network.
debian_mirror() {
	if [ -n "${DEBIAN_MIRROR:-}" ]; then
		printf '%s\n' "$DEBIAN_MIRROR"
		return
	fi
	local code
	code=$(. /etc/os-release; echo "${VERSION_CODENAME:-none}")
	env -u APT_CONFIG apt-get update --print-uris 2>/dev/null |
		sed -n "s,^'\\(.*\\)/dists/${code}/\\(In\\)\\?Release'.*,\\1,p" | head -n 1
}

apt_private() {
	local d=$1 mirror line key
	shift
	d=$(mkdir -p "$d" && cd "$d" && pwd)
	key=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
	[ -r "$key" ] || { echo "error: no $key: install debian-archive-keyring" >&2; return 1; }
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || {
		echo "error: this machine's apt configuration names no Debian mirror; set DEBIAN_MIRROR" >&2
		return 1
	}
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial" "$d/empty"
	: > "$d/status"
	for line; do
		printf '%s [signed-by=%s] %s %s\n' "${line%% *}" "$key" "$mirror" "${line#* }"
	done > "$d/sources.list"
	cat > "$d/apt.conf" <<-END
		Dir::Etc::sourcelist "$d/sources.list";
		Dir::Etc::sourceparts "$d/empty";
		Dir::Etc::preferences "$d/empty/none";
		Dir::Etc::preferencesparts "$d/empty";
		Dir::State "$d";
		Dir::State::lists "$d/lists";
		Dir::State::status "$d/status";
		Dir::Cache "$d/cache";
		Dir::Cache::archives "$d/cache/archives";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		APT::Get::List-Cleanup "0";
		Acquire::Retries "3";
	END
	export APT_CONFIG="$d/apt.conf"
	apt-get -qq update
}
