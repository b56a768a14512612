// The Lambda recipe of docs/guide/serverless.md, with events in the form that AWS documents.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { HttpServer } from 'weirjs'

import { type LambdaEvent, lambdaHandler } from '../../examples/lambda/lambda.ts'

const EVENTS = 'packages/weirjs/test/support/lambda-events'

function eventCalled(name: string): LambdaEvent {
  return JSON.parse(readFileSync(`${EVENTS}/${name}.json`, 'utf8')) as LambdaEvent
}

interface Answer {
  readonly statusCode: number
  readonly statusDescription?: string
  readonly headers: Readonly<Record<string, string>>
  readonly multiValueHeaders: Readonly<Record<string, readonly string[]>>
  readonly cookies: readonly string[]
  readonly body: string
  readonly isBase64Encoded: boolean
}

function server(): HttpServer {
  const one = new HttpServer({ logger: null })
  one.mapGet('/users/:name', ({ name }, { request, response, clientAddress, isSecure, origin }) => {
    response
      .cookie('a', '1')
      .cookie('b', '2')
      .header('X-Seen', String(request.header('user-agent')).slice(0, 4))
    const tags = request.query.getAll('tag')
    return {
      name,
      tags,
      q: request.query.get('q'),
      cookies: [request.cookie('session'), request.cookie('theme')],
      clientAddress,
      isSecure,
      origin,
    }
  })
  one.mapPost('/json', (_, { request, isSecure, clientAddress }) => ({ got: request.bodyJson(), isSecure, clientAddress }))
  one.mapPost('/upload', async (_, { request }) => {
    const form = await request.bodyMultipart()
    return Buffer.from(form!.files[0]!.content)
  })
  return one
}

const handler = lambdaHandler(server())
const handle = async (event: LambdaEvent): Promise<Answer> => (await handler(event)) as Answer
const SEEN = { name: 'Grüße', tags: ['a', 'b c'], q: 'ü', cookies: ['abc123', 'dark'], isSecure: true }

test('a GET of an HTTP API: decoded path, repeated query values, cookies both ways', async () => {
  const { body, headers, cookies, ...rest } = await handle(eventCalled('http-api-get'))
  const origin = 'https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'
  assert.deepEqual(JSON.parse(body), { ...SEEN, clientAddress: '203.0.113.7', origin })
  assert.deepEqual(rest, { statusCode: 200, isBase64Encoded: false })
  assert.equal(headers['x-seen'], 'Mozi')
  assert.equal(headers['set-cookie'], undefined)
  assert.deepEqual(
    cookies.map((cookie) => cookie.slice(0, 3)),
    ['a=1', 'b=2'],
  )
})

test('a POST of a function URL, with text', async () => {
  const answer = await handle(eventCalled('function-url-post'))
  assert.equal(answer.statusCode, 200, answer.body)
  assert.deepEqual(JSON.parse(answer.body), { got: { name: 'Ünï' }, isSecure: true, clientAddress: '2001:db8::7' })
})

test('a form with a file in base64, and a binary response', async () => {
  const answer = await handle(eventCalled('http-api-upload'))
  assert.equal(answer.isBase64Encoded, true)
  assert.deepEqual([...Buffer.from(answer.body, 'base64').subarray(0, 4)], [0x89, 0x50, 0x4e, 0x47])
})

test('a load balancer with multi-value headers', async () => {
  const answer = await handle(eventCalled('balancer-multi-value-get'))
  const origin = 'https://weir-1234567890.eu-central-1.elb.amazonaws.com'
  assert.deepEqual(JSON.parse(answer.body), { ...SEEN, clientAddress: '203.0.113.9', origin })
  assert.equal(answer.statusDescription, '200 OK')
  const { 'set-cookie': cookies, 'content-type': type } = answer.multiValueHeaders
  assert.deepEqual([cookies?.length, type], [2, ['application/json']])
})

test('a load balancer without them', async () => {
  const answer = await handle(eventCalled('balancer-post'))
  assert.deepEqual(JSON.parse(answer.body), { got: { name: 'Ada' }, isSecure: false, clientAddress: '203.0.113.9' })
  assert.equal(answer.headers['content-type'], 'application/json')
})

test('a path without a route, and a query that would end the path', async () => {
  const event = { ...(eventCalled('http-api-get') as object), rawPath: '/no?where#' } as LambdaEvent
  assert.equal((await handle(event)).statusCode, 404)
})

test('every recorded event is used, and the page has the code of the example', () => {
  assert.equal(readdirSync(EVENTS).length, 5)
  const code = readFileSync('examples/lambda/lambda.ts', 'utf8')
  assert.ok(readFileSync('docs/guide/serverless.md', 'utf8').includes(code.slice(code.indexOf('import')).trimEnd()))
})
