import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange } from '../../../test/support/asked.ts'
import type { OutgoingResponse } from '../../http/response/outgoing-response.ts'
import { reply } from '../reply.ts'
import { compose, type Middleware, type Pipeline } from './middleware.ts'

const route: Pipeline = (exchange) => reply(exchange, 'route')

async function run(middlewares: readonly unknown[], inner: Pipeline = route, silent: Middleware[] = []): Promise<OutgoingResponse> {
  return compose(middlewares as Middleware[], inner, (middleware) => silent.push(middleware))(askedExchange())
}

const textOf = ({ content }: OutgoingResponse): unknown => (content.kind === 'text' ? content.text : content.kind)

test('runs from the outermost to the innermost, and back', async () => {
  const order: string[] = []
  const around = (name: string) => async (_session: unknown, next: () => unknown) => {
    order.push(name)
    await next()
    order.push(`/${name}`)
  }
  assert.equal(textOf(await run([around('a'), around('b')])), 'route')
  assert.deepEqual(order, ['a', 'b', '/b', '/a'])
})

test('what a middleware returns is the response, before or instead of the route', async () => {
  assert.equal(textOf(await run([() => 'own'], () => assert.fail('the route runs'))), 'own')
  assert.equal(
    textOf(
      await run([
        (_session: unknown, next: () => unknown) => {
          next()
          return 'other'
        },
      ]),
    ),
    'other',
  )
})

test('a middleware calls next at most once', async () => {
  const twice: Middleware = (_session, next) => {
    next()
    next()
  }
  await assert.rejects(run([twice]), { code: 'WEIR_MIDDLEWARE_NEXT_TWICE' })
})

test('an error passes unless the middleware answers, also where it was caught', async () => {
  const fail: Pipeline = () => {
    throw new Error('route')
  }
  const swallow: Middleware = (_session, next) => {
    try {
      next()
    } catch {}
  }
  await assert.rejects(run([swallow], fail), /route/)
  const recover: Middleware = (_session, next) => {
    try {
      return next()
    } catch {
      return 'recovered'
    }
  }
  assert.equal(textOf(await run([recover], fail)), 'recovered')
})

test('one that neither calls next nor answers is reported', async () => {
  const silent: Middleware[] = []
  const forgets: Middleware = () => {}
  assert.equal((await run([forgets], route, silent)).statusCode, 204)
  assert.deepEqual(silent, [forgets])
  const responses: Middleware = ({ response }) => void response.text('own')
  assert.equal(textOf(await run([responses], route, silent)), 'own')
  assert.equal(silent.length, 1)
})
