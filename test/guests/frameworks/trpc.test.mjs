// tRPC: its adapters for node:http, Express and Fetch, driven by its own client.
import assert from 'node:assert/strict'

import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  httpSubscriptionLink,
  isNonJsonSerializable,
  splitLink,
} from '@trpc/client'
import { initTRPC, TRPCError, tracked } from '@trpc/server'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import { EventSource } from 'eventsource'
import express from 'express'
import { z } from 'zod'

import { guest } from '../support/guest.mjs'

function makeRouter() {
  const state = { left: 0 }
  const t = initTRPC.context().create({ isDev: false })
  const router = t.router({
    hello: t.procedure.input(z.object({ name: z.string() })).query(({ input, ctx }) => `Hello ${input.name} ${ctx.user ?? ''}`),
    slow: t.procedure.query(() => new Promise((resolve) => setTimeout(resolve, 30, 'slow'))),
    add: t.procedure.input(z.array(z.number())).mutation(({ input }) => input.reduce((a, b) => a + b)),
    upload: t.procedure.input(z.instanceof(FormData)).mutation(async ({ input }) => {
      const file = input.get('file')
      return { title: input.get('title'), name: file.name, size: (await file.arrayBuffer()).byteLength }
    }),
    stream: t.procedure.query(async function* () {
      for (let i = 0; i < 3; i++) yield i
    }),
    fails: t.procedure.query(() => {
      throw new TRPCError({ code: 'CONFLICT', message: 'taken' })
    }),
    left: t.procedure.query(() => state.left),
    ticks: t.procedure.subscription(async function* ({ signal }) {
      try {
        for (let i = 0; !signal.aborted; i++) {
          yield tracked(`${i}`, { i })
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      } finally {
        state.left++
      }
    }),
  })
  return router
}

async function drive(client, { origin }) {
  const prefix = '/trpc'
  const url = `${origin}${prefix}`
  const headers = { 'x-user': 'ada' }
  const trpc = createTRPCClient({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: httpSubscriptionLink({ url, EventSource }),
        false: splitLink({
          condition: ({ input }) => isNonJsonSerializable(input),
          true: httpLink({ url, headers }),
          false: httpBatchLink({ url, headers }),
        }),
      }),
    ],
  })
  const batch = await Promise.all([trpc.hello.query({ name: 'Ü' }), trpc.hello.query({ name: 'B' })])
  assert.deepEqual(batch, ['Hello Ü ada', 'Hello B ada'])
  assert.equal(await trpc.add.mutate([1, 2, 3]), 6)
  const form = new FormData()
  form.set('title', 'ü')
  form.set('file', new File([Buffer.alloc(100_000)], 'a.bin'))
  assert.deepEqual(await trpc.upload.mutate(form), { title: 'ü', name: 'a.bin', size: 100_000 })
  await assert.rejects(trpc.fails.query(), { message: 'taken', data: { code: 'CONFLICT', httpStatus: 409, path: 'fails' } })
  await assert.rejects(trpc.hello.query({}), /expected string/)
  const streaming = createTRPCClient({ links: [httpBatchStreamLink({ url, headers })] })
  const order = []
  await Promise.all([
    streaming.slow.query().then(() => order.push('slow')),
    streaming.hello.query({ name: 'C' }).then(() => order.push('fast')),
  ])
  assert.deepEqual(order, ['fast', 'slow'])
  const streamed = []
  for await (const i of await streaming.stream.query()) streamed.push(i)
  assert.deepEqual(streamed, [0, 1, 2])
  const seen = await new Promise((resolve, reject) => {
    const ticks = []
    const subscription = trpc.ticks.subscribe(undefined, {
      onError: reject,
      onData: ({ id, data }) => {
        ticks.push([id, data.i])
        if (ticks.length < 4) return
        subscription.unsubscribe()
        resolve(ticks)
      },
    })
  })
  assert.deepEqual(seen, [
    ['0', 0],
    ['1', 1],
    ['2', 2],
    ['3', 3],
  ])
  for (let i = 0; (await trpc.left.query()) === 0; i++) {
    assert.ok(i < 100, 'the subscription did not end')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const { get, post } = client
  assert.equal((await get(`${prefix}/none`)).status, 404)
  assert.equal((await post(`${prefix}/add`, '{', { headers: { 'content-type': 'application/json' } })).status, 400)
  assert.equal((await get(`${prefix}/add`)).status, 405)
}

const driven =
  'a batch, a mutation, a form with a file, errors, a streamed batch, a streamed query, a subscription by server-sent events that the client ends'
const options = { kind: 'framework', packages: ['@trpc/server'], driven }
const fields = { createContext: ({ req }) => ({ user: req.headers['x-user'] }), allowMethodOverride: true }
const byFetch = (request) =>
  fetchRequestHandler({
    req: request,
    endpoint: '/trpc',
    router: fetched,
    createContext: ({ req }) => ({ user: req.headers.get('x-user') }),
  })
let fetched

guest('tRPC standalone', {
  measured: '/trpc/hello?input=%7B%22name%22%3A%22Ada%22%7D',
  ...options,
  app: () => createHTTPHandler({ router: makeRouter(), basePath: '/trpc/', ...fields }),
  drive,
})

guest('tRPC on Express', {
  ...options,
  app: () => express().use('/trpc', createExpressMiddleware({ router: makeRouter(), ...fields })),
  drive,
})

guest('tRPC by Fetch', {
  ...options,
  app: () => {
    fetched = makeRouter()
    return { fetch: byFetch }
  },
  drive,
})
