// Mounted code on one server with the other modules: what it sends is logged, measured, compressed and opened to other origins like the
// response of any route, and what an `auth` closes stays closed to it.

import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openapi } from '../../../openapi/src/index.ts'
import { HttpServer } from '../../src/index.ts'
import { apiKey, apiKeyDigest, auth } from '../../src/modules/auth/index.ts'
import { cache } from '../../src/modules/cache/index.ts'
import { compression } from '../../src/modules/compression/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { decompression } from '../../src/modules/decompression/index.ts'
import { securityHeaders } from '../../src/modules/headers/index.ts'
import { accessLog } from '../../src/modules/log/index.ts'
import { metrics } from '../../src/modules/metrics/index.ts'
import { mountFetch, mountNode } from '../../src/node/index.ts'
import { eventually } from '../support/serving.ts'
import { TRANSPORTS } from '../support/transports.ts'

const APP = 'https://app.example.com'
const KEY = 'key-that-is-secret'
const LONG = 'All work and no play. '.repeat(200)
const TYPE = 'text/plain; charset=utf-8'

interface LogLine {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly user?: string
}

function answerAsNode(req: IncomingMessage, res: ServerResponse): void {
  const pieces: Buffer[] = []
  req.on('data', (piece: Buffer) => pieces.push(piece))
  req.on('end', () => {
    res.setHeader('Content-Type', TYPE)
    res.end(req.method === 'POST' ? Buffer.concat(pieces) : LONG)
  })
}

async function answerAsFetch(request: Request): Promise<Response> {
  return new Response(request.method === 'POST' ? await request.text() : LONG, { headers: { 'Content-Type': TYPE } })
}

for (const transport of TRANSPORTS)
  test(`mounted code with all modules: ${transport.title}`, async (t) => {
    const lines: LogLine[] = []
    const server = new HttpServer({ ...transport.options, logger: null })
    const access = auth({ schemes: [apiKey({ keys: { [apiKeyDigest(KEY)]: { id: 'robot' } }, allowInsecure: true })] })
    server.use(
      accessLog({
        to: {
          write: (text: string) =>
            void lines.push(
              ...text
                .trim()
                .split('\n')
                .map((line) => JSON.parse(line) as LogLine),
            ),
        },
        user: (session) => access.principal(session)?.id,
      }),
    )
    const measured = metrics({ use: [access.open] })
    server.use(measured)
    server.use(cors({ origins: APP, credentials: true }))
    server.use(compression({ encodings: ['gzip'] }))
    server.use(decompression())
    server.use(securityHeaders('api'))
    server.use(access)
    server.use(openapi({ info: { title: 'Mounts', version: '1' }, expose: true, use: [access.open] }))
    mountNode(server, '/node', answerAsNode)
    mountFetch(server, '/fetch', answerAsFetch)
    let runs = 0
    mountFetch(server.group('/kept', { use: [access.open, cache({ maxAge: '1m' })] }), '/', () => {
      runs++
      return new Response(LONG, { headers: { 'Content-Type': TYPE, 'Cache-Control': 'max-age=60' } })
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))

    const line = await transport.connect(server.port)
    const headers = { 'X-API-Key': KEY, Origin: APP, 'Accept-Encoding': 'gzip' }
    for (const mount of ['/node', '/fetch']) {
      const { status, fields, body } = await line.ask({ path: `${mount}/long`, headers })
      assert.equal(status, 200)
      assert.equal(gunzipSync(body).toString(), LONG)
      assert.equal(fields['content-encoding'], 'gzip')
      assert.equal(fields['content-type'], TYPE)
      assert.equal(fields['access-control-allow-origin'], APP)
      assert.equal(fields['x-content-type-options'], 'nosniff')

      const refused = await line.ask({ path: `${mount}/long`, headers: { Origin: APP } })
      assert.equal(refused.status, 401)
      assert.equal(refused.fields['access-control-allow-origin'], APP)
    }
    line.leave()

    for (const path of ['/kept/long', '/kept/long']) {
      const other = await transport.connect(server.port)
      const { status, body } = await other.ask({ path, headers: { Origin: APP, 'Accept-Encoding': 'gzip' } })
      assert.deepEqual([status, gunzipSync(body).toString()], [200, LONG])
      other.leave()
    }

    assert.equal(runs, 1)
    await eventually(() => lines.length === 6, 'the log')
    assert.deepEqual(
      lines.map(({ route, status, user }) => `${route} ${status} ${user ?? '-'}`),
      [
        'ANY /node/**mountedPath 200 robot',
        'ANY /node/**mountedPath 401 -',
        'ANY /fetch/**mountedPath 200 robot',
        'ANY /fetch/**mountedPath 401 -',
        'ANY /kept/**mountedPath 200 -',
        'ANY /kept/**mountedPath 200 -',
      ],
    )
    const series = (await server.inject('/metrics')).text()
    assert.match(series, /http_server_request_duration_seconds_count\{[^}]*http_route="\/node\/\*"[^}]*\} 1/)
    const { paths } = JSON.parse((await server.inject('/openapi.json')).text()) as { paths: object }
    assert.deepEqual(Object.keys(paths), [])
  })
