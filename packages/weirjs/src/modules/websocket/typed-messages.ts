// `receives` and `sends`: messages as values of a schema. On the wire they are JSON in text messages.

import { Buffer } from 'node:buffer'
import type { WrittenAs } from '../../app/routes/route-answers.ts'
import { WeirError } from '../../base/errors.ts'
import { readJsonText } from '../../http/body/json-text.ts'
import { asSchema } from '../../schema/foreign.ts'
import { Mismatch } from '../../schema/mismatch.ts'
import { checkedPickerOf, type Picker, pickerOf } from '../../schema/picker.ts'
import type { AnySchema, OutputOf } from '../../schema/standard.ts'
import { INVALID_PAYLOAD, POLICY_VIOLATION, UNSUPPORTED } from '../../wire/websocket/frame-types.ts'

import type { WebSocketConnection, WebSocketHandlers } from './connection.ts'
import { MAX_REASON_BYTES, type WebSocketData } from './data.ts'

/** The value that `message` gets if a route `receives` R. */
export type Received<R> = [R] extends [AnySchema] ? OutputOf<R> : WebSocketData

/** The value that is sent on a route that `sends` S. */
export type Sent<S> = [S] extends [AnySchema] ? WrittenAs<S> : WebSocketData

/**
 * The handler of a connection whose messages are read with a schema. A message that does not fit closes the connection, and the handler is not
 * called.
 */
export function reading<Args, Value>(
  receives: AnySchema,
  message: (socket: WebSocketConnection<Args>, value: Value) => unknown,
): NonNullable<WebSocketHandlers<Args>['message']> {
  const schema = asSchema(receives)
  return (socket, data) => {
    if (typeof data !== 'string') return socket.close(UNSUPPORTED, 'expected text')
    let json: unknown
    try {
      json = readJsonText(data)
    } catch {
      return socket.close(INVALID_PAYLOAD, 'not valid JSON')
    }
    const value = schema.fromValue(json)
    return value instanceof Mismatch ? socket.close(POLICY_VIOLATION, reasonOf(value)) : message(socket, value as Value)
  }
}

/** Names the first wrong part, and not its value: `to: expected a string`. */
function reasonOf(mismatch: Mismatch): string {
  const [first] = mismatch.hidden().failures('', 'body')
  const reason = `${first!.name === '' ? '' : `${first!.name}: `}expected ${first!.expected}`
  const bytes = Buffer.from(reason)
  if (bytes.length <= MAX_REASON_BYTES) return reason
  let end = MAX_REASON_BYTES
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** Makes messages from values: only the declared part of a value is sent. */
export class Writing {
  readonly #label: string
  readonly #schema: AnySchema
  #pick: Picker

  /** @param label of the route, for messages */
  constructor(label: string, sends: AnySchema) {
    this.#label = label
    this.#schema = sends
    this.#pick = pickerOf(sends)
  }

  /** For tests and debugging: from now on, values that do not fit are an error. */
  check(): void {
    this.#pick = checkedPickerOf(this.#schema)
  }

  /** @throws WEIR_ANSWER_UNDECLARED if nothing of the value may be sent or, in tests and debugging, if it does not fit */
  textOf(value: unknown): string {
    const picked = this.#pick(value)
    if (picked instanceof Mismatch) {
      const parts = picked.all().map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`))
      throw new WeirError('WEIR_ANSWER_UNDECLARED', `a message of ${this.#label}: ${parts.join('; ')}`)
    }
    const text: string | undefined = JSON.stringify(picked)
    if (text === undefined) throw new WeirError('WEIR_ANSWER_UNDECLARED', `a message of ${this.#label} is undefined`)
    return text
  }
}
