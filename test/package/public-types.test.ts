// A program that exports what weir makes gets declarations from its compiler: every type that the compiler infers has a name in an entry of
// the package, also if the program imports that entry nowhere. And a project for browsers can do the same with its contract.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { COMPILERS, installCompiler, installPacked, run } from '../../packages/weirjs/test/support/packed-package.ts'
import { temporaryDirectory } from '../../packages/weirjs/test/support/temporary.ts'

const { exports } = JSON.parse(readFileSync('packages/weirjs/package.json', 'utf8')) as {
  exports: Record<string, { readonly default: string } | string>
}

const HELPERS = `type Result<F> = F extends (...args: never[]) => infer R ? R : F
declare function made<A extends never[], R>(make: (...args: A) => R): R
declare function members<T>(of: T): { readonly [K in keyof T]: Awaited<Result<T[K]>> }
declare function instance<T>(of: abstract new (...args: never[]) => T): T
`

/** Schemas, bodies and contracts, as both ends of a connection write them. */
const CONTRACT = `export const User = t.object({
  ...{ id: t.uuid, name: t.string.min(2), email: t.email, url: t.url.optional(), role: t.enum('a', 'b').default('a'), at: t.dateTime },
  ...{ local: t.localDateTime, tags: t.array(t.string), big: t.bigint, n: t.number, i: t.int, on: t.bool, map: t.record(t.int) },
  ...{ date: t.date, one: t.literal('x'), either: t.union(t.string, t.int) },
})
export const api = contract({
  list: get('/users/:id', { id: t.int, answers: { 200: User } }),
  add: post('/users', { body: multipart({ fields: { a: t.string }, files: { p: file({}) } }) }),
  watch: get('/events', { answers: { 200: events({ user: User }) } }),
})
export const entry = get('/users/:id', { id: t.int, tenant: header('x-tenant', t.int), theme: cookie('theme', t.string) })
export const bodies = [json(User), form(User), text(), bytes(), stream()] as const
export const users = client(api, 'https://example.com')
export const answer = await users.list({ id: 1 })
export const outline = outlineOf(api)
`
const CLIENT = `import { bytes, client, contract, cookie, events, file, form, get, header, json, multipart, outlineOf, post, stream, t, text } from 'weirjs/client'
${CONTRACT}`

/** The WebSocket of a browser has bytes in a memory of its own, which is another type than in Node. */
const SOCKETS = `
import { openWebSocket, ws } from 'weirjs/client'
const chats = contract({ chat: ws('/chat/:room', { receives: t.object({ text: t.string }), sends: t.string }) })
class Named extends WebSocket {
  constructor(url: string, protocols: string[]) { super(url, [...protocols, 'mine']) }
}
export const chat = openWebSocket(chats.chat, 'https://example.com', { room: 'a' }, { WebSocket })
export const named = openWebSocket(chats.chat, 'https://example.com', { room: 'a' }, { WebSocket: Named })
chat.send({ text: 'hello' })
`

const SERVER = `import * as weir from 'weirjs'
import { bagKey, Controller, cookie, events, Field, fields, file, header, HttpServer, json, metadataKey, multipart, principalKey, Problem, Route, routes, stream, t } from 'weirjs'
${HELPERS}
export const User = t.object({ id: t.uuid, email: t.email, tags: t.array(t.string), at: t.dateTime, either: t.union(t.string, t.int) })
export const server = new HttpServer('127.0.0.1', 0)
export const group = server.group('/api/:org', { org: t.int })
export const declaration = { body: User, answers: { 200: User, 409: Problem }, h: header('x', t.int), c: cookie('y', t.string) }
export const form = multipart({ fields: { title: t.string }, files: { photo: file({ maxSize: 10 }) } })
export const bodies = [json(User), events({ user: User }), stream()] as const
export const keys = { bag: bagKey<number>('x'), metadata: metadataKey<{ a: number }>('m'), principal: principalKey<{ id: string }>() }
export const explained = await server.explain('/')
export const explainedMembers = members(explained)
export const listed = { all: server.routes, first: server.routes[0], answer: await server.inject('/') }
export class Posts extends Controller {
  static routes = routes(this, { prefix: '/posts', show: ['GET', '/:id', { id: t.int }] })
  show({ id }: { id: number }) { return { id } }
  get fields() { return this.request.headers }
  get own() { return this.session }
  get query() { return this.request.query }
  files() { return this.request.bodyMultipart() }
}
export class Model { @Field(t.uuid) id = ''; name = '' }
@Route('/users')
export class Users extends Controller {
  @Route('GET', '/:id', { id: t.int }) show({ id }: { id: number }) { return { id } }
  save() { return this.response.status(201).json({}) }
}
export const decorators = [Route('GET', '/x'), Route('/x', { use: [] })] as const
export const mapped = server.mapGet('/a', () => 1)
export const fieldsOf = fields(Model, {})
export const session = members(null! as weir.HttpSession)
export const request = members(null! as weir.HttpRequest)
export const response = members(null! as weir.HttpResponse)
export const policy = members(null! as weir.Policy)
export const host = members(null! as weir.ModuleHost)
export const listing = members(null! as weir.RouteListing)
export const record = members(null! as weir.ExchangeRecord)
export const injected = members(null! as weir.InjectResponse)
export const uploaded = members(null! as weir.MultipartFormData)
export const report = members(null! as weir.StopReport)
`

/** Exports what every function of every entry returns, and its members. */
async function everyResult(folder: string): Promise<string> {
  let program = HELPERS
  for (const [path, entry] of Object.entries(exports)) {
    if (typeof entry === 'string' || path === './kit') continue
    const module = (await import(pathToFileURL(join(folder, 'node_modules/weirjs', entry.default)).href)) as Record<string, unknown>
    const entryName = `entry_${path.replace(/\W/g, '')}`
    program += `import * as ${entryName} from 'weirjs${path.slice(1)}'\n`
    for (const [name, value] of Object.entries(module)) {
      const [own, named] = [`${entryName}.${name}`, `${entryName}_${name}`]
      if (typeof value !== 'function') program += `export const ${named} = members(${own})\n`
      else if (/^class/.test(Function.prototype.toString.call(value))) program += `export const ${named} = members(instance(${own}))\n`
      else if (name !== 'websocket')
        program += `export const ${named} = made(${own})\nexport const ${named}_members = members(made(${own}))\n`
    }
  }
  return program
}

/** The options of a strict program; nothing is skipped. */
const OPTIONS = { target: 'es2023', module: 'nodenext', strict: true, exactOptionalPropertyTypes: true, declaration: true, outDir: 'out' }
const IN_NODE = { ...OPTIONS, lib: ['es2023', 'esnext.disposable'], types: ['node'] }
const IN_BROWSERS = { ...OPTIONS, lib: ['es2023', 'dom', 'dom.iterable'], types: [], module: 'es2022', moduleResolution: 'bundler' }

function writeProject(folder: string, name: string, compilerOptions: object, program: string): void {
  mkdirSync(join(folder, name))
  writeFileSync(join(folder, name, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.ts'] }))
  writeFileSync(join(folder, name, 'program.ts'), program)
}

async function checkWithEach(t: TestContext, folder: string, projects: readonly string[], versions = ['5.9', '7', '7.0']): Promise<void> {
  for (const compiler of COMPILERS.filter(({ version }) => versions.includes(version))) {
    const skip = !existsSync(compiler.folder) && 'not installed: npm ci --prefix test/package'
    await t.test(`with TypeScript ${compiler.version}`, { skip }, () => {
      installCompiler(folder, compiler)
      for (const project of projects) run(process.execPath, [join(folder, 'node_modules/typescript/bin/tsc'), '-p', project], folder)
    })
  }
}

test('every type that a program exports by inference has a name in an entry', async (t) => {
  const folder = temporaryDirectory(t)
  installPacked(folder)
  writeProject(folder, 'server', IN_NODE, SERVER)
  writeProject(folder, 'client', IN_NODE, CLIENT)
  writeProject(folder, 'everything', IN_NODE, await everyResult(folder))
  await checkWithEach(t, folder, ['everything'], ['7']) // the others need ten times as long for it
  await checkWithEach(t, folder, ['server', 'client'])
})

test('a browser project without the types of Node checks a contract and its client, and gets declarations', async (t) => {
  const folder = temporaryDirectory(t)
  installPacked(folder)
  writeProject(folder, 'browser', IN_BROWSERS, CLIENT + SOCKETS)
  writeProject(
    folder,
    'types-alone',
    IN_BROWSERS,
    `export type { Contract } from 'weirjs/contract'\nexport type { ObjectSchema } from 'weirjs/schema'\n`,
  )
  await checkWithEach(t, folder, ['browser', 'types-alone'])
})
