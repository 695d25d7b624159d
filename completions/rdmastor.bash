# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# bash completion; rdmastor itself prints the candidates (rdmastor --complete WORDS…).

# readline replaces what follows the last of its word breaks, so candidates are cut there ($1), and quoted here:
# with "compopt -o filenames" it would quote the ':' of URIs and list only what follows their last '/'.
_rdmastor_paths() {
	local cut=$1 cur=$2 kind=$3 lead='' path
	[[ $cur == --*=* ]] && lead=${cur%%=*}=
	[[ ${cur#"$lead"} == file:* ]] && lead+=file:
	while IFS= read -r path; do
		[[ -d $path ]] && path+=/ && compopt -o nospace
		path=$lead$(printf %q "$path")
		COMPREPLY+=("${path#"$cut"}")
	done < <(compgen "$kind" -- "${cur#"$lead"}")
}

_rdmastor() {
	local line=${COMP_LINE:0:COMP_POINT} cut='' cur word
	local -a words
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=('')
	cur=${words[-1]}
	[[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] && cut=${cur%"${cur##*:}"}
	[[ $COMP_WORDBREAKS == *=* && ${cur#"$cut"} == *=* ]] && cut=${cur%"${cur##*=}"}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:file) _rdmastor_paths "$cut" "$cur" -f ;;
		:dir) _rdmastor_paths "$cut" "$cur" -d ;;
		*)
			[[ $word == *: || $word == *:// ]] && compopt -o nospace
			COMPREPLY+=("${word#"$cut"}")
			;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
}
# Leave a link named like a shell builtin ("export") alone
complete -F _rdmastor rdmastor $(rdmastor --list 2>/dev/null | grep -e - -e '^iscsistart$')
