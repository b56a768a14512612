// Lets a tool watch the requests of one test client. The server itself is not changed.

import type { Application } from '../../http/application.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import type { ConnectionHost } from '../connections/connection-host.ts'
import { derivedHost } from '../connections/derived-host.ts'

/** Called with the requests of one client, by method and URL. Its methods must not throw. */
export interface ExchangeWatcher {
  /** The head of a request is complete. */
  opened(name: string): void
  /** Its handler begins. @returns a function that is called when the handler and the middleware around it have settled */
  handled(name: string, signal: AbortSignal): () => void
  refused(name: string, error: Error): void
  /** The server reports an error that is in no response. */
  reported(error: Error): void
  /** The connection is gone, and what was in progress on it. May be called twice. */
  gone(): void
}

/** @internal */
export let watchedHostOf: (server: WatchedServer) => ConnectionHost

/** A value that `connect` of `weirjs/testing` accepts in place of a server. */
export class WatchedServer {
  static {
    watchedHostOf = (server) => server.#host
  }

  readonly #host: ConnectionHost

  /** @internal */
  constructor(host: ConnectionHost, watcher: ExchangeWatcher) {
    this.#host = derivedHost(host, {
      application: watchedApplication(host.application, watcher),
      report: (error) => watcher.reported(error),
      forget: (connection) => {
        watcher.gone()
        host.forget(connection)
      },
    })
  }
}

function watchedApplication(application: Application, watcher: ExchangeWatcher): Application {
  return {
    routes: application.routes,
    unmatched: application.unmatched,
    open: (head, body, connection, match) => {
      const exchange = application.open(head, body, connection, match)
      watcher.opened(nameOf(exchange))
      return exchange
    },
    gate: (exchange) => application.gate(exchange),
    handle: (exchange) => {
      const onSettled = watcher.handled(nameOf(exchange), exchange.request.signal)
      const settle = (response: OutgoingResponse): OutgoingResponse => {
        onSettled()
        return response
      }
      const result = application.handle(exchange)
      return result instanceof Promise ? result.then(settle) : settle(result)
    },
    refuse: (exchange, error) => {
      watcher.refused(nameOf(exchange), error)
      return application.refuse(exchange, error)
    },
  }
}

function nameOf({ request }: Exchange): string {
  return `${request.method} ${request.url}`
}
