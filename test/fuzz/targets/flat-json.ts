// JSON that is read without `JSON.parse`, compared with `JSON.parse`.

import assert from 'node:assert/strict'

import { readFlatJson } from '../../../packages/weirjs/src/formats/flat-json.ts'
import { assertSameWords, type Target } from '../target.ts'

/** With names that have another form in JSON, and one that looks like two. */
const MODEL = fromNames(['a', 'é', 'name', '"', 'b c', 'x\\y', 'age', 'a":1,"age'])

export const flatJsonTarget: Target = {
  name: 'flat-json',
  promise: 'a flat object is read like by JSON.parse, wherever it is in memory and whatever is around it',
  dictionary: [
    ...[
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      ' ',
      '\n',
      '\t',
      '\\',
      '\\"',
      '\\u0061',
      '-',
      '+',
      '.',
      '0',
      '1',
      '12',
      '-0',
      '0.1',
      '1e9',
      '1E-2',
    ],
    ...[
      'true',
      'false',
      'null',
      'tru',
      'nullx',
      '99999999999999',
      '9999999999999999',
      '0.00000000000001',
      '\xc3\xa9',
      '\xc3',
      '\xff',
      '\xed\xa0\x80',
    ],
    ...[
      '\xef\xbf\xbd',
      '\xef\xbb\xbf',
      '\0',
      '\x1f',
      '\x7f',
      '{"a":1',
      ',"name":"c"',
      ',"b c":true',
      ',"age":null}',
      ', "__proto__": -1.5 }',
      '"a":',
      ',"name":',
      '"b c":',
      '"\xc3\xa9":',
      '"\xe9":',
      '""":',
      '"x\\y":',
      '"age":',
      '"__proto__":',
    ],
  ],
  maxBytes: 200,
  seeds: () =>
    [
      ...[
        '{"a":1}',
        '{"a":"b","name":"c","b c":-1.5,"age":null,"__proto__":true}',
        '{"a": 1, "name": false}',
        '{ "a" : 1 }',
        '{"a":{"b":[1]}}',
      ],
      ...['{"a":"\xc3\xa9","\xc3\xa9":1}', '{"a":"\\n"}', '{"name":0.5,"age":12}', '{"a":1,"a":2}', '{}', ''],
    ].map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes, choices) {
    const pairs = readFlatJson(bytes, 0, bytes.length, MODEL)
    const around = Buffer.concat([Buffer.from('{"a":'), bytes, bytes, Buffer.from('1"}')])
    assertSameWords(readFlatJson(around, 5, 5 + bytes.length, MODEL) ?? [], pairs ?? [], 'with other bytes around it')
    const end = choices.below(bytes.length + 1)
    assertSameWords(readFlatJson(bytes, 0, end, MODEL) ?? [], readFlatJson(bytes.subarray(0, end), 0, end, MODEL) ?? [], 'cut short')
    if (pairs === null) return leftOf(bytes)
    check(bytes, pairs)
    return pairs
      .slice(0, 6)
      .map((one, i) => (i % 2 === 0 ? '' : typeof one))
      .join(' ')
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    // What is read into one model is read into another, whatever its names and their order; after too many failed comparisons it is left to
    // JSON.parse.
    const object = parsedObject(bytes)
    if (object === null) return
    for (const model of [object, {}, fromNames(Object.keys(object).reverse())]) {
      const again = readFlatJson(bytes, 0, bytes.length, model)
      if (again !== null) assert.deepEqual(again, Object.entries(object).flat())
    }
  },
}

function fromNames(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, 0]))
}

/** What is left to `JSON.parse`. */
function leftOf(bytes: Buffer): string {
  const object = parsedObject(bytes)
  return object === null ? 'no object' : `an object of ${Math.min(Object.keys(object).length, 3)}`
}

function check(bytes: Buffer, pairs: readonly unknown[]): void {
  const object = parsedObject(bytes)
  assert.ok(object !== null, 'read, but it is not JSON')
  assertSameWords(pairs, Object.entries(object).flat(), 'not what JSON.parse reads')
}

function parsedObject(bytes: Buffer): object | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
