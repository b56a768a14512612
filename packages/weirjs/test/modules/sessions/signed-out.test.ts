// A sealed session whose client has signed out, while another request of it was on its way. No store knows that it has ended.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { InjectResponse } from '../../../src/index.ts'
import { connect, TestClock } from '../../../src/testing/index.ts'
import { gate } from '../../support/serving.ts'
import { HOUR, MINUTE, PLACES, SECURE_PEER, sessionServer, setCookies } from '../../support/user-sessions.ts'

/** What a browser keeps, as the responses arrive. */
class Jar {
  readonly cookies = new Map<string, string>()

  receive(response: InjectResponse): void {
    for (const text of setCookies(response)) {
      const [name, value] = text.slice(0, text.indexOf(';')).split('=') as [string, string]
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
  }

  get field(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

function browserOf() {
  const { server, users } = sessionServer(PLACES.sealed())
  const [entered, released] = [gate(), gate()]
  server.mapGet('/later', async (_, session) => {
    entered.open()
    await released.promise
    users.of(session).update({ note: 'late' })
  })
  server.mapGet('/slow', async () => {
    entered.open()
    await released.promise
    return 'slow'
  })
  server.mapPost('/switch/:id', ({ id }, session) => {
    users.signOut(session)
    users.signIn(session, { id })
  })
  const clock = new TestClock()
  const jar = new Jar()
  const send = (method: string, url: string, at = clock): Promise<InjectResponse> =>
    connect(server, { peer: SECURE_PEER, clock: at }).request({ method, url, headers: jar.cookies.size === 0 ? {} : { Cookie: jar.field } })
  const ask = async (method: string, url: string, at = clock): Promise<InjectResponse> => {
    const response = await send(method, url, at)
    jar.receive(response)
    return response
  }
  const who = async (at = clock): Promise<string | null> =>
    ((await ask('GET', '/see', at)).json() as { principal: { id: string } | null }).principal?.id ?? null
  return { clock, jar, send, ask, who, entered, released }
}

// One changes the session, and one is only slow, so that the session is renewed when it ends.
for (const path of ['/later', '/slow'])
  test(`the response to ${path}, which arrives after a sign-out, does not sign the browser in again`, async () => {
    const { clock, jar, send, ask, who, entered, released } = browserOf()
    await ask('POST', '/login/ann')
    await clock.advance(10 * MINUTE)
    const later = send('GET', path)
    await entered.promise
    await ask('POST', '/logout')
    assert.deepEqual([...jar.cookies.keys()], ['__Host-session-ended'])
    await clock.advance(1)
    released.open()
    const response = await later
    assert.equal(setCookies(response).length, 1)
    jar.receive(response)
    assert.equal(await who(), null)
    assert.equal((await ask('GET', '/plain')).status, 200)

    await ask('POST', '/login/bob')
    assert.equal(await who(), 'bob')
    jar.receive(response)
    assert.equal(await who(), null, 'not even after another sign-in')
  })

for (const path of ['/later', '/slow'])
  test(`the response to ${path}, which arrives after another principal has signed in, does not bring the first one back`, async () => {
    const { clock, jar, send, ask, who, entered, released } = browserOf()
    await ask('POST', '/login/ann')
    await clock.advance(10 * MINUTE)
    const later = send('GET', path)
    await entered.promise
    await ask('POST', '/login/bob')
    assert.equal(await who(), 'bob')
    released.open()
    const response = await later
    assert.equal(setCookies(response).length, 1)
    jar.receive(response)
    assert.equal(await who(), null)
  })

test('who signs in again keeps one cookie', async () => {
  const { jar, ask } = browserOf()
  await ask('POST', '/login/ann')
  await ask('POST', '/login/ann')
  assert.deepEqual([...jar.cookies.keys()], ['__Host-session'])
})

test('what remembers the sign-out is kept for as long as the session could last', async () => {
  const { ask } = browserOf()
  await ask('POST', '/login/ann')
  const [cleared, ended] = setCookies(await ask('POST', '/logout'))
  assert.match(cleared!, /^__Host-session=; .*Expires=/)
  assert.match(ended!, /^__Host-session-ended=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=43200$/)
})

test('the clocks of two servers may differ', async () => {
  const { clock, ask, who } = browserOf()
  const behind = new TestClock()
  await clock.advance(30_000)
  await ask('POST', '/login/ann')
  await ask('POST', '/logout')
  await ask('POST', '/login/bob', behind)
  assert.equal(await who(behind), 'bob')
  assert.equal(await who(), 'bob')
  await ask('POST', '/logout', behind)
  assert.equal(await who(), null)
})

test('signing out and in, in one request', async () => {
  const { ask, who, jar } = browserOf()
  await ask('POST', '/login/ann')
  const old = jar.cookies.get('__Host-session')!
  await ask('POST', '/switch/bob')
  assert.equal(await who(), 'bob')
  jar.cookies.set('__Host-session', old)
  assert.equal(await who(), null)
})

test('a client that says that it has signed out harms only itself, and not with a time that is not over', async () => {
  const { clock, jar, ask, who } = browserOf()
  await ask('POST', '/login/ann')
  for (const value of [`${clock.wallTime() + HOUR}`, '9'.repeat(15), '9'.repeat(400), '-1', 'NaN', '1e3', '']) {
    jar.cookies.set('__Host-session-ended', value)
    assert.equal(await who(), 'ann', value)
  }
  jar.cookies.set('__Host-session-ended', `${clock.wallTime() + MINUTE}`)
  assert.equal(await who(), null)
  await ask('POST', '/login/ann')
  assert.equal(await who(), 'ann')
})

test('a session begins by the clock of the server, whatever the client says about an earlier one', async () => {
  const ended: { at: Date | null } = { at: null }
  const { server, users } = sessionServer(PLACES.sealed(), { notBefore: () => ended.at })
  server.mapGet('/started', (_, session) => users.of(session).startedAt!.getTime())
  const clock = new TestClock()
  const client = connect(server, { peer: SECURE_PEER, clock })
  const mark = `__Host-session-ended=${clock.wallTime() + MINUTE}`
  for (const path of ['/login/ann', '/login/bob']) {
    const [session] = setCookies(await client.request({ method: 'POST', url: path, headers: { Cookie: mark } }))
    const cookie = `${session!.slice(0, session!.indexOf(';'))}; ${mark}`
    const ask = (url: string) => client.get(url, { headers: { Cookie: cookie } })
    ended.at = null
    assert.equal((await ask('/started')).json(), clock.wallTime())
    clock.advance(1_000)
    ended.at = new Date(clock.wallTime())
    assert.equal(((await ask('/see')).json() as { principal: unknown }).principal, null, 'notBefore ends it')
  }
})

test('a session in a store needs no such cookie', async () => {
  const { server } = sessionServer(PLACES['in a store']())
  const browser = connect(server, { peer: SECURE_PEER, cookies: true })
  await browser.post('/login/ann')
  assert.equal(setCookies(await browser.post('/logout')).length, 1)
})
