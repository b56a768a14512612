// Requests without content, with and without a type: explained as they are answered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, form, HttpServer, json, multipart, type Problem, t, text } from '../../src/index.ts'
import type { TypedBody } from '../../src/modules/contract/index.ts'
import type { AnySchema } from '../../src/modules/schema/index.ts'

const BODIES: Readonly<Record<string, AnySchema | TypedBody>> = {
  'a schema that reads forms': t.object({ a: t.int.optional() }),
  'an optional schema': t.object({ a: t.int }).optional(),
  'a schema that reads no forms': t.array(t.int),
  'json()': json(t.object({})),
  'form()': form(t.object({})),
  'text()': text(),
  'bytes()': bytes('image/*'),
  'multipart()': multipart({}),
}

const FORM = 'application/x-www-form-urlencoded'
const TYPES = [
  null,
  'application/json',
  FORM,
  FORM.toUpperCase(),
  `${FORM}; charset=utf-16`,
  `${FORM}ed`,
  'text/plain',
  'multipart/form-data',
  ';',
]

for (const [name, body] of Object.entries(BODIES)) {
  test(name, async () => {
    for (const method of ['POST', 'QUERY']) {
      const server = new HttpServer({ logger: null }).map(method, '/', { body }, () => 'ok')
      for (const type of TYPES) {
        const request = { url: '/', method, headers: { 'Content-Length': '0', ...(type !== null && { 'Content-Type': type }) } }
        const { status, code } = (await server.explain(request)).response
        const response = await server.inject(request)
        const problem = response.status === 200 ? null : (response.json() as Problem)
        assert.deepEqual([status ?? 200, code], [response.status, problem?.code ?? null], `${method} ${type}`)
      }
    }
  })
}
