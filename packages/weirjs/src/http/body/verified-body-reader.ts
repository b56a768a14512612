// Reads a body after it was verified.

import { isPromise } from '../../base/is-promise.ts'
import { shown } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import type { MediaType } from '../../formats/media-type.ts'
import type { RequestBody } from './body.ts'
import { BodyReader, type BodySettings, type Sender } from './body-reader.ts'
import type { VerifiedBody } from './verified-body.ts'

const NO_BYTES = new Uint8Array(0)
/** What stands for the server with these settings: the settings themselves are not for programs. */
const servers = new WeakMap<BodySettings, object>()

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
    const verdict: unknown = this.declared.verify({ bytes, now: sender.clock.wallTime(), server: serverOf(settings), field })
    return isPromise(verdict) ? Promise.resolve(verdict).then(read) : read(verdict)
  }
}

function serverOf(settings: BodySettings): object {
  let server = servers.get(settings)
  if (server === undefined) servers.set(settings, (server = Object.freeze({})))
  return server
}
