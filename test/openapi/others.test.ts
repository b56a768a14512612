// What others make of the documents of @weirjs/openapi: a linter accepts them, and a client with the declarations of `weir types` works.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

import fc from 'fast-check'
import { declarationsOf } from '../../packages/dev/src/cli/types/declarations.ts'
import { everything, everything32 } from '../../packages/openapi/test/everything.ts'
import { startDemo } from '../../packages/weirjs/test/support/demo.ts'
import { documentOf, routeTables } from '../../packages/weirjs/test/support/route-tables.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'
import { createInbox, startInbox } from '../e2e/inbox-server.ts'

const FOLDER = resolve('test/openapi')
const MODULES = join(FOLDER, 'node_modules')
const skip = !existsSync(MODULES) && 'not installed: npm ci --prefix test/openapi'

test('redocly accepts the documents of the examples and of 200 route tables', { skip }, async (t) => {
  const folder = temporaryDirectory(t)
  const write = (name: string, text: string): void => writeFileSync(join(folder, `${name}.json`), text)
  const servers = { demo: (await startDemo(t)).server, inbox: (await createInbox(t)).server, everything: everything(), all: everything32() }
  for (const [name, server] of Object.entries(servers)) write(name, (await server.inject('/openapi.json')).text())
  for (const [i, table] of fc.sample(routeTables, 200).entries()) write(`table${i}`, await documentOf(table))
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      join(MODULES, '@redocly/cli/bin/cli.js'),
      'lint',
      '--config',
      join(FOLDER, 'redocly.yaml'),
      '--format=summary',
      join(folder, '*.json'),
    ],
    { encoding: 'utf8', env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  )
  assert.equal(status, 0, stderr)
  assert.equal([...stderr.matchAll(/: validated in/g)].length, 204)
  assert.doesNotMatch(stderr, /^(?:error|warning) /m)
})

/** A program of another repository, which has only the document of the inbox. */
const CLIENT = `import createClient from 'openapi-fetch'

import type { Message, paths, Problem } from './inbox.js'

const [origin = '', Cookie = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl: origin, headers: { Cookie } })
const path = { to: 'bob' }

const sent = await client.POST('/api/users/{to}/messages', { params: { path }, body: { text: 'hello' } })
if (sent.error !== undefined) throw new Error(sent.error.title)
const message: Message = sent.data
console.log(sent.response.status, message.text, message.attachment?.size)

const refused = await client.POST('/api/users/{to}/messages', { params: { path }, body: { text: '' } })
const problem: Problem | undefined = refused.error
console.log(refused.response.status, problem?.errors?.[0]?.pointer)

const page = await client.GET('/api/messages', { params: { query: { limit: 5 } } })
console.log(page.response.status, page.data?.messages.length, page.data?.next)

const picture = new Blob([Buffer.from('89504e470d0a1a0a', 'hex')], { type: 'image/png' })
const form = await client.POST('/api/users/{to}/pictures', {
  params: { path },
  body: { text: 'look', picture },
  bodySerializer: ({ text, picture }) => {
    const data = new FormData()
    data.append('text', text)
    data.append('picture', picture, 'a.png')
    return data
  },
})
console.log(form.response.status, form.data?.attachment?.size)

const gone = await client.DELETE('/api/session')
console.log(gone.response.status)

export function refusedByTheCompiler(): void {
  // @ts-expect-error no such path
  void client.GET('/api/nothing')
  // @ts-expect-error no such method
  void client.PUT('/api/me')
  // @ts-expect-error the body has no text
  void client.POST('/api/users/{to}/messages', { params: { path }, body: {} })
  // @ts-expect-error the path has no value
  void client.POST('/api/users/{to}/messages', { body: { text: 'x' } })
  // @ts-expect-error a message has no title
  void message.title
}
`
const SAID = ['201 hello undefined', '400 /text', '200 0 null', '201 8', '204', '']

test('a client of openapi-fetch works with the declarations of the inbox', { skip }, async (t) => {
  const { server, signIn } = await startInbox(t)
  const folder = temporaryDirectory(t)
  symlinkSync(MODULES, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'inbox.d.ts'), declarationsOf((await server.inject('/openapi.json')).text()))
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  assert.equal(compile(folder, 'client.ts'), '')
  const { Cookie } = await signIn('ada')
  const { stdout } = await promisify(execFile)(process.execPath, ['client.js', `http://127.0.0.1:${server.port}`, Cookie], { cwd: folder })
  assert.deepEqual(stdout.split('\n'), SAID)
})

const BOTH_WAYS = `import type * as Other from './other.js'
import type * as Own from './own.js'

declare const other: Other.paths, own: Own.paths
declare const otherComponents: Other.components, ownComponents: Own.components
export const paths: readonly [Other.paths, Own.paths] = [own, other]
export const schemas: readonly [Other.components['schemas'], Own.components['schemas']] = [ownComponents.schemas, otherComponents.schemas]
`

test('the declarations are assignable to those of openapi-typescript, and the other way round', { skip }, (t) => {
  const folder = temporaryDirectory(t)
  symlinkSync(MODULES, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const pets = readFileSync(join(FOLDER, 'pets.json'), 'utf8')
  writeFileSync(join(folder, 'own.d.ts'), declarationsOf(pets))
  const made = spawnSync(process.execPath, [join(MODULES, 'openapi-typescript/bin/cli.js'), join(FOLDER, 'pets.json')], {
    encoding: 'utf8',
  })
  assert.equal(made.status, 0, made.stderr)
  writeFileSync(join(folder, 'other.d.ts'), made.stdout)
  writeFileSync(join(folder, 'both.ts'), BOTH_WAYS)
  assert.equal(compile(folder, 'both.ts'), '')
})

/** @returns the complaints of the compiler */
function compile(folder: string, file: string): string {
  const options = '--strict --skipLibCheck false --exactOptionalPropertyTypes --noUncheckedIndexedAccess --target es2022 --module nodenext'
  return spawnSync(process.execPath, [join(MODULES, 'typescript/bin/tsc'), ...options.split(' '), file], { cwd: folder, encoding: 'utf8' })
    .stdout
}
