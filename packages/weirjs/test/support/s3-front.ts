// Stands between clients and an S3-compatible server, for tests: passes requests on, adds what the server lacks (conditional writes, the list
// of multipart uploads, copies of parts), and causes faults.

import { once } from 'node:events'
import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it arrives. */
export interface S3Request {
  readonly method: string
  /** `/bucket/key` */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
}

/**
 * What happens to a request instead of being passed on: a status, `cut` (the connection is closed without a response), `lost` (it is passed on, and
 * the connection is closed instead of the response), or null for nothing.
 */
export type Fault = number | 'cut' | 'lost' | null

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const NAMES: Readonly<Record<number, string>> = { 403: 'AccessDenied', 412: 'PreconditionFailed', 500: 'InternalError', 503: 'SlowDown' }

export class S3Front {
  /** Which requests have which fault. */
  fault: (request: S3Request) => Fault = () => null
  /** Called before a request is passed on, and awaited. */
  before: (request: S3Request) => Promise<void> | void = () => {}
  /** All requests so far, such as `PUT /bucket/key?partNumber=1`; without the identifiers of multipart uploads. */
  readonly log: string[] = []
  readonly #upstream: number
  readonly #server: Server
  readonly #agent = new Agent({ keepAlive: true })
  readonly #uploads = new Map<string, { bucket: string; key: string; initiated: Date }>()
  /** Conditional writes of one key are carried out one after the other. */
  readonly #writing = new Map<string, Promise<unknown>>()

  private constructor(upstream: number) {
    this.#upstream = upstream
    this.#server = createServer((incoming, outgoing) => {
      incoming.on('error', () => {})
      this.#answer(incoming, outgoing).catch(() => outgoing.destroy())
    })
  }

  /** @param upstream port of the server */
  static async start(upstream: number): Promise<S3Front> {
    const front = new S3Front(upstream)
    front.#server.listen(0, '127.0.0.1')
    await once(front.#server, 'listening')
    return front
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    this.#agent.destroy()
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url!, 'http://s3')
    const asked: S3Request = { method: incoming.method!, path: url.pathname, query: url.searchParams, headers: incoming.headers }
    const shown = [...asked.query]
      .filter(([name]) => name !== 'x-id')
      .map(([name, value]) => (name === 'uploadId' ? name : `${name}=${value}`))
    this.log.push(`${asked.method} ${asked.path}${shown.length === 0 ? '' : `?${shown.join('&')}`}`)
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    await this.before(asked)
    const fault = this.fault(asked)
    if (fault === 'cut') {
      outgoing.destroy()
      return
    }
    const reply = typeof fault === 'number' ? errorReply(fault) : await this.#inTurn(asked, incoming.url!, Buffer.concat(pieces))
    if (fault === 'lost') {
      outgoing.destroy()
      return
    }
    const { 'transfer-encoding': _, connection: __, ...headers } = reply.headers
    outgoing.writeHead(reply.status, headers).end(reply.body)
  }

  #inTurn(asked: S3Request, url: string, body: Buffer): Promise<Reply> {
    if (asked.method !== 'PUT') return this.#carryOut(asked, url, body)
    const turn = (this.#writing.get(asked.path) ?? Promise.resolve()).then(() => this.#carryOut(asked, url, body))
    const settled = turn.catch(() => {})
    this.#writing.set(asked.path, settled)
    return turn
  }

  async #carryOut(asked: S3Request, url: string, body: Buffer): Promise<Reply> {
    const { method, path, query, headers } = asked
    const uploadId = query.get('uploadId')
    if (method === 'GET' && query.has('uploads')) return this.#listUploads(path.split('/')[1]!, query.get('prefix') ?? '')
    const { 'if-match': match, 'if-none-match': noneMatch, ...others } = headers
    if (method !== 'GET' && (match !== undefined || noneMatch === '*')) {
      const { status, headers: found } = await this.#pass('HEAD', path, {}, Buffer.alloc(0))
      if (noneMatch === '*' ? status === 200 : status !== 200 || found.etag !== match) return errorReply(412)
    }
    const source = headers['x-amz-copy-source']
    if (typeof source === 'string' && uploadId !== null) return this.#copyPart(url, source, String(headers['x-amz-copy-source-range']))
    const reply = await this.#pass(method, url, method === 'GET' ? headers : others, body)
    const isDone = reply.status < 300
    if (method === 'POST' && query.has('uploads') && isDone) {
      const [, id] = /<UploadId>(.*?)<\/UploadId>/.exec(reply.body.toString())!
      const [, bucket, ...key] = path.split('/')
      this.#uploads.set(id!, { bucket: bucket!, key: decodeURIComponent(key.join('/')), initiated: new Date() })
    } else if (uploadId !== null && (method === 'POST' || method === 'DELETE') && isDone) this.#uploads.delete(uploadId)
    return reply
  }

  #listUploads(bucket: string, prefix: string): Reply {
    const uploads = [...this.#uploads].filter(([, upload]) => upload.bucket === bucket && upload.key.startsWith(prefix))
    const entries = uploads.map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    )
    return xml(200, `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${entries.join('')}</ListMultipartUploadsResult>`)
  }

  async #copyPart(url: string, source: string, range: string): Promise<Reply> {
    const path = source.startsWith('/') ? source : `/${source}`
    const { body } = await this.#pass('GET', path, { range }, Buffer.alloc(0))
    const { headers } = await this.#pass('PUT', url, {}, body)
    return xml(200, `<CopyPartResult><ETag>${headers.etag}</ETag></CopyPartResult>`)
  }

  async #pass(method: string, path: string, headers: IncomingHttpHeaders, body: Buffer): Promise<Reply> {
    const own = { ...headers }
    delete own['transfer-encoding']
    const outgoing = request({ port: this.#upstream, host: '127.0.0.1', agent: this.#agent, method, path })
    outgoing.on('error', () => {}) // before the response, it rejects below
    for (const [name, value] of Object.entries(own)) if (value !== undefined && name !== 'connection') outgoing.setHeader(name, value)
    if (body.length > 0 || method === 'PUT') outgoing.setHeader('content-length', body.length)
    outgoing.end(body)
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const pieces: Buffer[] = []
    for await (const piece of response) pieces.push(piece as Buffer)
    return { status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }
  }
}

function errorReply(status: number): Reply {
  return xml(status, `<Error><Code>${NAMES[status] ?? 'Error'}</Code><Message>as the test wants it</Message></Error>`)
}

function xml(status: number, body: string): Reply {
  const bytes = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${body}`)
  return { status, headers: { 'content-type': 'application/xml', 'content-length': String(bytes.length) }, body: bytes }
}
