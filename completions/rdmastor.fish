# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# fish completion; rdmastor itself prints the candidates (rdmastor --complete WORDS...).

function __rdmastor_complete
    set -l words (commandline -opc)
    set -l cur (string replace -r -- '^["\']' '' (commandline -ct))
    set -l prefix (string match -r -- '^(?:--[^=]*=|file:)' "$cur")
    for line in ($words[1] --complete $words[2..-1] "$cur" 2>/dev/null)
        switch $line
            case ':file'
                printf "$prefix%s\n" (__fish_complete_path (string replace -- "$prefix" '' "$cur"))
            case ':dir'
                printf "$prefix%s\n" (__fish_complete_directories (string replace -- "$prefix" '' "$cur"))
            case '*'
                echo $line
        end
    end
end

complete -c rdmastor -f -a '(__rdmastor_complete)'
# Leave a link named like a shell builtin ("export") alone
for applet in iscsistart (rdmastor --list 2>/dev/null | string match '*-*')
    complete -c $applet -f -a '(__rdmastor_complete)'
end
