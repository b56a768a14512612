// Two copies of weirjs in one program, as npm installs them if the versions of its packages differ.

import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { HttpServer } from '../../src/index.ts'
import * as kit from '../../src/modules/kit/index.ts'

test('a module of another copy says so, and what to do', async () => {
  const other = (await import(pathToFileURL(resolve('packages/weirjs/dist/modules/kit/index.js')).href)) as typeof kit
  const heard: unknown[] = []
  const server = new HttpServer({ logger: { error: (_message, error) => void heard.push(error), warn() {} } })
  server.mapGet('/own', (_, session) => kit.exchange(session).host)
  server.mapGet('/other', (_, session) => other.exchange(session).host)
  assert.equal((await server.inject('/own')).status, 200)
  assert.equal((await server.inject('/other')).status, 500)
  assert.match(String(heard), /two copies of weirjs: install the same version of all packages/)
})
