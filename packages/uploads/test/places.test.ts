// Several modules with one storage: an upload continues at the path where it was created, and nowhere else.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import { HttpError, HttpServer, type InjectResponse } from '../../weirjs/src/index.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { diskStorage, type UploadsOptions, uploads } from '../src/index.ts'
import { uploadRecordOf } from '../src/upload-record.ts'

const TUS = { 'Tus-Resumable': '1.0.0' }
const BYTES = { ...TUS, 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': '0' }

test('an upload of one path is unknown at another path with the same storage', async (t) => {
  const directory = temporaryDirectory(t)
  const completed: string[] = []
  const moduleAt = (path: string, more: Partial<UploadsOptions> = {}) =>
    uploads(path, {
      storage: diskStorage(directory, { sync: false }),
      onComplete: (_upload, { request }) => void completed.push(request.path.split('/').slice(0, -1).join('/')),
      ...more,
    })
  const server = new HttpServer({ logger: null })
  server.use(moduleAt('/open'))
  const refuse = (): never => {
    throw new HttpError(403, 'not for you')
  }
  server.use(moduleAt('/closed', { maxSize: 5, onCreate: refuse }))
  server.group('/teams/:team').use(moduleAt('/files'))

  const send = (method: string, url: string, headers: Record<string, string>, body?: Buffer): Promise<InjectResponse> =>
    server.inject({ method, url, headers, ...(body !== undefined && { body }) })
  const created = async (path: string, more: Record<string, string> = {}): Promise<string> => {
    const response = await send('POST', path, { ...TUS, 'Upload-Length': '10', ...more })
    assert.equal(response.status, 201)
    return response.headers.get('location')!.split('/').at(-1)!
  }
  const appended = async (path: string): Promise<number> => (await send('PATCH', path, BYTES, Buffer.alloc(10))).status

  const id = await created('/open')
  for (const path of ['/closed', '/teams/1/files']) {
    assert.equal(await appended(`${path}/${id}`), 404)
    for (const method of ['HEAD', 'DELETE']) assert.equal((await send(method, `${path}/${id}`, TUS)).status, 404)
  }
  const part = await created('/open', { 'Upload-Concat': 'partial' })
  assert.equal(await appended(`/open/${part}`), 204)
  assert.equal((await send('POST', '/teams/1/files', { ...TUS, 'Upload-Concat': `final;/open/${part}` })).status, 404)

  const ofTeam = await created('/teams/1/files')
  assert.equal(await appended(`/teams/2/files/${ofTeam}`), 404)
  assert.deepEqual(completed, [])
  assert.equal(await appended(`/teams/1/files/${ofTeam}`), 204)
  assert.equal(await appended(`/open/${id}`), 204)
  assert.deepEqual(completed, ['/teams/1/files', '/open'])

  const ofPair = await created('/teams/a%2Fb/files')
  assert.equal(await appended(`/teams/a%252Fb/files/${ofPair}`), 404, 'the team is a%2Fb')
  assert.equal(await appended(`/teams/a%2fb/files/${ofPair}`), 204)
})

test('an upload of one host or endpoint is unknown at another with the same path', async (t) => {
  const directory = temporaryDirectory(t)
  const moduleOf = (more: Partial<UploadsOptions> = {}) =>
    uploads('/files', { storage: diskStorage(directory, { sync: false }), onComplete: () => {}, ...more })
  const server = new HttpServer({ logger: null, listen: [{ port: 0, name: 'admin' }, { port: 0 }] })
  server.group('', { host: 'small.example' }).use(moduleOf({ maxSize: 5 }))
  server.group('', { host: '*.tenants.example' }).use(moduleOf())
  server.use(moduleOf())
  server.use(moduleOf({ endpoint: 'admin', name: 'admin' }))
  interface At {
    readonly host: string
    readonly endpoint?: string
  }
  const places: readonly At[] = [
    { host: 'a.tenants.example' },
    { host: 'b.tenants.example' },
    { host: 'small.example' },
    { host: 'other.example' },
    { host: 'other.example', endpoint: 'admin' },
  ]
  const send = (method: string, url: string, { host, ...at }: At, headers: object, body?: Buffer): Promise<InjectResponse> =>
    server.inject({ method, url, headers: { ...headers, Host: host }, ...at, ...(body !== undefined && { body }) })
  for (const own of places.filter(({ host }) => host !== 'small.example')) {
    const { status, headers } = await send('POST', '/files', own, { ...TUS, 'Upload-Length': '10' })
    assert.equal(status, 201)
    const url = new URL(headers.get('location')!, 'http://localhost').pathname
    const append = async (at: At): Promise<number> => (await send('PATCH', url, at, BYTES, Buffer.alloc(10))).status
    for (const other of places) if (other !== own) assert.equal(await append(other), 404, JSON.stringify([own, other]))
    assert.equal(await append({ ...own, host: `${own.host.toUpperCase()}.:80` }), 204)
  }
})

test('a record of an earlier version, which has no place, is read', () => {
  const earlier = {
    id: 'a'.repeat(32),
    createdAt: 0,
    expiresAt: 1,
    length: 1,
    owner: null,
    metadata: '',
    concat: null,
    stage: 'open',
    keptAt: null,
  }
  assert.deepEqual(uploadRecordOf(earlier), { ...earlier, place: null })
})
