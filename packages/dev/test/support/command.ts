// The `weir` command as a process, and programs for it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { temporaryDirectory } from '../../../weirjs/test/support/temporary.ts'

const COMMAND = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const WEIR = new URL('../../../weirjs/src/index.js', import.meta.url).href

const IMPORTED = /'weirjs(?:\/([a-z-]+))?'/g
const entryOf = (entry: string | undefined): string => (entry === undefined ? WEIR : new URL(`modules/${entry}/index.js`, WEIR).href)

/** A folder with a program. In its files, `weir` is the library that is being tested. */
export function programFolder(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = temporaryDirectory(t)
  write(folder, { 'package.json': '{ "type": "module" }', ...files })
  return folder
}

/** Each file is complete from the moment at which it has its name: on a busy machine, a half-written one would be a change of its own. */
export function write(folder: string, files: Readonly<Record<string, string>>): void {
  const unfinished = join(folder, '.unfinished')
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(
      unfinished,
      text.replace(IMPORTED, (_, entry?: string) => JSON.stringify(entryOf(entry))),
    )
    renameSync(unfinished, join(folder, name))
  }
}

/** Runs a command to its end, in `folder`. */
export function runWeir(folder: string, ...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], { cwd: folder, encoding: 'utf8' })
  return { code: status, out: stdout, err: stderr }
}

/** A command that runs until the test ends. */
export class RunningWeir {
  readonly #process: ChildProcess
  #err = ''
  #onPrinted: () => void = () => {}

  constructor(t: TestContext, folder: string, ...args: string[]) {
    // With a channel, it ends if this process is killed.
    this.#process = spawn(process.execPath, [COMMAND, ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#process.stderr!.on('data', (chunk) => {
      this.#err += chunk
      this.#onPrinted()
    })
    t.after(async () => {
      if (this.#process.exitCode === null && this.#process.signalCode === null) await this.end('SIGTERM')
    })
  }

  /** What it has printed to stderr. */
  get printed(): string {
    return this.#err
  }

  /** Waits until it has printed `pattern` `times` times. @returns the last match */
  async prints(pattern: RegExp, times = 1): Promise<RegExpMatchArray> {
    for (;;) {
      const found = [...this.#err.matchAll(new RegExp(pattern, 'g'))]
      if (found.length >= times) return found.at(-1)!
      if (this.#process.exitCode !== null) throw new Error(`it has ended:\n${this.#err}`)
      await new Promise<void>((resolve) => (this.#onPrinted = resolve))
    }
  }

  /** @returns the exit code */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const exit = once(this.#process, 'exit')
    this.#process.kill(signal)
    return (await exit)[0] as number | null
  }
}
