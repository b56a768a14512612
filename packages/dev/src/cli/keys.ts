// The keys of `weir dev` in a terminal: a letter and Enter. The terminal stays in its own mode, in which Ctrl+C and Ctrl+Z are signals and what is
// typed can be corrected. So nothing has to be given back, however the command ends.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

const STDIN = 0
const STDOUT = 1

/** How often a job in the background asks whether it is in the foreground: shells do not say when they take one there that runs. */
const ASK_MS = 1_000

export class Keys {
  #timer: NodeJS.Timeout | undefined

  /** The system stops a job in the background that reads from its terminal. */
  readonly #listen = (): void => {
    clearTimeout(this.#timer)
    if (isInForeground()) process.stdin.resume()
    else {
      process.stdin.pause()
      this.#timer = setTimeout(this.#listen, ASK_MS).unref()
    }
  }

  /** Whether somebody can type here, and see what comes of it. */
  static arePossible(): boolean {
    return isatty(STDIN) && isatty(STDOUT)
  }

  /** @param onLine gets each line that is typed, without spaces around it */
  constructor(onLine: (line: string) => void) {
    process.stdin.pause().setEncoding('utf8')
    process.stdin.on('data', (text: string) => {
      for (const line of text.trimEnd().split('\n')) onLine(line.trim())
    })
    process.stdin.on('error', () => {}) // the terminal is gone: SIGHUP ends the command
    process.on('SIGCONT', this.#listen) // after Ctrl+Z, in the foreground or in the background
    this.#listen()
  }

  close(): void {
    process.off('SIGCONT', this.#listen)
    clearTimeout(this.#timer)
    process.stdin.pause()
  }
}

/** Whether the terminal belongs to this job. True if the system does not say. */
function isInForeground(): boolean {
  if (process.platform === 'win32') return true
  const [own, foreground] = process.platform === 'linux' ? groupsOfLinux() : groupsByPs()
  return own === undefined || foreground === undefined || own === foreground
}

/** The process group of this process, and that of the job in the foreground of its terminal. */
function groupsOfLinux(): (string | undefined)[] {
  try {
    const text = readFileSync('/proc/self/stat', 'latin1')
    const [, , group, , , foreground] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return [group, foreground]
  } catch {
    return []
  }
}

function groupsByPs(): (string | undefined)[] {
  const { stdout } = spawnSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
  return stdout?.trim().split(/\s+/) ?? []
}
