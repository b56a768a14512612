// What curl sees: an independent client over real sockets.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { curl, noCurl } from '../../packages/weirjs/test/support/curl.ts'
import { startDemo, temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'

const MIB = 1024 * 1024
/** Without it, `--data-binary` sends the type of a form. */
const TEXT = ['-H', 'Content-Type: text/plain']
/** Text in which a lost, repeated or moved piece shows. */
const numbered = (length: number): Buffer => {
  const lines: string[] = []
  for (let size = 0; size < length; size += 8) lines.push(`${String(lines.length).padStart(7, '0')}\n`)
  return Buffer.from(lines.join('')).subarray(0, length)
}

describe('curl', { skip: noCurl }, () => {
  test('a user is returned with the id as a number and active as false', async (t) => {
    const { origin } = await startDemo(t)
    const { response, exitCode } = await curl([`${origin}/users/42`])
    assert.equal(exitCode, 0)
    assert.equal(response.status, 200)
    assert.equal(response.protocol, 'HTTP/1.1')
    assert.equal(response.header('content-type'), 'application/json')
    assert.equal(response.text, '{"id":42,"active":false}')
  })

  test('active in the query is read as a boolean', async (t) => {
    const { origin } = await startDemo(t)
    assert.equal((await curl([`${origin}/users/-7?active=true`])).response.text, '{"id":-7,"active":true}')
    assert.equal((await curl([`${origin}/users/7?active=false`])).response.text, '{"id":7,"active":false}')
  })

  test('an invalid id and an invalid active get a 400 that names both', async (t) => {
    const { origin } = await startDemo(t)
    const { response } = await curl([`${origin}/users/4.2?active=maybe`])
    assert.equal(response.status, 400)
    assert.equal(response.header('content-type'), 'application/problem+json')
    const problem = JSON.parse(response.text) as { errors: { name: string; actual: string }[] }
    assert.deepEqual(
      problem.errors.map(({ name, actual }) => [name, actual]),
      [
        ['id', '4.2'],
        ['active', 'maybe'],
      ],
    )
  })

  test('a raw text body is returned as text', async (t) => {
    const { origin } = await startDemo(t)
    const { response } = await curl([...TEXT, '--data-binary', 'Grüße\r\n\r\n', `${origin}/api/user/save`])
    assert.equal(response.status, 200)
    assert.equal(response.header('content-type'), 'text/plain; charset=utf-8')
    assert.equal(response.text, 'Grüße\r\n\r\n')
  })

  test('a user as JSON is returned as the model, with defaults for what was left out', async (t) => {
    const { origin } = await startDemo(t)
    const json = '{"name":"Ada","creation":"2024-01-31T09:30:00","isAdmin":true}'
    const { response } = await curl(['-H', 'Content-Type: application/json', '--data', json, `${origin}/api/user/save`])
    assert.equal(response.status, 200)
    assert.equal(response.header('content-type'), 'application/json')
    assert.equal(response.text, '{"user":{"id":"","name":"Ada","creation":"2024-01-31T09:30:00.000Z","enabled":false}}')
  })

  test('a user as a form is returned as the model, with converted values', async (t) => {
    const { origin } = await startDemo(t)
    const id = '0e37df36-f698-11e6-8dd4-cb9ced3df976'
    const fields = [`id=${id}`, 'name=Jürgen Müller', 'creation=2024-01-31T09:30:00', 'enabled=true']
    const { response } = await curl([...fields.flatMap((field) => ['--data-urlencode', field]), `${origin}/api/user/save`])
    assert.equal(response.status, 200)
    const user = { id, name: 'Jürgen Müller', creation: '2024-01-31T09:30:00.000Z', enabled: true }
    assert.deepEqual(JSON.parse(response.text), { user })
  })

  test('a user with invalid values gets a 400 that lists each of them, as JSON and as a form', async (t) => {
    const { origin } = await startDemo(t)
    const bodies = [
      ['-H', 'Content-Type: application/json', '--data', '{"id":"7","creation":"2024-02-31T00:00:00","enabled":"true"}'],
      ['--data', 'id=7&creation=2024-02-31T00%3A00%3A00&enabled=yes'],
    ]
    for (const body of bodies) {
      const { response } = await curl([...body, `${origin}/api/user/save`])
      assert.equal(response.status, 400)
      const { code, errors } = JSON.parse(response.text) as { code: string; errors: { name: string }[] }
      assert.equal(code, 'WEIR_MODEL_BINDING')
      assert.deepEqual(errors.map(({ name }) => name).sort(), ['creation', 'enabled', 'id'])
    }
  })

  test('invalid JSON gets a 400 that does not repeat the body', async (t) => {
    const { origin } = await startDemo(t)
    for (const body of ['{"name":', '[]', '']) {
      const { response } = await curl(['-H', 'Content-Type: application/json', '--data', body, `${origin}/api/user/save`])
      assert.equal(response.status, 400, body)
      assert.equal(response.text, 'The body is not a JSON object.', body)
    }
  })

  test('an empty body is returned empty', async (t) => {
    const { origin } = await startDemo(t)
    const { response } = await curl(['-X', 'POST', `${origin}/api/user/save`])
    assert.equal(response.status, 200)
    assert.equal(response.header('content-length'), '0')
    assert.equal(response.text, '')
  })

  test('HEAD has the fields of GET and no body', async (t) => {
    const { origin } = await startDemo(t)
    for (const path of ['/', '/users/42']) {
      const get = await curl([origin + path])
      const head = await curl(['--head', origin + path])
      assert.equal(head.exitCode, 0)
      assert.equal(head.response.status, 200)
      assert.equal(head.response.body.length, 0)
      for (const name of ['content-length', 'content-type', 'etag', 'last-modified']) {
        assert.equal(head.response.header(name), get.response.header(name), `${name} of ${path}`)
      }
      assert.equal(head.response.header('content-length'), String(get.response.body.length))
    }
  })

  test('OPTIONS lists the methods of a path, and those of the server for *', async (t) => {
    const { origin } = await startDemo(t)
    const one = await curl(['-X', 'OPTIONS', `${origin}/api/user/save`])
    assert.equal(one.response.status, 204)
    assert.equal(one.response.header('allow'), 'OPTIONS, POST')
    assert.equal(one.response.header('content-length'), null)
    const all = await curl(['-X', 'OPTIONS', '--request-target', '*', origin])
    assert.equal(all.response.status, 204)
    assert.equal(all.response.header('allow'), 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY')
  })

  test('an unmapped path gets a 404, and an unmapped method a 405 with Allow', async (t) => {
    const { origin } = await startDemo(t)
    const missing = await curl([`${origin}/nowhere`])
    assert.equal(missing.response.status, 404)
    assert.equal((JSON.parse(missing.response.text) as { code: string }).code, 'WEIR_ROUTE_NOT_FOUND')
    const wrong = await curl(['-X', 'DELETE', `${origin}/users/42`])
    assert.equal(wrong.response.status, 405)
    assert.equal(wrong.response.header('allow'), 'GET, HEAD, OPTIONS')
  })

  test('two URLs share one connection, even after a body, a 404 and a 400', async (t) => {
    const { origin } = await startDemo(t)
    const urls = ['/users/1', '/nowhere', '/users/abc', '/', '/users/2'].map((path) => origin + path)
    const { stderr } = await curl(['--write-out', '%{stderr}%{http_code} %{num_connects}\n', ...urls])
    assert.deepEqual(stderr.trim().split('\n'), ['200 1', '404 0', '400 0', '200 0', '200 0'])
  })

  test('HTTP/1.0 gets its response and the end of the connection', async (t) => {
    const { origin } = await startDemo(t)
    const { response, exitCode } = await curl(['--http1.0', `${origin}/users/42`])
    assert.equal(exitCode, 0)
    assert.equal(response.status, 200)
    assert.equal(response.header('connection'), 'close')
    assert.equal(response.text, '{"id":42,"active":false}')
  })

  test('a stream is sent in chunks in HTTP/1.1, and up to the end of the connection in HTTP/1.0', async (t) => {
    const text = numbered(MIB)
    const { origin } = await startDemo(t, {}, (server) => {
      server.mapGet('/stream', async function* () {
        for (let at = 0; at < text.length; at += 10_000) yield text.subarray(at, at + 10_000)
      })
    })
    const chunked = await curl([`${origin}/stream`])
    assert.equal(chunked.response.header('transfer-encoding'), 'chunked')
    assert.equal(chunked.response.header('content-length'), null)
    assert.ok(chunked.response.body.equals(text))
    const old = await curl(['--http1.0', `${origin}/stream`])
    assert.equal(old.exitCode, 0)
    assert.equal(old.response.header('transfer-encoding'), null)
    assert.equal(old.response.header('content-length'), null)
    assert.ok(old.response.body.equals(text))
  })

  test('a client with Expect gets a 100, and its 1 MiB is returned', async (t) => {
    const { origin } = await startDemo(t)
    const text = numbered(MIB)
    const { responses, response } = await curl(
      [...TEXT, '-H', 'Expect: 100-continue', '--data-binary', '@-', `${origin}/api/user/save`],
      text,
    )
    assert.deepEqual(
      responses.map(({ status }) => status),
      [100, 200],
    )
    assert.ok(response.body.equals(text))
  })

  test('a chunked upload of 1 MiB is returned', async (t) => {
    const { origin } = await startDemo(t)
    const text = numbered(MIB)
    const { response } = await curl(['-X', 'POST', '-T', '-', `${origin}/api/user/save`], text)
    assert.equal(response.status, 200)
    assert.ok(response.body.equals(text))
  })

  test('a body above the limit is refused by its head alone if the client sends Expect', async (t) => {
    const { origin } = await startDemo(t, { limits: { maxRequestBodySize: MIB } })
    const upload = ['-H', 'Expect: 100-continue', '--data-binary', '@-', '--write-out', '%{stderr}%{size_upload}']
    const { responses, stderr } = await curl([...upload, `${origin}/api/user/save`], numbered(MIB + 1))
    assert.deepEqual(
      responses.map(({ status }) => status),
      [413],
    )
    assert.equal(stderr, '0', 'no byte of the body was sent')
  })

  test('a client that sends too much immediately sees the 413 and not a reset', async (t) => {
    const { origin } = await startDemo(t, { limits: { maxRequestBodySize: 100_000 } })
    const bodies: [string, string[]][] = [
      ['with Content-Length', ['-H', 'Expect:', '--data-binary', '@-']],
      ['chunked', ['-H', 'Expect:', '-X', 'POST', '-T', '-']],
    ]
    for (const [what, args] of bodies) {
      const { response } = await curl([...args, `${origin}/api/user/save`], numbered(8 * MIB))
      assert.equal(response.status, 413, what)
      const { limit, maximum } = JSON.parse(response.text) as { limit: string; maximum: number }
      assert.deepEqual([limit, maximum], ['maxRequestBodySize', 100_000], what)
    }
  })

  test('a body of exactly the limit is accepted', async (t) => {
    const { origin } = await startDemo(t, { limits: { maxRequestBodySize: 100_000 } })
    const { response } = await curl([...TEXT, '--data-binary', '@-', `${origin}/api/user/save`], numbered(100_000))
    assert.equal(response.status, 200)
    assert.equal(response.body.length, 100_000)
  })

  test('a range of a file can be requested, and one after its end gets a 416', async (t) => {
    const { origin } = await startDemo(t)
    const whole = (await curl([origin])).response.body
    const first = await curl(['--range', '0-14', origin])
    assert.equal(first.response.status, 206)
    assert.equal(first.response.header('content-range'), `bytes 0-14/${whole.length}`)
    assert.equal(first.response.text, '<!doctype html>')
    const last = await curl(['--range', '-8', origin])
    assert.ok(last.response.body.equals(whole.subarray(-8)))
    const beyond = await curl(['--range', `${whole.length}-`, origin])
    assert.equal(beyond.response.status, 416)
    assert.equal(beyond.response.header('content-range'), `bytes */${whole.length}`)
  })

  test('a file that the client already has is not sent again', async (t) => {
    const { origin } = await startDemo(t)
    const tag = (await curl([origin])).response.header('etag')
    const again = await curl(['-H', `If-None-Match: ${tag}`, origin])
    assert.equal(again.response.status, 304)
    assert.equal(again.response.header('etag'), tag)
    assert.equal(again.response.body.length, 0)
  })

  test('a Unix socket serves the same routes, and is removed when the server has stopped', async (t) => {
    const unixSocket = join(await temporaryFolder(t), 'demo.sock')
    const { server } = await startDemo(t, { unixSocket })
    const { response } = await curl(['--unix-socket', unixSocket, 'http://localhost/users/42'])
    assert.equal(response.text, '{"id":42,"active":false}')
    await server.stop({ graceMs: 0 })
    await assert.rejects(readFile(unixSocket), { code: 'ENOENT' })
  })
})
