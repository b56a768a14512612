// Messages of one method, in binary form and as JSON.

import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  fromJsonString,
  isMessage,
  type Message,
  type MessageInitShape,
  type Registry,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf'

import { isInstance } from 'weirjs/kit'

import { countBinaryValues } from './binary-values.ts'
import { countJsonValues } from './json-values.ts'
import { costOf, JSON_OBJECT, type MessageCost, VALUE } from './message-cost.ts'
import { RpcError } from './rpc-error.ts'

export class Codec {
  readonly #input: DescMessage
  readonly #output: DescMessage
  readonly #json: { readonly registry?: Registry; readonly ignoreUnknownFields: true }

  readonly #cost: MessageCost
  readonly #maxValues: number
  /** Messages with so many bytes need not be counted. */
  readonly #few: { readonly proto: number; readonly json: number }

  constructor({ input, output }: DescMethod, registry: Registry | undefined, maxValues: number) {
    this.#input = input
    this.#output = output
    this.#cost = costOf(input)
    this.#maxValues = maxValues
    const { binary, json } = this.#cost.mostPerByte
    const most = maxValues * VALUE - this.#cost.own - JSON_OBJECT
    this.#few = { proto: most / binary, json: Math.min(most / json, FEW_BYTES) }
    this.#json = { ...(registry && { registry }), ignoreUnknownFields: true }
  }

  /**
   * Counts the values first, because the decoder makes all of them at once. Leaves out undeclared fields, because each two bytes of them would become
   * an object.
   * @param bytes kept in memory, because the values of `bytes` fields refer to them
   * @throws RpcError
   */
  decode(bytes: Uint8Array, codec: 'proto' | 'json'): Message {
    try {
      return codec === 'proto' ? this.#fromBinary(bytes) : this.#fromJson(bytes)
    } catch (error) {
      if (isInstance(error, RpcError)) throw error
      throw new RpcError('invalid_argument', `the message is not a ${this.#input.typeName} in ${NAMES[codec]}`, [], { cause: error })
    }
  }

  #fromBinary(bytes: Uint8Array): Message {
    if (bytes.length > this.#few.proto) countBinaryValues(bytes, this.#cost, this.#maxValues)
    return fromBinary(this.#input, bytes, KNOWN)
  }

  #fromJson(bytes: Uint8Array): Message {
    const text = utf8.decode(bytes)
    if (bytes.length > this.#few.json) countJsonValues(bytes, text, this.#cost, this.#json.registry, this.#maxValues)
    return fromJsonString(this.#input, text, this.#json)
  }

  /** @throws RpcError */
  encode(value: object, codec: 'proto' | 'json'): Uint8Array {
    const message = isMessage(value, this.#output) ? value : create(this.#output, value as MessageInitShape<DescMessage>)
    return codec === 'proto' ? toBinary(this.#output, message) : Buffer.from(toJsonString(this.#output, message, this.#json))
  }
}

/** What takes little time in JSON, even if it is one number. */
const FEW_BYTES = 16 * 1024
const KNOWN = { readUnknownFields: false }
const utf8 = new TextDecoder('utf-8', { fatal: true })
const NAMES = { proto: 'the binary form', json: 'JSON' }
