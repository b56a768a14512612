// Reads a body after it was verified.

import { isPromise } from '../../base/is-promise.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { MediaType } from '../../formats/media-type.ts'
import type { RequestBody } from './body.ts'
import { BodyReader, type BodySettings, type Sender } from './body-reader.ts'
import type { VerifiedBody } from './verified-body.ts'

const NO_BYTES = new Uint8Array(0)
/** The object that stands for the server with these settings. Programs must not get the settings themselves. */
const servers = new WeakMap<BodySettings, object>()

/** The listeners that wait for the failure of a request. */
interface Failing {
  readonly listeners: (() => void)[]
  hasEnded: boolean
  hasFailed: boolean
}
/** By the head of the request. */
const failing = new WeakMap<object, Failing>()

/** Notes that the handler of a request has ended, or that its response is a 5xx. After both, the listeners for a failure are called. */
export function noteFailing(head: object, what: 'hasEnded' | 'hasFailed'): void {
  const noted = failing.get(head)
  if (noted === undefined) return
  noted[what] = true
  if (noted.hasEnded && noted.hasFailed) for (const listener of noted.listeners.splice(0)) listener()
}

export class VerifiedBodyReader<T> extends BodyReader<T> {
  declare readonly declared: VerifiedBody<T, unknown>
  readonly #inner: BodyReader<T>

  constructor(declared: VerifiedBody<T, unknown>, inner: BodyReader<T>) {
    super(declared)
    this.#inner = inner
  }

  override lacksContent(contentType: string | null): boolean {
    return this.#inner.lacksContent(contentType)
  }

  override get acceptsUntyped(): boolean {
    return this.#inner.acceptsUntyped
  }

  override get unreadable(): string | null {
    return this.#inner.unreadable
  }

  override accepts(type: MediaType): boolean {
    return this.#inner.accepts(type)
  }

  override read(contentType: string | null, body: RequestBody | null, settings: BodySettings, sender: Sender): T | Promise<T> {
    const bytes = body?.view('args.body') ?? NO_BYTES
    const read = (verdict: unknown): T | Promise<T> => {
      if (verdict === undefined) return this.#inner.read(contentType, body, settings, sender)
      throw invalid('verified()', `verify returned ${shown(verdict)}: it throws to refuse a body, and returns nothing to let it pass`)
    }
    const field = (name: string): string | null => sender.head.get(name)
    const listeners: (() => void)[] = []
    failing.set(sender.head, { listeners, hasEnded: false, hasFailed: false })
    const onFailure = (listener: () => void): void => void listeners.push(listener)
    const now = sender.clock.wallTime()
    const verdict: unknown = this.declared.verify({ bytes, now, server: serverOf(settings), field, onFailure })
    return isPromise(verdict) ? Promise.resolve(verdict).then(read) : read(verdict)
  }
}

function serverOf(settings: BodySettings): object {
  let server = servers.get(settings)
  if (server === undefined) servers.set(settings, (server = Object.freeze({})))
  return server
}
