// The same code under `node:http` and inside weir: what its client sees, and in which order the code sees its events.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

import { exchange, type LoggingHandler, listen, mount, outline, type Seen } from '../support/mounted.ts'
import { eventually } from '../support/serving.ts'

interface Case {
  readonly request?: string
  readonly toHead?: boolean
  readonly run: LoggingHandler
}

const GET = 'GET /a?b=1 HTTP/1.1\r\nHost: localhost\r\n\r\n'
const HEAD = 'HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const post = (body: string, fields = ''): string =>
  `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${fields}\r\n${body}`

const codeOf = (act: () => unknown): unknown => {
  try {
    act()
    return 'nothing thrown'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
}

const CASES: Readonly<Record<string, Case>> = {
  'a text': { run: (_, res) => res.end('hello') },
  nothing: { run: (_, res) => res.end() },
  bytes: { run: (_, res) => res.end(Buffer.from([1, 2, 3])) },
  'an encoding': { run: (_, res) => res.end('68656c6c6f', 'hex') },
  latin1: { run: (_, res) => res.write('\u00e9', 'latin1') && res.end('\u00e9', 'latin1') },
  'several writes in one turn': { run: (_, res) => res.write('a') && res.write(Buffer.from('b')) && res.end('c') },
  'writes over several turns': {
    run: async (_, res) => {
      for (const piece of ['a', 'b', 'c']) {
        res.write(piece)
        await wait(1)
      }
      res.end()
    },
  },
  'status, message and fields of writeHead': {
    run: (_, res) => res.writeHead(201, 'Made', { 'X-One': '1', 'x-two': ['2', '3'], 'Set-Cookie': ['a=1', 'b=2'] }).end(),
  },
  'a list for writeHead': { run: (_, res) => res.writeHead(200, ['X-One', '1', 'X-One', '2']).end() },
  'setHeader and writeHead': {
    run: (_, res, log) => {
      res.setHeader('X-One', '1').setHeader('X-Two', 2)
      res.writeHead(200, { 'x-one': 'replaced' })
      log([res.headersSent, res.getHeaders(), res.getHeaderNames()])
      res.end()
    },
  },
  'appendHeader and removeHeader': {
    run: (_, res) => {
      res.setHeader('X-Gone', '1')
      res.removeHeader('x-gone')
      res.setHeader('Set-Cookie', 'a=1')
      res.appendHeader('Set-Cookie', 'b=2')
      res.end()
    },
  },
  'statusCode and statusMessage': {
    run: (_, res) => {
      res.statusCode = 404
      res.statusMessage = 'Nowhere'
      res.end()
    },
  },
  'a status that nobody knows': { run: (_, res) => res.writeHead(299).end() },
  'errors of fields': {
    run: (_, res, log) => {
      log(codeOf(() => res.setHeader('bad name', '1')))
      log(codeOf(() => res.setHeader('X-A', 'a\r\nb: c')))
      log(codeOf(() => res.setHeader('X-A', undefined as unknown as string)))
      log(codeOf(() => res.writeHead(200, { 'X-A': 'a\u0000' })))
      log(codeOf(() => res.writeHead(99)))
      res.end('ok')
    },
  },
  'fields after the head': {
    run: (_, res, log) => {
      res.flushHeaders()
      log(codeOf(() => res.setHeader('X-A', '1')))
      log(codeOf(() => res.writeHead(200)))
      log(codeOf(() => res.appendHeader('X-A', '1')))
      log(codeOf(() => res.removeHeader('X-A')))
      res.end()
    },
  },
  'errors of write': {
    run: (_, res, log) => {
      log(codeOf(() => res.write(null)))
      log(codeOf(() => res.write(5 as unknown as string)))
      res.end('ok')
    },
  },
  'write after end': {
    run: (_, res, log) => {
      res.on('error', (error: NodeJS.ErrnoException) => log(error.code))
      res.end('ok')
      log(res.write('more', (error) => log(['callback', (error as NodeJS.ErrnoException).code])))
    },
  },
  'end twice': {
    run: (_, res, log) => {
      res.end('ok')
      res.on('error', (error: NodeJS.ErrnoException) => log(error.code))
      res.end('again')
    },
  },
  'state before, during and after': {
    run: (_, res, log) => {
      const state = (): unknown => [
        res.headersSent,
        res.writableEnded,
        res.writableFinished,
        res.writableNeedDrain,
        res.finished,
        res.destroyed,
        res.closed,
        res.socket === null,
      ]
      log(state())
      res.write('a')
      log(state())
      res.end()
      log(state())
      res.on('finish', () => log(state()))
      res.on('close', () => log(state()))
    },
  },
  'the order of events, for a response in one piece': {
    run: (req, res, log) => {
      for (const name of ['prefinish', 'finish', 'close']) res.on(name, () => log(`res ${name}`))
      for (const name of ['end', 'close', 'aborted']) req.on(name, () => log(`req ${name}`))
      res.end('ok', () => log('callback of end'))
    },
  },
  'the order of events, for a stream': {
    run: async (req, res, log) => {
      for (const name of ['prefinish', 'finish', 'close']) res.on(name, () => log(`res ${name}`))
      for (const name of ['end', 'close', 'aborted']) req.on(name, () => log(`req ${name}`))
      res.write('a', () => log('callback of write'))
      await wait(5)
      res.end('ok', () => log('callback of end'))
    },
  },
  'the order of events, when the body is read first': {
    request: post('hello'),
    run: (req, res, log) => {
      for (const name of ['prefinish', 'finish', 'close']) res.on(name, () => log(`res ${name}`))
      for (const name of ['end', 'close', 'aborted']) req.on(name, () => log(`req ${name}`))
      req.on('data', (bytes: Buffer) => log(String(bytes))).on('end', () => setImmediate(() => res.end('ok')))
    },
  },
  'a request without a body': {
    run: (req, res, log) => {
      log([req.method, req.url, req.httpVersion, req.httpVersionMajor, req.httpVersionMinor, req.complete, req.aborted, req.destroyed])
      log([req.rawHeaders, req.headers, req.headersDistinct, req.trailers, req.rawTrailers])
      log([req.readable, req.readableEnded, req.readableFlowing, req.readableLength])
      req.resume().on('end', () => {
        log([req.readableEnded, req.complete])
        res.end()
      })
    },
  },
  'repeated fields': {
    request:
      'GET / HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nx-a: 2\r\nCookie: a=1\r\nCookie: b=2\r\nSet-Cookie: c\r\nUser-Agent: one\r\nUser-Agent: two\r\n\r\n',
    run: (req, res, log) => {
      log([req.headers, req.headersDistinct, req.rawHeaders])
      res.end()
    },
  },
  'an echo': { request: post('x'.repeat(100_000)), run: (req, res) => req.pipe(res) },
  'an async iterator': {
    request: post('some bytes'),
    run: async (req, res) => {
      let text = ''
      for await (const piece of req) text += String(piece)
      res.end(text)
    },
  },
  setEncoding: {
    request: post('hello'),
    run: (req, res, log) => {
      req.setEncoding('utf8')
      req.on('data', (text) => log(text)).on('end', () => res.end())
    },
  },
  'trailers of a request': {
    request: 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n',
    run: (req, res, log) => {
      req.resume().on('end', () => {
        log([req.trailers, req.rawTrailers, req.trailersDistinct, req.complete])
        res.end()
      })
    },
  },
  'a body that is not read': { request: post('hello'), run: (_, res) => res.end('ok') },
  HEAD: { request: HEAD, toHead: true, run: (_, res) => res.write('ignored') && res.end('hello') },
  'HEAD with a length': { request: HEAD, toHead: true, run: (_, res) => res.writeHead(200, { 'X-A': '1', 'Content-Length': 5 }).end() },
  '204': { run: (_, res) => res.writeHead(204).write('ignored') && res.end() },
  '304': { run: (_, res) => res.writeHead(304, { ETag: '"a"' }).end('ignored') },
  'a declared length': { run: (_, res) => res.writeHead(200, { 'Content-Length': '5' }).end('hello') },
  strictContentLength: {
    run: (_, res, log) => {
      res.strictContentLength = true
      res.writeHead(200, { 'Content-Length': 3 })
      log(codeOf(() => res.write('hello')))
      res.end('abc')
    },
  },
  'a pipe': { run: (_, res) => Readable.from(['a', 'b', 'c']).pipe(res) },
  'cork and uncork': {
    run: (_, res) => {
      res.cork()
      res.write('a')
      res.write('b')
      res.uncork()
      setImmediate(() => res.end('c'))
    },
  },
  'the callback of write': {
    run: (_, res, log) => {
      res.write('a', () => {
        log('written')
        res.end('b')
      })
    },
  },
  'on a response in a later turn': {
    run: (_, res) => {
      setImmediate(() => res.writeHead(202).end('later'))
    },
  },
  'empty writes': {
    run: async (_, res) => {
      res.write('')
      await wait(1)
      res.write(Buffer.alloc(0))
      res.end('')
    },
  },
  'setTimeout that does not fire': {
    run: (req, res, log) => {
      req.setTimeout(10_000, () => log('timeout'))
      res.setTimeout(0)
      res.end('ok')
    },
  },
  'the socket': {
    run: (req, res, log) => {
      const { socket } = req
      log([
        socket.remoteAddress,
        socket.remoteFamily,
        typeof socket.remotePort,
        (socket as { encrypted?: unknown }).encrypted,
        socket.readable,
        socket.writable,
      ])
      log([req.connection === socket, res.socket === socket, res.connection === socket, res.req === req])
      res.end()
    },
  },
  'replaced methods': {
    run: (_, res, log) => {
      const { writeHead, end, write } = res
      res.writeHead = function (this: typeof res, ...args: unknown[]) {
        log('writeHead')
        this.setHeader('X-Late', '1')
        return Reflect.apply(writeHead, this, args)
      } as typeof res.writeHead
      res.write = function (this: typeof res, ...args: unknown[]) {
        log('write')
        return Reflect.apply(write, this, args)
      } as typeof res.write
      res.end = function (this: typeof res, ...args: unknown[]) {
        log('end')
        return Reflect.apply(end, this, args)
      } as typeof res.end
      res.write('a')
      res.end('b')
    },
  },
  'replaced prototypes': {
    run: (req, res) => {
      Object.setPrototypeOf(req, Object.create(Object.getPrototypeOf(req) as object))
      Object.setPrototypeOf(res, Object.create(Object.getPrototypeOf(res) as object))
      req.resume().on('end', () => res.end('ok'))
    },
  },
}

for (const [name, { request = GET, toHead = false, run }] of Object.entries(CASES)) {
  test(`weir does as node:http: ${name}`, async (t) => {
    const seen: Seen[] = []
    const log: unknown[] = []
    const handler: LoggingHandler = (req, res) => {
      res.on('close', () => log.push('over'))
      return run(req, res, (word) => log.push(JSON.stringify(word)))
    }
    const server = await mount(t, (req, res) => handler(req, res, () => {}))
    for (const port of [await listen(t, (req, res) => handler(req, res, () => {})), server.port]) {
      log.length = 0
      const message = await exchange(port, request, toHead)
      await eventually(() => log.includes('over'), 'the end')
      await wait(1)
      seen.push(outline(message, [...log]))
    }
    assert.deepEqual(seen[1], seen[0])
  })
}
