// The message of a request that has one.

import type { Message } from '@bufbuild/protobuf'
import { exchange } from 'weirjs/kit'

import type { Call } from './call.ts'
import type { Codec } from './codec.ts'
import { type ExpansionLimits, expanded, isCompressing } from './compression.ts'
import { inDecodingTurn } from './decoding-turns.ts'
import { COMPRESSED, checkSize, type Frame, fromBase64, onlyFrame } from './frames.ts'
import { RpcError } from './rpc-error.ts'

export interface ReadSettings extends ExpansionLimits {
  readonly maxMessages: number | null
}

/** The message of a method that takes one, whose body has arrived. A promise only where it has to be waited for. @throws RpcError */
export function onlyMessage(call: Call, codec: Codec, settings: ReadSettings): Message | Promise<Message> {
  const { maxMessageSize } = settings
  const { wire, session } = call
  const { request } = session
  const body = request.bodyBytes // a copy: fields of the message refer to it
  const isCompressed = isCompressing(request.header(wire.encodingField))
  if (wire.isFramed) {
    const frame = onlyFrame(wire.isText ? fromBase64(request.body) : body, maxMessageSize)
    return messageIn(frame, call, isCompressed, codec, wire.codec, settings)
  }
  if (isCompressed) return decoded(expanded(body, call, settings), call, codec, wire.codec)
  checkSize(body.length, maxMessageSize)
  return decoded(body, call, codec, wire.codec)
}

/** The message in the query of a GET (Connect). @throws RpcError */
export function queryMessage(call: Call, codec: Codec, settings: ReadSettings): Message | Promise<Message> {
  const { query } = call.session.request
  const text = query.get('message')
  if (text === null) throw new RpcError('invalid_argument', 'the query has no message')
  const sent = query.get('base64') === '1' ? Buffer.from(text, 'base64url') : Buffer.from(text)
  const isCompressed = isCompressing(query.get('compression'))
  checkSize(sent.length, settings.maxMessageSize)
  return decoded(isCompressed ? expanded(sent, call, settings) : sent, call, codec, call.wire.codec)
}

/** @throws RpcError */
export function messageIn(
  { flags, bytes }: Frame,
  call: Call,
  isCompressed: boolean,
  codec: Codec,
  form: 'proto' | 'json',
  settings: ReadSettings,
): Message | Promise<Message> {
  if (flags === 0) return decoded(bytes, call, codec, form)
  if (flags !== COMPRESSED) throw new RpcError('invalid_argument', `a frame has flags that clients do not send: ${flags}`)
  // The code is gRPC's, but the fault is the client's.
  if (!isCompressed)
    throw Object.assign(new RpcError('internal', 'a message is compressed, and the head states no compression'), { fault: 'peer' })
  return decoded(expanded(bytes, call, settings), call, codec, form)
}

function decoded(bytes: Uint8Array | Promise<Buffer>, call: Call, codec: Codec, form: 'proto' | 'json'): Message | Promise<Message> {
  const decode = (whole: Uint8Array): Message | Promise<Message> =>
    inDecodingTurn(exchange(call.session).clientAddress, () => codec.decode(whole, form))
  return bytes instanceof Promise ? bytes.then(decode) : decode(bytes)
}
