// Translates the part of C# in which Http11Probe's cases are written to JavaScript. Every value is handled by the runtime in
// dotnet.mjs: `a.B(c)` becomes `$.call(a, 'B', [c])`. What this file does not know is an error, never a guess.

import { tokensOf } from './tokens.mjs'

const LEVELS = [['||'], ['&&'], ['==', '!='], ['<', '>', '<=', '>=', 'is'], ['+', '-'], ['*']]
const MODIFIERS = ['public', 'private', 'internal', 'static', 'const', 'readonly']

class Parser {
  /** @type {string[]} variables that `out var` declares in the current statement */
  outs = []
  holes = 0

  /** @param {string} source */
  constructor(source) {
    this.tokens = tokensOf(source)
    this.at = 0
  }

  peek(ahead = 0) {
    return this.tokens[Math.min(this.at + ahead, this.tokens.length - 1)]
  }

  /** @param {string} text */
  sees(text, ahead = 0) {
    const token = this.peek(ahead)
    return token.text === text && (token.kind === 'mark' || token.kind === 'name')
  }

  /** @param {string} text */
  accept(text) {
    if (!this.sees(text)) return false
    this.at++
    return true
  }

  /** @param {string} text */
  expect(text) {
    if (!this.accept(text)) throw new SyntaxError(`expected ${text}, found ${JSON.stringify(this.peek().text)}`)
  }

  name() {
    const token = this.peek()
    if (token.kind !== 'name') throw new SyntaxError(`expected a name, found ${JSON.stringify(token.text)}`)
    this.at++
    return token.text
  }

  /** A variable: mangled, as C# allows names that JavaScript reserves. `_` is a new name each time. */
  variable() {
    const name = this.name()
    return name === '_' ? `$_${this.holes++}` : `$_${name}`
  }

  /** Whether a type is here; moves past it. */
  type() {
    const start = this.at
    if (this.accept('(')) {
      do {
        if (!this.type()) break
        if (this.peek().kind === 'name') this.at++
      } while (this.accept(','))
      if (this.accept(')')) return this.typeEnd()
    } else if (this.peek().kind === 'name') {
      do this.name()
      while (this.accept('.') && this.peek().kind === 'name')
      if (this.sees('<')) {
        this.at++
        let isType = this.type()
        while (isType && this.accept(',')) isType = this.type()
        if (isType && this.accept('>')) return this.typeEnd()
      } else return this.typeEnd()
    }
    this.at = start
    return false
  }

  typeEnd() {
    this.accept('?')
    while (this.sees('[') && this.sees(']', 1)) this.at += 2
    this.accept('?')
    return true
  }

  expression() {
    const lambda = this.lambda()
    if (lambda !== null) return lambda
    const condition = this.coalesced()
    if (!this.accept('?')) return condition
    const yes = this.expression()
    this.expect(':')
    return `(${condition} ? ${yes} : ${this.expression()})`
  }

  /** @returns {string} */
  coalesced() {
    const left = this.binary(0)
    return this.accept('??') ? `(${left} ?? ${this.coalesced()})` : left
  }

  /** @param {number} level @returns {string} */
  binary(level) {
    const marks = LEVELS[level]
    if (marks === undefined) return this.unary()
    let left = this.binary(level + 1)
    for (;;) {
      const mark = marks.find((text) => this.sees(text))
      if (mark === undefined) return left
      this.at++
      if (mark === 'is') left = `((v) => ${this.pattern()})(${left})`
      else if (mark === '+') left = `$.add(${left}, ${this.binary(level + 1)})`
      else left = `(${left} ${{ '==': '===', '!=': '!==' }[mark] ?? mark} ${this.binary(level + 1)})`
    }
  }

  /** @returns {string} a test of `v` */
  pattern() {
    let left = this.patternAnd()
    while (this.accept('or')) left = `(${left} || ${this.patternAnd()})`
    return left
  }

  patternAnd() {
    let left = this.patternPart()
    while (this.accept('and')) left = `(${left} && ${this.patternPart()})`
    return left
  }

  /** @returns {string} */
  patternPart() {
    if (this.accept('not')) return `!${this.patternPart()}`
    if (this.accept('(')) {
      const inner = this.pattern()
      this.expect(')')
      return `(${inner})`
    }
    const mark = ['>=', '<=', '<', '>'].find((text) => this.sees(text))
    if (mark !== undefined) {
      this.at++
      return `(v !== null && v ${mark} ${this.unary()})`
    }
    if (this.sees('{')) throw new SyntaxError('property pattern')
    const constant = this.unary()
    if (this.peek().kind === 'name' && !['or', 'and'].includes(this.peek().text)) throw new SyntaxError('declaration pattern')
    return `(v === ${constant})`
  }

  /** @returns {string} */
  unary() {
    if (this.accept('!')) return `!${this.unary()}`
    if (this.accept('-')) return `-${this.unary()}`
    return this.chain(this.primary())
  }

  /** @param {string} value */
  chain(value) {
    let isOptional = false
    for (;;) {
      if (this.sees('.') || this.sees('?.')) {
        isOptional ||= this.sees('?.')
        this.at++
        const member = JSON.stringify(this.name())
        if (this.sees('(')) value = `$.call(${value}, ${member}, [${this.args()}], ${isOptional})`
        else value = `$.get(${value}, ${member}, ${isOptional})`
      } else if (this.sees('(')) value = `${value}(${this.args()})`
      else if (this.accept('[')) value = this.index(value)
      else if (this.sees('++') || this.sees('--')) value += this.tokens[this.at++].text
      else if (this.sees('!') && !this.sees('=', 1)) this.at++
      else if (this.sees('switch')) throw new SyntaxError('switch expression')
      else if (this.sees('with')) throw new SyntaxError('with expression')
      else return value
    }
  }

  /** @param {string} value */
  index(value) {
    const bound = () => {
      const isFromEnd = this.accept('^')
      return `[${this.expression()}, ${isFromEnd}]`
    }
    const from = this.sees('..') ? 'null' : bound()
    let code = `$.index(${value}, ${from})`
    if (this.accept('..')) code = `$.slice(${value}, ${from}, ${this.sees(']') ? 'null' : bound()})`
    this.expect(']')
    return code
  }

  args() {
    const values = []
    this.expect('(')
    while (!this.accept(')')) {
      if (values.length > 0) this.expect(',')
      if (this.accept('out')) {
        this.accept('var')
        const variable = this.variable()
        this.outs.push(variable)
        values.push(`(v) => { ${variable} = v }`)
      } else values.push(this.expression())
    }
    return values.join(', ')
  }

  /** @returns {string | null} */
  lambda() {
    let parameters
    if (this.peek().kind === 'name' && this.sees('=>', 1)) parameters = [this.variable()]
    else if (this.sees('(')) {
      let end = this.at + 1
      for (let depth = 1; depth > 0; end++) {
        const token = this.tokens[end]
        if (token === undefined || token.kind === 'end') return null
        if (token.kind === 'mark') depth += token.text === '(' ? 1 : token.text === ')' ? -1 : 0
      }
      if (this.tokens[end]?.text !== '=>') return null
      this.at++
      parameters = []
      while (!this.accept(')')) {
        if (parameters.length > 0) this.expect(',')
        parameters.push(this.variable())
      }
    } else return null
    this.expect('=>')
    return `((${parameters.join(', ')}) => ${this.body()})`
  }

  /** The body of a lambda or a method. */
  body() {
    if (this.sees('{')) return this.block()
    const before = this.outs
    this.outs = []
    const value = this.expression()
    const outs = this.outs
    this.outs = before
    return outs.length === 0 ? `(${value})` : `{ let ${outs.join(', ')}; return ${value} }`
  }

  /** @returns {string} */
  primary() {
    const token = this.peek()
    this.at++
    if (token.kind === 'string') return this.text(/** @type {any} */ (token).pieces)
    if (token.kind === 'char') return JSON.stringify(token.text)
    if (token.kind === 'number') return token.text
    if (token.text === '[' && token.kind === 'mark') return `[${this.list(']')}]`
    if (token.text === '(' && token.kind === 'mark') {
      const values = [this.expression()]
      while (this.accept(',')) values.push(this.expression())
      this.expect(')')
      return values.length === 1 ? `(${values[0]})` : `[${values.join(', ')}]`
    }
    if (token.kind === 'name') {
      if (['null', 'true', 'false'].includes(token.text)) return token.text
      if (token.text === 'new') return this.creation()
      return `$_${token.text}`
    }
    throw new SyntaxError(`unexpected ${JSON.stringify(token.text)}`)
  }

  /** @param {string} end */
  list(end) {
    const values = []
    while (!this.accept(end)) {
      values.push(this.expression())
      if (!this.accept(',')) {
        this.expect(end)
        break
      }
    }
    return values.join(', ')
  }

  /** @param {{ text: string, isHole: boolean }[]} pieces */
  text(pieces) {
    const codes = pieces.map(({ text, isHole }) => {
      if (!isHole) return JSON.stringify(text)
      const inner = new Parser(text)
      inner.holes = 1000 + this.holes
      const value = inner.expression()
      const format = inner.accept(':') ? inner.peek().text : null
      if (format !== null) inner.at++
      if (inner.peek().kind !== 'end') throw new SyntaxError(`hole {${text}}`)
      return `$.show(${value}, ${JSON.stringify(format)})`
    })
    return codes.length === 1 ? (codes[0] ?? '""') : `(${codes.join(' + ')})`
  }

  creation() {
    const start = this.at
    const name = this.name()
    if (this.sees('[')) {
      this.at++
      const size = this.expression()
      this.expect(']')
      return `$.create('array', [${size}])`
    }
    this.at = start
    if (!this.type()) throw new SyntaxError('new without a type')
    const args = this.sees('(') ? this.args() : ''
    if (!this.accept('{')) return `$.create(${JSON.stringify(name)}, [${args}])`
    const members = []
    while (!this.accept('}')) {
      const member = this.name()
      this.expect('=')
      members.push(`${JSON.stringify(member)}: ${this.expression()}`)
      if (!this.accept(',')) {
        this.expect('}')
        break
      }
    }
    return `$.create(${JSON.stringify(name)}, [${args}], { ${members.join(', ')} })`
  }

  /** @returns {string} */
  block() {
    this.expect('{')
    const codes = []
    while (!this.accept('}')) codes.push(this.statement())
    return `{ ${codes.join('\n')} }`
  }

  /** @returns {string} */
  statement() {
    const before = this.outs
    this.outs = []
    const code = this.bareStatement()
    const outs = this.outs
    this.outs = before
    return outs.length === 0 ? code : `var ${outs.join(', ')}; ${code}`
  }

  /** @returns {string} */
  bareStatement() {
    if (this.sees('{')) return this.block()
    if (this.accept('if')) {
      this.expect('(')
      const condition = this.expression()
      this.expect(')')
      const yes = this.statement()
      return `if (${condition}) { ${yes} }${this.accept('else') ? ` else { ${this.statement()} }` : ''}`
    }
    if (this.accept('while')) {
      this.expect('(')
      const condition = this.expression()
      this.expect(')')
      return `while (${condition}) { ${this.statement()} }`
    }
    if (this.accept('foreach')) {
      this.expect('(')
      this.expect('var')
      const target = this.target()
      this.expect('in')
      const values = this.expression()
      this.expect(')')
      return `for (const ${target} of $.each(${values})) { ${this.statement()} }`
    }
    if (this.accept('for')) {
      this.expect('(')
      const start = this.statement()
      const condition = this.expression()
      this.expect(';')
      const step = this.assignment()
      this.expect(')')
      return `{ ${start} for (; ${condition}; ${step}) { ${this.statement()} } }`
    }
    if (this.accept('return')) return this.ended(`return ${this.sees(';') ? '' : this.expression()}`)
    for (const word of ['break', 'continue']) if (this.accept(word)) return this.ended(word)
    if (this.accept('yield')) {
      this.expect('return')
      return this.ended(`yield ${this.expression()}`)
    }
    for (const word of ['switch', 'try', 'using', 'throw', 'do', 'lock', 'await'])
      if (this.sees(word)) throw new SyntaxError(`statement ${word}`)
    return this.ended(this.declaration() ?? this.assignment())
  }

  /** @param {string} code */
  ended(code) {
    this.expect(';')
    return `${code};`
  }

  target() {
    if (!this.accept('(')) return this.variable()
    const names = []
    while (!this.accept(')')) {
      if (names.length > 0) this.expect(',')
      names.push(this.variable())
    }
    return `[${names.join(', ')}]`
  }

  /** @returns {string | null} */
  declaration() {
    const start = this.at
    this.accept('const')
    if (this.accept('var') && this.sees('(')) {
      const target = this.target()
      this.expect('=')
      return `var ${target} = ${this.expression()}`
    }
    this.at = this.sees('var', start - this.at) ? start : this.at
    if (this.type() && this.peek().kind === 'name' && (this.sees('=', 1) || this.sees(';', 1))) {
      const variable = this.variable()
      return this.accept('=') ? `var ${variable} = ${this.expression()}` : `var ${variable} = null`
    }
    this.at = start
    return null
  }

  assignment() {
    const left = this.expression()
    if (this.accept('+=')) return `${left} = $.add(${left}, ${this.expression()})`
    if (this.accept('-=')) return `${left} -= ${this.expression()}`
    if (!this.accept('=')) return left
    const right = this.expression()
    const index = /^\$\.index\((.*), (\[.*\])\)$/s.exec(left)
    return index === null ? `${left} = ${right}` : `$.setIndex(${index[1]}, ${index[2]}, ${right})`
  }

  /** Skips to the end of the statement that began at `start`. @param {number} start */
  skipStatement(start) {
    this.at = start
    for (let depth = 0; this.peek().kind !== 'end'; this.at++) {
      const { kind, text } = this.peek()
      if (kind !== 'mark') continue
      if ('([{'.includes(text)) depth++
      else if (')]}'.includes(text)) depth--
      else if (text === ';' && depth === 0) {
        this.at++
        return
      }
    }
  }

  /**
   * The static class of a file: its members as code, and what could not be translated.
   * @param {string} source
   */
  file(source) {
    const failures = []
    const codes = []
    let className = ''
    while (!this.accept('class')) this.at++
    className = this.name()
    this.expect('{')
    while (!this.accept('}')) {
      while (MODIFIERS.some((word) => this.accept(word)));
      if (!this.type()) throw new SyntaxError(`member ${JSON.stringify(this.peek().text)} of ${className}`)
      const name = this.variable()
      if (this.accept('=')) {
        codes.push(this.ended(`const ${name} = ${this.expression()}`))
        continue
      }
      const parameters = this.parameters()
      if (this.accept('=>')) {
        const value = this.body()
        this.expect(';')
        codes.push(`const ${name} = (${parameters}) => ${value}`)
        continue
      }
      this.expect('{')
      const body = []
      while (!this.accept('}')) {
        const start = this.at
        try {
          body.push(this.statement())
        } catch (error) {
          this.skipStatement(start)
          const text = source.slice(this.tokens[start]?.at, this.peek().at)
          const ids = [...text.matchAll(/\bId = "([^"]+)"/g)].map((match) => match[1])
          failures.push({ id: ids.length > 0 ? ids.join(', ') : `${className}.${name.slice(2)}`, reason: String(error) })
        }
      }
      const isGenerator = body.some((code) => code.startsWith('yield '))
      codes.push(`function${isGenerator ? '*' : ''} ${name}(${parameters}) { ${body.join('\n')} }`)
    }
    return { className, code: codes.join('\n'), failures }
  }

  parameters() {
    const names = []
    this.expect('(')
    while (!this.accept(')')) {
      if (names.length > 0) this.expect(',')
      const isRest = this.accept('params')
      if (!this.type()) throw new SyntaxError('parameter')
      names.push(`${isRest ? '...' : ''}${this.variable()}`)
    }
    return names.join(', ')
  }
}

/**
 * Translates one file with one static class. A statement that cannot be translated is left out and listed in `failures`, under
 * the ids of its cases.
 * @param {string} source
 */
export function translate(source) {
  return new Parser(source.replace(/^\uFEFF/, '')).file(source)
}
