// Sessions from the first request to the last: when they begin, what they hold, when they are written, and when they end.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sealed } from '../../../src/modules/sessions/index.ts'
import { connect, TestClock } from '../../../src/testing/index.ts'
import { cookieOf, HOUR, keyOf, MINUTE, PLACES, SECURE_PEER, sessionServer, setCookies, WatchedStore } from '../../support/user-sessions.ts'

const EMPTY = { principal: null, data: { count: 0, note: '' }, exists: false, known: false }

for (const [place, storeOf] of Object.entries(PLACES)) {
  describe(`sessions ${place}`, () => {
    const visitor = (options: Parameters<typeof sessionServer>[1] = {}, store = storeOf()) => {
      const clock = new TestClock()
      const { server, users, logged } = sessionServer(store, options)
      return { server, users, logged, clock, client: connect(server, { clock, cookies: true, peer: SECURE_PEER }) }
    }

    test('a request without a session sets no cookie, and sees the defaults of the schema', async () => {
      const { client } = visitor()
      const response = await client.get('/see')
      assert.deepEqual(response.json(), EMPTY)
      assert.deepEqual(setCookies(response), [])
    })

    test('a session begins with its first change, and its cookie has all that protects it', async () => {
      const { client } = visitor()
      const response = await client.get('/count')
      assert.deepEqual(response.json(), { count: 1 })
      const [cookie] = setCookies(response)
      assert.match(cookie!, /^__Host-session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
      assert.deepEqual((await client.get('/count')).json(), { count: 2 })
      assert.deepEqual((await client.get('/see')).json(), { ...EMPTY, data: { count: 2, note: '' }, exists: true })
    })

    test('a request that changes nothing writes nothing', async () => {
      const { client } = visitor()
      await client.get('/count')
      for (const path of ['/see', '/plain']) assert.deepEqual(setCookies(await client.get(path)), [])
    })

    test('signing in sets the principal, and signing out ends the session', async () => {
      const { client } = visitor()
      await client.get('/count')
      assert.equal((await client.post('/login/ann')).status, 200)
      const seen = (await client.get('/see')).json() as Record<string, unknown>
      assert.deepEqual(seen['principal'], {
        id: 'ann',
        name: 'ANN',
        roles: ['reader'],
        scopes: [],
        claims: { team: 'blue' },
        scheme: 'session',
      })
      assert.deepEqual(seen['data'], { count: 1, note: '' }, 'what somebody did before signing in stays')
      assert.equal(seen['known'], true)
      const left = await client.post('/logout')
      assert.match(
        setCookies(left)[0]!,
        /^__Host-session=; Path=\/; HttpOnly; SameSite=Lax; Secure; Expires=Thu, 01 Jan 1970 00:00:00 GMT$/,
      )
      assert.deepEqual((await client.get('/see')).json(), EMPTY)
    })

    test('signing out without a session is no error', async () => {
      const { client } = visitor()
      assert.equal((await client.post('/logout')).status, 200)
    })

    test('another principal does not see the data of the last one', async () => {
      const { client } = visitor()
      await client.post('/login/ann')
      await client.get('/count')
      await client.post('/login/ann')
      assert.deepEqual(((await client.get('/see')).json() as { data: unknown }).data, { count: 1, note: '' })
      await client.post('/login/bob')
      assert.deepEqual(((await client.get('/see')).json() as { data: unknown }).data, { count: 0, note: '' })
    })

    test('each sign-in gives the session a new cookie, and the old one is not the new session', async () => {
      const { client, server, clock } = visitor()
      const before = cookieOf(await client.get('/count'))
      const after = cookieOf(await client.post('/login/ann'))
      const again = cookieOf(await client.post('/login/ann'))
      assert.equal(new Set([before, after, again]).size, 3)
      const planted = await connect(server, { clock, peer: SECURE_PEER }).get('/see', { headers: { Cookie: before } })
      assert.equal((planted.json() as { principal: unknown }).principal, null)
    })

    test('a session ends after its idle time, and each tenth of that renews it', async () => {
      const { client, clock } = visitor()
      await client.post('/login/ann')
      const who = async (): Promise<unknown> => ((await client.get('/see')).json() as { principal: { id: string } | null }).principal?.id
      for (let i = 0; i < 5; i++) {
        await clock.advance(25 * MINUTE)
        assert.equal(await who(), 'ann')
      }
      await clock.advance(2 * MINUTE)
      assert.deepEqual(setCookies(await client.get('/see')), [], 'it was renewed two minutes ago')
      await clock.advance(30 * MINUTE)
      assert.equal(await who(), undefined)
    })

    test('a session ends after its absolute time, however busy it is, and signing in begins that time again', async () => {
      const { client, clock } = visitor()
      await client.get('/count')
      const advance = async (hours: number): Promise<void> => {
        for (let i = 0; i < hours * 4; i++) {
          await clock.advance(15 * MINUTE)
          await client.get('/see')
        }
      }
      await advance(11)
      await client.post('/login/ann')
      await advance(11.75)
      assert.equal(((await client.get('/see')).json() as { exists: boolean }).exists, true)
      await clock.advance(15 * MINUTE)
      assert.equal(((await client.get('/see')).json() as { exists: boolean }).exists, false)
    })

    test('the times are those of the options', async () => {
      const { client, clock } = visitor({ idleTimeout: MINUTE, absoluteTimeout: HOUR, persistent: true })
      const [cookie] = setCookies(await client.get('/count'))
      assert.match(cookie!, /; Max-Age=3600$/)
      await clock.advance(MINUTE)
      assert.equal(((await client.get('/see')).json() as { exists: boolean }).exists, false)
    })

    test('data is frozen, and a change to it that update does not know of throws', async () => {
      const { server, users, client } = visitor()
      server.mapGet('/touch', (_, session) => {
        ;(users.of(session).data as { count: number }).count = 9
      })
      assert.equal((await client.get('/touch')).status, 500)
    })

    test('a value that does not fit the schema, or has no JSON form, is refused, and nothing has changed', async () => {
      const { server, users, client, logged } = visitor()
      const tries: object[] = [{ count: 1.5 }, { count: 'secret' }, { note: 1n }]
      server.mapGet('/try/:i', ({ i }, session) => {
        const visit = users.of(session)
        visit.update({ count: 7 })
        try {
          visit.update(tries[Number(i)]!)
        } catch (error) {
          return { code: (error as { code: string }).code, message: (error as Error).message, data: visit.data }
        }
        return null
      })
      for (let i = 0; i < tries.length; i++) {
        const { code, message, data } = (await client.get(`/try/${i}`)).json() as Record<string, unknown>
        assert.equal(code, 'WEIR_SESSION_DATA')
        assert.doesNotMatch(message as string, /secret/)
        assert.deepEqual(data, { count: 7, note: '' })
      }
      assert.deepEqual(logged, [])
    })

    test('a function in place of the changes is refused, as it would change nothing', async () => {
      const { server, users, client, logged } = visitor()
      server.mapGet('/next', (_, session) => users.of(session).update((() => ({ count: 9 })) as object))
      assert.equal((await client.get('/next')).status, 500)
      assert.match(String(logged), /update\(\): changes is a function, not an object of the properties that change/)
    })

    test('undefined removes a property', async () => {
      const { server, users, client } = visitor()
      server.mapGet('/theme/:name', ({ name }, session) => users.of(session).update({ theme: name === 'none' ? undefined : name }))
      await client.get('/theme/dark')
      assert.deepEqual(((await client.get('/see')).json() as { data: unknown }).data, { count: 0, note: '', theme: 'dark' })
      await client.get('/theme/none')
      assert.deepEqual(((await client.get('/see')).json() as { data: unknown }).data, { count: 0, note: '' })
    })

    test('a notBefore that returns neither a Date nor null is told what to return', async () => {
      const errors: unknown[] = []
      for (const returned of [undefined, 0]) {
        const { server, client } = visitor({ notBefore: (() => returned) as never })
        await client.post('/login/ann')
        server.observe({ end: ({ error }) => void errors.push(error) })
        assert.equal((await client.get('/see')).status, 500)
        assert.match(String(errors.at(-1)), /notBefore returned (undefined|0): return a Date, or null/)
      }
    })

    test('sessions that began before notBefore are not accepted', async () => {
      const ended = new Map<string, Date>()
      const { client, clock } = visitor({ notBefore: async (principal) => ended.get(principal?.id ?? '') ?? null })
      await client.post('/login/ann')
      const who = async (): Promise<unknown> => ((await client.get('/see')).json() as { principal: { id: string } | null }).principal?.id
      assert.equal(await who(), 'ann')
      ended.set('bob', new Date(clock.wallTime() + HOUR))
      assert.equal(await who(), 'ann')
      ended.set('ann', new Date(clock.wallTime() + 1))
      assert.equal(await who(), undefined)
      await clock.advance(2)
      await client.post('/login/ann')
      assert.equal(await who(), 'ann')
    })

    test('a session that no longer fits the schemas is as none', async () => {
      const store = storeOf()
      const first = visitor({}, store)
      const cookie = cookieOf(await first.client.get('/note/three'))
      const { DATA: _, ...narrower } = {
        DATA: null,
        data: (await import('../../../src/index.ts')).t.object({ note: (await import('../../../src/index.ts')).t.int.default(0) }),
      }
      const second = visitor(narrower as object, store)
      const seen = await second.client.get('/see', { headers: { Cookie: cookie } })
      assert.equal((seen.json() as { exists: boolean }).exists, false)
    })
  })
}

describe('sessions in a store', () => {
  test('neither a request without the cookie nor one with an invalid id touches the store', async () => {
    const store = new WatchedStore()
    const { server } = sessionServer(store)
    const client = connect(server, { peer: SECURE_PEER })
    for (const headers of [
      {},
      { Cookie: 'other=1' },
      { Cookie: '__Host-session=' },
      { Cookie: '__Host-session=short' },
      { Cookie: `__Host-session=${'A'.repeat(44)}` },
    ])
      assert.equal((await client.get('/see', { headers: headers as Record<string, string> })).status, 200)
    assert.deepEqual(store.calls, [])
  })

  test('a session is read once for each request, and written only when it has changed or a tenth of its idle time is over', async () => {
    const store = new WatchedStore()
    const { server } = sessionServer(store)
    const clock = new TestClock()
    const client = connect(server, { clock, cookies: true, peer: SECURE_PEER })
    const callsOf = async (path: string): Promise<string> => {
      store.calls.length = 0
      assert.equal((path.startsWith('/log') ? await client.post(path) : await client.get(path)).status, 200)
      return store.calls.join(' ')
    }
    assert.equal(await callsOf('/plain'), '')
    assert.equal(await callsOf('/count'), 'write')
    assert.equal(await callsOf('/see'), 'read')
    assert.equal(await callsOf('/count'), 'read replace')
    await clock.advance(3 * MINUTE)
    assert.equal(await callsOf('/plain'), 'read replace')
    assert.equal(await callsOf('/plain'), 'read')
    assert.equal(await callsOf('/login/ann'), 'read write delete')
    assert.equal(await callsOf('/logout'), 'read delete')
    assert.equal(store.texts.size, 0)
  })

  test('a changed session keeps its cookie: only its id is in there', async () => {
    const { server } = sessionServer(new WatchedStore())
    const client = connect(server, { cookies: true, peer: SECURE_PEER })
    assert.match(cookieOf(await client.get('/count')), /^__Host-session=[\w-]{43}$/)
    assert.deepEqual(setCookies(await client.get('/count')), [])
  })

  test('the store does not know the ids that clients have', async () => {
    const store = new WatchedStore()
    const { server } = sessionServer(store)
    const cookie = cookieOf(await connect(server, { peer: SECURE_PEER }).get('/count'))
    const [id] = cookie.split('=').slice(1)
    assert.doesNotMatch(JSON.stringify([...store.texts]), new RegExp(id!))
  })

  test('without the store, a request with a session gets 503, and one without it gets its response', async () => {
    const store = new WatchedStore()
    const { server, logged } = sessionServer(store)
    const client = connect(server, { peer: SECURE_PEER })
    const cookie = cookieOf(await client.get('/count'))
    store.failure = new Error('the store is away')
    for (const path of ['/see', '/plain', '/nowhere'])
      assert.equal((await client.get(path, { headers: { Cookie: cookie } })).status, 503, path)
    assert.equal((await client.get('/see')).status, 200)
    const unwritten = await client.get('/count')
    assert.equal(unwritten.status, 503)
    assert.deepEqual(setCookies(unwritten), [])
    assert.doesNotMatch(unwritten.text(), /away/)
    assert.ok(logged.length > 0)
  })

  test('a response is not lost because the session could not be renewed', async () => {
    const store = new WatchedStore()
    const { server } = sessionServer(store)
    const clock = new TestClock()
    const client = connect(server, { clock, cookies: true, peer: SECURE_PEER })
    await client.get('/count')
    await clock.advance(3 * MINUTE)
    store.onReplace = () => Promise.reject(new Error('away'))
    assert.equal((await client.get('/see')).status, 200)
  })
})

describe('sealed sessions', () => {
  test('a replaced key still opens, and its session is sealed with the new one; a removed key does not', async () => {
    const [old, young] = [keyOf('old'), keyOf('young')]
    const seen = async (keys: readonly Uint8Array[], cookie: string) => {
      const { server } = sessionServer(sealed({ keys }))
      return connect(server, { peer: SECURE_PEER }).get('/see', { headers: { Cookie: cookie } })
    }
    const { server } = sessionServer(sealed({ keys: [old] }))
    const cookie = cookieOf(await connect(server, { peer: SECURE_PEER }).post('/login/ann'))
    const rotated = await seen([young, old], cookie)
    assert.match(rotated.text(), /"id":"ann"/)
    const resealed = cookieOf(rotated)
    assert.match((await seen([young], resealed)).text(), /"id":"ann"/)
    assert.match((await seen([young], cookie)).text(), /"exists":false/)
  })

  test('a session that does not fit into a cookie is an error where it is changed, before anything is sent', async () => {
    const { server, users, logged } = sessionServer(sealed({ keys: [keyOf('one')] }))
    server.mapPost('/fill/:n', ({ n }, session) => users.of(session).update({ note: 'x'.repeat(Number(n)) }))
    const client = connect(server, { peer: SECURE_PEER })
    let most = 0
    for (let n = 2_800; n < 3_100; n++) {
      const response = await client.post(`/fill/${n}`)
      if (response.status !== 204) break
      const [cookie] = setCookies(response)
      assert.ok(cookie!.length <= 4_093, `${cookie!.length} bytes`)
      most = cookie!.length
    }
    assert.ok(most > 4_080 && most <= 4_093, `${most} bytes`)
    const refused = await client.post('/fill/4000')
    assert.equal(refused.status, 500)
    assert.deepEqual(setCookies(refused), [])
    const error = logged.at(-1) as { code: string; message: string }
    assert.equal(error.code, 'WEIR_SESSION_TOO_LARGE')
    assert.match(error.message, /4093/)
  })
})
