// Several requests of one session at the same time, in a store.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { connect } from '../../../src/testing/index.ts'
import { gate } from '../../support/serving.ts'
import { cookieOf, SECURE_PEER, sessionServer, setCookies, WatchedStore } from '../../support/user-sessions.ts'

/** A server with a session, and a handler that waits before it changes that. */
async function begun() {
  const store = new WatchedStore()
  const { server, users } = sessionServer(store)
  const [entered, released] = [gate(), gate()]
  server.mapGet('/later/:text', async ({ text }, session) => {
    entered.open()
    await released.promise
    users.of(session).update({ note: text })
    return session.response.noContent()
  })
  const ask = (method: string, path: string, cookie?: string) =>
    connect(server, { peer: SECURE_PEER }).request({ method, url: path, headers: cookie === undefined ? {} : { Cookie: cookie } })
  const cookie = cookieOf(await ask('GET', '/count'))
  const data = async () => ((await ask('GET', '/see', cookie)).json() as { data: unknown }).data
  return { store, ask, cookie, entered, released, data }
}

test('what two requests change at the same time is kept if it is not the same property', async () => {
  const { ask, cookie, entered, released, data } = await begun()
  const later = ask('GET', '/later/mine', cookie)
  await entered.promise
  await ask('GET', '/count', cookie)
  released.open()
  assert.equal((await later).status, 204)
  assert.deepEqual(await data(), { count: 2, note: 'mine' })
})

test('of the same property, the last change counts', async () => {
  const { ask, cookie, entered, released, data } = await begun()
  const later = ask('GET', '/later/late', cookie)
  await entered.promise
  await ask('GET', '/note/early', cookie)
  released.open()
  await later
  assert.deepEqual(await data(), { count: 1, note: 'late' })
})

test('a request that is still running does not bring a session back that has been signed out', async () => {
  const { store, ask, cookie, entered, released } = await begun()
  const later = ask('GET', '/later/late', cookie)
  await entered.promise
  await ask('POST', '/logout', cookie)
  released.open()
  const response = await later
  assert.equal(response.status, 204)
  assert.deepEqual(setCookies(response), [])
  assert.equal(store.texts.size, 0)
})

test('a request that is still running does not write to the session from before a sign-in', async () => {
  const { store, ask, cookie, entered, released } = await begun()
  const later = ask('GET', '/later/late', cookie)
  await entered.promise
  const after = cookieOf(await ask('POST', '/login/ann', cookie))
  released.open()
  await later
  assert.equal(store.texts.size, 1)
  const seen = (await ask('GET', '/see', after)).json() as { data: unknown; principal: { id: string } }
  assert.deepEqual(seen.data, { count: 1, note: '' })
  assert.equal(seen.principal.id, 'ann')
})

test('twenty requests that change the same session at once all come through', async () => {
  const { ask, cookie, data } = await begun()
  const responses = await Promise.all(Array.from({ length: 20 }, (_, i) => ask('GET', i % 2 === 0 ? `/note/n${i}` : '/count', cookie)))
  for (const { status } of responses) assert.equal(status, 200)
  const { count, note } = (await data()) as { count: number; note: string }
  assert.ok(count >= 2 && /^n\d+$/.test(note))
})

test('a session that others never stop changing is a 503, not an endless loop', async () => {
  const { store, ask, cookie } = await begun()
  const [[key]] = [...store.texts] as [[string, string]]
  let turn = 0
  store.onReplace = async () => {
    store.onReplace = null
    const change = async () => {
      const text = await store.read(key)
      await store.write(key, text!.replace(/"count":\d+/, `"count":${1_000 + turn++}`), 60_000)
    }
    await change()
    store.onReplace = change
  }
  assert.equal((await ask('GET', '/note/never', cookie)).status, 503)
})
