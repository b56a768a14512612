// A body that is verified before anything parses it: by its bytes and the header fields of the request.

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'
import { TypedBody } from './typed-body.ts'

/** What `verify` gets of a request. */
interface ReceivedBody {
  /** The whole body as it was sent, without its content coding. The memory is valid only until `verify` has settled. */
  readonly bytes: Uint8Array
  /** The server's time, in milliseconds since 1970. */
  readonly now: number
  /** The same object for all requests of one server: a key for what you remember of them, for example in a `WeakMap`. */
  readonly server: object
  /** Returns the value of a header field, or null. @param name in lower case */
  field(name: string): string | null
  /**
   * Calls `listener` once the handler has ended, if the response is a 5xx or the handler has stopped because its client left. The sender will
   * repeat the request, so forget what would refuse it as a duplicate.
   */
  onFailure(listener: () => void): void
}

/** Made by `verified`. */
export class VerifiedBody<T, Input> extends TypedBody<T, Input> {
  /** What the handler gets. */
  readonly inner: TypedBody<T, Input>
  readonly verify: (received: ReceivedBody) => void | Promise<void>

  /** @internal */
  constructor(inner: TypedBody<T, Input>, verify: (received: ReceivedBody) => void | Promise<void>) {
    super(inner.kind, inner.types, inner.schema)
    this.inner = inner
    this.verify = verify
  }

  /** A request without content is verified too. */
  override get isOptional(): boolean {
    return this.inner.isOptional
  }
}

/**
 * A body that its sender signs: `body`, which `json`, `form`, `text` or `bytes` returned, is read only after `verify` has let it pass. `verify` is
 * called when the whole body has arrived and before it is parsed. To refuse the body, it throws an error such as `new HttpError(401, '…')`. A
 * promise is awaited. Returning anything else, such as a verdict, is an error. `weirjs/webhooks` has the schemes of well-known senders.
 *
 * @throws WEIR_OPTION_INVALID for a multipart form, which is not gathered
 * @example
 * const body = verified(json(t.object({ id: t.int })), ({ field }) => {
 *   if (field('x-signature') === null) throw new HttpError(401, 'Sign the request.')
 * })
 * server.mapPost('/hook', { body }, ({ body }) => body.id)
 * @see https://github.com/weirjs/weir/blob/main/docs/guide/webhooks.md
 */
export function verified<T, Input>(
  body: TypedBody<T, Input>,
  verify: (received: ReceivedBody) => void | Promise<void>,
): TypedBody<T, Input> {
  const isForm = body instanceof TypedBody && body.kind === 'multipart'
  if (isForm || !(body instanceof TypedBody))
    throw invalid('verified()', `the body is ${isForm ? 'a multipart form' : kindOf(body)}, not json(), form(), text() or bytes()`)
  if (typeof verify !== 'function') throw invalid('verified()', `the second argument is ${kindOf(verify)}, not a function`)
  return new VerifiedBody(body, verify)
}
