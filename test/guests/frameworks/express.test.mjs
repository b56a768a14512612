// Express below a prefix, and what its handlers do with the objects of Node themselves.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import express from 'express'

import { inPieces } from '../support/client.mjs'
import { guest } from '../support/guest.mjs'

const PIECE = Buffer.alloc(64 * 1024, 'x')

function app() {
  const app = express().set('trust proxy', true).set('etag', 'strong').enable('strict routing')
  const state = { pulled: 0, events: [] }
  app.use((request, response, next) => {
    if (request.path.startsWith('/watched')) {
      request.on('aborted', () => state.events.push('aborted'))
      request.on('close', () => state.events.push(`request closed ${request.complete} ${request.destroyed}`))
      response.on('close', () => state.events.push(`response closed ${response.writableFinished}`))
    }
    next()
  })
  app.get('/state', (_request, response) => response.json({ ...state, events: state.events.splice(0) }))

  const router = express.Router({ mergeParams: true })
  router.param('id', (request, _response, next, id) => {
    request.found = `found ${id}`
    next()
  })
  router.get(
    '/:id',
    ({ baseUrl, url, originalUrl, path, params, found, query, ip, ips, hostname, protocol, secure, subdomains, xhr, fresh }, response) =>
      response.json({ baseUrl, url, originalUrl, path, params, found, query, ip, ips, hostname, protocol, secure, subdomains, xhr, fresh }),
  )
  app.use('/teams/:team/users', router)
  app.get('/redirect', (_request, response) => response.redirect('back'))
  app.get('/location', ({ baseUrl }, response) => response.redirect(`${baseUrl}/teams`))

  app.get('/raw', (request, response) => {
    const { httpVersion, rawHeaders, socket, method } = request
    response.json({
      httpVersion,
      method,
      names: rawHeaders.filter((_, i) => i % 2 === 0),
      distinct: request.headersDistinct['x-many'],
      joined: request.headers['x-many'],
      address: socket.remoteAddress,
      family: socket.remoteFamily,
      hasPort: socket.remotePort > 0 && socket.localPort > 0,
      isConnection: request.connection === socket && response.socket === socket,
    })
  })
  app.get('/hints', (_request, response) => {
    response.writeEarlyHints({ link: ['</a.css>; rel=preload; as=style', '</b.js>; rel=preload; as=script'] })
    setImmediate(() => response.send('hinted'))
  })
  app.post('/trailers', async (request, response) => {
    for await (const _ of request);
    response.setHeader('trailer', 'x-sum, x-received') // weir sends only those that are announced
    response.write('body')
    response.addTrailers({ 'x-sum': '7', 'x-received': request.trailers['x-sent'] ?? 'none' })
    response.end()
  })
  app.get('/many', (_request, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    response.append('vary', 'a').append('vary', 'b').vary('c')
    response.setHeaders(new Map([['x-map', 'yes']]))
    response.appendHeader('x-more', 'one').appendHeader('x-more', 'two')
    response.json({ names: response.getHeaderNames().sort(), has: response.hasHeader('X-MAP'), value: response.getHeader('x-more') })
  })
  app.get('/wrong', (_request, response) => {
    const failures = []
    for (const attempt of [
      () => response.setHeader('bad name', 'x'),
      () => response.setHeader('x', 'a\nb'),
      () => response.writeHead(99),
    ]) {
      try {
        attempt()
        failures.push('none')
      } catch ({ code }) {
        failures.push(code)
      }
    }
    response.send(failures)
    try {
      response.setHeader('x-late', 'yes')
    } catch ({ code }) {
      state.events.push(code)
    }
    response.write('after the end', ({ code }) => state.events.push(code))
    response.on('error', () => {})
  })
  app.get('/timeout', (request, response) => {
    response.setTimeout(30, () => response.status(503).send('too slow'))
    request.socket.setKeepAlive(true).setNoDelay(true)
  })
  app.get('/throws/later', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    throw Object.assign(new Error('later'), { status: 422, expose: true })
  })
  app.get('/throws/late', async (_request, response) => {
    response.write('begun')
    await new Promise((resolve) => setTimeout(resolve, 20))
    throw new Error('late')
  })
  app.get('/big', async (_request, response) => {
    async function* pieces() {
      for (let i = 0; i < 1000; i++) {
        state.pulled++
        yield PIECE
      }
    }
    await pipeline(Readable.from(pieces()), response).catch((error) => state.events.push(error.code))
  })
  app.post('/watched/read', async (request, response) => {
    let bytes = 0
    try {
      for await (const piece of request) bytes += piece.length
      response.json(bytes)
    } catch ({ code }) {
      state.events.push(`read failed ${code}`)
    }
  })
  app.post('/watched/ignored', (_request, response) => response.status(403).send('no'))
  app.get('/watched/wait', () => {})
  app.post('/echo', (request, response) => request.pipe(response))
  return app
}

const events = async ({ get }, path, count) => {
  const seen = []
  for (let i = 0; i < 100 && seen.length < count; i++) {
    seen.push(...(await get(path, { hidden: true })).json().events)
    if (seen.length < count) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return seen.sort()
}

async function drive(client, { port }, prefix) {
  const { get, post, open, raw, note } = client
  const at = (path) => `${prefix}${path}`
  const proxied = {
    'x-forwarded-for': '192.0.2.7, 10.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'a.b.example.com',
    'x-requested-with': 'xmlhttprequest',
  }
  const user = (await get(at('/teams/7/users/ada%20b?x=1&x=2'), { headers: proxied })).json()
  assert.deepEqual(
    [user.baseUrl, user.originalUrl, user.params, user.ip],
    [at('/teams/7/users'), at('/teams/7/users/ada%20b?x=1&x=2'), { team: '7', id: 'ada b' }, '192.0.2.7'],
  )
  await get(at('/teams/7/users'))
  await get(at('/teams/7/users/a/b'))
  await get(at('/'))
  if (prefix !== '') await get(at('?a'))
  await get(at('/location'))
  await get(at('/%ff'), { hidden: true })
  await get(at('/raw'), { headers: { 'X-Many': ['one', 'two'], 'x-empty': '' } })
  assert.equal((await get(at('/hints'))).informations[0].status, 103)
  const sent = await post(at('/trailers'), inPieces(Buffer.alloc(5000)), {
    headers: { trailer: 'x-sent', te: 'trailers', connection: 'TE' },
    trailers: { 'x-sent': 'yes' },
  })
  assert.deepEqual(sent.trailers, { 'x-sum': '7', 'x-received': 'yes' })
  assert.equal((await get(at('/many'))).header('vary'), 'a, b, c')
  assert.deepEqual((await get(at('/wrong'))).json(), ['ERR_INVALID_HTTP_TOKEN', 'ERR_INVALID_CHAR', 'ERR_HTTP_INVALID_STATUS_CODE'])
  note('events of /wrong', await events(client, at('/state'), 2))
  assert.equal((await get(at('/timeout'))).text, 'too slow')
  assert.equal((await get(at('/throws/later'))).status, 422)
  const late = await raw(`GET ${at('/throws/late')} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  assert.doesNotMatch(late, /\r\n0\r\n\r\n$/)

  const slow = request({ port, path: at('/big'), agent: false }).end()
  const [incoming] = await once(slow, 'response')
  await new Promise((resolve) => setTimeout(resolve, 300))
  const { pulled } = (await get(at('/state'), { hidden: true })).json()
  assert.ok(pulled < 500, `${pulled} pieces of 64 KiB were produced for a client that does not read`)
  incoming.destroy()
  note('events of a slow client that leaves', await events(client, at('/state'), 1))

  const upload = open(`POST ${at('/watched/read')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(1000)}`)
  await new Promise((resolve) => setTimeout(resolve, 50))
  upload.leave()
  note('events of an upload that is left', await events(client, at('/state'), 4))
  const waiting = open(`GET ${at('/watched/wait')} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  await new Promise((resolve) => setTimeout(resolve, 50))
  waiting.leave()
  note('events of a client that does not wait', await events(client, at('/state'), 2))
  await post(at('/watched/read'), Buffer.alloc(100_000))
  note('events of a complete exchange', await events(client, at('/state'), 2))
  assert.equal((await post(at('/watched/ignored'), Buffer.alloc(200_000))).status, 403)
  const piped = await post(at('/echo'), inPieces(Buffer.alloc(3_000_000, 'e'), 50_000))
  assert.equal(piped.bytes.length, 3_000_000)

  const three = `GET ${at('/many')} HTTP/1.1\r\nHost: localhost\r\n\r\nPOST ${at('/echo')} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcGET ${at('/none')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
  const statuses = [...(await raw(three)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  assert.deepEqual(statuses, ['200', '200', '404'])
}

const driven =
  'routers, parameters, proxies, raw fields, early hints, trailers, cookies, wrong fields, timeouts, late errors, 64 MB to a client that does not read, uploads and waits that clients leave, pipelining'

guest('Express', {
  kind: 'framework',
  packages: ['express'],
  measured: '/teams/7/users/ada',
  driven,
  app,
  drive: (client, served) => drive(client, served, ''),
})

guest('Express below a prefix', {
  kind: 'framework',
  packages: ['express'],
  driven: 'the same below `/old`',
  app: () => ({ handler: app(), path: '/old' }),
  drive: (client, served) => drive(client, served, '/old'),
})
