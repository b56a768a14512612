// Who gets into the application in examples/inbox: sessions, and how often somebody may try.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import type { HttpServer, InjectResponse } from 'weirjs'
import { connect, TestClock } from 'weirjs/testing'

import { codeOf, createInbox, PASSWORD } from './inbox-server.ts'

function signInWith(server: HttpServer, name: string, password: string, headers: Record<string, string> = {}): Promise<InjectResponse> {
  return server.inject({ method: 'POST', url: '/api/session', json: { name, password }, headers })
}

function cookieIn(response: InjectResponse): string {
  return response.headers.get('set-cookie')!.split(';')[0]!
}

async function nameOf(server: HttpServer, Cookie: string): Promise<string | number> {
  const response = await server.inject({ url: '/api/me', headers: { Cookie } })
  return response.status === 200 ? (response.json() as { name: string }).name : response.status
}

test('nobody can guess the password of an account more than five times in a row', async (t) => {
  const { server } = await createInbox(t)
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await signInWith(server, 'ada', `wrong password ${i}`)).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
  const refused = await signInWith(server, 'ada', PASSWORD)
  assert.equal(codeOf(refused), 'WEIR_QUOTA_EXCEEDED')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.equal(refused.headers.get('set-cookie'), null)
  assert.equal((await signInWith(server, 'bob', PASSWORD)).status, 204)
})

test('a client that tries many names has to stop; sign-ins that succeed do not count', async (t) => {
  const { server } = await createInbox(t)
  // Hashing passwords takes many seconds on a busy machine, in which the limit would grow again.
  const client = connect(server, { clock: new TestClock(), patience: '2m' })
  const request = (name: string, password: string) => client.post('/api/session', { json: { name, password } })
  const signIn = async (name: string, password: string) => (await request(name, password)).headers.get('ratelimit')!.split(';')[1]
  const first = [await signIn('ada', PASSWORD), await signIn('ada', PASSWORD)]
  assert.deepEqual(first, ['r=20', 'r=20'])
  await Promise.all(Array.from({ length: 20 }, (_, i) => signIn(`user-${i}`, 'wrong password')))
  assert.equal((await request('bob', PASSWORD)).status, 429)
})

test('a session that somebody has planted is worth nothing after the user signs in', async (t) => {
  const { server, signIn } = await createInbox(t)
  const planted = [`__Host-session=${'a'.repeat(43)}`, (await signIn('bob')).Cookie]
  for (const Cookie of planted) {
    const response = await signInWith(server, 'ada', PASSWORD, { Cookie })
    assert.notEqual(cookieIn(response), Cookie)
    assert.equal(await nameOf(server, cookieIn(response)), 'ada')
    assert.equal(await nameOf(server, Cookie), 401)
  }
})

test('two cookies of a session are none, and a cookie is worth nothing over plain HTTP of another machine', async (t) => {
  const { server, signIn } = await createInbox(t)
  const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
  assert.equal(await nameOf(server, `${ada.Cookie}; ${bob.Cookie}`), 401)
  const remote = { url: '/api/me', headers: ada, peer: { address: '203.0.113.7' } }
  assert.equal((await server.inject(remote)).status, 401)
  assert.equal((await server.inject({ ...remote, peer: { ...remote.peer, isSecure: true } })).status, 200)
})

test('signing out ends one session, and removes its cookie', async (t) => {
  const { server, signIn } = await createInbox(t)
  const [one, other] = await Promise.all([signIn('ada'), signIn('ada')])
  const left = await server.inject({ method: 'DELETE', url: '/api/session', headers: one })
  assert.match(left.headers.get('set-cookie')!, /^__Host-session=; .*Expires=Thu, 01 Jan 1970/)
  assert.deepEqual([await nameOf(server, one.Cookie), await nameOf(server, other.Cookie)], [401, 'ada'])
})

test('a session ends with its account, and does not belong to a new account of the same name', async (t) => {
  const { server, store, signIn } = await createInbox(t)
  const { Cookie } = await signIn('bob')
  store.delete(store.find('bob'))
  assert.equal(await nameOf(server, Cookie), 401)
  const json = { name: 'bob', password: PASSWORD }
  assert.equal((await server.inject({ method: 'POST', url: '/api/users', json })).status, 201)
  assert.equal(await nameOf(server, Cookie), 401)
})

test('a user may upload 60 files in a minute, and others are not affected', async (t) => {
  const { server, signIn } = await createInbox(t)
  const [ada, bob] = await Promise.all([signIn('ada'), signIn('bob')])
  const upload = async (headers: { Cookie: string }, kind: string) =>
    (await server.inject({ method: 'POST', url: `/api/users/nobody/${kind}`, headers })).status
  // All at once: the limit grows by one in each second that they take.
  const statuses = await Promise.all(Array.from({ length: 90 }, (_, i) => upload(ada, i % 2 === 0 ? 'files' : 'pictures')))
  const refused = statuses.filter((status) => status === 429).length
  assert.ok(refused > 0 && refused <= 30, `${refused} of 90 were refused`)
  assert.equal(await upload(bob, 'files'), 404)
})
