// Reads the head that code writes when it takes over a connection: HTTP/1.1's `101 Switching Protocols`, whatever protocol its client speaks.
//
// Over HTTP/2 there is no 101: the tunnel is open with status 200 (RFC 8441 §5). Everything else of the head is sent as it is.

import { Buffer } from 'node:buffer'
import { isFieldValue, isToken, trimBlanks } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'

const LONGEST_BYTES = 64 * 1024
const END = '\r\n\r\n'
/** The response to a field that is not sent over HTTP/2 (RFC 8441 §5). */
const ACCEPT = 'sec-websocket-accept'

export interface SwitchHead {
  /** 200 for 101. */
  readonly status: number
  /** Name, value, name, value. */
  readonly fields: readonly string[]
  /** The bytes that were written after the head. */
  readonly rest: Buffer
}

/** Gathers the head. */
export class SwitchHeadReader {
  #text = ''

  /**
   * @returns null as long as the head is not complete
   * @throws WEIR_RESPONSE_HEADER_SYNTAX if it is not the head of a response, or is longer than 64 KiB
   */
  push(bytes: Buffer): SwitchHead | null {
    const text = this.#text + bytes.toString('latin1')
    const end = text.indexOf(END)
    if (end === -1) {
      if (text.length > LONGEST_BYTES) throw notAHead()
      this.#text = text
      return null
    }
    const [statusLine, ...lines] = text.slice(0, end).split('\r\n')
    const code = Number(/^HTTP\/1\.1 ([1-5]\d\d)(?: |$)/.exec(statusLine!)?.[1])
    if (!(code === 101 || code >= 200)) throw notAHead()
    return { status: code === 101 ? 200 : code, fields: lines.flatMap(fieldOf), rest: Buffer.from(text.slice(end + END.length), 'latin1') }
  }
}

function fieldOf(line: string): [name: string, value: string] | [] {
  const colon = line.indexOf(':')
  const name = line.slice(0, colon)
  const value = trimBlanks(line.slice(colon + 1))
  if (!isToken(name) || !isFieldValue(value)) throw notAHead()
  return name.toLowerCase() === ACCEPT ? [] : [name, value]
}

function notAHead(): WeirError {
  return new WeirError('WEIR_RESPONSE_HEADER_SYNTAX', 'the response to an upgrade begins with "HTTP/1.1 101"')
}
