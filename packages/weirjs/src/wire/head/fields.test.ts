import assert from 'node:assert/strict'
import { test } from 'node:test'

import { CR, LF, TAB } from '../../base/ascii.ts'
import { WeirError } from '../../base/errors.ts'

import { FieldReader } from './fields.ts'

class Reader extends FieldReader {
  readonly values: string[] = []

  protected override field(buf: Buffer, base: number, _nameStart: number, _nameEnd: number, valueStart: number, valueEnd: number): void {
    this.values.push(buf.toString('latin1', base + valueStart, base + valueEnd))
  }

  readAll(buf: Buffer, base: number, stop: number): boolean {
    this.begin(0)
    return this.readFields(buf, base, stop)
  }
}

const isAllowed = (byte: number): boolean => byte === TAB || (byte >= 0x20 && byte !== 0x7f)

/** The result for a block of one field, at `base` in memory that is full of the bytes before and after it. */
function readAt(base: number, value: Buffer, memoryBytes: number): string {
  const memory = Buffer.alloc(memoryBytes, 'x')
  const stop = base + Buffer.concat([Buffer.from('a:'), value, Buffer.from('\r\n\r\n')]).copy(memory, base)
  const reader = new Reader()
  try {
    assert.equal(reader.readAll(memory, base, stop), true)
    return JSON.stringify(reader.values)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    return error.code
  }
}

// Long values are checked four bytes at a time, short ones one by one. Both must accept the same bytes, at any alignment.
for (const memoryBytes of [512, 64]) {
  test(`every byte at every position of a value is checked by the grammar, in ${memoryBytes} bytes of memory`, () => {
    for (let base = 0; base < 4; base++) {
      for (let place = 0; place < 13; place++) {
        for (let byte = 0; byte < 256; byte++) {
          const value = Buffer.alloc(memoryBytes === 64 ? 40 : 300, 'v')
          value[place] = byte
          const expected = isAllowed(byte)
            ? JSON.stringify([value.toString('latin1')])
            : byte === LF || byte === CR
              ? 'WEIR_LINE_END'
              : 'WEIR_FIELD_VALUE_SYNTAX'
          assert.equal(readAt(base, value, memoryBytes), expected, `byte ${byte} at ${place}, base ${base}`)
        }
      }
    }
  })
}

test('a value that ends with the memory is continued when more bytes arrive', () => {
  for (let length = 1; length < 12; length++) {
    const memory = Buffer.from(`a:${'v'.repeat(300 + length)}`)
    const reader = new Reader()
    assert.equal(reader.readAll(memory, 0, memory.length), false)
    assert.deepEqual(reader.values, [])
  }
})
