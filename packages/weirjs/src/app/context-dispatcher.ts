// The code of the program runs in an asynchronous context of its exchange.
//
// The events of a connection come in one context, and with HTTP/2, or behind a proxy, it carries the requests of many clients. What a gate or a
// mounted application enters there (`AsyncLocalStorage.enterWith`), such as who the client is, would hold for whoever comes next.

import { AsyncResource } from 'node:async_hooks'
import type { Exchange } from '../http/exchange.ts'
import type { OutgoingResponse } from '../http/response/outgoing-response.ts'
import { Dispatcher } from './dispatch.ts'
import type { Held } from './policies/gates.ts'
import { chainOf, type Route } from './routes/route.ts'

type Made = OutgoingResponse | Promise<OutgoingResponse>

function newContext(): AsyncResource {
  return new AsyncResource('weir.exchange')
}

export class ContextDispatcher extends Dispatcher {
  /** In which requests of sockets begin: an event of a socket may come in the context of other code, which has written to it. */
  readonly #origin = new AsyncResource('weir.server')

  override gate(exchange: Exchange): Held {
    const { gates } = chainOf(exchange.match)
    const route = exchange.match.route as Route | null
    // Most routes have none, and then no code of the program runs.
    if (gates.length === 0 && route?.checksContentType !== true) return super.gate(exchange)
    return this.#contextOf(exchange).runInAsyncScope(this.#gate, this, exchange)
  }

  override handle(exchange: Exchange): Made {
    return this.#contextOf(exchange).runInAsyncScope(this.#handle, this, exchange)
  }

  override refuse(exchange: Exchange, error: Error): Made {
    return this.#contextOf(exchange).runInAsyncScope(this.#refuse, this, exchange, error)
  }

  #contextOf(exchange: Exchange): AsyncResource {
    const { isTest, hosts } = exchange.connection
    // Without a socket, it continues what its caller does.
    exchange.context ??= isTest || hosts === null ? newContext() : this.#origin.runInAsyncScope(newContext)
    return exchange.context
  }

  #gate(exchange: Exchange): Held {
    const held = super.gate(exchange)
    exchange.context = newContext() // with what gates have entered: from Node.js 24 on, it is no part of the old one
    return held
  }

  // Not functions within the methods: V8 would make them for each call.

  #handle(exchange: Exchange): Made {
    return super.handle(exchange)
  }

  #refuse(exchange: Exchange, error: Error): Made {
    return super.refuse(exchange, error)
  }
}
