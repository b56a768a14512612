// Clients that are not written in JavaScript: those of gRPC for Python and Ruby, which are C++ below, and curl.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type ExchangeRecord, HttpServer } from 'weirjs'

import { curl, noCurl } from '../../weirjs/test/support/curl.ts'
import { FrameQueue, frame } from '../src/frames.ts'
import { mapService } from '../src/index.ts'
import { EchoRequestSchema, EchoResponseSchema, EchoService } from './proto/echo_pb.ts'
import { ECHO } from './support/echo.ts'

/** A program, or null if it has no gRPC. Debian's own comes second: another one may stand before it on the PATH. */
function withGrpc(name: string, args: readonly string[]): string | null {
  return [name, `/usr/bin/${name}`].find((path) => spawnSync(path, args).status === 0) ?? null
}

const LANGUAGES = [
  { name: 'Python', program: withGrpc('python3', ['-c', 'import grpc']), file: 'client.py', package: 'python3-grpcio' },
  { name: 'Ruby', program: withGrpc('ruby', ['-e', "require 'grpc'"]), file: 'client.rb', package: 'ruby-grpc' },
]

async function serve(t: TestContext) {
  const records: ExchangeRecord[] = []
  const server = new HttpServer({
    logger: null,
    listen: [
      { name: 'http1', address: '127.0.0.1', port: 0 },
      { name: 'http2', address: '127.0.0.1', port: 0, http2: 'cleartext' },
    ],
  })
  server.observe({ end: (record) => void records.push(record) })
  mapService(server, EchoService, ECHO)
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  const [http1, http2] = server.endpoints.map(({ port }) => port)
  return { http1: http1!, http2: http2!, records }
}

for (const { name, program, file, package: needed } of LANGUAGES) {
  const skip = program === null && `${name} has no gRPC here: install ${needed} to run this test`
  test(`gRPC for ${name} calls all kinds of methods`, { skip }, async (t) => {
    const { http2, records } = await serve(t)
    const seen = JSON.parse(await outputOf(program!, [resolve('packages/rpc/test/programs', file), `127.0.0.1:${http2}`])) as object
    assert.deepEqual(seen, {
      unary: 'hello',
      metadata: ['yes', 'the end', '00ff80'],
      gzip: [5_000, 'gzip'],
      stream: Array.from({ length: 300 }, (_, index) => index),
      gathered: 'abc',
      conversation: ['re: a', 're: b', 're: c'],
      failure: ['NOT_FOUND', 'no ä here %', 'gone', true],
      unknown: ['INTERNAL', 'internal error', null, false],
      cut: ['ABORTED', 'in the middle', null, false, [0, 1]],
      deadline: 'DEADLINE_EXCEEDED',
      missing: 'UNIMPLEMENTED',
    })
    // The second call repeated 5,000 characters, in gzip both ways.
    assert.ok(records[1]!.bytesIn < 100 && records[1]!.bytesOut < 100, `${records[1]!.bytesIn} ${records[1]!.bytesOut}`)
  })
}

async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const status = await new Promise<number | null>((done, reject) => child.once('error', reject).once('close', done))
  assert.equal(status, 0, errors)
  return output
}

const PATH = '/test.v1.EchoService'
const json = (value: object): string[] => ['-H', 'Content-Type: application/json', '--data-binary', JSON.stringify(value)]
const message = (text: string): Uint8Array => toBinary(EchoRequestSchema, create(EchoRequestSchema, { text }))
const bytes = (type: string, ...fields: string[]): string[] => [
  ...['-X', 'POST', '-H', `Content-Type: ${type}`, ...fields.flatMap((field) => ['-H', field]), '--data-binary', '@-'],
]

test('curl calls Connect over HTTP/1.1 and HTTP/2', { skip: noCurl }, async (t) => {
  const { http1, http2 } = await serve(t)
  for (const [port, ...version] of [[http1], [http2, '--http2-prior-knowledge']] as [number, ...string[]][]) {
    const call = async (method: string, args: readonly string[], input?: Uint8Array) =>
      (await curl([...version, ...args, `http://127.0.0.1:${port}${PATH}/${method}`], input)).response

    const said = await call('Say', json({ text: 'hello' }))
    assert.deepEqual([said.status, said.text, said.header('trailer-x-tail')], [200, '{"text":"hello"}', 'the end'])
    const failed = await call('Say', json({ text: 'fail' }))
    assert.deepEqual([failed.status, failed.header('x-why')], [404, 'gone'])
    assert.deepEqual(JSON.parse(failed.text), {
      code: 'not_found',
      message: 'no ä here %',
      details: [{ type: 'test.v1.EchoRequest', value: 'CgZkZXRhaWw' }],
    })
    const late = await call('Say', [...json({ text: 'wait' }), '-H', 'Connect-Timeout-Ms: 100'])
    assert.deepEqual([late.status, (JSON.parse(late.text) as { code: string }).code], [504, 'deadline_exceeded'])
    const zipped = await call('Say', bytes('application/proto', 'Content-Encoding: gzip'), gzipSync(message('z')))
    assert.equal(fromBinary(EchoResponseSchema, zipped.body).text, 'z')
    const large = await call('Say', bytes('application/proto', 'Accept-Encoding: gzip'), message('y'.repeat(5_000)))
    assert.equal(large.header('content-encoding'), 'gzip')
    assert.equal(fromBinary(EchoResponseSchema, gunzipSync(large.body)).text, 'y'.repeat(5_000))
    const peeked = await call(`Peek?connect=v1&encoding=json&message=${encodeURIComponent('{"text":"x"}')}`, [])
    assert.deepEqual([peeked.status, peeked.text], [200, '{"text":"peeked at x"}'])

    const streamed = await call('Converse', bytes('application/connect+json'), frames('{"text":"a"}', '{"text":"b"}'))
    assert.deepEqual(textsOf(streamed.body), ['0 {"text":"re: a"}', '0 {"text":"re: b"}', '2 {}'])
    const cut = await call('Repeat', bytes('application/connect+json'), frames('{"text":"fail","count":1}'))
    assert.deepEqual(textsOf(cut.body), ['0 {"text":"fail"}', '2 {"error":{"code":"aborted","message":"in the middle"}}'])
    const web = await call('Say', bytes('application/grpc-web+json'), frames('{"text":"w"}'))
    assert.match(textsOf(web.body).join(), /^0 \{"text":"w"\},128 grpc-status: 0\r\n/)
  }
  assert.equal((await curl([...json({}), `http://127.0.0.1:${http1}${PATH}/Missing`])).response.status, 404)
})

function frames(...texts: readonly string[]): Buffer {
  return Buffer.concat(texts.map((text) => frame(0, Buffer.from(text))))
}

function textsOf(body: Buffer): string[] {
  const texts: string[] = []
  const queue = new FrameQueue()
  queue.add(body, 0, body.length)
  for (let one = queue.take(100_000); one !== null; one = queue.take(100_000)) texts.push(`${one.flags} ${one.bytes.toString()}`)
  queue.end()
  return texts
}
