// `weir types`: what it declares for a document, that the compiler accepts it, and what a document cannot do to it.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import fc from 'fast-check'
import { everything32 } from '../../../openapi/test/everything.ts'
import { startDemo } from '../../../weirjs/test/support/demo.ts'
import { documentOf, routeTables } from '../../../weirjs/test/support/route-tables.ts'
import { temporaryDirectory } from '../../../weirjs/test/support/temporary.ts'
import { declarationsOf } from '../../src/cli/types/declarations.ts'
import { programFolder, runWeir } from '../support/command.ts'

const INFO = { title: 'x', version: '1' }
const COMMAND = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))

/** The declarations of a document that has only these schemas. */
function declared(schemas: Readonly<Record<string, unknown>>, openapi = '3.1.0'): string {
  return declarationsOf(JSON.stringify({ openapi, info: INFO, paths: {}, components: { schemas } }))
}

/** What one schema is declared as, in one line. */
function typeOf(schema: unknown, openapi?: string): string {
  const text = declared({ Other: { type: 'object', properties: { id: { type: 'integer' } } }, Own: schema }, openapi)
  const [, type] = /\nexport (?:type Own = |interface Own )([\s\S]*)$/.exec(text)!
  return type!.trim().replace(/\s+/g, ' ').replace(/;$/, '')
}

/** Compiles declarations, and programs that use them. @returns the complaints of the compiler */
function compile(folder: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const options = '--ignoreConfig --noEmit --strict --skipLibCheck false --target es2022 --module nodenext --lib es2022,dom'
  const tsc = resolve('node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, ...options.split(' '), '--types', '', ...Object.keys(files)], {
    cwd: folder,
    encoding: 'utf8',
  })
  return stdout
}

describe('a schema', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['a string', { type: 'string', format: 'date-time' }, 'string'],
    ['a number', { type: 'integer', format: 'int64' }, 'number'],
    ['null', { type: 'null' }, 'null'],
    ['several types', { type: ['string', 'null'] }, 'string | null'],
    ['anything', {}, 'unknown'],
    ['anything, as true', true, 'unknown'],
    ['nothing', false, 'never'],
    ['a constant', { const: 'a"b' }, String.raw`"a\"b"`],
    ['a constant object', { const: { a: [1, null] } }, '{ a: [1, null]; }'],
    ['choices', { enum: ['a', 1, true, null] }, '"a" | 1 | true | null'],
    ['bytes', { type: 'string', format: 'binary' }, 'Blob'],
    ['bytes of 3.1', { type: 'string', contentMediaType: 'image/png' }, 'Blob'],
    ['bytes as text', { type: 'string', contentMediaType: 'image/png', contentEncoding: 'base64' }, 'string'],
    ['JSON as text', { type: 'string', contentMediaType: 'application/json' }, 'string'],
    ['a list', { type: 'array', items: { type: ['string', 'null'] } }, '(string | null)[]'],
    ['a list of anything', { type: 'array' }, 'unknown[]'],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, '[string, number]'],
    ['a tuple with a rest', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string, ...number[]]'],
    ['a closed tuple', { prefixItems: [{ type: 'string' }], items: false }, '[string]'],
    ['an object', { type: 'object', properties: { a: {}, 'b-c': { type: 'string' } }, required: ['a'] }, '{ a: unknown; "b-c"?: string; }'],
    ['only required names', { required: ['a'] }, '{ a: unknown; }'],
    ['any object', { type: 'object' }, '{ [name: string]: unknown; }'],
    ['an empty object', { type: 'object', additionalProperties: false }, '{ [name: string]: never; }'],
    ['a dictionary', { type: 'object', additionalProperties: { type: 'number' } }, '{ [name: string]: number; }'],
    ['a dictionary by patterns', { type: 'object', patternProperties: { '^a': { type: 'number' } } }, '{ [name: string]: number; }'],
    [
      'an object with more',
      { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
      '{ a?: string; } & { [name: string]: number; }',
    ],
    ['what is only read', { properties: { a: { type: 'string', readOnly: true } } }, '{ readonly a?: string; }'],
    ['what is only written', { properties: { a: { writeOnly: true } } }, '{ /** Only in requests. */ a?: unknown; }'],
    ['a reference', { $ref: '#/components/schemas/Other' }, 'Other'],
    ['a reference with more', { $ref: '#/components/schemas/Other', properties: { a: {} } }, 'Other & { a?: unknown; }'],
    ['a reference with words', { $ref: '#/components/schemas/Other', description: 'x' }, 'Other'],
    ['a reference into a schema', { $ref: '#/components/schemas/Other/properties/id' }, 'number'],
    ['all of', { allOf: [{ $ref: '#/components/schemas/Other' }, { enum: [1, 2] }] }, 'Other & (1 | 2)'],
    ['any of', { anyOf: [{ type: 'string' }, { type: 'string' }, { type: 'null' }] }, 'string | null'],
    ['one of, and more', { properties: { a: {} }, oneOf: [{ type: 'object' }, false] }, '{ a?: unknown; } & { [name: string]: unknown; }'],
    ['itself', { $ref: '#/components/schemas/Own' }, 'unknown'],
    ['a choice of itself', { anyOf: [{ $ref: '#/components/schemas/Own' }, { type: 'string' }] }, 'unknown'],
    ['a list of itself', { type: 'array', items: { $ref: '#/components/schemas/Own' } }, 'Own[]'],
    ['a tree', { properties: { next: { $ref: '#/components/schemas/Own' } } }, '{ next?: Own; }'],
    ['a part of itself', { properties: { a: { $ref: '#/components/schemas/Own/properties/a' } } }, '{ a?: unknown; }'],
    ['an unknown type', { type: 'file' }, 'unknown'],
  ]
  for (const [what, schema, expected] of cases) test(`${what} is ${expected}`, () => assert.equal(typeOf(schema), expected))

  test('of OpenAPI 3.0 may be nullable, and a reference replaces what is next to it', () => {
    assert.equal(typeOf({ type: 'string', nullable: true }, '3.0.3'), 'string | null')
    assert.equal(typeOf({ type: 'array', items: { enum: ['a'], nullable: true } }, '3.0.3'), '("a" | null)[]')
    assert.equal(typeOf({ $ref: '#/components/schemas/Other', properties: { a: {} } }, '3.0.3'), 'Other')
  })

  test('with a discriminator tells its choices apart', (t) => {
    const pet = (name: string) => ({
      type: 'object',
      required: ['kind', name],
      properties: { kind: { type: 'string' }, [name]: { type: 'string' } },
    })
    const refs = ['Cat', 'Dog', 'Fish'].map((name) => ({ $ref: `#/components/schemas/${name}` }))
    const mapping = { kitten: '#/components/schemas/Cat', cat: 'Cat', dog: '#/components/schemas/Dog' }
    const text = declared({
      Cat: pet('meow'),
      Dog: pet('bark'),
      Fish: { ...pet('swim'), properties: { kind: { const: 'a fish' }, swim: { type: 'number' } } },
      Pet: { oneOf: refs, discriminator: { propertyName: 'kind', mapping } },
    })
    const use = `import type { Pet } from './pets.js'
      export function soundOf(pet: Pet): string {
        if (pet.kind === 'kitten' || pet.kind === 'cat') return pet.meow
        return pet.kind === 'dog' ? pet.bark : pet.swim.toFixed()
      }`
    assert.equal(compile(temporaryDirectory(t), { 'pets.d.ts': text, 'use.ts': use }), '')
  })
})

test('schemas keep their names where they can, and get free ones otherwise', () => {
  const names = ['1', 'User', 'User.Name', 'User_Name', 'ü', 'paths', 'string', 'Blob', 'constructor', 'a-b', 'a b', '', 'class']
  const text = declared(Object.fromEntries(names.map((name) => [name, { type: 'string' }])))
  const types = [...text.matchAll(/^export type (\S+) = string;$/gm)].map(([, name]) => name)
  assert.deepEqual(types, [
    ...['_1', 'User', 'User_Name_', 'User_Name', '_', 'paths_', 'string_', 'Blob_', 'constructor_', 'a_b', 'a_b_', '__', 'class_'],
  ])
  for (const name of names)
    assert.match(text, new RegExp(`\\n {4}${/^[\w$]+$/.test(name) && !/^\d/.test(name) ? name : JSON.stringify(name)}: `))
})

test('the declarations of the demo, of everything and of 200 route tables compile', async (t) => {
  const folder = temporaryDirectory(t)
  const { server } = await startDemo(t)
  const files: Record<string, string> = {}
  const documents = [(await server.inject('/openapi.json')).text(), (await everything32().inject('/openapi.json')).text()]
  for (const table of fc.sample(routeTables, 200)) documents.push(await documentOf(table))
  for (const [i, document] of documents.entries()) {
    const text = declarationsOf(document)
    assert.equal(declarationsOf(document), text, 'the same for the same document')
    files[`document${i}.d.ts`] = text
  }
  files['inbox.d.ts'] = declarationsOf(readFileSync('examples/inbox/openapi.json', 'utf8'))
  files['pets.d.ts'] = declarationsOf(readFileSync('test/openapi/pets.json', 'utf8'))
  files['use.ts'] = `import type { components, Message, operations, paths, Page } from './inbox.js'
    import type { paths as pets } from './pets.js'
    type Sent = paths['/api/users/{to}/messages']['post']
    export const message = (sent: Sent['responses'][201]['content']['application/json']): Message => sent
    export const ask: Sent['parameters'] = { path: { to: 'bob' } }
    export const page: components['schemas']['Page'] = { messages: [], next: null } satisfies Page
    export const limit: number | undefined = ({} as NonNullable<pets['/pets']['get']['parameters']['query']>).limit
    export const none: keyof operations = undefined as never
    // @ts-expect-error there is no such status
    export type Wrong = Sent['responses'][299]
    // @ts-expect-error a path without its value
    export const incomplete: Sent['parameters'] = { path: {} }`
  assert.equal(compile(folder, files), '')
})

describe('a hostile document', () => {
  const EVIL = ['*/ export const evil = 1 /*', '"]; export const evil = 1 //', '\u2028export const evil = 1', '`evil`', '\\', '\r\n*/evil']

  test('adds nothing but types, wherever its words are', (t) => {
    const word = (i: number): string => EVIL[i % EVIL.length]!
    const schema = {
      type: 'object',
      title: word(0),
      description: EVIL.join('\n'),
      properties: Object.fromEntries(
        [...EVIL, '__proto__', 'constructor'].map((name) => [name, { enum: EVIL, default: EVIL, format: word(5) }]),
      ),
      required: EVIL,
    }
    const response = {
      description: word(0),
      headers: { [word(1)]: { schema } },
      content: { [word(2)]: { schema }, [word(4)]: { itemSchema: schema } },
    }
    const operation = {
      operationId: word(0),
      summary: word(5),
      deprecated: true,
      parameters: EVIL.map((name) => ({ name, in: 'query', description: name, schema })),
      requestBody: { description: word(1), content: { [word(0)]: { schema } } },
      responses: { 200: response, [word(1)]: response, '2XX': { $ref: '#/components/responses/__proto__' } },
    }
    const text = declarationsOf(
      `{"openapi":"3.2.0","info":${JSON.stringify(INFO)},"paths":${JSON.stringify({
        [`/${word(0)}`]: { get: operation, additionalOperations: { [word(1)]: { ...operation, operationId: word(2) } } },
        '/__proto__': { get: { ...operation, operationId: '__proto__' } },
      })},"components":{"responses":{"__proto__":${JSON.stringify(response)}},"schemas":{"__proto__":${JSON.stringify(schema)},${EVIL.map(
        (name) => `${JSON.stringify(name)}:${JSON.stringify({ const: name })}`,
      ).join()}}}}`,
    )
    const probe = `import * as all from './evil.js'
      // @ts-expect-error only types are declared
      all.evil`
    assert.equal(compile(temporaryDirectory(t), { 'evil.d.ts': text, 'probe.ts': probe }), '')
    const [, ...lines] = text.split('\n') // without the one that states who has written it
    const outside = lines.join('\n').replace(/\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"/g, '')
    assert.doesNotMatch(outside, /\bevil\b|\bconst\b|[`\\\u2028]/)
  })

  const nested = (levels: number): unknown => {
    let schema: object = { type: 'string' }
    for (let i = 0; i < levels; i++) schema = { type: 'array', items: schema }
    return { openapi: '3.1.0', info: INFO, paths: {}, components: { schemas: { Deep: schema } } }
  }
  const laughs = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => {
      const $ref = `#/components/schemas/L/properties/l${i + 1}`
      return [`l${i}`, { type: 'object', properties: { a: { $ref }, b: { $ref } } }]
    }),
  )
  const bad: readonly (readonly [string, unknown, RegExp])[] = [
    ['an empty text', '', /^it is not JSON: /],
    ['YAML', 'openapi: 3.1.0\ninfo:\n', /It looks like YAML: convert it to JSON\.$/],
    ['a list', '[]', /^it is not a JSON object$/],
    ['text nested a million times', '['.repeat(1e6), /^it is not JSON: /],
    ['no version', {}, /^its member "openapi" is missing, not a version 3\.0, 3\.1 or 3\.2$/],
    ['another version', { openapi: '4.0.0' }, /"4\.0\.0"/],
    ['Swagger', { swagger: '2.0' }, /^it is a document of Swagger 2\.0/],
    [
      'a reference to another document',
      { openapi: '3.1.0', paths: { '/': { $ref: 'other.json' } } },
      /refers to "other\.json", which is not in/,
    ],
    [
      'a reference to nothing',
      { openapi: '3.1.0', paths: { '/': { get: { responses: { 200: { $ref: '#/x' } } } } } },
      /"#\/x", and there is nothing/,
    ],
    ['a reference to itself', { openapi: '3.1.0', paths: { '/': { $ref: '#/paths/~1' } } }, /never ends/],
    ['schemas nested too deeply', nested(200), /nested too deeply: at most 100 levels/],
    [
      'references that multiply',
      { openapi: '3.1.0', components: { schemas: { L: { properties: { ...laughs, l30: {} } } } } },
      /references into schemas repeat more than 100000 types/,
    ],
  ]
  for (const [what, document, message] of bad)
    test(`is refused: ${what}`, () => {
      assert.throws(() => declarationsOf(typeof document === 'string' ? document : JSON.stringify(document)), { message })
    })

  test('may have anything in the place of an object', () => {
    for (const wrong of [null, 1, 'x', true, [1], {}])
      for (const document of [
        { paths: wrong, components: wrong, webhooks: wrong },
        { paths: { '/': wrong }, components: { schemas: wrong, responses: wrong, parameters: wrong } },
        {
          paths: { '/': { get: wrong, parameters: wrong } },
          components: { schemas: { A: wrong }, responses: { A: wrong }, headers: { A: wrong } },
        },
        { paths: { '/': { get: { parameters: [wrong], requestBody: wrong, responses: wrong, operationId: wrong } } } },
        { paths: { '/': { get: { requestBody: { content: wrong }, responses: { 200: wrong } } } } },
        { components: { schemas: { A: { properties: wrong, required: wrong, allOf: wrong, anyOf: [wrong], enum: wrong, type: wrong } } } },
        {
          components: {
            schemas: { A: { items: wrong, prefixItems: wrong, additionalProperties: wrong, discriminator: wrong, oneOf: [wrong] } },
          },
        },
      ])
        assert.match(declarationsOf(JSON.stringify({ openapi: '3.1.0', ...document })), /export interface paths/)
  })
})

describe('the command', () => {
  const DOCUMENT = JSON.stringify({ openapi: '3.1.0', info: INFO, paths: {} })

  test('reads a file or stdin, and writes a file or stdout', (t) => {
    const folder = programFolder(t, { 'openapi.json': DOCUMENT })
    const expected = declarationsOf(DOCUMENT)
    assert.deepEqual(runWeir(folder, 'types', 'openapi.json'), { code: 0, out: expected, err: '' })
    assert.deepEqual(runWeir(folder, 'types', 'openapi.json', '-o', 'api.d.ts'), { code: 0, out: '', err: '' })
    assert.equal(readFileSync(join(folder, 'api.d.ts'), 'utf8'), expected)
    for (const args of [[], ['-']]) {
      const { status, stdout } = spawnSync(process.execPath, [COMMAND, 'types', ...args], { input: `\ufeff${DOCUMENT}`, encoding: 'utf8' })
      assert.deepEqual({ status, stdout }, { status: 0, stdout: expected })
    }
  })

  test('waits for a program that writes to its stdin later, in pieces', async () => {
    // As under npx: the outer process shares the pipe, and does not let it block once it has touched its own stdin.
    const outer = `const { spawn } = require('node:child_process')
      spawn(process.execPath, [${JSON.stringify(COMMAND)}, 'types'], { stdio: 'inherit' }).on('exit', (code) => process.exit(code))
      process.stdin`
    const child = spawn(process.execPath, ['-e', outer], { stdio: 'pipe' })
    setTimeout(() => child.stdin.write(DOCUMENT.slice(0, 20)), 1_000)
    setTimeout(() => child.stdin.end(DOCUMENT.slice(20)), 1_100)
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    assert.deepEqual({ code, out, err }, { code: 0, out: declarationsOf(DOCUMENT), err: '' })
  })

  test('has one line for what is wrong', (t) => {
    const folder = programFolder(t, { 'bad.json': '{}', 'openapi.json': DOCUMENT })
    const refused = (...args: string[]): string => {
      const { code, out, err } = runWeir(folder, 'types', ...args)
      assert.deepEqual({ code, out, lines: err.split('\n').length }, { code: 1, out: '', lines: 2 })
      return err
    }
    assert.match(refused('bad.json'), /^weir: bad\.json: its member "openapi" is missing/)
    assert.match(refused('none.json'), /^weir: cannot read none\.json: ENOENT/)
    assert.match(refused('.'), /^weir: cannot read \.: EISDIR/)
    assert.match(refused('openapi.json', '-o', 'none/api.d.ts'), /^weir: cannot write none\/api\.d\.ts: ENOENT/)
    const { code, err } = runWeir(folder, 'types', 'openapi.json', 'bad.json')
    assert.equal(code, 2)
    assert.match(err, /one document, not also bad\.json/)
    assert.match(runWeir(folder, 'types', '--help').out, /^Usage: weir types \[file\]/)
  })
})
