#!/usr/bin/env bash
# Makes a .deb of a built command, with its manual pages and completions.
#
#   checks/dist/deb.sh COMMAND OUT
#
# DEBEMAIL is the e-mail address of the maintainer, as in Debian's tools; default: that of the newest commit.
set -euo pipefail
command=$(realpath "$1") out=$(realpath "$2")
cd "$(dirname "$0")/../.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)
email=${DEBEMAIL:-$(git log -1 --format=%ae 2> /dev/null || true)}

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
share=$tree/usr/share
mkdir -p "$tree"/{DEBIAN,usr/bin} "$share"/{man/man1,doc/shallop,bash-completion/completions} \
    "$share"/{zsh/vendor-completions,fish/vendor_completions.d}

install -m 755 "$command" "$tree/usr/bin/shallop"
"$command" man "$share/man/man1"
gzip -9 --no-name "$share"/man/man1/*
"$command" completions bash > "$share/bash-completion/completions/shallop"
"$command" completions zsh > "$share/zsh/vendor-completions/_shallop"
"$command" completions fish > "$share/fish/vendor_completions.d/shallop.fish"

gzip -9 --no-name < CHANGES.md > "$share/doc/shallop/changelog.gz"
cp crates/view/vendor/NOTICES.txt LICENSES/BSD-2-Clause.txt "$share/doc/shallop/"
cat > "$share/doc/shallop/copyright" << 'END'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: shallop

Files: *
Copyright: the shallop contributors
License: Apache-2.0

Files: crates/bpf/c/*
Copyright: the shallop contributors
License: GPL-2.0-only or BSD-2-Clause
Comment: The command has the text of the kernel module built in, and compiles it with a kernel.

Files: crates/view/vendor/*
Copyright: see NOTICES.txt
License: BSD-3-Clause and ISC and MIT
Comment: The charting scripts of reports; NOTICES.txt beside this file has their licences.

License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.

License: GPL-2.0-only
 See /usr/share/common-licenses/GPL-2.

License: BSD-2-Clause
 See BSD-2-Clause.txt beside this file.
END

# The newest version of glibc whose symbols the command uses, and the other libraries that it loads.
libc=$(objdump -T "$command" | grep -o 'GLIBC_[0-9.]*' | sort -u -V | tail -n 1)
depends="libc6 (>= ${libc#GLIBC_})"
for library in $(objdump -p "$command" | sed -n 's/^ *NEEDED *//p'); do
    case $library in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
        libgcc_s.so.1) depends+=", libgcc-s1" ;;
        libelf.so.1) depends+=", libelf1" ;;
        libz.so.1) depends+=", zlib1g" ;;
        *) echo "deb.sh: which package has $library is not known" >&2; exit 1 ;;
    esac
done
cat > "$tree/DEBIAN/control" << END
Package: shallop
Version: $version
Architecture: $architecture
Maintainer: shallop contributors <${email:-shallop@localhost}>
Installed-Size: $(du -sk "$tree/usr" | cut -f 1)
Depends: $depends
Section: net
Priority: optional
Description: simulator of congestion control in networks with shallow buffers
 shallop simulates transports (CUBIC, BBR, DCTCP, ExpressPass, FlashPass and
 others) packet by packet over switches with little memory, repeats published
 experiments, and rehearses scenarios with the TCP of this machine.
END
find "$tree" -type d -exec chmod 755 {} +
find "$tree/usr/share" -type f -exec chmod 644 {} +
dpkg-deb --root-owner-group --build "$tree" "$out/shallop_${version}_$architecture.deb" > /dev/null
