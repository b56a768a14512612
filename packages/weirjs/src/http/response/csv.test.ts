import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'

import { type CsvOptions, csv } from './csv.ts'

async function textOf<Row extends object>(rows: Iterable<Row> | AsyncIterable<Row>, options: CsvOptions<Row>): Promise<string> {
  const { content } = csv(rows, options)
  assert.equal(content.kind, 'stream')
  let text = ''
  for await (const piece of (content as { source: AsyncIterable<string> }).source) text += piece
  return text
}

test('the first line has the titles, and lines end with CRLF', async () => {
  const rows = [
    { id: 1, name: 'Ada', at: new Date(0), paid: true, cents: 12n, note: null },
    { id: 2.5, name: '', at: new Date(1), paid: false, cents: 0n, note: undefined },
  ]
  assert.equal(
    await textOf(rows, { columns: ['id', 'name', 'at', 'paid', 'cents', 'note'] }),
    'id,name,at,paid,cents,note\r\n1,Ada,1970-01-01T00:00:00.000Z,true,12,\r\n2.5,,1970-01-01T00:00:00.001Z,false,0,\r\n',
  )
  const columns = { Name: 'name', 'Price, net': ({ cents }: { cents: bigint }) => Number(cents) / 100 } as const
  assert.equal(await textOf(rows, { columns }), 'Name,"Price, net"\r\nAda,0.12\r\n,0\r\n')
  assert.equal(await textOf([], { columns: ['a'] as never[] }), 'a\r\n')
})

test('rows of SQLite may be given, and a cell of bytes is an error when it comes', async () => {
  const rows: Record<string, string | number | null | Uint8Array>[] = [{ b: 'x' }, { b: new Uint8Array(1) }]
  assert.equal(await textOf(rows.slice(0, 1), { columns: ['b'] }), 'b\r\nx\r\n')
  await assert.rejects(textOf(rows, { columns: { Title: 'b' } }), /the cell "Title" of csv\(\) is/)
  // @ts-expect-error never a cell
  await assert.rejects(textOf([{ b: new Uint8Array(1) }], { columns: ['b'] }))
})

test('cells with separators, quotes and line breaks are quoted', async () => {
  const rows = [
    { a: 'x,y', b: 'say "hi"' },
    { a: 'one\ntwo', b: 'one\r\ntwo' },
    { a: ';\t', b: ' x ' },
  ]
  assert.equal(await textOf(rows, { columns: ['a', 'b'] }), 'a,b\r\n"x,y","say ""hi"""\r\n"one\ntwo","one\r\ntwo"\r\n;\t, x \r\n')
  assert.equal(await textOf([{ a: 'x,y;z', b: 1.5 }], { columns: ['a', 'b'], separator: ';' }), 'a;b\r\n"x,y;z";1.5\r\n')
  assert.equal(await textOf([{ a: 'x\ty', b: 'z' }], { columns: ['a', 'b'], separator: '\t' }), 'a\tb\r\n"x\ty"\tz\r\n')
  assert.equal(await textOf([{ a: 'ü' }], { columns: ['a'], bom: true }), '\ufeffa\r\nü\r\n')
})

describe('texts that a spreadsheet would run', () => {
  const FORMULAS = ['=1+1', '+cmd|x', '-2+3', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '=', '-', '+1 or more', "=cmd|' /C calc'!A0"]

  for (const formula of FORMULAS)
    test(`${JSON.stringify(formula)} is kept from it`, async () => {
      const text = await textOf([{ a: formula, b: 'x' }], { columns: ['a', 'b'] })
      assert.match(text, /^a,b\r\n"?'/)
      assert.match(await textOf([], { columns: { [formula]: () => '' } }), /^"?'/, 'as a title')
      const raw = await textOf([{ a: formula, b: 'x' }], { columns: ['a', 'b'], escapeFormulas: false })
      assert.doesNotMatch(raw, /\n"?'/)
    })

  test('are kept from one that begins cells at another separator, or at a line break within quotes', async () => {
    const formula = "=cmd|' /C calc'!A0"
    for (const separator of [',', ';', '\t'] as const)
      for (const start of [',', ';', '\t', '\n', '\r\n']) {
        const cell = `a${start}${formula};b`
        const escaped = separator === start ? cell : `a${start}'${formula};b`
        const shown = escaped.includes(separator) || start.endsWith('\n') ? `"${escaped}"` : escaped
        assert.equal(await textOf([{ a: cell }], { columns: ['a'], separator }), `a\r\n${shown}\r\n`)
      }
    assert.equal(await textOf([{ a: '=1;=2\n@3' }], { columns: ['a'] }), "a\r\n\"'=1;'=2\n'@3\"\r\n")
    assert.equal(await textOf([{ a: 'x;"=1' }], { columns: ['a'] }), 'a\r\n"x;\'""=1"\r\n')
    assert.equal(await textOf([{ a: '=1;=2' }], { columns: ['a'], escapeFormulas: false }), 'a\r\n=1;=2\r\n')
    for (const cell of ['a;-5', '1;+43 660 123;-1.5;b', 'a;b=c', 'a; -'])
      assert.equal(await textOf([{ a: cell }], { columns: ['a'] }), `a\r\n${cell}\r\n`)
  })

  test('do not include numbers and ordinary text', async () => {
    for (const cell of [-5, -5n, '-5', '+43 660 123', '-1,5', '+1.5', 'a=b', "'x", '5 - 3'])
      assert.equal(await textOf([{ a: cell }], { columns: ['a'], separator: ';' }), `a\r\n${cell}\r\n`)
  })
})

test('what is read back is what was written', async () => {
  const read = (text: string): string[][] => {
    const rows: string[][] = [[]]
    for (let at = 0; at < text.length; ) {
      const quoted = /"((?:[^"]|"")*)"/y
      quoted.lastIndex = at
      const plain = /[^,\r\n"]*/y
      plain.lastIndex = at
      const [whole, cell] = quoted.exec(text) ?? [plain.exec(text)![0], undefined]
      rows.at(-1)!.push(cell === undefined ? whole : cell.replaceAll('""', '"'))
      at += whole.length
      if (text.startsWith('\r\n', at)) {
        at += 2
        if (at < text.length) rows.push([])
      } else at++
    }
    return rows
  }
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', 'ü', ' ') })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(cell, cell)), async (cells) => {
      const rows = cells.map(([a, b]) => ({ a, b }))
      const text = await textOf(rows, { columns: ['a', 'b'], escapeFormulas: false })
      assert.deepEqual(read(text), [['a', 'b'], ...cells])
    }),
  )
})

test('rows are taken only as they are needed, and the source is closed', async () => {
  for (const isAsync of [false, true]) {
    let taken = 0
    let isClosed = false
    const make = function* (): Generator<{ a: string }> {
      try {
        for (;;) {
          taken++
          yield { a: 'x'.repeat(1000) }
        }
      } finally {
        isClosed = true
      }
    }
    const later = async function* (): AsyncGenerator<{ a: string }> {
      yield* make()
    }
    const { content } = csv(isAsync ? later() : make(), { columns: ['a'] })
    assert.equal(taken, 0)
    const source = (content as { source: AsyncIterable<string> }).source[Symbol.asyncIterator]()
    await source.next()
    assert.ok(taken > 0 && taken < 50, `${taken} rows`)
    await source.return?.()
    assert.ok(isClosed)
  }
})

test('a cell that has no text makes the stream fail', async () => {
  for (const cell of [{}, [], () => 1, Symbol('x')])
    await assert.rejects(textOf([{ a: cell as never }], { columns: ['a'] }), {
      code: 'WEIR_RESULT_UNSENDABLE',
      message: /the cell "a" of csv\(\) is /,
    })
})

test('mistakes of the program are errors at once', () => {
  const rows = [{ a: 1 }]
  for (const columns of [[], {}, undefined, 'a', [1], { A: 1 }])
    assert.throws(() => csv(rows, { columns } as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => csv(rows, { columns: ['a'], separator: '|' } as never), { code: 'WEIR_OPTION_INVALID' })
  assert.throws(() => csv(rows, { columns: ['a'], header: false } as never), { code: 'WEIR_OPTION_INVALID' })
  for (const given of [null, undefined, 'text', {}, 5])
    assert.throws(() => csv(given as never, { columns: ['a'] }), { code: 'WEIR_OPTION_INVALID' })
})
