// Observes the application while chaos runs: which requests it got, and how far each has come.

import type { OutgoingResponse } from '../http/answer/outgoing-response.ts'
import type { Application } from '../http/application.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ConnectionHost } from '../net/connections/connection-host.ts'

import { derivedHost } from './derived-host.ts'

/** One request that reached the application. */
export interface Watched {
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
  readonly #host: ConnectionHost
  readonly #tell: (event: string) => void
  readonly requests: Watched[] = []
  /** Requests of which the response may still be in progress, by the number of their client. */
  readonly #open = new Map<number, string>()

  constructor(host: ConnectionHost, tell: (event: string) => void) {
    this.#host = host
    this.#tell = tell
  }

  /** The host to open a client's connection with. */
  hostFor(client: number): ConnectionHost {
    return derivedHost(this.#host, {
      application: this.#watched(client),
      report: (error) => this.#tell(`client ${client}: the server reports: ${error.message}`),
      forget: (connection) => {
        this.#open.delete(client)
        this.#host.forget(connection)
      },
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

  #watched(client: number): Application {
    const { application } = this.#host
    return {
      match: (head, endpointName) => application.match(head, endpointName),
      open: (head, body, connection, match) => {
        const exchange = application.open(head, body, connection, match)
        this.#open.set(client, nameOf(exchange))
        return exchange
      },
      gate: (exchange) => application.gate(exchange),
      handle: (exchange) => this.#handle(client, exchange),
      refuse: (exchange, error) => {
        this.#tell(`client ${client}: ${nameOf(exchange)} is refused, ${error.message}`)
        return application.refuse(exchange, error)
      },
    }
  }

  #handle(client: number, exchange: Exchange): OutgoingResponse | Promise<OutgoingResponse> {
    const watched = { name: nameOf(exchange), client, signal: exchange.request.signal, isSettled: false, wasReset: false }
    this.requests.push(watched)
    this.#tell(`client ${client}: ${watched.name} is handled`)
    const settle = (response: OutgoingResponse): OutgoingResponse => {
      watched.isSettled = true
      this.#tell(`client ${client}: ${watched.name} has settled`)
      return response
    }
    const result = this.#host.application.handle(exchange)
    return result instanceof Promise ? result.then(settle) : settle(result)
  }
}

function nameOf({ request }: Exchange): string {
  return `${request.method} ${request.url}`
}
