// Who may have a session without TLS, and what browsers and curl make of its cookie.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { connect } from '../../../src/testing/index.ts'
import { launchChromium, noChromium } from '../../support/chromium.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { PLACES, sessionServer, setCookies } from '../../support/user-sessions.ts'

const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not on the PATH: install it to run these tests'

describe('over plain HTTP', () => {
  const statuses = async (options: { allowInsecure?: boolean }, address: string, host: string) => {
    const { server, logged } = sessionServer(PLACES.sealed(), options)
    const response = await connect(server, { peer: { address } }).get('/count', { headers: { Host: host } })
    const codes = logged.map((one) => (one as { code?: string } | undefined)?.code).filter((code) => code !== undefined)
    return { status: response.status, cookie: setCookies(response)[0]?.split('=')[0], codes }
  }

  test('a session is refused, and the program is told why', async () => {
    for (const [address, host] of [
      ['203.0.113.7', 'app.example.com'],
      ['203.0.113.7', 'localhost'],
      ['127.0.0.1', 'app.example.com'],
      ['127.0.0.1', 'localhost.example.com'],
      ['127.0.0.1', '127.0.0.1.example.com'],
    ] as const)
      assert.deepEqual(
        await statuses({}, address, host),
        { status: 500, cookie: undefined, codes: ['WEIR_SESSION_INSECURE'] },
        `${address} ${host}`,
      )
  })

  test('the same machine counts as secure', async () => {
    for (const [address, host] of [
      ['127.0.0.1', 'localhost:8080'],
      ['127.0.0.1', '127.0.0.1'],
      ['::1', '[::1]:8080'],
      ['127.8.9.1', 'app.localhost'],
    ] as const)
      assert.deepEqual(await statuses({}, address, host), { status: 200, cookie: '__Host-session', codes: [] }, host)
  })

  test('with allowInsecure, the cookie has another name and is not Secure', async () => {
    const { server } = sessionServer(PLACES.sealed(), { allowInsecure: true })
    const client = connect(server, { peer: { address: '203.0.113.7' }, cookies: true })
    const [cookie] = setCookies(await client.get('/count', { headers: { Host: 'app.example.com' } }))
    assert.match(cookie!, /^session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax$/)
    assert.deepEqual((await client.get('/count', { headers: { Host: 'app.example.com' } })).json(), { count: 2 })
  })

  test('a request that only reads gets its response without a session', async () => {
    const { server } = sessionServer(PLACES.sealed())
    const response = await connect(server, { peer: { address: '203.0.113.7' } }).get('/see', { headers: { Host: 'app.example.com' } })
    assert.equal((response.json() as { exists: boolean }).exists, false)
  })
})

for (const [place, storeOf] of Object.entries(PLACES)) {
  test(`Chromium keeps a session ${place} on localhost: it signs in, stays, and signs out`, { skip: noChromium }, async (t) => {
    const { server, users } = sessionServer(storeOf())
    server.mapGet('/', (_, session) => {
      session.response.html(
        users.of(session).principal === null
          ? '<form method=post action=/login/ann><button>in</button></form>'
          : '<form method=post action=/logout><button>out</button></form>',
      )
    })
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const browser = await launchChromium()
    t.after(() => browser.close())
    const page = await browser.newPage()
    for (const host of ['localhost', '127.0.0.1']) {
      const origin = `http://${host}:${server.port}`
      const who = async (): Promise<unknown> => {
        await page.goto(`${origin}/see`)
        return (JSON.parse((await page.textContent('body'))!) as { principal: { id: string } | null }).principal?.id
      }
      await page.goto(origin)
      await page.getByRole('button', { name: 'in' }).click()
      assert.equal(await who(), 'ann', host)
      const [cookie] = (await page.context().cookies(origin)).filter(({ name }) => name === '__Host-session')
      assert.deepEqual([cookie!.httpOnly, cookie!.secure, cookie!.sameSite, cookie!.path], [true, true, 'Lax', '/'])
      assert.equal(await page.evaluate('document.cookie'), '')
      await page.goto(origin)
      await page.getByRole('button', { name: 'out' }).click()
      assert.equal(await who(), undefined)
      const left = (await page.context().cookies(origin)).map(({ name }) => name)
      assert.deepEqual(left, place === 'sealed' ? ['__Host-session-ended'] : [])
    }
  })

  test(`curl with a cookie jar keeps a session ${place}`, { skip: noCurl }, async (t) => {
    const { server } = sessionServer(storeOf())
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const jar = join(temporaryDirectory(t), 'jar')
    const { spawn } = await import('node:child_process')
    const curl = (...args: string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const child = spawn('curl', ['-s', '-c', jar, '-b', jar, ...args])
        let text = ''
        child.stdout.on('data', (piece: Buffer) => (text += piece.toString()))
        child.on('error', reject).on('close', () => resolve(text))
      })
    const origin = `http://localhost:${server.port}`
    assert.equal(await curl(`${origin}/count`), '{"count":1}')
    assert.equal(await curl(`${origin}/count`), '{"count":2}')
    await curl('-X', 'POST', `${origin}/login/ann`)
    assert.match(await curl(`${origin}/see`), /"id":"ann"/)
    assert.match(readFileSync(jar, 'utf8'), /#HttpOnly_localhost\tFALSE\t\/\tTRUE\t0\t__Host-session\t/)
    await curl('-X', 'POST', `${origin}/logout`)
    assert.match(await curl(`${origin}/see`), /"exists":false/)
  })
}
