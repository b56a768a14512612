// One run of a program by `weir dev`, from its start to the end of its process.

import type { ChildProcess } from 'node:child_process'

import type { CertificateFiles } from './certificate.ts'
import { HeldSockets } from './held-sockets.ts'
import { type Command, isNews, type News } from './messages.ts'
import { startProgram } from './program.ts'

/** How much longer than its grace period a program may take to end. */
const PATIENCE_MS = 1_000

interface RunOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly exportName: string | null
  readonly sockets: HeldSockets
  readonly compileCache: string | null
  readonly tls: CertificateFiles | null
  /** Whether the program gets the input of the command. Otherwise its input is open, and empty. */
  readonly hasInput: boolean
}

export class Run {
  readonly #process: ChildProcess
  /** Resolves with a description of its end when its process is gone. */
  readonly ended: Promise<string>

  /** Called with the messages of the program. */
  onNews: (news: News) => void = () => {}

  /** Starts the process. The program waits for `begin`. */
  constructor({ file, args, exportName, sockets: held, compileCache, tls, hasInput }: RunOptions) {
    const { sockets, descriptors } = held.passed()
    const { inherited } = held
    const holdsSockets = HeldSockets.isPossible
    this.#process = startProgram(args, { task: 'serve', file, exportName, sockets, inherited, holdsSockets, compileCache, tls }, [
      hasInput ? 'inherit' : 'pipe',
      'inherit',
      'inherit',
      ...descriptors,
      'ipc',
    ])
    this.#process.on('message', (message) => {
      if (!isNews(message)) return
      held.markListening() // its preload has run
      this.onNews(message)
    })
    this.ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
      this.#process.once('error', (error) => resolve(error.message))
    })
  }

  /** @param token of its links */
  begin(token: string): void {
    this.#tell({ weir: 'begin', token })
  }

  /** Reloads the pages that are open in browsers. */
  reloadPages(): void {
    this.#tell({ weir: 'reload' })
  }

  /** Stops its servers, and resolves when the process is gone. */
  async stop(graceMs: number): Promise<void> {
    this.#tell({ weir: 'stop', graceMs })
    const timer = setTimeout(() => this.kill(), graceMs + PATIENCE_MS)
    await this.ended
    clearTimeout(timer)
  }

  #tell(command: Command): void {
    if (this.#process.connected) this.#process.send(command, () => {}) // a process that has just ended cannot be told
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}
