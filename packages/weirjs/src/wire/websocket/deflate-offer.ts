// Negotiates permessage-deflate (RFC 7692 §5, §7.1). The server accepts the first acceptable offer and declines the others, which is not an error.

/** What both sides have agreed on. */
export interface DeflateParameters {
  /** Whether the client keeps its window between messages, and whether the server does. */
  readonly clientKeeps: boolean
  readonly serverKeeps: boolean
  /** The sizes of the windows, as powers of two. */
  readonly clientBits: number
  readonly serverBits: number
}

interface AcceptedDeflate {
  readonly parameters: DeflateParameters
  /** The value of Sec-WebSocket-Extensions that accepts the offer. */
  readonly field: string
}

/** The parameters of an offer (§7.1). Each may appear once. */
const PARAMETER =
  /^(?:server_no_context_takeover|client_no_context_takeover|server_max_window_bits=(?:[89]|1[0-5])|client_max_window_bits(?:=(?:[89]|1[0-5]))?)$/
const CLIENT_WINDOW = 'client_max_window_bits'
const MOST_BITS = 15
/**
 * The window that the server asks for if the client allows a smaller one. The window is copied in front of each message before it is inflated: 32
 * KiB take 40 µs, 4 KiB take 10, and few messages refer further back.
 */
const CLIENT_BITS = 12

/** @param field Sec-WebSocket-Extensions of the request, whose syntax has been checked; null if there is none */
export function acceptDeflate(field: string | null): AcceptedDeflate | null {
  for (const offer of field?.split(',') ?? []) {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().replaceAll('"', ''))
    if (name !== 'permessage-deflate' || !parameters.every((parameter) => PARAMETER.test(parameter))) continue
    const values = new Map(parameters.map((parameter) => parameter.split('=') as [string, string | undefined]))
    if (values.size === parameters.length) return accept(parameters, values)
  }
  return null
}

function accept(parameters: readonly string[], values: ReadonlyMap<string, string | undefined>): AcceptedDeflate {
  const bits = (side: string): number => Number(values.get(`${side}_max_window_bits`) ?? MOST_BITS)
  const clientKeeps = !values.has('client_no_context_takeover')
  // Without a value, the client says only that it could use a smaller window.
  const clientBits = clientKeeps && values.has(CLIENT_WINDOW) ? Math.min(bits('client'), CLIENT_BITS) : bits('client')
  const accepted = parameters.filter((parameter) => !parameter.startsWith(CLIENT_WINDOW))
  if (clientBits < MOST_BITS) accepted.push(`${CLIENT_WINDOW}=${clientBits}`)
  return {
    parameters: { clientKeeps, serverKeeps: !values.has('server_no_context_takeover'), clientBits, serverBits: bits('server') },
    field: ['permessage-deflate', ...accepted].join('; '),
  }
}
