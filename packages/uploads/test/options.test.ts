// What a program may set, and what other modules make of the routes.

import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { openapi } from '../../openapi/src/index.ts'
import { redisLocks } from '../../redis/src/index.ts'
import { HttpServer, type InjectResponse, t as schema } from '../../weirjs/src/index.ts'
import { accessLog } from '../../weirjs/src/modules/log/index.ts'
import { eventually } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { BYTES_TYPE, uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, type UploadStorage, type UploadsOptions, uploads } from '../src/index.ts'

const OPTIONS: UploadsOptions = { storage: diskStorage('/tmp/never-used'), onComplete() {} }

test('wrong options are refused where they are given', () => {
  const wrong: [string, () => unknown][] = [
    ['path', () => uploads('files', OPTIONS)],
    ['onFinish', () => uploads('/files', { ...OPTIONS, onFinish() {} } as UploadsOptions)],
    ['onComplete', () => uploads('/files', { storage: OPTIONS.storage } as UploadsOptions)],
    [
      'storage is the string "/var/uploads", which has no function create()',
      () => uploads('/files', { ...OPTIONS, storage: '/var/uploads' as unknown as UploadStorage }),
    ],
    ['maxSize', () => uploads('/files', { ...OPTIONS, maxSize: '5gb' as unknown as number })],
    ['expiresAfter', () => uploads('/files', { ...OPTIONS, expiresAfter: 0 })],
    ['maxOpenUploads', () => uploads('/files', { ...OPTIONS, maxOpenUploads: -1 })],
    ['maxOpenUploads is 0', () => uploads('/files', { ...OPTIONS, maxOpenUploads: 0 })],
    [
      'maxOpenSize is 99, and one upload may have 100: write a smaller maxSize, too',
      () => uploads('/files', { ...OPTIONS, maxSize: 100, maxOpenSize: 99 }),
    ],
    ['maxMetadataSize', () => uploads('/files', { ...OPTIONS, maxMetadataSize: 1.5 })],
    ['directory', () => diskStorage('')],
    ['sync', () => diskStorage('/tmp/never-used', { sync: 'no' as unknown as boolean })],
    ['client', () => redisLocks({} as never)],
    ['lease', () => redisLocks({ call: async () => null }, { lease: '1s' })],
  ]
  for (const [word, call] of wrong)
    assert.throws(call, (error: Error & { code: string }) => error.code === 'WEIR_OPTION_INVALID' && error.message.includes(word), word)
})

test('all of them together may be limited where a single one is not', () => {
  uploads('/files', { ...OPTIONS, maxSize: Number.POSITIVE_INFINITY, maxOpenSize: 99 })
  uploads('/files', { ...OPTIONS, maxSize: 100, maxOpenSize: 100 })
})

test('an onComplete that leaves the bytes to their expiry is a warning, once', async (t) => {
  const warningsOf = async (onComplete: UploadsOptions['onComplete']): Promise<string[]> => {
    const warnings: string[] = []
    const logger = { error: () => {}, warn: (message: string) => void warnings.push(message) }
    const server = new HttpServer({ logger })
    server.use(uploads('/files', { storage: diskStorage(temporaryDirectory(t), { sync: false }), onComplete }))
    for (const body of ['', 'one', 'two']) {
      const headers = { 'Upload-Complete': '?1', 'Content-Type': 'text/plain' }
      assert.equal((await server.inject({ method: 'POST', url: '/files', headers, body })).status, 204)
    }
    return warnings
  }
  const said = /^weir: onComplete of \/files left the bytes of an upload to its expiry: write await upload\.moveTo\(path\), or keep\(\)$/
  assert.match((await warningsOf(({ id, size }) => void [id, size])).join(' | '), said)
  assert.deepEqual(await warningsOf((upload) => upload.keep()), [])
  assert.deepEqual(await warningsOf(({ path }) => void readFileSync(path)), [])
  assert.deepEqual(await warningsOf((upload) => void upload.stream().resume()), [])
})

test('locks in memory are a warning in a worker of a cluster', (t) => {
  const warnings: string[] = []
  const logger = { error: () => {}, warn: (message: string) => void warnings.push(message) }
  const install = (options: UploadsOptions) => new HttpServer({ logger }).use(uploads('/files', options))
  install(OPTIONS)
  t.after(() => Object.assign(cluster, { isWorker: false }))
  Object.assign(cluster, { isWorker: true })
  install({ ...OPTIONS, locks: { acquire: async () => null } })
  assert.deepEqual(warnings, [])
  install(OPTIONS)
  assert.deepEqual(warnings, ['weir: the locks of /files are in the memory of this worker, and others do not see them: set locks'])
})

test('several paths, groups and servers can take uploads', async (t) => {
  const { server, tus } = uploading(t)
  const pictures = uploads('/pictures', OPTIONS)
  server.use(pictures)
  assert.throws(() => server.use(pictures), { code: 'WEIR_SERVER_STATE' })
  const message = /two parameters "id": rename one, yours if the other is a module's$/
  assert.throws(() => server.group('/r/:id').use(uploads('/files', OPTIONS)), { code: 'WEIR_ROUTE_TEMPLATE', message })
  server.group('/users/:user').use(uploads('/files', { ...OPTIONS, maxSize: 5 }))
  assert.equal((await tus('POST', '/users/a%20b/files?x=1', { 'Upload-Length': 6 })).status, 413)
  assert.equal((await tus('OPTIONS', '/users/a/files')).headers.get('tus-max-size'), '5')
})

test('the location is where the client has asked, encoded as it was', async (t) => {
  const up = uploading(t)
  up.server.group('/users/:user').use(uploads('/files', { ...OPTIONS, storage: diskStorage(up.directory, { sync: false }) }))
  const { headers } = await up.tus('POST', '/users/a%20b/files?x=1', { 'Upload-Length': 6 })
  const url = headers.get('location')!
  assert.match(url, /^\/users\/a%20b\/files\/[\w-]{32}$/)
  assert.equal((await up.tus('HEAD', url)).status, 204)
})

test('policies of the option `use` run before anything else', async (t) => {
  const { tus, files } = uploading(t, { use: [{ name: 'closed', gate: ({ response }) => response.status(403).text('no') }] })
  assert.equal((await tus('POST', '/files', { 'Upload-Length': 1 })).status, 403)
  assert.deepEqual(files(), [])
})

test('a log does not show the ids, which are secret', async (t) => {
  const up = uploading(t)
  const lines: string[] = []
  const to = new Writable({
    write(line: Buffer, _, done) {
      lines.push(String(line))
      done()
    },
  })
  up.server.use(accessLog({ to }))
  const url = await up.create(5)
  await up.tus('HEAD', url)
  await up.tus('PATCH', url, { 'Upload-Offset': 1 }, 'a')
  const id = url.slice('/files/'.length)
  await eventually(() => lines.join('').includes('PATCH'), 'the lines')
  assert.ok(!lines.join('').includes(id))
})

test('nor do the errors of the file system, which have the paths', async (t) => {
  const logged: unknown[] = []
  const logger = { error: (...details: unknown[]) => logged.push(details) }
  const up = uploading(t, {}, (upload) => upload.moveTo('/nowhere/at/all'), { logger })
  const [first, second] = [await up.create(1), await up.create(1)]
  const idOf = (url: string): string => url.slice('/files/'.length)
  symlinkSync('/nowhere/at/all', join(up.directory, `${idOf(second)}.bin`))
  assert.equal((await up.tus('PATCH', first, { 'Upload-Offset': 0 }, 'a')).status, 500)
  assert.equal((await up.tus('PATCH', second, { 'Upload-Offset': 0 }, 'a')).status, 503)
  const text = inspect(logged, { depth: 10 })
  assert.equal(logged.length, 2)
  assert.equal(text.match(/ENOENT: no such file or directory, (?:open|link) '[^']*:id\.bin'/g)?.length, 2)
  for (const url of [first, second]) assert.ok(!text.includes(idOf(url)))
})

test('documents describe the routes', async () => {
  const server = new HttpServer({ logger: null })
  server.use(uploads('/files', OPTIONS)).use(openapi({ info: { title: 'Files', version: '1' } }))
  const { paths } = (await server.inject('/openapi.json')).json() as { paths: Record<string, object> }
  assert.deepEqual(Object.keys(paths['/files']!).sort(), ['options', 'post'])
  assert.deepEqual(Object.keys(paths['/files/{id}']!).sort(), ['delete', 'get', 'options', 'patch', 'post'])
})

test('in a group with answers, those of the module are declared as well', async (t) => {
  const storage = diskStorage(uploading(t).directory, { sync: false })
  const server = new HttpServer({ logger: null })
  const answers = { 200: schema.object({ id: schema.string }), 201: null, 204: null }
  const module = uploads('/files', {
    storage,
    onComplete(upload) {
      upload.keep()
      return { id: 'a', secret: 'b' }
    },
  })
  server.group('/in', { answers }).use(module)
  const tus = (method: string, url: string, headers: Record<string, string>, body?: string): Promise<InjectResponse> =>
    server.inject({ method, url, headers: { 'Tus-Resumable': '1.0.0', ...headers }, ...(body === undefined ? {} : { body }) })
  assert.equal((await tus('OPTIONS', '/in/files', {})).status, 204)
  const created = await tus('POST', '/in/files', { 'Upload-Length': '2' })
  assert.equal(created.status, 201)
  const url = created.headers.get('location')!
  const part = { 'Content-Type': BYTES_TYPE }
  assert.equal((await tus('PATCH', url, { ...part, 'Upload-Offset': '0' }, 'a')).status, 204)
  assert.ok((await tus('HEAD', url, {})).status < 300)
  const complete = await tus('PATCH', url, { ...part, 'Upload-Offset': '1' }, 'b')
  assert.deepEqual([complete.status, complete.json()], [200, { id: 'a' }])
})
