// Shell completion for `weir`: its commands, and the options in the help of each command.

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A command, as its help shows it. */
interface Completed {
  readonly name: string
  readonly summary: string
  readonly usage: string
}

interface Option {
  /** One letter; empty without one. */
  readonly short: string
  readonly long: string
  readonly hasValue: boolean
  readonly summary: string
}

/** The script that a shell reads. Files are completed wherever no option is. */
export function completionFor(shell: Shell, commands: readonly Completed[]): string {
  const known = commands.map((command) => ({ ...command, options: optionsOf(command.usage) }))
  const write = { bash, zsh, fish }[shell]
  return write(known)
}

type Known = Completed & { readonly options: readonly Option[] }

function optionsOf(usage: string): Option[] {
  return [...usage.matchAll(/^ {2}(?:-(\w), )?--([\w-]+)( <[^>]+>)? +(.+)$/gm)].map(([, short = '', long, value, summary]) => ({
    short,
    long: long!,
    hasValue: value !== undefined,
    summary: summary!,
  }))
}

function bash(commands: readonly Known[]): string {
  const cases = commands.map(({ name, options }) => {
    const words =
      name === 'completion' ? SHELLS : options.flatMap(({ short, long }) => [...(short === '' ? [] : [`-${short}`]), `--${long}`])
    return `    ${name}) words='${words.join(' ')}' ;;`
  })
  return `# Completes the command weir in bash: source <(weir completion bash)
_weir() {
  local words=''
  COMPREPLY=()
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words='${commands.map(({ name }) => name).join(' ')} --help --version'
  elif [ "\${COMP_WORDS[1]}" != completion ] && [ "\${2#-}" = "$2" ]; then return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}
complete -o default -F _weir weir
`
}

function zsh(commands: readonly Known[]): string {
  const cases = commands.map(({ name, options }) => {
    const shown = options.map(({ short, long, hasValue, summary }) => {
      const rest = `[${summary.replace(/[[\]\\]/g, '\\$&')}]${hasValue ? ':value:_files' : ''}`
      return `${short === '' ? '' : `${quoted(`*-${short}${rest}`)} `}${quoted(`*--${long}${rest}`)}`
    })
    return `    ${name}) _arguments ${name === 'completion' ? quoted(`2:shell:(${SHELLS.join(' ')})`) : [...shown, quoted('*:file:_files')].join(' ')} ;;`
  })
  return `#compdef weir
# Completes the command weir in zsh, after compinit: source <(weir completion zsh)
_weir() {
  if (( CURRENT == 2 )); then
    local -a commands
    commands=(${commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ')})
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
}
compdef _weir weir
`
}

function fish(commands: readonly Known[]): string {
  const lines = ['# Completes the command weir in fish: weir completion fish | source']
  for (const { name, summary, options } of commands) {
    lines.push(`complete -c weir -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary, "\\'")}`)
    const only = `complete -c weir -n '__fish_seen_subcommand_from ${name}'`
    if (name === 'completion') lines.push(`${only} -f -a '${SHELLS.join(' ')}'`)
    for (const { short, long, hasValue, summary } of options)
      lines.push(`${only}${short === '' ? '' : ` -s ${short}`} -l ${long}${hasValue ? ' -r' : ''} -d ${quoted(summary, "\\'")}`)
  }
  return `${lines.join('\n')}\n`
}

/** @param quote the replacement of a quote: bash and zsh cannot escape it in a string, so the string ends and begins again */
function quoted(text: string, quote = "'\\''"): string {
  return `'${text.replaceAll("'", quote)}'`
}
