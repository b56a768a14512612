// Errors that clients can cause as often as they like do not fill the log.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpError, HttpServer } from '../../src/index.ts'
import { connect, TestClock } from '../../src/testing/index.ts'

const withoutId = (line: string): string => line.replace(/ \(request .*/, '')

function logged(map: (server: HttpServer) => void) {
  const lines: string[] = []
  const seen: unknown[] = []
  const server = new HttpServer({
    logger: { error: (message) => void lines.push(withoutId(message)) },
    onError: (error) => void seen.push(error),
  })
  map(server)
  return { server, lines, seen }
}

for (const status of [501, 503, 504])
  test(`${status}: one line for each code and route in a minute`, async () => {
    const { server, lines, seen } = logged((it) => {
      for (const path of ['/a', '/b/:id'] as const)
        it.mapGet(path, (_, { request }) => {
          throw new HttpError(status, `no ${request.path}`, { code: request.query.get('kind') ?? 'NONE' })
        })
    })
    const clock = new TestClock()
    const client = connect(server, { clock })
    for (let i = 0; i < 20; i++) for (const url of ['/a', '/a?kind=OTHER', `/b/${i}`, `/b/${i}?x=${i}`]) await client.get(url)
    assert.deepEqual(lines.splice(0), ['weir: GET /a failed', 'weir: GET /a?kind=OTHER failed', 'weir: GET /b/0 failed'])
    assert.equal(seen.length, 80)
    await clock.advance(60_000)
    const later = connect(server, { clock })
    await later.get('/a')
    assert.deepEqual(lines.splice(0), ['weir: GET /a failed (19 more since the last line)'])
    for (let i = 0; i < 300; i++) await later.get(`/a?kind=MADE-UP-${i}`)
    assert.equal(lines.length, 99)
  })

test('every other error of the program is logged', async () => {
  const { server, lines } = logged((it) => {
    it.mapGet('/bug', () => {
      throw new Error('a bug')
    })
    it.mapGet('/bad', () => {
      throw new HttpError(502, 'bad gateway')
    })
  })
  for (let i = 0; i < 5; i++) for (const url of ['/bug', '/bad']) await server.inject(url)
  assert.equal(lines.length, 10)
})
