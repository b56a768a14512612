import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead } from '../../../test/support/asked.ts'
import type { Problem } from '../../http/response/problem.ts'
import { Secrets } from '../routes/shown-target.ts'
import { ShownTexts } from '../routes/shown-texts.ts'
import { errorPage } from './error-page.ts'

async function page(error: unknown, problem: Partial<Problem> = {}, ...fields: string[]): Promise<string> {
  const exchange = askedExchange(askedHead('GET /x?access_token=Zq7canary', ...fields))
  return errorPage({
    problem: { status: 500, title: 'T', ...problem },
    error,
    exchange,
    explanation: null,
    secrets: new Secrets([], null),
    texts: new ShownTexts({ secretRoutes: [], basePath: '' }),
  })
}

test('shows causes, and survives what cannot be read', async () => {
  const unreadable = {
    get message() {
      throw new Error('x')
    },
    toString() {
      throw new Error('x')
    },
  }
  const text = await page(new Error('outer', { cause: new TypeError('<inner>', { cause: unreadable }) }))
  assert.match(text, /Caused by <code>TypeError: &lt;inner&gt;<\/code>/)
  assert.match(text, /Caused by <code>an object that has no text<\/code>/)
})

test('a chain of causes that never ends is cut', async () => {
  const error = new Error('again')
  error.cause = error
  assert.equal((await page(error)).split('Caused by').length - 1, 4)
})

test('what does not fit is listed, without markup of the client', async () => {
  const errors = [
    { name: 'id', in: 'query', expected: 'a whole number', actual: '<b>' },
    { name: '', in: 'body', expected: 'a number' },
  ] as const
  const text = await page(null, { status: 400, errors })
  assert.match(text, /<dt>id \(query\)<\/dt><dd><p>expected a whole number, received &quot;&lt;b&gt;&quot;<\/p>/)
  assert.match(text, /<dt>body<\/dt><dd><p>expected a number, received nothing<\/p>/)
})

test('secret fields and parameters are not shown, and long texts are cut', async () => {
  const text = await page(
    null,
    { detail: 'd'.repeat(3000) },
    'Authorization: Bearer Zq7canary',
    'Referer: https://a/?token=Zq7canary',
    'X-Plain: seen',
  )
  assert.doesNotMatch(text, /Zq7canary|d{1001}/)
  assert.match(text, /<p>seen<\/p>/)
})
