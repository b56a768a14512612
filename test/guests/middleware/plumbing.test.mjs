// Middleware between a server and what is around it: logs, metrics, contexts, proxies, hosts.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'

import connect from 'connect'
import express from 'express'
import actuator from 'express-actuator'
import httpContext from 'express-http-context'
import promBundle from 'express-prom-bundle'
import requestId from 'express-request-id'
import useragent from 'express-useragent'
import expressWinston from 'express-winston'
import { createProxyMiddleware } from 'http-proxy-middleware'
import i18next from 'i18next'
import i18nMiddleware from 'i18next-http-middleware'
import morgan from 'morgan'
import pinoHttp from 'pino-http'
import { Registry } from 'prom-client'
import vhost from 'vhost'
import winston from 'winston'

import { guest } from '../support/guest.mjs'
import { NODE_HTTP, serveGuest } from '../support/serve-guest.mjs'

/** Lines that a logger writes, to be read by `/lines`. */
function collector() {
  const lines = []
  const stream = new Writable({
    write(chunk, _coding, done) {
      lines.push(...chunk.toString().trim().split('\n'))
      done()
    },
  })
  return { lines, stream }
}

/** The lines are written when a response has ended, which can be after its client has it. */
async function linesOf({ get }, count) {
  for (let i = 0; ; i++) {
    const lines = (await get('/lines', { hidden: true })).json()
    if (lines.length >= count || i === 100) return lines
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

guest('morgan', {
  measured: '/',
  driven: 'the formats combined, common, dev and tiny; status, length and user of complete, streamed and aborted responses',
  app: () => {
    const { lines, stream } = collector()
    const app = express().get('/lines', (_request, response) => response.json(lines))
    for (const format of ['combined', 'common', 'tiny']) app.use(morgan(format, { stream }))
    return app
      .get('/', (_request, response) => response.send('logged'))
      .get('/stream', (_request, response) => {
        response.write('a')
        response.end('b')
      })
      .get('/left', (_request, response) => response.write('some'))
  },
  mask: [
    [/\[\d\d\/\w{3}\/\d{4}:[^\]]+\]/g, '[*]'],
    [/[\d.]+ ms/g, '* ms'],
  ],
  async drive(client) {
    const { get, open, note } = client
    await get('/', { headers: { authorization: `Basic ${btoa('ada:pw')}`, referer: 'http://here/', 'user-agent': 'guest' } })
    await get('/stream')
    await get('/none')
    const lines = await linesOf(client, 9)
    note('lines', lines)
    assert.match(lines[0], /^127\.0\.0\.1 - ada \[.+\] "GET \/ HTTP\/1\.1" 200 6 "http:\/\/here\/" "guest"$/)
    const left = open('GET /left HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await left.read('some')
    left.leave()
    const all = await linesOf(client, 12)
    note('line of a client that left', all.slice(9))
    assert.match(all[9], /"GET \/left HTTP\/1\.1" 200 - "-" "-"$/)
  },
})

guest('pino-http', {
  driven: 'a line with request, response and duration; a child logger; an error; a client that leaves',
  app: () => {
    const { lines, stream } = collector()
    return express()
      .get('/lines', (_request, response) => response.json(lines))
      .use(pinoHttp({ genReqId: ({ headers }) => headers['x-id'] ?? 'none' }, stream))
      .get('/', ({ log }, response) => {
        log.info('inside')
        response.send('logged')
      })
      .get('/fails', (_request, response) => {
        response.err = new Error('failed')
        response.status(500).end()
      })
      .get('/left', (_request, response) => response.write('some'))
  },
  async drive(client) {
    const { get, open, note } = client
    await get('/?a=1', { headers: { 'x-id': 'seven' } })
    await get('/fails')
    const left = open('GET /left HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await left.read('some')
    left.leave()
    const lines = (await linesOf(client, 4)).map((line) => JSON.parse(line))
    note(
      'lines',
      lines.map(({ level, msg, req, res, err }) => ({
        level,
        msg,
        id: req.id,
        method: req.method,
        url: req.url,
        query: req.query,
        status: res?.statusCode,
        error: err?.message,
      })),
    )
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['inside', 'request completed', 'request errored', 'request aborted'],
    )
    assert.equal(lines[1].req.id, 'seven')
    assert.ok(lines[1].req.remotePort > 0)
  },
})

guest('express-winston', {
  packages: ['express-winston', 'winston'],
  driven: 'a line for each request, with meta data and the body of the response; errors',
  app: () => {
    const { lines, stream } = collector()
    const transports = [new winston.transports.Stream({ stream })]
    return express()
      .get('/lines', (_request, response) => response.json(lines))
      .use(
        expressWinston.logger({
          transports,
          responseWhitelist: ['statusCode', 'body'],
          msg: '{{req.method}} {{req.url}} {{res.statusCode}}',
        }),
      )
      .get('/', (_request, response) => response.json({ a: 1 }))
      .get('/fails', () => {
        throw new Error('failed')
      })
      .use(expressWinston.errorLogger({ transports }))
      .use((_error, _request, response, _next) => response.sendStatus(500))
  },
  async drive(client) {
    await client.get('/')
    await client.get('/fails')
    const lines = (await linesOf(client, 3)).map((line) => JSON.parse(line))
    assert.deepEqual([lines[0].message, lines[0].meta.res.body], ['GET / 200', { a: 1 }])
    const [failure, response] = lines.slice(1)
    assert.deepEqual([failure.level, response.level, response.meta.res.statusCode], ['error', 'info', 500])
    assert.match(failure.message, /middlewareError|failed/)
  },
})

guest('express-prom-bundle', {
  driven: 'counts and durations by path and status, in the text of Prometheus',
  app: () =>
    express()
      .use(promBundle({ includePath: true, includeMethod: true, metricType: 'histogram', buckets: [10], promRegistry: new Registry() }))
      .get('/a', (_request, response) => response.send('a')),
  mask: [[/_sum(\{[^}]+\}) [\d.e-]+/g, '_sum$1 *']],
  async drive({ get }) {
    await get('/a')
    await get('/a')
    await get('/none')
    const { text } = await get('/metrics')
    assert.match(text, /http_request_duration_seconds_count\{status_code="200",method="GET",path="\/a"\} 2/)
    assert.match(text, /http_request_duration_seconds_count\{status_code="404",method="GET",path="\/none"\} 1/)
  },
})

guest('express-actuator', {
  driven: 'its health, info and metrics',
  app: () => express().use(actuator({ basePath: '/management' })),
  mask: [[/"text":"\{\\"mem.+?","trailers"/, '"trailers"']],
  hide: ['etag', 'content-length'],
  async drive({ get }) {
    assert.equal((await get('/management/health')).json().status, 'UP')
    assert.ok((await get('/management/metrics')).json().uptime > 0)
    assert.equal((await get('/management/info')).status, 200)
  },
})

guest('express-http-context', {
  driven: 'a value per request through promises, timers and an event of the body, 50 at a time',
  app: () =>
    express()
      .use(httpContext.middleware)
      .use((request, _response, next) => {
        httpContext.set('id', request.get('x-id'))
        next()
      })
      .post('/', express.text(), async (_request, response) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        response.send(String(httpContext.get('id')))
      }),
  async drive({ post }) {
    const seen = await Promise.all(
      Array.from(
        { length: 50 },
        async (_, i) => (await post('/', 'x', { headers: { 'x-id': `${i}`, 'content-type': 'text/plain' }, hidden: true })).text,
      ),
    )
    assert.deepEqual(
      seen,
      Array.from({ length: 50 }, (_, i) => `${i}`),
    )
  },
})

guest('express-request-id', {
  driven: 'an id that is made, and one that the client sends',
  app: () =>
    express()
      .use(requestId())
      .get('/', ({ id }, response) => response.send(id)),
  mask: [[/[0-9a-f]{8}-[0-9a-f-]{27}/g, '*']],
  hide: ['etag'],
  async drive({ get }) {
    const made = await get('/')
    assert.equal(made.text, made.header('x-request-id'))
    assert.equal((await get('/', { headers: { 'x-request-id': 'mine' } })).text, 'mine')
  },
})

guest('express-useragent', {
  driven: 'browser, platform and bot of a User-Agent',
  app: () =>
    express()
      .use(useragent.express())
      .get('/', ({ useragent: { browser, os, isBot } }, response) => response.json({ browser, os, isBot })),
  async drive({ get }) {
    const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
    assert.equal((await get('/', { headers: { 'user-agent': agent } })).json().browser, 'Chrome')
  },
})

guest('http-proxy-middleware', {
  driven: 'bodies of 1 MB both ways, a rewritten path, changed fields, a redirect, an event stream, a backend that is gone',
  app: async () => {
    const backend = await serveGuest(
      express()
        .post('/echo', (request, response) => {
          response.set('x-length', request.get('content-length') ?? 'none')
          request.pipe(response)
        })
        .get('/here', (request, response) =>
          response.json({
            url: request.originalUrl,
            host: request.get('host') !== undefined,
            proto: request.get('x-forwarded-proto'),
            added: request.get('x-added'),
          }),
        )
        .get('/move', (_request, response) => response.redirect('/there'))
        .get('/events', (_request, response) => {
          response.set('content-type', 'text/event-stream').flushHeaders()
          let count = 0
          const timer = setInterval(() => (count++ < 3 ? response.write(`data: ${count}\n\n`) : response.end()), 10)
          response.on('close', () => clearInterval(timer))
        }),
      NODE_HTTP,
    )
    const app = express()
    app.use('/gone', createProxyMiddleware({ target: 'http://127.0.0.1:1' }))
    app.use(
      '/api',
      createProxyMiddleware({
        target: backend.origin,
        xfwd: true,
        on: {
          proxyReq: (proxied) => proxied.setHeader('x-added', 'by the proxy'),
          proxyRes: (proxied) => {
            proxied.headers['x-proxied'] = 'yes'
          },
        },
      }),
    )
    return { handler: app, close: backend.close }
  },
  async drive({ get, post, open }) {
    const body = 'x'.repeat(1_000_000)
    const echoed = await post('/api/echo', body)
    assert.deepEqual([echoed.text.length, echoed.header('x-proxied'), echoed.header('x-length')], [1_000_000, 'yes', '1000000'])
    assert.deepEqual((await get('/api/here?a=1')).json(), { url: '/here?a=1', host: true, proto: 'http', added: 'by the proxy' })
    assert.equal((await get('/api/move')).header('location'), '/there')
    assert.equal((await get('/api/events')).text, 'data: 1\n\ndata: 2\n\ndata: 3\n\n')
    const left = open('GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await left.read('data: 1')
    left.leave()
    assert.equal((await get('/gone/')).status, 504)
  },
})

guest('vhost', {
  driven: 'two hosts, one with a wildcard, and another',
  app: () =>
    connect()
      .use(vhost('a.example', (_request, response) => response.end('a')))
      .use(vhost('*.b.example', ({ vhost: { hostname, 0: star } }, response) => response.end(`${hostname} ${star}`))),
  async drive({ get }) {
    assert.equal((await get('/', { headers: { host: 'a.example' } })).text, 'a')
    assert.equal((await get('/', { headers: { host: 'x.b.example:80' } })).text, 'x.b.example x')
    assert.equal((await get('/', { headers: { host: 'other' } })).status, 404)
  },
})

guest('connect', {
  measured: '/inner/deep/x',
  driven: 'middleware below a path, errors, `originalUrl`, a server inside a server',
  app: () => {
    const inner = connect().use('/deep', ({ url, originalUrl }, response) => response.end(`${originalUrl} ${url}`))
    return connect()
      .use('/inner', inner)
      .use('/fails', () => {
        throw new Error('failed')
      })
      .use((error, _request, response, _next) => {
        response.statusCode = 500
        response.end(error.message)
      })
  },
  async drive({ get }) {
    assert.equal((await get('/inner/deep/x?y')).text, '/inner/deep/x?y /x?y')
    assert.equal((await get('/fails')).text, 'failed')
    assert.equal((await get('/none')).status, 404)
  },
})

guest('i18next-http-middleware', {
  packages: ['i18next-http-middleware', 'i18next'],
  driven: 'a language by field, by query and by cookie',
  app: async () => {
    const translations = i18next.createInstance()
    const resources = { en: { translation: { hello: 'Hello' } }, de: { translation: { hello: 'Hallo' } } }
    await translations
      .use(i18nMiddleware.LanguageDetector)
      .init({ fallbackLng: 'en', preload: ['en', 'de'], resources, showSupportNotice: false })
    return express()
      .use(i18nMiddleware.handle(translations))
      .get('/', ({ t, language }, response) => response.json([language, t('hello')]))
  },
  async drive({ get }) {
    assert.deepEqual((await get('/', { headers: { 'accept-language': 'de-AT, en;q=0.5' } })).json()[1], 'Hallo')
    assert.deepEqual((await get('/?lng=de')).json()[1], 'Hallo')
    assert.deepEqual((await get('/', { headers: { cookie: 'i18next=de' } })).json()[1], 'Hallo')
    assert.deepEqual((await get('/')).json()[1], 'Hello')
  },
})
