// How the messages of a call are read and written: its protocol and its codec, by Content-Type.

import type { HttpRequest } from 'weirjs'

export type RpcProtocol = 'grpc' | 'grpc-web' | 'connect'

export interface Wire {
  /** The content type of the request, and of the response to it. */
  readonly type: string
  readonly protocol: RpcProtocol
  readonly codec: 'proto' | 'json'
  /** Whether messages are in frames. A unary call of Connect has its message as the body. */
  readonly isFramed: boolean
  /** Whether the body is base64: for browsers that cannot read bytes. */
  readonly isText: boolean
  /** The field with the compression of the messages. */
  readonly encodingField: string
  /** The field with the compressions that the other side accepts. */
  readonly acceptField: string
  readonly timeoutField: string
}

const FIELDS = {
  grpc: { encodingField: 'grpc-encoding', acceptField: 'grpc-accept-encoding', timeoutField: 'grpc-timeout' },
  'connect-stream': {
    encodingField: 'connect-content-encoding',
    acceptField: 'connect-accept-encoding',
    timeoutField: 'connect-timeout-ms',
  },
  connect: { encodingField: 'content-encoding', acceptField: 'accept-encoding', timeoutField: 'connect-timeout-ms' },
}

const grpc = (type: string, codec: Wire['codec'], protocol: 'grpc' | 'grpc-web' = 'grpc', isText = false): Wire => ({
  type,
  protocol,
  codec,
  isFramed: true,
  isText,
  ...FIELDS.grpc,
})
const unary = (codec: Wire['codec']): Wire => ({
  type: `application/${codec}`,
  protocol: 'connect',
  codec,
  isFramed: false,
  isText: false,
  ...FIELDS.connect,
})
const streamed = (codec: Wire['codec']): Wire => ({
  type: `application/connect+${codec}`,
  protocol: 'connect',
  codec,
  isFramed: true,
  isText: false,
  ...FIELDS['connect-stream'],
})

const GRPC: readonly Wire[] = [
  grpc('application/grpc', 'proto'),
  grpc('application/grpc+proto', 'proto'),
  grpc('application/grpc+json', 'json'),
  grpc('application/grpc-web', 'proto', 'grpc-web'),
  grpc('application/grpc-web+proto', 'proto', 'grpc-web'),
  grpc('application/grpc-web+json', 'json', 'grpc-web'),
  grpc('application/grpc-web-text', 'proto', 'grpc-web', true),
  grpc('application/grpc-web-text+proto', 'proto', 'grpc-web', true),
]

/** The protocols that one kind of method accepts. */
export class WireTable {
  readonly types: readonly string[]
  readonly #wires: ReadonlyMap<string, Wire>

  constructor(isStreamed: boolean) {
    const connect = isStreamed ? streamed : unary
    const wires = [...GRPC, connect('proto'), connect('json')]
    this.#wires = new Map(wires.map((wire) => [wire.type, wire]))
    this.types = wires.map(({ type }) => type)
  }

  /** @returns null if the method has no protocol with this content type */
  find(request: HttpRequest): Wire | null {
    const type = request.header('content-type')
    if (type === null) return null
    return this.#wires.get(type) ?? this.#wires.get(essenceOf(type)) ?? null
  }

  /** A GET states its codec in the query. */
  ofCodec(codec: string | null): Wire | null {
    return codec === 'proto' || codec === 'json' ? this.#wires.get(`application/${codec}`)! : null
  }
}

/** Without parameters: `application/json; charset=utf-8` is `application/json`. Another charset than UTF-8 is not accepted. */
function essenceOf(type: string): string {
  const [essence = '', ...parameters] = type.toLowerCase().split(';')
  const isUtf8 = parameters.every((one) => !/^\s*charset\s*=/.test(one) || /^\s*charset\s*=\s*"?utf-?8"?\s*$/.test(one))
  return isUtf8 ? essence.trim() : ''
}
