// Field lines, in a head or in trailers: `name: value CRLF`, until the empty line (RFC 9112 §5).
//
// Every byte is judged once, wherever the input is cut: a reader that runs out of bytes remembers the state and goes on there.
// What others repair is refused: a bare LF or CR, a blank before the colon, a folded line, an empty name, a control character.

import { CLASS, COLON, CR, FIELD_VALUE, LF, SP, TAB, TOKEN } from '../base/ascii.ts'
import { ProtocolError } from '../base/errors.ts'

const NAME = 0
const VALUE = 1
const VALUE_LF = 2
const LAST_LF = 3

/** Takes field lines as they come; a subclass says what becomes of each. Offsets count from the base that `read` is given. */
export abstract class FieldReader {
  /** Offset of the next byte to judge. */
  protected at = 0
  #state = NAME
  #nameStart = 0
  #nameEnd = 0

  /** One field is complete. The value still has the blanks around it. `base` is where offset 0 lies in `buf`. */
  protected abstract field(buf: Buffer, base: number, nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void

  /** Begins a block of field lines at `offset`. */
  protected begin(offset: number): void {
    this.at = offset
    this.#state = NAME
    this.#nameStart = offset
  }

  /**
   * Reads on, up to `stop` (exclusive, an index into `buf`).
   * @returns true after the empty line, `at` then stands behind it; false when the bytes ran out
   * @throws ProtocolError for a line that is no field
   */
  protected readFields(buf: Buffer, base: number, stop: number): boolean {
    let p = base + this.at
    let state = this.#state
    let nameStart = this.#nameStart
    let nameEnd = this.#nameEnd
    for (;;) {
      if (state === NAME) {
        while (p < stop && (CLASS[buf[p]!]! & TOKEN) !== 0) p++
        if (p === stop) break
        const byte = buf[p]!
        if (byte === COLON && p - base > nameStart) {
          nameEnd = p - base
          p++
          state = VALUE
        } else if (byte === CR && p - base === nameStart) {
          p++
          state = LAST_LF
        } else throw notAName(byte, p - base === nameStart)
      }
      if (state === VALUE) {
        // Eight at a time: most of a head is values, and this loop is a third of the cost of a browser's request.
        for (const last = stop - 8; p <= last; p += 8) {
          const first =
            CLASS[buf[p]!]! & CLASS[buf[p + 1]!]! & CLASS[buf[p + 2]!]! & CLASS[buf[p + 3]!]! & CLASS[buf[p + 4]!]! & CLASS[buf[p + 5]!]!
          if ((first & CLASS[buf[p + 6]!]! & CLASS[buf[p + 7]!]! & FIELD_VALUE) === 0) break
        }
        while (p < stop && (CLASS[buf[p]!]! & FIELD_VALUE) !== 0) p++
        if (p === stop) break
        const byte = buf[p]!
        if (byte !== CR) throw new ProtocolError(byte === LF ? 'WEIR_LINE_END' : 'WEIR_FIELD_VALUE_SYNTAX')
        p++
        state = VALUE_LF
      }
      if (p === stop) break
      if (buf[p] !== LF) throw new ProtocolError('WEIR_LINE_END')
      p++
      if (state === LAST_LF) {
        this.at = p - base
        return true
      }
      this.field(buf, base, nameStart, nameEnd, nameEnd + 1, p - base - 2)
      nameStart = p - base
      state = NAME
    }
    this.at = p - base
    this.#state = state
    this.#nameStart = nameStart
    this.#nameEnd = nameEnd
    return false
  }
}

function notAName(byte: number, first: boolean): ProtocolError {
  if (first && (byte === SP || byte === TAB)) return new ProtocolError('WEIR_FIELD_FOLDED')
  if (byte === LF) return new ProtocolError('WEIR_LINE_END')
  return new ProtocolError('WEIR_FIELD_NAME_SYNTAX')
}

/** Whether the bytes `[from, from + name.length)` are `name`, given in lower-case letters and dashes, whatever their case. */
export function isName(buf: Buffer, from: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) if ((buf[from + i]! | 0x20) !== name.charCodeAt(i)) return false
  return true
}
