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

import { RpcError } from './rpc-error.ts'

export class Codec {
  readonly #input: DescMessage
  readonly #output: DescMessage
  readonly #json: { readonly registry?: Registry; readonly ignoreUnknownFields: true }

  constructor({ input, output }: DescMethod, registry: Registry | undefined) {
    this.#input = input
    this.#output = output
    this.#json = { ...(registry && { registry }), ignoreUnknownFields: true }
  }

  /**
   * Leaves out undeclared fields, because each two bytes of them would become an object. @param bytes kept in memory, because the values of `bytes`
   * fields refer to them
   * @throws RpcError
   */
  decode(bytes: Uint8Array, codec: 'proto' | 'json'): Message {
    try {
      return codec === 'proto' ? fromBinary(this.#input, bytes, KNOWN) : fromJsonString(this.#input, utf8.decode(bytes), this.#json)
    } catch (error) {
      throw new RpcError('invalid_argument', `the message is not a ${this.#input.typeName} in ${NAMES[codec]}`, [], { cause: error })
    }
  }

  /** @throws RpcError */
  encode(value: object, codec: 'proto' | 'json'): Uint8Array {
    const message = isMessage(value, this.#output) ? value : create(this.#output, value as MessageInitShape<DescMessage>)
    return codec === 'proto' ? toBinary(this.#output, message) : Buffer.from(toJsonString(this.#output, message, this.#json))
  }
}

const KNOWN = { readUnknownFields: false }
const utf8 = new TextDecoder('utf-8', { fatal: true })
const NAMES = { proto: 'the binary form', json: 'JSON' }
