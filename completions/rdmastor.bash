# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# bash: what there is to complete, rdmastor itself says (rdmastor --complete WORDS…).

_rdmastor() {
	local line=${COMP_LINE:0:COMP_POINT} prefix='' cur word
	local -a words
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=('')
	cur=${words[-1]}
	# What bash takes for a word begins behind these, if they are among its word breaks
	[[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] && prefix=${cur%"${cur##*:}"}
	[[ $COMP_WORDBREAKS == *=* && ${cur#"$prefix"} == *=* ]] && prefix=${cur%"${cur##*=}"}
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:file) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "${cur#"$prefix"}") ;;
		:dir) compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "${cur#"$prefix"}") ;;
		*) [[ $word == *: || $word == *:// ]] && compopt -o nospace 2>/dev/null; COMPREPLY+=("${word#"$prefix"}") ;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
}
# A link named like a shell's own word ("export") is left alone
complete -F _rdmastor rdmastor $(rdmastor --list 2>/dev/null | grep -e - -e '^iscsistart$')
