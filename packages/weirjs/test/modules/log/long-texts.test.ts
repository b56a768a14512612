// weirjs/log: what a line has of a text does not grow with the text.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { HttpServer } from '../../../src/index.ts'
import { type AccessLogOptions, accessLog } from '../../../src/modules/log/index.ts'
import { connect } from '../../../src/testing/index.ts'

const LONG = 60_000
const NOT_SHOWN = '(not shown)'

async function linesOf(heads: readonly string[], options: AccessLogOptions = {}): Promise<string[]> {
  let written = ''
  const reports: string[] = []
  const server = new HttpServer({ logger: { error: (message) => void reports.push(message) }, hosts: 'any' })
  server.use(accessLog({ fields: ['x-note'], ...options, to: { write: (text: string) => (written += text) !== '' } }))
  server.mapGet('/', () => 'ok')
  server.mapGet('/fail', () => {
    throw new Error('broken')
  })
  for (const head of heads) {
    const client = connect(server)
    await client.send(Buffer.from(`${head}\r\n\r\n`, 'latin1'))
    await client.end()
    await client.closed()
    await client[Symbol.asyncDispose]()
    await new Promise(setImmediate)
  }
  return [...written.split('\n').slice(0, -1), ...reports]
}

test('a line has at most 4,096 characters of each text of a client, whatever it consists of', async () => {
  for (const format of ['json', 'combined'] as const)
    for (const piece of ['=', ':', '/', 'a', '"', '\xff', 'a=b&', '//u@', '%3d']) {
      const text = piece.repeat(LONG / piece.length)
      const url = text.replaceAll(/["\xff]/g, '.')
      const heads = [
        `GET /?${url} HTTP/1.1\r\nHost: a`,
        `GET /fail?${url} HTTP/1.1\r\nHost: a`,
        `GET /nothing/${url} HTTP/1.1\r\nHost: a`,
        ...['Referer', 'User-Agent', 'X-Note'].map((name) => `GET / HTTP/1.1\r\nHost: a\r\n${name}: ${text}`),
        // Repeated fields are one text.
        `GET / HTTP/1.1\r\nHost: a${`\r\nReferer: ${text.slice(0, 4_000)}`.repeat(14)}`,
        `GET / HTTP/1.1\r\nHost: ${'a'.repeat(LONG)}`,
        `${'A'.repeat(LONG)} / HTTP/1.1\r\nHost: a`,
      ]
      const lines = await linesOf(heads, { format })
      assert.ok(lines.length >= heads.length)
      for (const line of lines) assert.ok(line.length <= 6 * 4_096 + 1_000, `${line.length}: ${line.slice(0, 100)}`)
    }
})

test('the end of what is written shows no secret whose name is behind it, or whose end is', async () => {
  for (let at = 3_500; at < 4_700; at += 7) {
    const filler = 'x'.repeat(at)
    for (const secret of [
      'token=CANARY&a=b',
      `token=CANARY${'Y'.repeat(2_000)}`,
      'name=&value="CANARY" name="password"',
      '//me:CANARY@host/',
    ]) {
      const lines = await linesOf([
        `GET /?${filler}&${secret.replaceAll(/[" ]/g, '+')} HTTP/1.1\r\nHost: a`,
        `GET / HTTP/1.1\r\nHost: a\r\nReferer: https://a/?${filler}&${secret}\r\nX-Note: ${filler} ${secret}`,
      ])
      for (const line of lines.slice(1)) assert.ok(!line.includes('CANARY'), `${at} ${secret.slice(0, 40)}`)
      if (secret.startsWith('token')) assert.ok(!lines[0]!.includes('CANARY'), `${at} ${secret.slice(0, 40)}`)
    }
  }
  assert.ok((await linesOf([`GET /?token=a&${'x'.repeat(LONG)} HTTP/1.1\r\nHost: a`]))[0]!.includes(NOT_SHOWN))
})
