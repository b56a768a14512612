// Clients with small windows: they are served, whatever it costs them (RFC 9113 §5.2.2).

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { HttpServer } from '../../src/index.ts'
import { Observed } from '../support/observed.ts'

const noH2load =
  spawnSync('h2load', ['--version']).status === 0 ? false : 'h2load is not on the PATH: install nghttp2-client to run these tests'
const BODY = Buffer.alloc(100_000, 'x')

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < BODY.length; at += 1_000) yield BODY.subarray(at, at + 1_000)
}

for (const bits of [8, 10]) {
  test(`h2load with windows of ${2 ** bits - 1} bytes`, { skip: noH2load }, async (t) => {
    const server = new HttpServer({ port: 0, logger: null, http2: 'cleartext' })
    server.mapGet('/whole', () => BODY)
    server.mapGet('/stream', (_, { response }) => response.stream(pieces()))
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const observed = new Observed().on(server)
    const urls = ['whole', 'stream'].map((path) => `http://127.0.0.1:${server.port}/${path}`)
    const child = spawn('h2load', ['-n40', '-c2', '-m5', `-w${bits}`, `-W${bits}`, ...urls], { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
    assert.match(output, /40 succeeded, 0 failed/)
    assert.deepEqual([...new Set(observed.ended.map(({ outcome }) => outcome))], ['completed'])
  })
}
