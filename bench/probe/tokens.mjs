// Splits the text of a C# file into tokens. What it does not know, such as raw string literals, is an error.

/** @typedef {{ kind: 'name' | 'string' | 'char' | 'number' | 'mark' | 'end', text: string, at: number, pieces?: { text: string, isHole: boolean }[] }} Token */

const MARKS = ['??=', '=>', '==', '!=', '<=', '>=', '&&', '||', '??', '?.', '++', '--', '+=', '-=', '..']
const ESCAPES = /** @type {Record<string, string>} */ ({
  r: '\r',
  n: '\n',
  t: '\t',
  0: '\0',
  '"': '"',
  "'": "'",
  '\\': '\\',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
})

/**
 * One escape sequence at `at`, which is the backslash. `\x` takes one to four hex digits in C#.
 * @param {string} source @param {number} at @returns {[string, number]}
 */
function escapeAt(source, at) {
  const letter = source[at + 1] ?? ''
  if (letter === 'x' || letter === 'u') {
    const digits = (letter === 'x' ? /^[0-9a-fA-F]{1,4}/ : /^[0-9a-fA-F]{4}/).exec(source.slice(at + 2, at + 6))?.[0]
    if (digits === undefined) throw new SyntaxError('escape without digits')
    return [String.fromCharCode(Number.parseInt(digits, 16)), at + 2 + digits.length]
  }
  const char = ESCAPES[letter]
  if (char === undefined) throw new SyntaxError(`unknown escape \\${letter}`)
  return [char, at + 2]
}

/**
 * A string in quotes, plain, verbatim or interpolated; `at` is the first character after the opening quote.
 * @param {string} source @param {number} at @param {boolean} verbatim @param {boolean} interpolated
 * @returns {{ pieces: { text: string, isHole: boolean }[], end: number }}
 */
function stringAt(source, at, verbatim, interpolated) {
  const pieces = []
  let text = ''
  for (;;) {
    const char = source[at]
    if (char === undefined || (char === '\n' && !verbatim)) throw new SyntaxError('string without end')
    if (char === '"') {
      if (!(verbatim && source[at + 1] === '"')) break
      text += '"'
      at += 2
    } else if (char === '\\' && !verbatim) {
      const [value, next] = escapeAt(source, at)
      text += value
      at = next
    } else if (interpolated && (char === '{' || char === '}')) {
      if (source[at + 1] === char) {
        text += char
        at += 2
        continue
      }
      if (char === '}') throw new SyntaxError('} in an interpolated string')
      const end = holeEnd(source, at + 1)
      pieces.push({ text, isHole: false }, { text: source.slice(at + 1, end), isHole: true })
      text = ''
      at = end + 1
    } else {
      text += char
      at++
    }
  }
  pieces.push({ text, isHole: false })
  return { pieces, end: at + 1 }
}

/** @param {string} source @param {number} at @returns {number} where the `}` of a hole is */
function holeEnd(source, at) {
  for (let depth = 0; ; at++) {
    const char = source[at]
    if (char === undefined) throw new SyntaxError('hole without end')
    if (char === '"') at = stringAt(source, at + 1, false, false).end - 1
    else if ('{(['.includes(char)) depth++
    else if (')]'.includes(char)) depth--
    else if (char === '}' && depth-- === 0) return at
  }
}

/** @param {string} source */
export function tokensOf(source) {
  const tokens = []
  let at = 0
  while (at < source.length) {
    const rest = source.slice(at, at + 200)
    const blank = /^(?:\s+|\/\/[^\n]*|#\w+[^\n]*)/.exec(rest)?.[0]
    if (blank !== undefined) {
      at += blank.length
      continue
    }
    if (rest.startsWith('/*')) {
      at = source.indexOf('*/', at) + 2
      continue
    }
    const opening = /^(\$@|@\$|\$|@)?"/.exec(rest)
    if (opening !== null) {
      if (rest.startsWith('"""', opening[0].length - 1)) throw new SyntaxError('raw string literal')
      const prefix = opening[1] ?? ''
      const { pieces, end } = stringAt(source, at + opening[0].length, prefix.includes('@'), prefix.includes('$'))
      tokens.push({ kind: 'string', text: '', at, pieces })
      at = end
      if (source.startsWith('u8', at)) throw new SyntaxError('u8 literal')
      continue
    }
    if (rest[0] === "'") {
      const [text, end] = rest[1] === '\\' ? escapeAt(source, at + 1) : [rest[1] ?? '', at + 2]
      if (source[end] !== "'") throw new SyntaxError('character without end')
      tokens.push({ kind: 'char', text, at })
      at = end + 1
      continue
    }
    const number = /^(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*)/.exec(rest)?.[0]
    const word = number ?? /^[A-Za-z_]\w*/.exec(rest)?.[0] ?? MARKS.find((mark) => rest.startsWith(mark)) ?? rest[0]
    const kind = number !== undefined ? 'number' : /^[A-Za-z_]/.test(word) ? 'name' : 'mark'
    tokens.push({ kind, text: kind === 'number' ? word.replaceAll('_', '') : word, at })
    at += word.length
  }
  tokens.push({ kind: 'end', text: '', at })
  return tokens
}
