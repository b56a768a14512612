// A request as the Fetch API knows it, in parts that wait until somebody needs them.
//
// It is a native Request, and made with its method, its URL and its fields: `fetch(web)` and `new Request(web)` read what a native Request
// holds inside, and ask no getter. See decisions/014. The rest is lazy: the signal is made when it is read, and the body is taken when its
// stream is read.

import type { RequestBody } from '../body/body.ts'
import { WebBody } from './web-body.ts'

/** What it is made of. */
export interface WebSource {
  readonly method: string
  readonly headers: Iterable<readonly [name: string, value: string]>
  /** Made when it is read. */
  readonly signal: AbortSignal
}

/** Fields that belong to the connection on which the request came. Most of them make a fetch fail. */
const OF_THE_CONNECTION = /^(?:connection|expect|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i

/** A native Request. Node's types have fields in the place of its accessors and methods. */
interface Native {
  get headers(): Headers
  get signal(): AbortSignal
  clone(): Request
}

type LazyClass = new (url: string, init: RequestInit, source: WebSource) => Native

/** Made for the first request: touching the global `Request` loads all of Node's fetch. */
let lazyClass: LazyClass | null = null

export class WebRequest {
  readonly #lazy: Native
  readonly #body: WebBody | null

  /** @param body null where Fetch has none @param leftOut names of fields that would not be true */
  constructor(url: string, source: WebSource, body: RequestBody | null, leftOut: RegExp | null) {
    lazyClass ??= defineClass()
    this.#body = body === null ? null : new WebBody(body)
    // `duplex` is in the Fetch standard and in Node, but not in the types.
    const init = this.#body === null ? { method: source.method } : { method: source.method, body: this.#body.stream, duplex: 'half' }
    this.#lazy = new lazyClass(url, init as RequestInit, source)
    const { headers } = this.#lazy
    for (const [name, value] of source.headers)
      if (!OF_THE_CONNECTION.test(name) && leftOut?.test(name) !== true) headers.append(name, value)
  }

  get request(): Request {
    return this.#lazy as unknown as Request
  }

  /** The request is about to expire: a body that nobody has read is copied. */
  keep(): void {
    this.#body?.keep()
  }

  /**
   * Aborts the signal that a native Request has inside, which `fetch(web)` and `new Request(web)` listen to; code that has read `signal` knows.
   * It could follow another signal by itself, but that costs more than all the rest of the request. Where a handler has broken it, nobody is
   * told, and nothing else happens.
   */
  abort(reason: Error): void {
    try {
      const inside = Reflect.get(Object.getPrototypeOf(lazyClass!.prototype), 'signal', this.#lazy) as AbortSignal
      Object.defineProperties(inside, { aborted: { value: true }, reason: { value: reason } })
      inside.dispatchEvent(new Event('abort'))
    } catch {}
  }
}

function defineClass(): LazyClass {
  const NativeRequest = globalThis.Request as unknown as new (url: string, init: RequestInit) => Native
  // It has the name of its parent, which is what logs show.
  return class Request extends NativeRequest {
    readonly #source: WebSource

    constructor(url: string, init: RequestInit, source: WebSource) {
      super(url, init)
      this.#source = source
    }

    override get signal(): AbortSignal {
      return this.#source.signal
    }

    override clone(): globalThis.Request {
      return new globalThis.Request(super.clone(), { signal: this.signal })
    }
  }
}
