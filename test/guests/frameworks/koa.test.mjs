// Koa: `app.callback()`.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'

import { bodyParser } from '@koa/bodyparser'
import cors from '@koa/cors'
import { Router } from '@koa/router'
import Koa from 'koa'
import serve from 'koa-static'

import { guest } from '../support/guest.mjs'

guest('koa', {
  measured: '/users/7',
  kind: 'framework',
  packages: ['koa', '@koa/router', '@koa/bodyparser', '@koa/cors', 'koa-static'],
  driven:
    'routes, JSON and forms, signed cookies, CORS, streams, a stream that fails, files with ranges, HEAD, 404, 405, errors, `ctx.respond = false`',
  app: () => {
    const app = new Koa({ keys: ['a key of a test'] })
    app.silent = true
    const router = new Router()
    router.get('/users/:id', (context) => {
      context.cookies.set('seen', context.params.id, { signed: true })
      context.body = {
        id: context.params.id,
        query: context.query,
        ip: context.ip,
        before: context.cookies.get('seen', { signed: true }) ?? null,
      }
    })
    router.post('/echo', (context) => {
      context.status = 201
      context.body = context.request.body
    })
    router.get('/stream', (context) => {
      context.type = 'text'
      context.body = Readable.from(
        (async function* () {
          for (let i = 0; i < 5; i++) {
            yield `${i} `
            await setTimeout(2)
          }
        })(),
      )
    })
    router.get('/broken', (context) => {
      context.body = Readable.from(
        (async function* () {
          yield 'begun '
          await setTimeout(20)
          throw new Error('broken')
        })(),
      )
    })
    router.get('/web', (context) => {
      context.body = new Response('a Response', { status: 203, headers: { 'x-from': 'fetch' } })
    })
    router.get('/raw', (context) => {
      context.respond = false
      context.res.writeHead(299, 'Own', { 'x-own': 'yes' })
      context.res.end('raw')
    })
    router.get('/fails', (context) => context.throw(418, 'teapot'))
    router.get('/throws', () => {
      throw new Error('secret')
    })
    router.get('/back', (context) => context.redirect('/users/1'))
    router.get('/none', (context) => {
      context.status = 204
    })
    return app
      .use(cors())
      .use(bodyParser())
      .use(router.routes())
      .use(router.allowedMethods())
      .use(serve(import.meta.dirname))
      .callback()
  },
  async drive({ get, post, send, raw }) {
    const one = { headers: { origin: 'http://a.example' }, cookies: true }
    assert.deepEqual((await get('/users/7?a=1', one)).json(), { id: '7', query: { a: '1' }, ip: '127.0.0.1', before: null })
    assert.equal((await get('/users/8', one)).json().before, '7')
    assert.deepEqual((await post('/echo', { a: ['ü'] })).json(), { a: ['ü'] })
    assert.deepEqual((await post('/echo', 'a=1&b=2', { headers: { 'content-type': 'application/x-www-form-urlencoded' } })).json(), {
      a: '1',
      b: '2',
    })
    assert.equal((await post('/echo', '{', { headers: { 'content-type': 'application/json' } })).status, 400)
    assert.equal((await post('/echo', { long: 'x'.repeat(2_000_000) })).status, 413)
    assert.equal((await get('/stream')).text, '0 1 2 3 4 ')
    const broken = await raw('GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.match(broken, /begun/)
    assert.doesNotMatch(broken, /\r\n0\r\n\r\n$/)
    assert.equal((await get('/web')).text, 'a Response')
    const own = await get('/raw')
    assert.deepEqual([own.status, own.reason, own.text], [299, 'Own', 'raw'])
    assert.deepEqual(await get('/fails').then(({ status, text }) => [status, text]), [418, 'teapot'])
    assert.deepEqual(await get('/throws').then(({ status, text }) => [status, text]), [500, 'Internal Server Error'])
    assert.equal((await get('/back')).header('location'), '/users/1')
    assert.deepEqual(await get('/none').then(({ status, text }) => [status, text]), [204, ''])
    assert.equal((await send('DELETE', '/stream')).status, 405)
    assert.equal((await send('OPTIONS', '/stream')).header('allow'), 'HEAD, GET')
    assert.equal((await send('HEAD', '/stream')).text, '')
    assert.match((await get('/koa.test.mjs')).text, /^\/\/ Koa/)
    assert.equal((await get('/nothing')).status, 404)
  },
})
