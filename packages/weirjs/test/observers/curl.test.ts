// What observers are told about curl: one that ends normally, and others that are killed.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { curl, noCurl } from '../support/curl.ts'
import { Observed } from '../support/observed.ts'
import { eventually } from '../support/serving.ts'

test('curl: a download, one that is killed, and an upload that is killed', { skip: noCurl }, async (t) => {
  const observed = new Observed()
  const size = 32 * 1024 * 1024
  let received = 0
  const server = observedServer()
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  const url = `http://127.0.0.1:${server.port}`

  function observedServer(): HttpServer {
    const server = new HttpServer({ logger: null })
    observed.on(server)
    server.mapGet('/bytes', () => Buffer.alloc(size))
    server.mapPost('/upload', { body: 'stream', maxRequestBodySize: null }, async (_, { request }) => {
      for await (const piece of request.bodyStream()) received += (piece as Buffer).length
    })
    return server
  }

  await curl([`${url}/bytes`])
  const whole = await observed.record(1)
  assert.deepEqual([whole.status, whole.outcome, whole.bytesOut], [200, 'completed', size])

  const download = spawn('curl', ['--disable', '--silent', '--limit-rate', '1M', '--noproxy', '*', `${url}/bytes`])
  await once(download.stdout, 'data')
  download.kill('SIGKILL')
  const cut = await observed.record(2)
  assert.deepEqual([cut.status, cut.outcome, cut.code], [200, 'client-gone', 'WEIR_CLIENT_GONE'])

  const upload = spawn('curl', ['--disable', '--silent', '--noproxy', '*', '-T', '-', '-X', 'POST', `${url}/upload`])
  upload.stdin.on('error', () => {})
  upload.stdin.write(Buffer.alloc(100_000))
  await eventually(() => received > 0, 'some of the upload')
  upload.kill('SIGKILL')
  const aborted = await observed.record(3)
  assert.deepEqual([aborted.route, aborted.outcome], ['POST /upload', 'client-gone'])
  assert.ok(aborted.bytesIn > 0)
})
