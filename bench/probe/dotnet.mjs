// What the translated cases need of .NET: strings, bytes, collections, and the classes of Http11Probe's own that hold data.

/** @typedef {import('./exchange.mjs').ProbeResponse} ProbeResponse */

/** .NET's ASCII: one `?` for each character that is not in it. @param {string} text */
export const toAscii = (text) =>
  Buffer.from([...text].map((char) => ((char.codePointAt(0) ?? 0) > 0x7f ? 0x3f : (char.codePointAt(0) ?? 0))))

/** @param {Buffer} bytes */
export const fromAscii = (bytes) => bytes.toString('latin1').replace(/[\x80-\xff]/g, '?')

/** A dictionary, whose keys may be compared without regard to case. */
export class Dictionary {
  /** @type {Map<string, [string, unknown]>} */
  #entries = new Map()
  #key

  constructor(ignoreCase = false) {
    this.#key = ignoreCase ? (/** @type {string} */ key) => key.toLowerCase() : (/** @type {string} */ key) => key
  }

  /** @param {string} key */
  get(key) {
    return this.#entries.get(this.#key(key))?.[1]
  }

  /** @param {string} key @param {unknown} value */
  set(key, value) {
    this.#entries.set(this.#key(key), [this.#entries.get(this.#key(key))?.[0] ?? key, value])
  }

  [Symbol.iterator]() {
    return this.#entries.values()
  }
}

/** The numbers of `new Random(seed)`: Knuth's subtractive generator, as .NET has kept it for seeded instances. */
class Random {
  #numbers = new Int32Array(56)
  #next = 0
  #nextWithLag = 21

  /** @param {number} seed */
  constructor(seed) {
    const numbers = this.#numbers
    let last = 161803398 - Math.abs(seed)
    let current = 1
    numbers[55] = last
    for (let i = 1, at = 0; i < 55; i++) {
      at = (at + 21) % 55
      numbers[at] = current
      current = last - current
      if (current < 0) current += 0x7fffffff
      last = numbers[at] ?? 0
    }
    for (let round = 0; round < 4; round++)
      for (let i = 1; i < 56; i++) {
        const lag = (i + 30) % 55
        numbers[i] = (numbers[i] ?? 0) - (numbers[1 + lag] ?? 0)
        if ((numbers[i] ?? 0) < 0) numbers[i] = (numbers[i] ?? 0) + 0x7fffffff
      }
  }

  next() {
    this.#next = this.#next >= 55 ? 1 : this.#next + 1
    this.#nextWithLag = this.#nextWithLag >= 55 ? 1 : this.#nextWithLag + 1
    let value = ((this.#numbers[this.#next] ?? 0) - (this.#numbers[this.#nextWithLag] ?? 0)) | 0
    if (value === 0x7fffffff) value--
    if (value < 0) value += 0x7fffffff
    this.#numbers[this.#next] = value
    return value
  }
}

class StringBuilder {
  text = ''
}

/** @param {unknown} value @param {string} member @returns {never} */
function unknown(value, member) {
  throw new TypeError(
    `${value === null || value === undefined ? 'null' : (value?.constructor?.name ?? typeof value)}.${member} is not translated`,
  )
}

/** @param {unknown} how @returns {boolean} */
const ignoresCase = (how) => how === 'OrdinalIgnoreCase'

/** @param {string} text @param {unknown} how */
const folded = (text, how) => (ignoresCase(how) ? text.toLowerCase() : text)

/** @param {string} text @param {any[]} chars @param {'start' | 'end' | 'both'} side */
function trim(text, chars, side) {
  const isCut = (/** @type {string} */ char) => (chars.length === 0 ? /\s|\x85/.test(char) : chars.includes(char))
  let start = 0
  let end = text.length
  if (side !== 'end') while (start < end && isCut(text[start] ?? '')) start++
  if (side !== 'start') while (end > start && isCut(text[end - 1] ?? '')) end--
  return text.slice(start, end)
}

const STRING_METHODS = /** @type {Record<string, (text: string, ...args: any[]) => unknown>} */ ({
  Contains: (text, part, how) => folded(text, how).includes(folded(part, how)),
  StartsWith: (text, part, how) => folded(text, how).startsWith(folded(part, how)),
  EndsWith: (text, part, how) => folded(text, how).endsWith(folded(part, how)),
  Equals: (text, other, how) => other !== null && folded(text, how) === folded(other, how),
  IndexOf: (text, part, from) => text.indexOf(part, typeof from === 'number' ? from : 0),
  Trim: (text, ...chars) => trim(text, chars, 'both'),
  TrimStart: (text, ...chars) => trim(text, chars, 'start'),
  TrimEnd: (text, ...chars) => trim(text, chars, 'end'),
  Split: (text, by, how) => text.split(by).filter((part) => how !== 'RemoveEmptyEntries' || part !== ''),
  ToLowerInvariant: (text) => text.toLowerCase(),
  ToUpperInvariant: (text) => text.toUpperCase(),
  Replace: (text, from, to) => text.replaceAll(from, to),
})

const LIST_METHODS = /** @type {Record<string, (list: any[], ...args: any[]) => unknown>} */ ({
  Add: (list, value) => void list.push(value),
  Any: (list, test = () => true) => list.some((value) => test(value)),
  All: (list, test) => list.every((value) => test(value)),
  Count: (list, test = () => true) => list.filter((value) => test(value)).length,
  Select: (list, map) => list.map((value) => map(value)),
  Where: (list, test) => list.filter((value) => test(value)),
  ToArray: (list) => [...list],
  ToList: (list) => [...list],
  CopyTo: (list, target, at) => {
    if (at + list.length > target.length) throw new RangeError('CopyTo')
    for (const [i, value] of list.entries()) target[at + i] = value
  },
})

const DICTIONARY_METHODS = /** @type {Record<string, (entries: Dictionary, ...args: any[]) => unknown>} */ ({
  ContainsKey: (entries, key) => entries.get(key) !== undefined,
  TryGetValue: (entries, key, out) => {
    out(entries.get(key) ?? null)
    return entries.get(key) !== undefined
  },
})

const CREATED = /** @type {Record<string, (...args: any[]) => unknown>} */ ({
  array: (length) => new Array(length).fill(0),
  string: (char, count) => char.repeat(count),
  StringBuilder: () => new StringBuilder(),
  Random: (seed) => new Random(seed),
  Dictionary: (how) => new Dictionary(ignoresCase(how)),
  List: () => [],
})

/** Classes of the board that hold data, with what their members are when a case does not set them. */
const DEFAULTS = /** @type {Record<string, Record<string, unknown>>} */ ({
  TestCase: { Scored: true, RfcLevel: 'Must', RfcReference: null, BehavioralAnalyzer: null },
  SequenceTestCase: { Scored: true, RfcLevel: 'Must', RfcReference: null, BehavioralAnalyzer: null },
  SequenceStep: { PayloadFactory: null, DynamicPayloadFactory: null, SendPartsFactory: null, Label: null },
  SequenceSendPart: { DelayAfter: 0, Label: null },
  ExpectedBehavior: {
    ExpectedStatus: null,
    ExpectedConnectionState: null,
    AllowConnectionClose: false,
    CustomValidator: null,
    Description: null,
  },
})

/** The calls that translated code makes. */
export const runtime = {
  /** @param {any} value @param {string} member @param {boolean} isOptional @returns {any} */
  get(value, member, isOptional) {
    if (value === null && isOptional) return null
    if (value === null || value === undefined) return unknown(value, member)
    if (Array.isArray(value) || typeof value === 'string') {
      if (member === 'Length' || member === 'Count') return value.length
      if (member === 'Key') return value[0]
      if (member === 'Value') return value[1]
      return unknown(value, member)
    }
    if (typeof value !== 'object' || !(member in value)) return unknown(value, member)
    return value[member]
  },

  /** @param {any} value @param {string} member @param {any[]} args @param {boolean} isOptional @returns {any} */
  call(value, member, args, isOptional) {
    if (value === null && isOptional) return null
    if (typeof value === 'string') {
      const method = STRING_METHODS[member]
      if (method !== undefined) return method(value, ...args)
      if (LIST_METHODS[member] !== undefined) return LIST_METHODS[member]([...value], ...args)
    } else if (typeof value === 'number' && member === 'ToString') return runtime.show(value, args[0] ?? null)
    else if (Array.isArray(value) && LIST_METHODS[member] !== undefined) return LIST_METHODS[member](value, ...args)
    else if (value instanceof Dictionary && DICTIONARY_METHODS[member] !== undefined) return DICTIONARY_METHODS[member](value, ...args)
    else if (value instanceof StringBuilder && member === 'ToString') return value.text
    else if (value instanceof StringBuilder && member === 'Append') {
      value.text += runtime.show(args[0], null)
      return value
    } else if (value instanceof Random && member === 'NextBytes') {
      for (let i = 0; i < args[0].length; i++) args[0][i] = value.next() & 0xff
      return null
    } else if (value !== null && typeof value === 'object' && Object.hasOwn(value, member)) return value[member](...args)
    return unknown(value, member)
  },

  /** @param {any} left @param {any} right */
  add(left, right) {
    return typeof left === 'number' && typeof right === 'number' ? left + right : `${left ?? ''}${right ?? ''}`
  },

  /** @param {unknown} value @param {string | null} format */
  show(value, format) {
    if (format !== null && typeof value === 'number' && /^[Xx]$/.test(format)) {
      const hex = value.toString(16)
      return format === 'X' ? hex.toUpperCase() : hex
    }
    if (format !== null) throw new TypeError(`format ${format} is not translated`)
    return value === true ? 'True' : value === false ? 'False' : `${value ?? ''}`
  },

  /** @param {any} value @param {[any, boolean]} at */
  index(value, [at, isFromEnd]) {
    const found = value instanceof Dictionary ? value.get(at) : value[isFromEnd ? value.length - at : at]
    if (found === undefined) throw new RangeError(`index ${at}`)
    return found
  },

  /** @param {any} value @param {[any, boolean]} at @param {unknown} item */
  setIndex(value, [at], item) {
    if (value instanceof Dictionary) value.set(at, item)
    else value[at] = item
  },

  /** @param {any} value @param {[number, boolean] | null} from @param {[number, boolean] | null} to */
  slice(value, from, to) {
    const place = (/** @type {[number, boolean]} */ [at, isFromEnd]) => (isFromEnd ? value.length - at : at)
    const start = from === null ? 0 : place(from)
    const end = to === null ? value.length : place(to)
    if (start < 0 || end < start || end > value.length) throw new RangeError(`slice ${start}..${end} of ${value.length}`)
    return value.slice(start, end)
  },

  /** @param {any} values */
  each: (values) => values,

  /** @param {string} name @param {any[]} args @param {Record<string, unknown>} [members] @returns {any} */
  create(name, args, members) {
    if (DEFAULTS[name] !== undefined) return { ...DEFAULTS[name], ...members, type: name }
    const create = CREATED[name]
    if (create === undefined || members !== undefined) throw new TypeError(`new ${name} is not translated`)
    return create(...args)
  },
}

/** An enumeration: each member is its own name. */
const enumeration = new Proxy({}, { get: (_, name) => name, has: () => true })

/** @param {number} from @param {number} to */
const range = (from, to) => ({ Contains: (/** @type {number} */ status) => status >= from && status <= to })

const isImfFixdate = (/** @type {string} */ text) => !Number.isNaN(Date.parse(text)) && new Date(text).toUTCString() === text

/** What the names mean that the cases use and do not declare. */
export const names = /** @type {Record<string, unknown>} */ ({
  Encoding: {
    ASCII: {
      GetBytes: (/** @type {string} */ text) => [...toAscii(text)],
      GetByteCount: (/** @type {string} */ text) => toAscii(text).length,
      GetString: (/** @type {number[]} */ bytes) => fromAscii(Buffer.from(bytes)),
    },
  },
  StatusCodeRange: {
    Exact: (/** @type {number} */ status) => range(status, status),
    Range: range,
    Range2xx: range(200, 299),
    Range4xx: range(400, 499),
    Range4xxOr5xx: range(400, 599),
  },
  Enumerable: { Range: (/** @type {number} */ from, /** @type {number} */ count) => Array.from({ length: count }, (_, i) => from + i) },
  string: {
    Join: (/** @type {string} */ by, /** @type {unknown[]} */ parts) => parts.map((part) => runtime.show(part, null)).join(by),
    Equals: (/** @type {string | null} */ a, /** @type {string | null} */ b, /** @type {unknown} */ how) =>
      a === null || b === null ? a === b : folded(a, how) === folded(b, how),
    IsNullOrEmpty: (/** @type {string | null} */ text) => text === null || text === '',
    IsNullOrWhiteSpace: (/** @type {string | null} */ text) => text === null || trim(text, [], 'both') === '',
    Empty: '',
  },
  int: {
    /** @param {string} text @param {any[]} rest */
    TryParse(text, ...rest) {
      const isHex = rest.includes('HexNumber')
      const isNumber = (isHex ? /^\s*[0-9a-fA-F]{1,8}\s*$/ : /^\s*[+-]?\d{1,9}\s*$/).test(text)
      rest.at(-1)(isNumber ? Number.parseInt(text, isHex ? 16 : 10) | 0 : 0)
      return isNumber
    },
  },
  DateTime: {
    /** @param {string} text @param {string | string[]} format @param {any[]} rest */
    TryParseExact(text, format, ...rest) {
      if (format !== 'R' && format !== 'r' && format !== "ddd, dd MMM yyyy HH:mm:ss 'GMT'")
        throw new TypeError(`date format ${format} is not translated`)
      rest.at(-1)(null)
      return isImfFixdate(text)
    },
  },
  TimeSpan: {
    FromMilliseconds: (/** @type {number} */ ms) => ms,
    FromSeconds: (/** @type {number} */ seconds) => seconds * 1000,
    Zero: 0,
  },
  System: {
    Globalization: { NumberStyles: enumeration, CultureInfo: enumeration, DateTimeStyles: enumeration },
    StringComparison: enumeration,
  },
  ...Object.fromEntries(
    [
      'TestCategory',
      'TestVerdict',
      'RfcLevel',
      'ConnectionState',
      'StringComparison',
      'StringSplitOptions',
      'StringComparer',
      'NumberStyles',
      'CultureInfo',
      'DateTimeStyles',
    ].map((name) => [name, enumeration]),
  ),
})
