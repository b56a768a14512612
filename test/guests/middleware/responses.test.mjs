// Middleware that changes, measures or delays responses.
import assert from 'node:assert/strict'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import apicache from 'apicache'
import compression from 'compression'
import timeout from 'connect-timeout'
import cors from 'cors'
import errorhandler from 'errorhandler'
import etag from 'etag'
import express from 'express'
import asyncHandler from 'express-async-handler'
import mung from 'express-mung'
import { rateLimit } from 'express-rate-limit'
import { slowDown } from 'express-slow-down'
import finalhandler from 'finalhandler'
import fresh from 'fresh'
import helmet from 'helmet'
import nocache from 'nocache'
import onFinished from 'on-finished'
import onHeaders from 'on-headers'
import responseTime from 'response-time'
import serverTiming from 'server-timing'

import { guest } from '../support/guest.mjs'

const TEXT = 'weir runs code that others wrote. '.repeat(3000)

guest('compression', {
  measured: '/text',
  driven: 'gzip, br, small and streamed bodies, `flush()`, HEAD, 304, no-transform',
  app: () =>
    express()
      .use(compression())
      .get('/text', (_request, response) => response.type('text').send(TEXT))
      .get('/small', (_request, response) => response.send('small'))
      .get('/no', (_request, response) => response.set('cache-control', 'no-transform').type('text').send(TEXT))
      .get('/stream', async (_request, response) => {
        response.type('text')
        for (let i = 0; i < 20; i++) {
          response.write(TEXT.slice(0, 1000))
          if (i % 5 === 0) response.flush()
          await new Promise((resolve) => setImmediate(resolve))
        }
        response.end()
      }),
  async drive({ get, send }) {
    const accepts = (coding, more) => ({ headers: { 'accept-encoding': coding, ...more } })
    assert.equal(gunzipSync((await get('/text', accepts('gzip'))).bytes).toString(), TEXT)
    const br = await get('/text', accepts('gzip, br'))
    assert.equal(brotliDecompressSync(br.bytes).toString(), TEXT)
    assert.equal((await get('/text', accepts('identity'))).text, TEXT)
    assert.equal((await get('/small', accepts('gzip'))).text, 'small')
    assert.equal((await get('/no', accepts('gzip'))).text, TEXT)
    assert.equal(gunzipSync((await get('/stream', accepts('gzip'))).bytes).length, 20_000)
    assert.equal((await send('HEAD', '/text', accepts('gzip'))).text, '')
    assert.equal((await get('/text', accepts('gzip', { 'if-none-match': br.header('etag') }))).status, 304)
  },
})

guest('cors', {
  driven: 'a simple request, a preflight, an origin that is not allowed',
  app: () =>
    express()
      .use(cors({ origin: [/\.example\.com$/], credentials: true, exposedHeaders: ['x-total'], maxAge: 600 }))
      .use((_request, response) => response.json(true)),
  async drive({ get, send }) {
    assert.equal(
      (await get('/', { headers: { origin: 'https://a.example.com' } })).header('access-control-allow-origin'),
      'https://a.example.com',
    )
    assert.equal((await get('/', { headers: { origin: 'https://evil.example' } })).header('access-control-allow-origin'), undefined)
    const headers = { origin: 'https://a.example.com', 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-one' }
    const preflight = await send('OPTIONS', '/', { headers })
    assert.deepEqual([preflight.status, preflight.header('access-control-allow-headers')], [204, 'x-one'])
  },
})

guest('helmet', {
  measured: '/',
  driven: 'every field of its default, a policy with a nonce, x-powered-by removed',
  app: () =>
    express()
      .use((_request, response, next) => {
        response.locals.nonce = 'abc'
        next()
      })
      .use(
        helmet({
          contentSecurityPolicy: { directives: { scriptSrc: ["'self'", (_request, response) => `'nonce-${response.locals.nonce}'`] } },
        }),
      )
      .get('/', (_request, response) => response.send('<p>safe')),
  async drive({ get }) {
    const { headers } = await get('/')
    assert.match(headers['content-security-policy'], /script-src 'self' 'nonce-abc'/)
    assert.equal(headers['x-powered-by'], undefined)
    assert.equal(headers['strict-transport-security'], 'max-age=31536000; includeSubDomains')
  },
})

guest('nocache', {
  driven: 'its four fields',
  app: () =>
    express()
      .use(nocache())
      .get('/', (_request, response) => response.send('fresh')),
  async drive({ get }) {
    assert.equal((await get('/')).header('surrogate-control'), 'no-store')
  },
})

guest('express-rate-limit', {
  driven: 'three requests of three, the fourth with 429, draft-8 fields, the address of the client',
  app: () =>
    express()
      .use(rateLimit({ windowMs: 60_000, limit: 3, standardHeaders: 'draft-8', legacyHeaders: true }))
      .get('/', ({ ip }, response) => response.json(ip)),
  mask: [[/t=\d+/g, 't=*']],
  hide: ['x-ratelimit-reset', 'retry-after'],
  async drive({ get }) {
    for (let i = 0; i < 3; i++) assert.equal((await get('/')).json(), '127.0.0.1')
    assert.equal((await get('/')).status, 429)
  },
})

guest('express-slow-down', {
  driven: 'requests after the second are delayed by 60 ms each',
  app: () =>
    express()
      .use(slowDown({ windowMs: 60_000, delayAfter: 2, delayMs: (hits) => (hits - 2) * 60 }))
      .get('/', ({ slowDown }, response) => response.json({ used: slowDown.used, delay: slowDown.delay })),
  async drive({ get }) {
    assert.deepEqual((await get('/')).json(), { used: 1, delay: 0 })
    await get('/')
    const before = performance.now()
    assert.deepEqual((await get('/')).json(), { used: 3, delay: 60 })
    assert.ok(performance.now() - before > 50)
  },
})

guest('response-time', {
  driven: 'its field on complete and on streamed responses',
  app: () =>
    express()
      .use(responseTime())
      .get('/', (_request, response) => response.send('timed'))
      .get('/stream', (_request, response) => {
        response.write('a')
        response.end('b')
      }),
  mask: [[/[\d.]+ms/g, '*ms']],
  async drive({ get }) {
    assert.match((await get('/')).header('x-response-time'), /^[\d.]+ms$/)
    assert.match((await get('/stream')).header('x-response-time'), /^[\d.]+ms$/)
  },
})

guest('server-timing', {
  driven: 'three metrics, and the total that it adds before the head',
  app: () =>
    express()
      .use(serverTiming())
      .get('/', (_request, response) => {
        response.setMetric('db', 12.5, 'Database')
        response.startTime('view', 'View')
        response.endTime('view')
        response.send('timed')
      }),
  mask: [[/(view|total); dur=[\d.]+/g, '$1; dur=*']],
  async drive({ get }) {
    assert.match((await get('/')).header('server-timing'), /^db; dur=12.5; desc="Database", view; dur=[\d.]+; desc="View", total; dur=/)
  },
})

guest('on-headers', {
  driven: 'listeners that set and remove fields just before the head, with every way to send one',
  app: () => (request, response) => {
    response.setHeader('x-removed', 'yes')
    onHeaders(response, () => response.setHeader('x-last', `${response.statusCode}`))
    onHeaders(response, () => response.removeHeader('x-removed'))
    if (request.url === '/write-head') response.writeHead(201, 'Made', { 'x-given': 'a' })
    if (request.url === '/array') response.writeHead(202, ['x-given', 'a', 'x-given-too', 'b'])
    if (request.url === '/flush') response.flushHeaders()
    response.end('done')
  },
  async drive({ get }) {
    for (const [path, status] of [
      ['/', 200],
      ['/write-head', 201],
      ['/array', 202],
      ['/flush', 200],
    ]) {
      const { headers } = await get(path)
      assert.deepEqual([headers['x-last'], headers['x-removed']], [`${status}`, undefined], path)
    }
  },
})

guest('on-finished', {
  driven: 'the end of a response, of a request, and a client that leaves',
  app: () => {
    const seen = []
    return (request, response) => {
      if (request.url === '/seen') return response.end(JSON.stringify(seen.splice(0)))
      onFinished(request, (error) => seen.push(`request ${error ? 'failed' : 'ended'}`))
      onFinished(response, (error, { statusCode }) =>
        seen.push(`response ${error ? 'failed' : 'ended'} ${statusCode} ${onFinished.isFinished(response)}`),
      )
      if (request.url === '/left') return response.write('some')
      request.resume().on('end', () => response.end('done'))
    }
  },
  async drive(client) {
    await client.post('/', 'body')
    assert.deepEqual((await client.get('/seen')).json().sort(), ['request ended', 'response ended 200 true'])
    const left = client.open('GET /left HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await left.read('some')
    left.leave()
    let seen = []
    for (let i = 0; i < 100 && !seen.some((one) => one.startsWith('response')); i++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      seen = [...seen, ...(await client.get('/seen', { hidden: true })).json()]
    }
    const [response] = seen.filter((one) => one.startsWith('response'))
    client.note('left', response)
    assert.match(response, /^response (failed|ended) 200 true$/)
  },
})

guest('connect-timeout', {
  driven: 'a handler that is fast, one that is too slow, one that has begun',
  app: () =>
    express()
      .use(timeout('80ms'))
      .get('/fast', (_request, response) => response.send('fast'))
      .get('/slow', (request, response) => setTimeout(() => request.timedout || response.send('slow'), 200))
      .use((error, _request, response, _next) => response.status(error.status).json({ code: error.code, timeout: error.timeout })),
  async drive({ get }) {
    assert.equal((await get('/fast')).text, 'fast')
    const slow = await get('/slow')
    assert.deepEqual([slow.status, slow.json()], [503, { code: 'ETIMEDOUT', timeout: 80 }])
  },
})

guest('errorhandler', {
  driven: 'an error as HTML, JSON and text',
  app: () =>
    express()
      .get('/', () => {
        throw Object.assign(new Error('broken <b>'), { status: 418, stack: 'Error: broken <b>\n    at here' })
      })
      .use(errorhandler({ log: false })),
  async drive({ get }) {
    assert.match((await get('/', { headers: { accept: 'text/html' } })).text, /broken &lt;b&gt;/)
    assert.equal((await get('/', { headers: { accept: 'application/json' } })).json().error.message, 'broken <b>')
    assert.equal((await get('/', { headers: { accept: 'text/plain' } })).status, 418)
  },
})

guest('express-async-handler', {
  driven: 'an asynchronous handler that responds, and one that rejects',
  app: () =>
    express()
      .get(
        '/',
        asyncHandler(async (_request, response) => response.send('later')),
      )
      .get(
        '/fails',
        asyncHandler(async () => Promise.reject(new Error('rejected'))),
      )
      .use((error, _request, response, _next) => response.status(500).send(error.message)),
  async drive({ get }) {
    assert.equal((await get('/')).text, 'later')
    assert.deepEqual(await get('/fails').then(({ status, text }) => [status, text]), [500, 'rejected'])
  },
})

guest('finalhandler', {
  driven: '404, an error with a status and fields, an error after the head, a body that nobody read',
  app: () => (request, response) => {
    const done = finalhandler(request, response, { onerror: () => {} })
    if (request.url === '/error')
      return done(Object.assign(new Error('no'), { status: 409, headers: { 'x-why': 'taken' }, stack: 'stack' }))
    if (request.url === '/late') {
      response.write('begun')
      return setTimeout(() => done(new Error('late')), 20)
    }
    done()
  },
  async drive({ get, post, raw }) {
    assert.match((await get('/none')).text, /Cannot GET \/none/)
    assert.equal((await post('/none', 'x'.repeat(200_000))).status, 404)
    assert.equal((await get('/error')).header('x-why'), 'taken')
    const late = await raw('GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.match(late, /begun/)
    assert.doesNotMatch(late, /\r\n0\r\n\r\n$/, 'the body must not look complete')
  },
})

guest('etag', {
  packages: ['etag', 'fresh'],
  driven: 'strong and weak tags, If-None-Match, If-Modified-Since, Cache-Control: no-cache',
  app: () => (request, response) => {
    response.setHeader('etag', etag('content', { weak: request.url === '/weak' }))
    response.setHeader('last-modified', 'Wed, 21 Oct 2015 07:28:00 GMT')
    if (fresh(request.headers, { etag: response.getHeader('etag'), 'last-modified': response.getHeader('last-modified') }))
      response.statusCode = 304
    response.end(response.statusCode === 304 ? undefined : 'content')
  },
  async drive({ get }) {
    const tag = (await get('/')).header('etag')
    assert.equal((await get('/', { headers: { 'if-none-match': tag } })).status, 304)
    assert.equal((await get('/weak', { headers: { 'if-none-match': tag } })).status, 304)
    assert.equal((await get('/', { headers: { 'if-none-match': tag, 'cache-control': 'no-cache' } })).status, 200)
    assert.equal((await get('/', { headers: { 'if-modified-since': 'Thu, 22 Oct 2015 07:28:00 GMT' } })).status, 304)
  },
})

guest('express-mung', {
  driven: 'JSON and fields changed on their way out',
  app: () =>
    express()
      .use(mung.json((body, _request, response) => ({ ...body, status: response.statusCode })))
      .use(mung.headers((_request, response) => response.set('x-munged', 'yes')))
      .get('/', (_request, response) => response.status(201).json({ a: 1 })),
  async drive({ get }) {
    const response = await get('/')
    assert.deepEqual([response.json(), response.header('x-munged')], [{ a: 1, status: 201 }, 'yes'])
  },
})

guest('apicache', {
  driven: 'a response that is kept and repeated, its fields, a streamed one',
  app: () => {
    let count = 0
    const cache = apicache.newInstance()
    const { middleware } = cache
    const app = express()
      .get('/', middleware('1 minute'), (_request, response) => response.set('x-own', 'kept').json({ count: ++count }))
      .get('/stream', middleware('1 minute'), (_request, response) => {
        response.write(`${++count} `)
        response.end('streamed')
      })
    return { handler: app, close: () => cache.clear() }
  },
  mask: [[/max-age=\d+/g, 'max-age=*']],
  hide: ['expires'],
  async drive({ get }) {
    const first = await get('/')
    const second = await get('/')
    assert.deepEqual([second.json(), second.header('x-own'), first.text], [{ count: 1 }, 'kept', second.text])
    assert.equal((await get('/stream')).text, '2 streamed')
    assert.equal((await get('/stream')).text, '2 streamed')
  },
})
