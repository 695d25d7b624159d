# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# bash completion; rdmastor itself prints the candidates (rdmastor --complete WORDS…).

# readline replaces what follows the last of its word breaks, so candidates are cut there ($1), and quoted here:
# with "compopt -o filenames" it would quote the ':' of URIs and list only what follows their last '/'.
_rdmastor_paths() {
	local cut=$1 quote=$2 cur=$3 kind=$4 lead='' path
	[[ $cur == --*=* ]] && lead=${cur%%=*}=
	[[ ${cur#"$lead"} == file:* ]] && lead+=file:
	while IFS= read -r path; do
		[[ -d $path ]] && path+=/ && compopt -o nospace
		[[ $quote ]] || path=$(printf %q "$path")
		path=$lead$path
		COMPREPLY+=("${path#"$cut"}")
	done < <(compgen "$kind" -- "${cur#"$lead"}")
}

_rdmastor() {
	local line=${COMP_LINE:0:COMP_POINT} cut='' quote='' cur word
	local -a words
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=('')
	cur=${words[-1]}
	[[ $cur == [\'\"]* ]] && quote=${cur:0:1} && cur=${cur:1} && words[-1]=$cur
	# Behind a quote readline breaks no words
	[[ ! $quote && $COMP_WORDBREAKS == *:* && $cur == *:* ]] && cut=${cur%"${cur##*:}"}
	[[ ! $quote && $COMP_WORDBREAKS == *=* && ${cur#"$cut"} == *=* ]] && cut=${cur%"${cur##*=}"}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:file) _rdmastor_paths "$cut" "$quote" "$cur" -f ;;
		:dir) _rdmastor_paths "$cut" "$quote" "$cur" -d ;;
		*)
			[[ $word == *: || $word == *:// || $word == *= ]] && compopt -o nospace
			COMPREPLY+=("${word#"$cut"}")
			;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
	# readline would close the quote behind a single one that is to be continued
	[[ $quote && ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:/=] ]] && COMPREPLY+=("${COMPREPLY[0]}VALUE")
}
# Leave a link named like a shell builtin ("export") alone
complete -F _rdmastor rdmastor $(rdmastor --list 2>/dev/null | grep -e - -e '^iscsistart$')
