// A server that takes uploads into a temporary directory, and what has become of them.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { diskStorage, type Upload, type UploadStorage, type UploadsOptions, uploads } from '../../../uploads/src/index.ts'
import { HttpServer, type HttpSession, type InjectRequest, type InjectResponse, type ServerOptions } from '../../src/index.ts'
import { TestClock } from '../../src/testing/index.ts'
import { temporaryDirectory } from './temporary.ts'

export interface Received {
  readonly id: string
  readonly size: number
  readonly fileName: string | null
  readonly type: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly text: string
}

export interface Uploading {
  readonly server: HttpServer
  readonly clock: TestClock
  readonly directory: string
  /** The uploads for which `onComplete` was called. */
  readonly received: Received[]
  files(): string[]
  send(method: string, url: string, headers?: Record<string, string | number>, body?: InjectRequest['body']): Promise<InjectResponse>
  tus(method: string, url: string, headers?: Record<string, string | number>, body?: InjectRequest['body']): Promise<InjectResponse>
  /** Creates an upload with tus. @returns its URL */
  create(length: number, headers?: Record<string, string | number>): Promise<string>
}

/** @param then what `onComplete` does when it has noted the upload */
export function uploading(
  t: TestContext,
  options: Partial<UploadsOptions> = {},
  then: (upload: Upload, session: HttpSession) => unknown = () => {},
  serverOptions: ServerOptions = {},
): Uploading {
  const directory = temporaryDirectory(t)
  const clock = new TestClock()
  const received: Received[] = []
  const server = new HttpServer({ hosts: 'any', logger: null, ...serverOptions })
  server.gate((session) => {
    const id = session.request.header('x-user')
    if (id !== null) session.principal = { scheme: 'test', id }
  })
  server.use(
    uploads('/files', {
      storage: diskStorage(directory, { sync: false }),
      clock,
      async onComplete(upload, session) {
        const { id, size, fileName, type, metadata } = upload
        received.push({ id, size, fileName, type, metadata, text: readFileSync(upload.path, 'latin1') })
        return then(upload, session)
      },
      ...options,
    }),
  )
  const send: Uploading['send'] = (method, url, headers = {}, body = '') =>
    server.inject({ method, url, headers, ...(body === '' ? {} : { body }) })
  const tus: Uploading['tus'] = (method, url, headers = {}, body = '') =>
    send(method, url, { 'Tus-Resumable': '1.0.0', ...(body === '' ? {} : { 'Content-Type': BYTES_TYPE }), ...headers }, body)
  return {
    server,
    clock,
    directory,
    received,
    files: () => readdirSync(directory).sort(),
    send,
    tus,
    async create(length, headers = {}) {
      const { headers: fields } = await tus('POST', '/files', { 'Upload-Length': length, ...headers })
      return fields.get('location')!
    },
  }
}

export const BYTES_TYPE = 'application/offset+octet-stream'

export function base64Of(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function hashOf(text: string | Uint8Array, algorithm = 'sha256'): string {
  return createHash(algorithm).update(text).digest('base64')
}

export function codeOf(response: InjectResponse): string {
  return (response.json() as { code: string }).code
}

/** A storage that does some things in another way. */
export function over(storage: UploadStorage, functions: Partial<UploadStorage>): UploadStorage {
  return new Proxy(storage, {
    get(target, name) {
      const own = Reflect.get(functions, name) as unknown
      if (own !== undefined) return own
      const inner = Reflect.get(target, name) as unknown
      return typeof inner === 'function' ? (inner.bind(target) as unknown) : inner
    },
  })
}
