// The messages of a request.

import type { Message } from '@bufbuild/protobuf'
import type { HttpRequest, HttpSession } from 'weirjs'

import type { Call } from './call.ts'
import type { Codec } from './codec.ts'
import { type ExpansionLimits, expanded, isCompressing } from './compression.ts'
import { COMPRESSED, checkSize, decodedPieces, type Frame, framesOf, fromBase64, onlyFrame } from './frames.ts'
import { RpcError } from './rpc-error.ts'

export interface ReadSettings extends ExpansionLimits {
  readonly maxMessages: number | null
}

/** The message of a method that takes one, whose body has arrived. @throws RpcError */
export async function onlyMessage({ wire, session }: Call, codec: Codec, settings: ReadSettings): Promise<Message> {
  const { maxMessageSize } = settings
  const { request } = session
  const body = request.bodyBytes // a copy: fields of the message refer to it
  const isCompressed = isCompressing(request.header(wire.encodingField))
  if (wire.isFramed)
    return whole(
      onlyFrame(wire.isText ? fromBase64(request.body) : body, maxMessageSize),
      session,
      isCompressed,
      codec,
      wire.codec,
      settings,
    )
  if (isCompressed) return codec.decode(await expanded(body, session, settings), wire.codec)
  checkSize(body.length, maxMessageSize)
  return codec.decode(body, wire.codec)
}

/** The message in the query of a GET (Connect). @throws RpcError */
export async function queryMessage(call: Call, codec: Codec, settings: ReadSettings): Promise<Message> {
  const { query } = call.session.request
  const text = query.get('message')
  if (text === null) throw new RpcError('invalid_argument', 'the query has no message')
  const sent = query.get('base64') === '1' ? Buffer.from(text, 'base64url') : Buffer.from(text)
  const isCompressed = isCompressing(query.get('compression'))
  checkSize(sent.length, settings.maxMessageSize)
  return codec.decode(isCompressed ? await expanded(sent, call.session, settings) : sent, call.wire.codec)
}

/** The messages of a method that takes several, as they arrive, no faster than they are read. @throws RpcError */
export async function* messages(call: Call, codec: Codec, settings: ReadSettings): AsyncGenerator<Message, void, undefined> {
  const { wire, session } = call
  const isCompressed = isCompressing(session.request.header(wire.encodingField))
  const body = bodyOf(session.request)
  let count = 0
  for await (const frame of framesOf(wire.isText ? decodedPieces(body) : body, settings.maxMessageSize)) {
    if (settings.maxMessages !== null && ++count > settings.maxMessages)
      throw new RpcError('resource_exhausted', `a stream may have at most ${settings.maxMessages} messages (maxMessages)`)
    yield whole(frame, session, isCompressed, codec, wire.codec, settings)
  }
}

/** A client that leaves within the body cancels the call. */
async function* bodyOf(request: HttpRequest): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* request.bodyStream() as AsyncIterable<Uint8Array>
  } catch (error) {
    if (request.signal.aborted) throw new RpcError('canceled', 'the client has left', [], { cause: error })
    throw error
  }
}

async function whole(
  { flags, bytes }: Frame,
  session: HttpSession,
  isCompressed: boolean,
  codec: Codec,
  form: 'proto' | 'json',
  settings: ReadSettings,
): Promise<Message> {
  if (flags === 0) return codec.decode(bytes, form)
  if (flags !== COMPRESSED) throw new RpcError('invalid_argument', `a frame has flags that clients do not send: ${flags}`)
  // The code is that of gRPC, and the fault is the client's all the same.
  if (!isCompressed)
    throw Object.assign(new RpcError('internal', 'a message is compressed, and the head states no compression'), { fault: 'peer' })
  return codec.decode(await expanded(bytes, session, settings), form)
}
