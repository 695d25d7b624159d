#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# The CycloneDX document of both packages lists what deps/deps.lock pins and the binary names, with hashes, and licences whose texts
# are installed, and with the address of each source.
set -eu
cd "$(dirname "$0")/../.."
tar -xOf "$TARBALL" --wildcards '*/rdmastor.cdx.json' >"$TMP/sbom"
dpkg-deb --fsys-tarfile "$DEB" | tar -xO ./usr/share/doc/rdmastor/rdmastor.cdx.json | cmp - "$TMP/sbom"
jq -e --arg version "$(cat "$B/VERSION")" --arg time "$(date -u -d "@$EPOCH" +%FT%TZ)" '
	.bomFormat == "CycloneDX" and .specVersion == "1.5" and .version == 1
	and (.serialNumber | test("^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"))
	and .metadata.timestamp == $time
	and (.metadata.component | .name == "rdmastor" and .type == "application" and .version == $version)
	and ([.metadata.component, .components[]] | map(.["bom-ref"]) | length == (unique | length))
	and ((.dependencies | map(.ref) | sort) == ([.metadata.component, .components[]] | map(.["bom-ref"]) | sort))
	and (.dependencies[0].dependsOn | sort) == (.components | map(.["bom-ref"]) | sort)
	and all(.components[]; .type == "library" and (.purl | startswith("pkg:generic/")))' "$TMP/sbom" >/dev/null ||
	{ echo 'the document is not as expected:'; cat "$TMP/sbom"; exit 1; }
jq -r '.components[] | "\(.name) \(.version) \(.hashes[0].alg) \(.hashes[0].content)"' "$TMP/sbom" |
	diff <(awk '!/^#/ && NF { print $1, $2, "SHA-256", $4 }' deps/deps.lock | sort) -
"$B/rdmastor" --version | sed -n 's/^libraries: //p' | sed 's/, /\n/g' | sort |
	diff <(jq -r '.components[] | "\(.name) \(.version)"' "$TMP/sbom") -
jq -e '.components[] | select(.name == "rdma-core").licenses[0].expression | contains("(GPL-2.0-only OR Linux-OpenIB) AND (")
	and contains("(CC0-1.0)") and contains("(BSD-2-Clause)")' "$TMP/sbom" >/dev/null || { echo "a licence of rdma-core is missing"; exit 1; }
jq -r '.metadata.component, .components[] | .licenses[].expression' "$TMP/sbom" | sed 's/ OR \| AND /\n/g; s/[()]//g' | sort -u | while read -r name; do
	grep -qx "License: $name" packaging/copyright || { echo "packaging/copyright has no text for $name"; exit 1; }
done
jq -e 'all(.components[];
	. as $it | .externalReferences | length == 1 and (.[0] | .type == "distribution" and .hashes == $it.hashes and (.url | contains($it.version))))' \
	"$TMP/sbom" >/dev/null || { echo 'a library has no address of its source: is it the version of deps.lock in deps/upstream?'; exit 1; }
# The LGPL demands the address with the program.
grep -qxF " $(awk '$1 == "libnl3" { print $2 }' deps/upstream)" packaging/copyright || { echo 'packaging/copyright: not the source of libnl3'; exit 1; }
