// Observes the application while chaos runs: which requests it got, and how far each has come.

import type { HttpServer } from 'weirjs'
import { dev } from 'weirjs/kit'

/** One request that reached the application. */
interface WatchedRequest {
  /** Method and URL. */
  readonly name: string
  /** The number of its client, from 1. */
  readonly client: number
  readonly signal: AbortSignal
  /** Whether its handler, and everything around it, has settled. */
  isSettled: boolean
  /** Whether its client reset the connection before the handler had settled. */
  wasReset: boolean
}

export class ChaosWatch {
  readonly #server: HttpServer
  readonly #tell: (event: string) => void
  readonly requests: WatchedRequest[] = []
  /** Requests of which the response may still be in progress, by the number of their client. */
  readonly #open = new Map<number, string>()

  constructor(server: HttpServer, tell: (event: string) => void) {
    this.#server = server
    this.#tell = tell
  }

  /** The server to which a client connects. */
  serverFor(client: number): dev.WatchedServer {
    const tell = (what: string): void => this.#tell(`client ${client}: ${what}`)
    return dev.watched(this.#server, {
      opened: (name) => void this.#open.set(client, name),
      handled: (name, signal) => {
        const request = { name, client, signal, isSettled: false, wasReset: false }
        this.requests.push(request)
        tell(`${name} is handled`)
        return () => {
          request.isSettled = true
          tell(`${name} has settled`)
        }
      },
      refused: (name, error) => tell(`${name} is refused, ${error.message}`),
      reported: (error) => tell(`the server reports: ${error.message}`),
      gone: () => void this.#open.delete(client),
    })
  }

  /**
   * A client resets its connection, so the signals of its handlers must fire. Other ways of leaving go unnoticed while the server does not
   * read.
   */
  noteReset(client: number): void {
    for (const one of this.requests) if (one.client === client && !one.isSettled) one.wasReset = true
  }

  /** Describes what is still open after all clients have left and time has passed; null if nothing is. */
  findOpen(): string | null {
    const handler = this.requests.find(({ isSettled }) => !isSettled)
    if (handler !== undefined) {
      const fired = handler.signal.aborted ? 'although its signal has fired' : 'and its signal has not fired'
      return `the handler of ${handler.name} has not settled, ${fired}`
    }
    const deaf = this.requests.find(({ wasReset, signal }) => wasReset && !signal.aborted)
    if (deaf !== undefined) return `the signal of ${deaf.name} has not fired`
    const open = this.#open.values().next()
    return open.done === true ? null : `the response to ${open.value} is still in progress for a client that has left`
  }
}
